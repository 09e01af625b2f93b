"""A classifier of one's own, for `own_estimator.space`: scikit-learn's conventions are all that is asked of it."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class NearestMean(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Predicts the class whose mean is nearest: shrunk to that of all rows, and by spread, where wanted."""

    def __init__(self, shrinkage: float = 0.0, weighted: bool = False) -> None:
        self.shrinkage = shrinkage
        self.weighted = weighted

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - as scikit-learn calls them
        """Learn the means of the classes."""
        rows = np.asarray(X, dtype=float)
        self.classes_ = np.unique(y)
        means = np.array([rows[np.asarray(y) == label].mean(axis=0) for label in self.classes_])
        self.means_ = (1 - self.shrinkage) * means + self.shrinkage * rows.mean(axis=0)
        self.scale_ = rows.std(axis=0) + 1e-12 if self.weighted else np.ones(rows.shape[1])
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The class of each row."""
        apart = (np.asarray(X, dtype=float)[:, None] - self.means_) / self.scale_
        return self.classes_[(apart**2).sum(axis=2).argmin(axis=1)]
