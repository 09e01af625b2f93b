"""The names of scorers in goals and disparities."""

from collections.abc import Mapping
from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.catalog.catalogues import Catalogues
from spacelang.diagnostics.tasks import UnknownScorer, UnsuitableScorer
from spacelang.suggest import nearest_name
from spacelang.syntax import ast

EXAMPLES: Final = {"classification": "roc_auc", "regression": "r2"}

SYNONYMS: Final[Mapping[str, str]] = {
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
"""Common abbreviations that are not names of scorers in scikit-learn."""


ERROR_NAMES: Final = frozenset({"error", "error_rate", "err", "misclassification", "zero_one_loss"})
"""Common names of the share of wrong predictions."""


class ScorerReader:
    """A reader of scorer names for a kind of task. If the kind is None, every scorer is accepted."""

    def __init__(self, catalogue: Catalogues, kind: str | None, report: DiagnosticCollector) -> None:
        self._known = catalogue.scorers
        self._kind = kind
        self._report = report

    def read(self, written: ast.DottedName) -> str | None:
        """Return the name of a scorer that suits the task, or None after reporting a mistake.

        Any name is accepted if the catalogue lists no scorers: then only the library can tell.
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

    def is_scorer(self, name: str) -> bool:
        """Return True if the catalogue has a scorer of this name, for any kind of task."""
        return name in self._known

    def _near(self, name: str) -> str | None:
        plain = name.removesuffix("_score")
        return plain if plain in self._known else nearest_name(name, self._known)

    def _hint(self, name: str) -> str | None:
        """Return what to write instead of a common synonym or an error measure, or None."""
        if name in ERROR_NAMES:
            return "write `minimize 1 - accuracy`"
        meant = SYNONYMS.get(name, f"neg_{name}")
        if meant not in self._known:
            return None
        return f"write `maximize {meant}`: the negated error" if meant.startswith("neg_") else (f"write `{meant}`")
