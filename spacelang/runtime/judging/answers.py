"""Predictions of a fitted pipeline for fixed rows, computed once and shared by all scorers."""

from collections.abc import Callable
from typing import Any, Final, Self

import numpy as np

from spacelang.runtime.evaluation.split import Rows

QUESTIONS: Final = ("predict", "predict_proba", "predict_log_proba", "decision_function")
"""The prediction methods that scorers call."""


class Answers:
    """A stand-in for a fitted pipeline that predicts fixed rows, and caches the predictions.

    A scorer can use it like the pipeline. Its prediction methods ignore the rows that they get, and return the
    predictions for the fixed rows. All other attributes are those of the pipeline. With `writes`, the pipeline gets
    copies of the rows, because it overwrites its input.
    """

    def __init__(self, pipeline: Any, rows: Any, *, writes: bool = False) -> None:
        self._pipeline = pipeline
        self._rows = rows
        self._writes = writes
        self._known: dict[str, Any] = {}

    def among(self, places: Rows) -> "Answers":
        """Return a stand-in for the rows at these positions, which uses the same cached predictions."""
        return _Part(self, places)

    def told(self) -> tuple[str, Any] | None:
        """Return the one prediction method that was called so far and its result as an array.

        Return None if no method was called, or several.
        """
        if len(self._known) != 1:
            return None
        ((question, answer),) = self._known.items()
        return question, np.asarray(answer)

    def _answer(self, question: str) -> Any:
        if question not in self._known:
            rows = self._rows.copy() if self._writes else self._rows
            self._known[question] = getattr(self._pipeline, question)(rows)
        return self._known[question]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._pipeline, name)  # scorers need the AttributeError of a pipeline without the method
        return self._asking(name) if name in QUESTIONS else found

    def _asking(self, question: str) -> Callable[..., Any]:
        def answer(_rows: Any = None) -> Any:
            return self._answer(question)

        answer.__name__ = question  # scorers read it
        return answer


class _Part(Answers):
    """The cached predictions for a subset of the rows."""

    def __init__(self, whole: Answers, places: Rows) -> None:
        super().__init__(whole._pipeline, None)
        self._whole = whole
        self._places = places

    def among(self, places: Rows) -> Self:
        """Return a stand-in for a subset of these rows."""
        return type(self)(self._whole, self._places[places])

    def _answer(self, question: str) -> Any:
        return np.asarray(self._whole._answer(question))[self._places]
