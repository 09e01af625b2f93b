"""An ensemble of the best pipelines of a search, with weights that are selected on the held-out rows."""

from sklearn.datasets import load_breast_cancer

import spacelang as sl

space = sl.parse("""
space ensemble

stage scaler = none | StandardScaler
stage model =
  | GaussianNB
  | DecisionTreeClassifier { max_depth : int[1, 9] = 3 }
  | KNeighborsClassifier   { n_neighbors : int[1, 30] = 5 }
""")
features, labels = load_breast_cancer(return_X_y=True)
result = sl.search(space, features, labels, optimizer="random", trials=20, ensemble=16, seed=0)

print(result)
assert result.ensemble_members is not None  # because of `ensemble=16`
for votes, configuration in result.ensemble_members[["votes", "configuration"]].itertuples(index=False):
    print(f"weight {votes}/16:", configuration)
print(result.ensemble)  # a fitted VotingClassifier of scikit-learn
