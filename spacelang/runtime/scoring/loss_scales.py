"""The scales that normalize losses: by the range of the metric, or by the loss of a constant prediction.

scikit-learn does not say which values its scorers can have, so this module lists them. A scorer that is not listed may
have any value.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from enum import Enum
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spacelang.ir.loss_scale import UNIT_SCALE, LossScale
from spacelang.ir.task import NEGATED_PREFIX, Kind
from spacelang.runtime.scoring.metric import Metric

if TYPE_CHECKING:
    from spacelang.runtime.evaluation.folds import Fold

UNIT_SCORES: Final = frozenset(
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
"""Scores that are at most 1 and can be negative."""

NEGATED_ERRORS: Final = frozenset(
    f"{NEGATED_PREFIX}{error}"
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
"""Negated errors: the errors are at least 0."""

SIGNIFICANT_DIGITS: Final = 9
"""The number of significant digits to which the loss of a constant prediction is rounded."""

DUMMY_MODELS: Final = {
    "classification": (("DummyClassifier", "prior"), ("DummyClassifier", "most_frequent")),
    "regression": (("DummyRegressor", "mean"), ("DummyRegressor", "median")),
}
"""The constant predictions of scikit-learn by kind of task: classes and their strategies."""


class LossRange(Enum):
    """The range of the losses of a metric."""

    FROM_0_TO_1 = 1
    FROM_0_ON = 2
    ANYWHERE = 3


def loss_range(name: str, formula: str, classes: int) -> LossRange:
    """Return the range of the losses that a formula computes from the scorer `name`.

    `classes` is the number of classes, 0 for regression.
    """
    if name in UNIT_SCORES and formula in (name, f"1 - {name}"):
        return LossRange.FROM_0_TO_1
    error = name.removeprefix(NEGATED_PREFIX)
    if name in NEGATED_ERRORS and formula == error:
        # With more classes the Brier score is a sum over them, which some versions of scikit-learn halve.
        return LossRange.FROM_0_TO_1 if error == "brier_score" and classes == 2 else LossRange.FROM_0_ON
    return (
        LossRange.FROM_0_ON if name in NEGATED_ERRORS | AT_MOST_ONE and formula == f"1 - {name}" else LossRange.ANYWHERE
    )


def make_scale(losses: LossRange, constant: Callable[[], float | None]) -> LossScale | None:
    """Return the scale of losses in a range; None means that the scale is centered on the first success.

    `constant` returns the loss of the best constant prediction, or None if there is none. It is called only for losses
    that are at least 0 and unbounded.
    """
    if losses is LossRange.FROM_0_TO_1:
        return UNIT_SCALE
    found = constant() if losses is LossRange.FROM_0_ON else None
    # Rounded: a resumed run may use another version of a library, which may give another last digit.
    width = 0.0 if found is None else float(f"{found:.{SIGNIFICANT_DIGITS}g}")
    return LossScale(0.0, width) if 0 < width < math.inf else None


def best_constant_loss(metric: Metric, kind: Kind, folds: "Sequence[Fold]") -> float | None:
    """Return the smallest mean loss over the folds of a constant prediction, or None if none can be computed.

    The prediction is learned from all training rows of each fold.
    """
    found = [_mean_dummy_loss(metric, *each, folds) for each in DUMMY_MODELS[kind]]
    return min((loss for loss in found if math.isfinite(loss)), default=None)


def _mean_dummy_loss(metric: Metric, model: str, strategy: str, folds: "Sequence[Fold]") -> float:
    from sklearn import dummy

    try:
        with warnings.catch_warnings():
            # Some metrics warn about constant predictions.
            warnings.simplefilter("ignore")
            return fmean(_dummy_loss(metric, getattr(dummy, model)(strategy=strategy), fold) for fold in folds)
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return math.nan  # such as the logarithm of a negative target


def _dummy_loss(metric: Metric, model: Any, fold: "Fold") -> float:
    training, held_out = (np.zeros((len(each), 1)) for each in (fold.training_target, fold.held_out_target))
    return metric.loss(model.fit(training, fold.training_target), held_out, fold.held_out_target)
