"""`SpaceSearchCV` in a scikit-learn script: a search of whole pipelines instead of `RandomizedSearchCV`."""

from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score, train_test_split

import spacelang as sl

space = sl.parse("""
space scikit_learn_search

stage scaler = none | StandardScaler
stage model =
  | SVC { C : float[0.01, 100] log = 1, gamma : float[1e-4, 1] log = 0.01 }
  | KNeighborsClassifier { n_neighbors : int[1, 30] = 5 }
""")
features, labels = load_iris(return_X_y=True, as_frame=True)
train, test, train_labels, test_labels = train_test_split(features, labels, random_state=0)

search = sl.SpaceSearchCV(space, optimizer="tpe", trials=20, cv=3, scoring="accuracy", random_state=0)
search.fit(train, train_labels)
print(search.best_params_, search.best_score_)
print("test score:", search.score(test, test_labels))
print("nested cross-validation:", cross_val_score(search, features, labels, cv=2))
