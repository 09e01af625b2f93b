"""Your own operator: any estimator that follows scikit-learn's conventions, in a module that you allow."""

from pathlib import Path

from sklearn.datasets import load_wine

import spacelang as sl

# The space contains `use nearest_mean`. Without `allow` that is an error, because reading a file never runs code.
space = sl.load(Path(__file__).with_name("own_estimator.space"), allow=["nearest_mean"])

features, labels = load_wine(return_X_y=True, as_frame=True)
result = sl.search(space, features, labels, trials=20, seed=0)
print(result)
print(result.best_pipeline.predict(features.head()))
