"""Predictions of a fitted pipeline for fixed rows, computed once and shared by all scorers."""

from collections.abc import Callable
from typing import Any, Final, Self

import numpy as np

from spacelang.runtime.evaluation.splits import Rows

PREDICTION_METHODS: Final = ("predict", "predict_proba", "predict_log_proba", "decision_function")
"""The prediction methods that scorers call."""


class CachedPredictions:
    """A stand-in for a fitted pipeline that predicts fixed rows, and caches the predictions.

    A scorer can use it like the pipeline. Its prediction methods ignore the rows that they get, and return the
    predictions for the fixed rows. All other attributes are those of the pipeline. With `writes`, the pipeline gets
    copies of the rows, because it overwrites its input.
    """

    def __init__(self, pipeline: Any, rows: Any, *, writes: bool = False) -> None:
        self._pipeline = pipeline
        self._rows = rows
        self._writes = writes
        self._predictions: dict[str, Any] = {}

    def subset(self, places: Rows) -> "CachedPredictions":
        """Return a stand-in for the rows at these positions, which uses the same cached predictions."""
        return _Subset(self, places)

    def only_cached_prediction(self) -> tuple[str, Any] | None:
        """Return the one prediction method that was called so far and its result as an array.

        Return None if no method was called, or several.
        """
        if len(self._predictions) != 1:
            return None
        ((question, answer),) = self._predictions.items()
        return question, np.asarray(answer)

    def _predict(self, question: str) -> Any:
        if question not in self._predictions:
            rows = self._rows.copy() if self._writes else self._rows
            self._predictions[question] = getattr(self._pipeline, question)(rows)
        return self._predictions[question]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._pipeline, name)  # scorers need the AttributeError of a pipeline without the method
        return self._make_method(name) if name in PREDICTION_METHODS else found

    def _make_method(self, question: str) -> Callable[..., Any]:
        def answer(_rows: Any = None) -> Any:
            return self._predict(question)

        answer.__name__ = question  # scorers read it
        return answer


class _Subset(CachedPredictions):
    """The cached predictions for a subset of the rows."""

    def __init__(self, whole: CachedPredictions, places: Rows) -> None:
        super().__init__(whole._pipeline, None)
        self._whole = whole
        self._places = places

    def subset(self, places: Rows) -> Self:
        """Return a stand-in for a subset of these rows."""
        return type(self)(self._whole, self._places[places])

    def _predict(self, question: str) -> Any:
        return np.asarray(self._whole._predict(question))[self._places]
