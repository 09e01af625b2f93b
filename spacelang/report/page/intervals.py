"""Within which bounds the loss of one pipeline lies on other rows, by what a store knows: the loss, and who judged it.

No predictions are needed, so that there is an interval where theory has one of these alone: of an accuracy Wilson's
(1927), of an area under the ROC curve Newcombe's method 5 (Statistics in Medicine 25:559, 2006), which inverts the
variance of Hanley and McNeil (1982) and covers areas of 1, too. A balanced accuracy, the mean recall of the classes,
has Wilson's for as many rows as there would be if all classes were as small as the smallest one: its variance is
largest where all recalls are the same, so that the interval is too wide rather than too narrow. All suppose that rows
are independent; a mean over folds is taken for one value over all of their rows. None knows that a pipeline has been
chosen among many.
"""

import re
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from spacelang.draws.codes import Array
    from spacelang.runtime.storing.header import Header

Z: Final = NormalDist().inv_cdf(0.975)

GRID: Final = np.linspace(0.0, 1.0, 10_001)
"""Where scores are looked for that an interval has."""

ROUNDING: Final = 1e-9
"""By so much shares of classes may add up to more than one."""

CLASSES: Final = "NumberOfClasses", "ClassProbabilityMin"
"""The meta-features that tell how many classes there are, and which share of the rows the smallest one has."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Who judged the trials of a run: so many held-out rows of so many classes, the smallest of which has `fewest`."""

    metric: str
    rows: int
    classes: int = 0
    fewest: float = 0.0

    @property
    def knows_classes(self) -> bool:
        """Whether a smallest class can be so large."""
        return 0 < self.fewest * self.classes <= self.rows * (1 + ROUNDING)

    def interval(self, loss: float) -> tuple[float, float] | None:
        """The 95 % interval of a loss for as many other rows; None where the loss alone does not say it."""
        score = 1.0 - loss
        if not (0.0 <= score <= 1.0 and self.rows > 0):
            return None
        match self.metric:
            case "1 - accuracy":
                return _within(score, GRID * (1 - GRID) / self.rows)
            case "1 - balanced_accuracy" if self.knows_classes:
                return _within(score, GRID * (1 - GRID) / (self.classes * self.fewest))
            case "1 - roc_auc" if self.knows_classes and self.classes == 2:
                return _within(score, area_variance(self.fewest, self.rows - self.fewest))
            case _:
                return None


def judged(header: "Header") -> Judged:
    """Who judged the trials of a run; no rows where that is not known."""
    classes, share = (header.meta_features.get(name, 0.0) for name in CLASSES)
    rows = 0
    if header.validation.startswith("holdout("):
        rows = header.data.rows - header.training_size
    elif re.fullmatch(r"cv\(\d+\)", header.validation):
        rows = header.data.rows
    return Judged(header.metric, rows, int(classes), rows * share)


def area_variance(fewer: float, more: float) -> "Array":
    """The variance of an area under the ROC curve, by Hanley and McNeil with exponential scores, for each of `GRID`."""
    pairs = (fewer + more) / 2 - 1
    spread = (1 - GRID) / (2 - GRID) + GRID / (1 + GRID)
    return np.asarray(GRID * (1 - GRID) * (1 + pairs * spread) / (fewer * more))


def _within(score: float, variance: "Array") -> tuple[float, float]:
    """The losses of all scores from which this one is no farther than they allow; it is always among them."""
    found = GRID[(GRID - score) ** 2 <= Z**2 * variance]
    low, high = min(score, *found[:1]), max(score, *found[-1:])
    return max(0.0, 1.0 - float(high)), 1.0 - float(low)
