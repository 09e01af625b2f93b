"""A package with one classifier: good on some rows, and one of the worst things that a pipeline can do on more."""

import threading
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

from spacelang.testing.faults import ACTIONS, UnreadablePickle

__version__ = "1"

ORDER = (
    "segfault",
    "sleep",
    "allocate_beyond_limit",
    "raise_an_error",
    "exit_at_once",
    "lock",
    "one_way",
    "well",
    "worse",
)
"""What it may do, the most accurate first: each deed is one wrong answer dearer than the one before."""


class Late(ClassifierMixin, BaseEstimator):
    """Naive Bayes until it is fitted on more than `rows` rows, and a deed then."""

    def __init__(self, deed: str = "well", rows: int = 0) -> None:
        self.deed = deed
        self.rows = rows

    def fit(self, features: Any, labels: Any) -> "Late":
        if len(features) > self.rows and self.deed in ACTIONS:
            ACTIONS[self.deed](None)  # type: ignore[arg-type] - the deed asks nobody what for
        if len(features) > self.rows and self.deed == "lock":
            self.lock_ = threading.Lock()
        if len(features) > self.rows and self.deed == "one_way":
            self.one_way_ = UnreadablePickle()
        self.inner_ = GaussianNB().fit(features, labels)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, features: Any) -> Any:
        """As naive Bayes has it, but for the first rows."""
        codes = np.searchsorted(self.classes_, self.inner_.predict(features))
        codes[: ORDER.index(self.deed)] += 1
        return self.classes_[codes % len(self.classes_)]


__all__ = ["Late"]
