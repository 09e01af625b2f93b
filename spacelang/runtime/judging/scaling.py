"""By which scale the losses of a run are measured: their own, that of a constant prediction, or that of the first one.

What scorers can come to is not in scikit-learn, so it is written down here: a scorer that is in none of these sets may
come to anything.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from enum import Enum
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spacelang.ir.scale import UNIT, Scale
from spacelang.ir.task import NEGATED, Kind
from spacelang.runtime.judging.metric import Metric

if TYPE_CHECKING:
    from spacelang.runtime.evaluation.folds import Fold

SHARES: Final = frozenset(
    {
        "accuracy",
        "average_precision",
        "balanced_accuracy",
        "completeness_score",
        "fowlkes_mallows_score",
        "homogeneity_score",
        "normalized_mutual_info_score",
        "rand_score",
        "top_k_accuracy",
        "v_measure_score",
        *(f"roc_auc{each}" for each in ("", "_ovo", "_ovo_weighted", "_ovr", "_ovr_weighted")),
        *(
            f"{score}{each}"
            for score in ("f1", "jaccard", "precision", "recall")
            for each in ("", "_macro", "_micro", "_samples", "_weighted")
        ),
    }
)
"""Scores from 0 to 1."""

AT_MOST_ONE: Final = frozenset(
    {
        "adjusted_mutual_info_score",
        "adjusted_rand_score",
        "d2_absolute_error_score",
        "d2_brier_score",
        "d2_log_loss_score",
        "explained_variance",
        "matthews_corrcoef",
        "r2",
    }
)
"""Scores of 1 at the best that can be negative."""

ERRORS: Final = frozenset(
    f"{NEGATED}{error}"
    for error in (
        "brier_score",
        "log_loss",
        "max_error",
        "mean_absolute_error",
        "mean_absolute_percentage_error",
        "mean_gamma_deviance",
        "mean_poisson_deviance",
        "mean_squared_error",
        "mean_squared_log_error",
        "median_absolute_error",
        "negative_likelihood_ratio",
        "root_mean_squared_error",
        "root_mean_squared_log_error",
    )
)
"""Errors from 0 on with their sign turned."""

DIGITS: Final = 9
"""So many digits of a constant prediction's loss count."""

CONSTANTS: Final = {
    "classification": (("DummyClassifier", "prior"), ("DummyClassifier", "most_frequent")),
    "regression": (("DummyRegressor", "mean"), ("DummyRegressor", "median")),
}
"""Scikit-learn's constant predictions."""


class LossRange(Enum):
    """Where the losses by a metric lie."""

    FROM_0_TO_1 = 1
    FROM_0_ON = 2
    ANYWHERE = 3


def losses_of(name: str, formula: str, classes: int) -> LossRange:
    """Where the losses lie that a formula makes of the score of this name; `classes` is 0 for a regression."""
    if name in SHARES and formula in (name, f"1 - {name}"):
        return LossRange.FROM_0_TO_1
    error = name.removeprefix(NEGATED)
    if name in ERRORS and formula == error:
        # Of more classes it is a sum over them, of which some versions of scikit-learn take half.
        return LossRange.FROM_0_TO_1 if error == "brier_score" and classes == 2 else LossRange.FROM_0_ON
    return LossRange.FROM_0_ON if name in ERRORS | AT_MOST_ONE and formula == f"1 - {name}" else LossRange.ANYWHERE


def scale_by(losses: LossRange, constant: Callable[[], float | None]) -> Scale | None:
    """The scale of losses that lie there; None is that around the first success.

    `constant` gives the loss of the best constant prediction, None where there is none.
    """
    if losses is LossRange.FROM_0_TO_1:
        return UNIT
    found = constant() if losses is LossRange.FROM_0_ON else None
    # Rounded, as another version of a library, by which a run may go on, may give another last digit.
    width = 0.0 if found is None else float(f"{found:.{DIGITS}g}")
    return Scale(0.0, width) if 0 < width < math.inf else None


def constant_loss(metric: Metric, kind: Kind, folds: "Sequence[Fold]") -> float | None:
    """The smallest loss that a constant prediction has, in the mean over folds; None where none can be computed.

    It is learned from all training rows of a fold.
    """
    found = [_loss(metric, *each, folds) for each in CONSTANTS[kind]]
    return min((loss for loss in found if math.isfinite(loss)), default=None)


def _loss(metric: Metric, model: str, strategy: str, folds: "Sequence[Fold]") -> float:
    from sklearn import dummy

    try:
        with warnings.catch_warnings():
            # Some metrics warn about predictions that are all the same.
            warnings.simplefilter("ignore")
            return fmean(_of(metric, getattr(dummy, model)(strategy=strategy), fold) for fold in folds)
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return math.nan  # such as the logarithm of a target that is negative


def _of(metric: Metric, model: Any, fold: "Fold") -> float:
    training, held_out = (np.zeros((len(each), 1)) for each in (fold.training_target, fold.held_out_target))
    return metric.loss(model.fit(training, fold.training_target), held_out, fold.held_out_target)
