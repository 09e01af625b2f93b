"""Estimators with strange habits, as a package: for the laws about what trials share."""

import random
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import check_random_state

__version__ = "1"


class _Transformer(TransformerMixin, BaseEstimator):
    def fit(self, features: Any, labels: Any = None) -> Self:  # noqa: ARG002
        return self


class Noisy(_Transformer):
    """Draws from the global generator when it is fitted, and keeps what it drew."""

    def __init__(self, draws: int = 1) -> None:
        self.draws = draws

    def fit(self, features: Any, labels: Any = None) -> Self:  # noqa: ARG002
        self.noise_ = np.random.normal(size=self.draws).sum() + np.zeros(features.shape[1])
        return self

    def transform(self, features: Any) -> Any:
        return features + 0.1 * self.noise_


class NoisyLater(_Transformer):
    """Draws from the global generator whenever it transforms."""

    def transform(self, features: Any) -> Any:
        return features + 0.1 * np.random.normal(size=features.shape)


class NoisyInPython(_Transformer):
    """Draws from the generator of Python when it is fitted and whenever it transforms."""

    def fit(self, features: Any, labels: Any = None) -> Self:  # noqa: ARG002
        self.noise_ = random.random()
        return self

    def transform(self, features: Any) -> Any:
        return features + 0.1 * self.noise_ + 0.01 * random.random()


class OwnChance(_Transformer):
    """Draws from a generator of its own, which goes on from one use to the next."""

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, features: Any, labels: Any = None) -> Self:  # noqa: ARG002
        self.generator_ = {"inside": [check_random_state(self.random_state)]}
        return self

    def transform(self, features: Any) -> Any:
        return features + 0.1 * self.generator_["inside"][0].normal(size=features.shape)


class Overwriting(_Transformer):
    """Writes into what it is given, without asking."""

    def transform(self, features: Any) -> Any:
        features *= 3.0
        features -= features[0]
        return features


class Keeping(_Transformer):
    """Keeps what it is given, and needs it."""

    def fit(self, features: Any, labels: Any = None) -> Self:  # noqa: ARG002
        self.kept_ = features
        return self

    def transform(self, features: Any) -> Any:
        return features - self.kept_.mean(axis=0)


class Lending(_Transformer):
    """Hands out an array that it keeps and needs."""

    def fit_transform(self, features: Any, labels: Any = None) -> Any:  # noqa: ARG002
        self.kept_ = features * 2.0
        return self.kept_

    def transform(self, features: Any) -> Any:
        return features * 2.0 + self.kept_.mean()


class Strided(_Transformer):
    """Gives every second column of a larger array."""

    def transform(self, features: Any) -> Any:
        return np.repeat(features, 2, axis=1)[:, ::2]


class Listing(_Transformer):
    """Gives lists, which nobody can keep."""

    def transform(self, features: Any) -> Any:
        return np.asarray(features).tolist()


class Sparse(_Transformer):
    """Gives a sparse matrix whose indices are not sorted."""

    def transform(self, features: Any) -> Any:
        made = sparse.csr_matrix(np.asarray(features) * (np.asarray(features) > 0))
        backwards = np.concatenate([np.arange(end - 1, begin - 1, -1) for begin, end in pairwise(made.indptr)])
        return sparse.csr_matrix((made.data[backwards], made.indices[backwards], made.indptr), made.shape)


class Framing(_Transformer):
    """Gives a DataFrame."""

    def transform(self, features: Any) -> Any:
        return pd.DataFrame(np.asarray(features), columns=[f"c{place}" for place in range(features.shape[1])])


class Refusing(_Transformer):
    """Raises what it is told to when it is fitted, after drawing a number."""

    def __init__(self, kind: str = "value") -> None:
        self.kind = kind

    def fit(self, features: Any, labels: Any = None) -> Self:  # noqa: ARG002
        drawn = np.random.random()
        if self.kind == "hidden":
            raise ValueError(f"no room: {drawn}") from MemoryError()
        kinds = {"value": ValueError, "runtime": RuntimeError, "memory": MemoryError}
        raise kinds[self.kind](f"not {features.shape} with {drawn}")

    def transform(self, features: Any) -> Any:
        return features


class RefusingLater(_Transformer):
    """Refuses rows of another number than those it was fitted on."""

    def fit(self, features: Any, labels: Any = None) -> Self:  # noqa: ARG002
        self.rows_ = features.shape[0]
        return self

    def transform(self, features: Any) -> Any:
        if features.shape[0] != self.rows_:
            raise ValueError(f"{features.shape[0]} rows are not {self.rows_}")
        return features + 0.0


class Uncopied(_Transformer):
    """Cannot be copied, looked into or pickled."""

    def fit(self, features: Any, labels: Any = None) -> Self:  # noqa: ARG002
        self.lock_ = (value for value in ())
        return self

    def transform(self, features: Any) -> Any:
        return features * 2.0


class Last(ClassifierMixin, BaseEstimator):
    """A classifier that overwrites its input, draws numbers, and may refuse; it takes anything."""

    def __init__(self, draws: int = 0, overwrites: bool = False, refuses: bool = False) -> None:
        self.draws = draws
        self.overwrites = overwrites
        self.refuses = refuses

    def fit(self, features: Any, labels: Any) -> Self:
        table = features if isinstance(features, np.ndarray) else _array(features)
        noise = np.random.normal(size=self.draws).sum()
        self.classes_ = np.unique(labels)
        self.centres_ = np.array([table[labels == label].mean(axis=0) + noise for label in self.classes_])
        if self.overwrites:
            table[:] = 7.0
        if self.refuses:
            raise ValueError("the last one refuses")
        return self

    def decision_function(self, features: Any) -> Any:
        table = features if isinstance(features, np.ndarray) else _array(features)
        far = np.array([((table - centre) ** 2).sum(axis=1) for centre in self.centres_])
        if self.overwrites:
            table[:] = 9.0
        return far[0] - far[1] + np.random.normal(size=self.draws).sum()

    def predict(self, features: Any) -> Any:
        return self.classes_[(self.decision_function(features) > 0).astype(int)]


def _array(features: Any) -> Any:
    return features.toarray() if sparse.issparse(features) else np.array(features)


__all__ = [
    "Framing",
    "Keeping",
    "Last",
    "Lending",
    "Listing",
    "Noisy",
    "NoisyInPython",
    "NoisyLater",
    "Overwriting",
    "OwnChance",
    "Refusing",
    "RefusingLater",
    "Sparse",
    "Strided",
    "Uncopied",
]
