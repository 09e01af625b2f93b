"""A first space: what is in it, its default, a search of it, and the score on rows that no trial saw."""

from sklearn.datasets import load_wine

import spacelang as sl

space = sl.parse("""
space first

stage scaler = none | StandardScaler | MinMaxScaler
stage classifier =
  | LogisticRegression   { C : float[1e-4, 1e4] log = 1 }
  | KNeighborsClassifier { n_neighbors : int[1, 30] = 5, weights : {uniform, distance} = uniform }
  | DecisionTreeClassifier { max_depth : int[1, 10] = 5 }

forbid scaler is none and classifier is KNeighborsClassifier  # distances need one scale
""")
print(space.structures, "pipelines, before hyperparameters; by default", space.default())
for configuration in space.sample(3, seed=0):
    print("one of them:", configuration)

features, labels = load_wine(return_X_y=True, as_frame=True)
result = sl.search(space, features, labels, trials=20, test=0.2, seed=0)
print(result)
print("on rows that no trial saw:", result.test)
print(result.best_pipeline)
