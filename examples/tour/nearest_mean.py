"""A classifier for `own_estimator.space`; it only has to follow the conventions of scikit-learn."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class NearestMean(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier that predicts the class with the nearest mean; means can be shrunk, and features scaled."""

    def __init__(self, shrinkage: float = 0.0, weighted: bool = False) -> None:
        self.shrinkage = shrinkage
        self.weighted = weighted

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - the names of scikit-learn
        """Compute the means of the classes."""
        rows = np.asarray(X, dtype=float)
        self.classes_ = np.unique(y)
        means = np.array([rows[np.asarray(y) == label].mean(axis=0) for label in self.classes_])
        self.means_ = (1 - self.shrinkage) * means + self.shrinkage * rows.mean(axis=0)
        self.scale_ = rows.std(axis=0) + 1e-12 if self.weighted else np.ones(rows.shape[1])
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the predicted class of each row."""
        distances = (np.asarray(X, dtype=float)[:, None] - self.means_) / self.scale_
        return self.classes_[(distances**2).sum(axis=2).argmin(axis=1)]
