"""Confidence intervals for the loss of one pipeline, from its loss and the number of held-out rows alone.

Predictions are not needed, so there is an interval only where theory has one for these numbers. For an accuracy it is
Wilson's interval (1927). For an area under the ROC curve it is Newcombe's method 5 (Statistics in Medicine 25:559,
2006), which inverts the variance of Hanley and McNeil (1982) and also covers areas of 1. A balanced accuracy, the mean
recall of the classes, has Wilson's interval for the number of rows that there would be if all classes were as small as
the smallest one. The variance is largest if all recalls are equal, so that this interval is too wide rather than too
narrow.

All intervals assume independent rows. A mean over folds is treated as one value on all of their rows. Selection bias,
from choosing a pipeline among many, is ignored.
"""

import re
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from spacelang.runtime.storage.header import RunHeader
    from spacelang.sampling.value_codes import Array

Z: Final = NormalDist().inv_cdf(0.975)

GRID: Final = np.linspace(0.0, 1.0, 10_001)
"""The candidate scores among which the ends of an interval are searched."""

ROUNDING: Final = 1e-9
"""The tolerance by which shares of classes may add up to more than one."""

CLASSES: Final = "NumberOfClasses", "ClassProbabilityMin"
"""The meta-features for the number of classes, and for the share of the smallest class."""


@dataclass(frozen=True, slots=True)
class HeldOutSummary:
    """The held-out rows on which the trials of a run were scored, with the number of classes.

    `fewest` is the number of rows of the smallest class.
    """

    metric: str
    rows: int
    classes: int = 0
    fewest: float = 0.0

    @property
    def has_class_sizes(self) -> bool:
        """True if the number of classes and the size of the smallest class are known and consistent."""
        return 0 < self.fewest * self.classes <= self.rows * (1 + ROUNDING)

    def interval(self, loss: float) -> tuple[float, float] | None:
        """Return the 95 % interval of the loss on as many other rows.

        Return None if the loss alone does not determine it.
        """
        score = 1.0 - loss
        if not (0.0 <= score <= 1.0 and self.rows > 0):
            return None
        match self.metric:
            case "1 - accuracy":
                return _compatible_losses(score, GRID * (1 - GRID) / self.rows)
            case "1 - balanced_accuracy" if self.has_class_sizes:
                return _compatible_losses(score, GRID * (1 - GRID) / (self.classes * self.fewest))
            case "1 - roc_auc" if self.has_class_sizes and self.classes == 2:
                return _compatible_losses(score, roc_auc_variance(self.fewest, self.rows - self.fewest))
            case _:
                return None


def held_out_rows(header: "RunHeader") -> HeldOutSummary:
    """Return the held-out rows of a run; zero rows if their number is unknown."""
    classes, share = (header.meta_features.get(name, 0.0) for name in CLASSES)
    rows = 0
    if header.validation.startswith("holdout("):
        rows = header.data.rows - header.training_size
    elif re.fullmatch(r"cv\(\d+\)", header.validation):
        rows = header.data.rows
    return HeldOutSummary(header.metric, rows, int(classes), rows * share)


def roc_auc_variance(fewer: float, more: float) -> "Array":
    """Return the variance of an area under the ROC curve for each area of `GRID`.

    It is the formula of Hanley and McNeil for exponential scores. `fewer` and `more` are the numbers of rows of the two
    classes.
    """
    pairs = (fewer + more) / 2 - 1
    spread = (1 - GRID) / (2 - GRID) + GRID / (1 + GRID)
    return np.asarray(GRID * (1 - GRID) * (1 + pairs * spread) / (fewer * more))


def _compatible_losses(score: float, variance: "Array") -> tuple[float, float]:
    """Return the lowest and highest loss whose score is compatible with this one; the score itself always is.

    `variance` has the variance for each score of `GRID`.
    """
    found = GRID[(GRID - score) ** 2 <= Z**2 * variance]
    low, high = min(score, *found[:1]), max(score, *found[-1:])
    return max(0.0, 1.0 - float(high)), 1.0 - float(low)
