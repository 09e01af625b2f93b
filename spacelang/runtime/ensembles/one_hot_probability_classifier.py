"""An adapter for classifiers without `predict_proba` in a soft vote.

Its source is copied into exported pipelines, so that they do not import spacelang.
"""

from typing import Any

from numpy import reshape
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from spacelang.deprecation import make_module_getattr


class OneHotProbabilityClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier without probabilities that gives 1 to the predicted class and 0 to all others."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, features: Any, labels: Any) -> "OneHotProbabilityClassifier":
        """Fit a clone of the classifier."""
        self.estimator_ = clone(self.estimator).fit(features, labels)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, features: Any) -> Any:
        """Predict the classes of n rows."""
        return self.estimator_.predict(features)

    def predict_proba(self, features: Any) -> Any:
        """Return an n x classes array with 1 at the predicted class and 0 elsewhere."""
        return (reshape(self.predict(features), (-1, 1)) == self.classes_).astype(float)

    @property
    def n_features_in_(self) -> int:
        """The number of columns that it was fitted on."""
        found: int = self.estimator_.n_features_in_
        return found

    def __sklearn_tags__(self) -> Any:
        """Return the tags, with the input tags of the classifier."""
        tags = super().__sklearn_tags__()
        tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        return tags


__getattr__ = make_module_getattr(__name__, {"HardVote": "OneHotProbabilityClassifier"})
