"""Intervals of losses on held-out rows, computed from a loss and the number of rows alone."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from spacelang.ir.validation import CrossValidation, Holdout, parse_validation_or_none
from spacelang.runtime.storage.header import RunHeader

Z: Final = NormalDist().inv_cdf(0.975)
GRID: Final = tuple(step / 10_000 for step in range(10_001))
"""The candidate scores among which the ends of an interval are searched."""
ROUNDING: Final = 1e-9  # The tolerance by which shares of classes may add up to more than one
CLASSES: Final = "NumberOfClasses", "ClassProbabilityMin"
"""The meta-features for the number of classes, and for the share of the smallest class."""


@dataclass(frozen=True, slots=True)
class HeldOutSummary:
    """The held-out rows of a run, with the number of classes and of the rows of the smallest class (`fewest`)."""

    metric: str
    rows: int
    classes: int = 0
    fewest: float = 0.0

    @property
    def has_class_sizes(self) -> bool:
        """True if the number of classes and the size of the smallest class are known and consistent."""
        return 0 < self.fewest * self.classes <= self.rows * (1 + ROUNDING)

    def interval(self, loss: float) -> tuple[float, float] | None:
        """Return the 95 % interval of the loss on as many other rows; None if the loss alone does not determine it."""
        score = 1.0 - loss
        if not (0.0 <= score <= 1.0 and self.rows > 0):
            return None
        match self.metric:
            case "1 - accuracy":
                return _compatible_losses(score, lambda true: true * (1 - true) / self.rows)
            case "1 - balanced_accuracy" if self.has_class_sizes:
                return _compatible_losses(score, lambda true: true * (1 - true) / (self.classes * self.fewest))
            case "1 - roc_auc" if self.has_class_sizes and self.classes == 2:
                return _compatible_losses(
                    score, lambda true: roc_auc_variance(true, self.fewest, self.rows - self.fewest)
                )
            case _:
                return None

    def ends(self, loss: float | None) -> tuple[float | None, float | None]:
        """Return the ends of the interval; two Nones without a loss or an interval."""
        return (None if loss is None else self.interval(loss)) or (None, None)


def summarize_held_out_rows(header: RunHeader) -> HeldOutSummary:
    """Return the held-out rows of a run; zero rows if their number is unknown, or if they are of groups.

    Rows of one group are not independent, so that their number does not determine an interval.
    """
    classes, share = (header.meta_features.get(name, 0.0) for name in CLASSES)
    match parse_validation_or_none(header.validation):
        case Holdout(group=None):
            rows = header.data.rows - header.training_size
        case CrossValidation(group=None):
            rows = header.data.rows
        case _:
            rows = 0
    return HeldOutSummary(header.metric, rows, int(classes), rows * share)


def roc_auc_variance(score: float, fewer: float, more: float) -> float:
    """Return the variance of a ROC area for two numbers of rows (Hanley and McNeil, exponential)."""
    pairs = (fewer + more) / 2 - 1
    spread = (1 - score) / (2 - score) + score / (1 + score)
    return score * (1 - score) * (1 + pairs * spread) / (fewer * more)


def _compatible_losses(score: float, variance: Callable[[float], float]) -> tuple[float, float]:
    """Return the lowest and highest compatible loss (at least this one), with the `variance` of each score."""
    found = [true for true in GRID if (true - score) ** 2 <= Z**2 * variance(true)]
    low, high = min(score, *found[:1]), max(score, *found[-1:])
    return max(0.0, 1.0 - high), 1.0 - low
