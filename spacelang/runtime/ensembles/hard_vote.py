"""Classifiers without probabilities in a vote of probabilities.

Printed pipelines have this source written out, so that they import nothing of ours.
"""

from typing import Any

from numpy import reshape
from sklearn.base import BaseEstimator, ClassifierMixin, clone


class HardVote(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier without probabilities: it gives 1 to the class that it predicts, and 0 to all others."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, features: Any, labels: Any) -> "HardVote":
        """Fit a clone of the classifier."""
        self.estimator_ = clone(self.estimator).fit(features, labels)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, features: Any) -> Any:
        """What the classifier predicts for n rows."""
        return self.estimator_.predict(features)

    def predict_proba(self, features: Any) -> Any:
        """The same as n x classes numbers."""
        return (reshape(self.predict(features), (-1, 1)) == self.classes_).astype(float)

    @property
    def n_features_in_(self) -> int:
        """The number of columns that it was fitted on."""
        found: int = self.estimator_.n_features_in_
        return found

    def __sklearn_tags__(self) -> Any:
        """What the classifier takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        return tags
