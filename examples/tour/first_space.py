"""A first space: its contents, its default, a search, and the score on the test rows."""

from sklearn.datasets import load_wine

import spacelang as sl

space = sl.parse("""
space first

stage scaler = none | StandardScaler | MinMaxScaler
stage classifier =
  | LogisticRegression   { C : float[1e-4, 1e4] log = 1 }
  | KNeighborsClassifier { n_neighbors : int[1, 30] = 5, weights : {uniform, distance} = uniform }
  | DecisionTreeClassifier { max_depth : int[1, 10] = 5 }

forbid scaler is none and classifier is KNeighborsClassifier  # distances need features of the same scale
""")
print(space.structures, "pipelines, not counting hyperparameters; the default is", space.default())
for configuration in space.sample(3, seed=0):
    print("sample:", configuration)

features, labels = load_wine(return_X_y=True, as_frame=True)
result = sl.search(space, features, labels, trials=20, test=0.2, seed=0)
print(result)
print("test set:", result.test)
print(result.best_pipeline)
