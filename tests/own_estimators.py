"""A package of a user's own: estimators in the sense of scikit-learn, some with names that others have too."""

from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.dummy import DummyClassifier
from sklearn.preprocessing import StandardScaler

__version__ = "7"


class LGBMClassifier(ClassifierMixin, BaseEstimator):
    """Called like one of LightGBM."""

    def __init__(self, depth: int = 3, mode: str = "fast") -> None:
        self.depth = depth
        self.mode = mode

    def fit(self, features: Any, labels: Any) -> "LGBMClassifier":
        self.inner_ = DummyClassifier().fit(features, labels)
        return self

    def predict(self, features: Any) -> Any:
        return self.inner_.predict(features)


class Doubler(TransformerMixin, BaseEstimator):
    """Multiplies."""

    def __init__(self, factor: float = 2.0, n_jobs: int | None = None) -> None:
        self.factor = factor
        self.n_jobs = n_jobs

    def fit(self, features: Any, labels: Any = None) -> "Doubler":  # noqa: ARG002
        return self

    def transform(self, features: Any) -> Any:
        return features * self.factor


class Picky(TransformerMixin, BaseEstimator):
    """Cannot be made without something that nobody has."""

    def __init__(self, secret: Any) -> None:
        raise RuntimeError(f"never made of {secret}")

    def transform(self, features: Any) -> Any:
        return features


class _Hidden(BaseEstimator):
    pass


class NoEstimator:
    """A class like any other."""


__all__ = ["Doubler", "LGBMClassifier", "NoEstimator", "Picky", "StandardScaler", "_Hidden"]
