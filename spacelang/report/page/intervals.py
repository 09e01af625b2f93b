"""Within which bounds the loss of one pipeline lies on other rows, by what a store knows: the loss, and who judged it.

No predictions are needed, so that there is an interval where theory has one of these alone: of an accuracy Wilson's
(1927), of an area under the ROC curve Newcombe's method 5 (Statistics in Medicine 25:559, 2006), which inverts the
variance of Hanley and McNeil (1982) and covers areas of 1, too. Both suppose that rows are independent; a mean over
folds is taken for one value over all of their rows. Neither knows that a pipeline has been chosen among many.
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

CLASSES: Final = "NumberOfClasses", "ClassProbabilityMin"
"""The meta-features that tell how many of two classes there are."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Who judged the trials of a run: so many held-out rows, and of these so many of the smaller of two classes."""

    metric: str
    rows: int
    fewer: float

    def interval(self, loss: float) -> tuple[float, float] | None:
        """The 95 % interval of a loss for as many other rows; None where the loss alone does not say it."""
        score = 1.0 - loss
        if not (0.0 <= score <= 1.0 and self.rows > 0):
            return None
        if self.metric == "1 - accuracy":
            return _within(score, GRID * (1 - GRID) / self.rows)
        if self.metric == "1 - roc_auc" and 0 < self.fewer <= self.rows / 2:
            return _within(score, area_variance(self.fewer, self.rows - self.fewer))
        return None


def judged(header: "Header") -> Judged:
    """Who judged the trials of a run; no rows where that is not known."""
    classes, share = (header.meta_features.get(name, 0.0) for name in CLASSES)
    rows = 0
    if header.validation.startswith("holdout("):
        rows = header.data.rows - header.training_size
    elif re.fullmatch(r"cv\(\d+\)", header.validation):
        rows = header.data.rows
    return Judged(header.metric, rows, rows * share if classes == 2 else 0.0)


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
