"""Answers: what a fitted pipeline says of some rows, computed once for all who ask."""

from collections.abc import Callable
from typing import Any, Final, Self

import numpy as np

from spacelang.runtime.evaluation.split import Rows

QUESTIONS: Final = ("predict", "predict_proba", "predict_log_proba", "decision_function")
"""The methods by which scorers ask a pipeline."""


class Answers:
    """A fitted pipeline together with rows: to a scorer it is that pipeline, asked about these rows.

    Whatever rows it is asked about, it answers for its own. Everything else about it is the pipeline's. One that
    `writes` into what it is given is given copies.
    """

    def __init__(self, pipeline: Any, rows: Any, *, writes: bool = False) -> None:
        self._pipeline = pipeline
        self._rows = rows
        self._writes = writes
        self._known: dict[str, Any] = {}

    def among(self, places: Rows) -> "Answers":
        """The same pipeline with the rows at these places; nothing is computed again."""
        return _Part(self, places)

    def told(self) -> tuple[str, Any] | None:
        """The one question that was asked so far, and the answer as an array; None where it was none, or several."""
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
        found = getattr(self._pipeline, name)  # the AttributeError of a pipeline without it tells scorers so
        return self._asking(name) if name in QUESTIONS else found

    def _asking(self, question: str) -> Callable[..., Any]:
        def answer(_rows: Any = None) -> Any:
            return self._answer(question)

        answer.__name__ = question  # scorers look at it
        return answer


class _Part(Answers):
    """The answers for some of the rows."""

    def __init__(self, whole: Answers, places: Rows) -> None:
        super().__init__(whole._pipeline, None)
        self._whole = whole
        self._places = places

    def among(self, places: Rows) -> Self:
        """The same for some of these rows."""
        return type(self)(self._whole, self._places[places])

    def _answer(self, question: str) -> Any:
        return np.asarray(self._whole._answer(question))[self._places]
