"""The names of scorers, as goals and disparities use them."""

from collections.abc import Mapping
from typing import Final

from spacelang.analysis.report import Report
from spacelang.catalog.catalogues import Catalogues
from spacelang.diagnostics.tasks import UnknownScorer, UnsuitableScorer
from spacelang.suggest import nearest
from spacelang.syntax import ast

EXAMPLES: Final = {"classification": "roc_auc", "regression": "r2"}

CUSTOMARY: Final[Mapping[str, str]] = {
    "loss": "neg_log_loss",
    "logloss": "neg_log_loss",
    "cross_entropy": "neg_log_loss",
    "brier": "neg_brier_score",
    "acc": "accuracy",
    "auc": "roc_auc",
    "auroc": "roc_auc",
    "bac": "balanced_accuracy",
    "mae": "neg_mean_absolute_error",
    "mape": "neg_mean_absolute_percentage_error",
    "mcc": "matthews_corrcoef",
    "mse": "neg_mean_squared_error",
    "rmse": "neg_root_mean_squared_error",
    "rmsle": "neg_root_mean_squared_log_error",
}
"""Abbreviations that everybody writes and the library does not know."""


ERRORS: Final = frozenset({"error", "error_rate", "err", "misclassification", "zero_one_loss"})
"""What everybody calls the share of wrong answers."""


class ScorerReader:
    """Reads names of scorers for a task of a kind; where the kind is unknown (None), every scorer suits it."""

    def __init__(self, catalogue: Catalogues, kind: str | None, report: Report) -> None:
        self._known = catalogue.scorers
        self._kind = kind
        self._report = report

    def read(self, written: ast.Dotted) -> str | None:
        """The name of a scorer that suits the task; None, which is reported, for another name.

        A catalogue without scorers knows of none: then only the library can tell.
        """
        name = written.text
        if not self._known:
            return name
        kind = self._known.get(name)
        if kind is None:
            hint = self._hint(name)
            near = None if hint else self._near(name)
            self._report.add(UnknownScorer(primary=written.span, name=name, near=near, hint=hint))
            return None
        if self._kind is not None and kind != self._kind:
            example = EXAMPLES[self._kind]
            self._report.add(
                UnsuitableScorer(primary=written.span, scorer=name, kind=self._kind, other=kind, example=example)
            )
            return None
        return name

    def knows(self, name: str) -> bool:
        """Whether it is a scorer, of whichever kind of task."""
        return name in self._known

    def _near(self, name: str) -> str | None:
        plain = name.removesuffix("_score")
        return plain if plain in self._known else nearest(name, self._known)

    def _hint(self, name: str) -> str | None:
        """What to write for an error, which the library knows with its sign turned only."""
        if name in ERRORS:
            return "write `minimize 1 - accuracy`"
        meant = CUSTOMARY.get(name, f"neg_{name}")
        if meant not in self._known:
            return None
        return (
            f"write `maximize {meant}`: the error with its sign turned"
            if meant.startswith("neg_")
            else (f"write `{meant}`")
        )
