"""An operator of your own: any estimator of scikit-learn's kind, in a module that the caller allows."""

from pathlib import Path

from sklearn.datasets import load_wine

import spacelang as sl

# The space says `use nearest_mean`: without `allow` that is an error, since to read a stranger's file runs nothing.
space = sl.load(Path(__file__).with_name("own_estimator.space"), allow=["nearest_mean"])

features, labels = load_wine(return_X_y=True, as_frame=True)
result = sl.search(space, features, labels, trials=20, seed=0)
print(result)
print(result.best_pipeline.predict(features.head()))
