"""Metrics: losses of fitted pipelines on held-out rows, always to be minimized."""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from spacelang.ir.task import NEGATED_PREFIX, Kind, ScorerGoal
from spacelang.ir.trial import FROM_ONE, UNIT_SCALE, LossName, LossScale
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.errors import MetricError
from spacelang.spelling_suggestions import format_suggestion
from spacelang.text import format_names

if TYPE_CHECKING:
    from spacelang.runtime.evaluation.folds import PreparedFold


POSITIVE_CLASS_SCORERS: Final = frozenset((
    *("average_precision", "f1", "jaccard", "precision", "recall"),
    *("neg_negative_likelihood_ratio", "positive_likelihood_ratio"),
))  # fmt: skip
"""The scorers of binary classification whose score depends on which class is the positive one."""
LossFunction: TypeAlias = Callable[[Any, Any, Any], float]
"""A picklable function of a fitted pipeline, features and target that returns the number to minimise."""
BatchLoss: TypeAlias = Callable[[npt.NDArray[np.float64], npt.NDArray[Any]], npt.NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Metric(LossName):
    """A loss with its name, formula and function, which may return any number and raise what the pipeline raises."""

    loss: LossFunction = field(compare=False, repr=False)


def default_metric(dataset: Dataset) -> Metric:
    """Return 1 - AUROC for two classes, 1 - balanced accuracy for more, and 1 - R² for regression.

    For several targets, R² is the mean over the targets, and classifications have 1 - the mean F1 of the labels.
    """
    if dataset.has_several_targets and dataset.kind == "classification":
        return named_metric("f1_macro")
    if dataset.kind == "regression":
        return named_metric("r2")
    two = len(dataset.classes) == 2
    return Metric("roc_auc", "1 - roc_auc", _auroc_loss) if two else named_metric("balanced_accuracy")


def named_metric(name: str) -> Metric:
    """Return the loss of a scorer (1 - score, or the error of `neg_*`); raise MetricError for an unknown name."""
    return metric_of_goal(ScorerGoal("maximize", name))


def metric_of_goal(goal: ScorerGoal) -> Metric:
    """Return the loss of a goal; raise MetricError for an unknown scorer.

    It is the score itself if that is minimized, 1 - score if it is maximized, and the error for a scorer `neg_*`.
    """
    name, scorer = goal.scorer, find_scorer(goal.scorer)
    if (goal.direction == "maximize") == goal.from_one:
        return Metric(name, name, ScorerLoss(scorer))
    if name.startswith(NEGATED_PREFIX) and not goal.from_one:
        return Metric(name, name.removeprefix(NEGATED_PREFIX), ScorerLoss(scorer, -1.0))
    return Metric(name, f"{FROM_ONE}{name}", ScorerLoss(scorer, -1.0, 1.0))


def find_scorer(name: str) -> Any:
    """Return the scikit-learn scorer with this name; raise MetricError if there is none."""
    from sklearn.metrics import get_scorer, get_scorer_names

    known = get_scorer_names()
    if name not in known:
        remedy = format_suggestion(name, known) or "use the name of a scikit-learn scorer"
        raise MetricError(f"unknown metric `{name}`", remedy)
    return get_scorer(name)


def check_metric(metric: Metric, dataset: Dataset) -> None:
    """Check before the search that a metric can be computed; raise MetricError with the reason of the library."""
    if dataset.kind == "classification" and _is_regression_metric(metric):
        help_text = "a metric for regression treats the classes as numbers: choose a metric for classification"
        raise MetricError(f"the metric `{metric.name}` is for regression", help_text)
    try:
        constant_prediction_loss(metric, dataset, dataset)
    except (ValueError, TypeError, AttributeError) as error:
        targets = f"{dataset.kind} with {len(dataset.classes)} classes" if dataset.classes else dataset.kind
        targets = f"{targets} of several targets" if dataset.has_several_targets else targets
        fitting = _fitting_variants(metric.name, dataset)
        remedy = f"use {format_names(fitting)}" if fitting else _first_line(error)
        raise MetricError(f"the metric `{metric.name}` cannot be computed for {targets}", remedy) from error


def _fitting_variants(name: str, dataset: Dataset) -> list[str]:
    """Return the variants of a scorer that can be computed, such as `f1_macro` for `f1`.

    Those that count all classes alike, `macro` and `ovr` (one versus rest), come first.
    """
    from sklearn.metrics import get_scorer_names

    names = [each for each in get_scorer_names() if each.startswith(f"{name}_")]
    fitting = [each for each in names if _is_computable(named_metric(each), dataset)]
    return sorted(fitting, key=lambda each: not each.endswith(("_macro", "_ovr")))


def _is_computable(metric: Metric, dataset: Dataset) -> bool:
    try:
        return math.isfinite(constant_prediction_loss(metric, dataset, dataset))
    except (ValueError, TypeError, AttributeError):
        return False


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "")


def scorers_depending_on_positive_class(names: Iterable[str], dataset: Dataset) -> tuple[str, ...]:
    """Return those of the scorers that depend on the positive class, the second one, if there are two classes."""
    return tuple(name for name in dict.fromkeys(names) if name in POSITIVE_CLASS_SCORERS and len(dataset.classes) == 2)


def constant_prediction_loss(metric: Metric, dataset: Dataset, tested: Dataset) -> float:
    """Return the loss on `tested` of a constant prediction: the shares of the classes in `dataset`, or its mean target.

    What the metric raises is raised.
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor

    model = DummyClassifier(strategy="prior") if dataset.kind == "classification" else DummyRegressor()
    return _dummy_loss(metric, model, dataset.target.to_numpy(), tested.target.to_numpy())


def _dummy_loss(metric: Metric, model: Any, training: Any, held_out: Any) -> float:
    seen, unseen = (np.zeros((len(each), 1)) for each in (training, held_out))
    with warnings.catch_warnings():
        # Some metrics warn about constant predictions.
        warnings.simplefilter("ignore")
        return metric.loss(model.fit(seen, training), unseen, held_out)


def check_metric_on_splits(metric: Metric, dataset: Dataset, held_out: Sequence[npt.NDArray[np.int64]]) -> None:
    """Raise MetricError if a metric is undefined on the held-out rows of a split, because they lack a class."""
    target = dataset.target.to_numpy()
    for place, rows in enumerate(held_out, start=1):
        found = np.unique(target[rows])
        if not dataset.is_stratified or len(found) == len(dataset.classes):
            continue
        if math.isnan(_constant_loss_or_nan(metric, target, target[rows])):
            classes = f"`{dataset.classes[int(found[0])]}` alone" if len(found) == 1 else f"only {len(found)} classes"
            split = f"split {place} of {len(held_out)}, which holds out {classes}"
            what = f"the metric `{metric.name}` is undefined on {split}"
            raise MetricError(what, "use a metric such as `--metric accuracy`, fewer folds, or another validation")


def _constant_loss_or_nan(metric: Metric, training: Any, held_out: Any) -> float:
    from sklearn.dummy import DummyClassifier

    try:
        return _dummy_loss(metric, DummyClassifier(strategy="prior"), training, held_out)
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return math.nan


def _is_regression_metric(metric: Metric) -> bool:
    """Return True for scikit-learn's regression metrics, which would silently accept class codes as numbers."""
    function = getattr(getattr(metric.loss, "scorer", None), "_score_func", None)
    return getattr(function, "__module__", "").endswith("metrics._regression")


@dataclass(frozen=True, slots=True)
class ScorerLoss:
    """A loss computed from a scorer: `offset + sign * score`."""

    scorer: LossFunction
    sign: float = 1.0
    offset: float = 0.0

    def __call__(self, pipeline: Any, features: Any, target: Any) -> float:
        """Return the loss of a fitted pipeline on these rows."""
        return self.offset + self.sign * float(self.scorer(pipeline, features, target))


def _auroc_loss(pipeline: Any, features: Any, target: Any) -> float:
    from sklearn.metrics import roc_auc_score

    if hasattr(pipeline, "predict_proba"):
        scores = pipeline.predict_proba(features)[:, 1]
    elif hasattr(pipeline, "decision_function"):
        scores = pipeline.decision_function(features)
    else:
        raise TypeError("the pipeline gives neither probabilities nor a decision function")
    return 1.0 - float(roc_auc_score(target, scores))


def auroc_loss(probabilities: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return m losses, 1 - AUROC of each model, from m x n x 2 probabilities; nan if only one class is present."""
    from scipy.stats import rankdata

    is_second = target == 1
    second = int(is_second.sum())
    pairs = second * (len(target) - second)
    if not pairs:
        return np.full(len(probabilities), np.nan)
    ranks = rankdata(probabilities[:, :, 1], axis=1)[:, is_second].sum(axis=1)
    return np.asarray(1 - (ranks - second * (second + 1) / 2) / pairs)


def accuracy_loss(probabilities: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the error rate of each of m models, from m x n x classes probabilities.

    It is the share of rows whose most probable class is wrong.
    """
    return np.asarray(np.mean(probabilities.argmax(axis=2) != target, axis=1))


def balanced_accuracy_loss(probabilities: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return 1 - balanced accuracy of each of m models, from m x n x classes probabilities.

    It is the mean error rate of the classes that are present.
    """
    wrong = probabilities.argmax(axis=2) != target
    return np.asarray(np.mean([wrong[:, target == each].mean(axis=1) for each in np.unique(target)], axis=0))


def log_loss(probabilities: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the log loss of each of m models, from m x n x classes probabilities; nan if a class is not present.

    It is the mean negative logarithm of the probability of the true class.
    """
    if len(np.unique(target)) < probabilities.shape[2]:
        return np.full(len(probabilities), np.nan)
    given = probabilities[:, np.arange(len(target)), target]
    epsilon = np.finfo(np.float64).eps
    return np.asarray(-np.mean(np.log(np.clip(given, epsilon, 1 - epsilon)), axis=1))


def r2_loss(numbers: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return 1 - R² of each of m models, from m x n predictions.

    If all targets are equal, it is 0 for exact predictions and 1 for others.
    """
    residual, total = np.sum((numbers - target) ** 2, axis=1), np.sum((target - target.mean()) ** 2)
    return np.asarray(residual / total if total else (residual > 0).astype(np.float64))


def mean_squared_error(numbers: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the mean squared error of each of m models, from m x n predictions."""
    return np.asarray(np.mean((numbers - target) ** 2, axis=1))


def root_mean_squared_error(numbers: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the root mean squared error of each of m models, from m x n predictions."""
    return np.sqrt(mean_squared_error(numbers, target))


def mean_absolute_error(numbers: npt.NDArray[np.float64], target: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the mean absolute error of each of m models, from m x n predictions."""
    return np.asarray(np.mean(np.abs(numbers - target), axis=1))


CLASSIFICATION_LOSSES: Final[Mapping[str, BatchLoss]] = {
    "1 - accuracy": accuracy_loss,
    "1 - balanced_accuracy": balanced_accuracy_loss,
    "log_loss": log_loss,
}
REGRESSION_LOSSES: Final[Mapping[str, BatchLoss]] = {
    "1 - r2": r2_loss,
    "mean_squared_error": mean_squared_error,
    "root_mean_squared_error": root_mean_squared_error,
    "mean_absolute_error": mean_absolute_error,
}


def vectorised_loss(formula: str, classes: int) -> BatchLoss | None:
    """Return the function that computes a loss for many models at once, by its formula; None if there is none.

    `classes` is the number of classes, 0 for regression.
    """
    if formula == "1 - roc_auc" and classes == 2:
        return auroc_loss
    return (CLASSIFICATION_LOSSES if classes else REGRESSION_LOSSES).get(formula)


_AVERAGES: Final = ("", "_macro", "_micro", "_samples", "_weighted")
UNIT_SCORES: Final = frozenset((
    *("accuracy", "average_precision", "balanced_accuracy", "completeness_score", "fowlkes_mallows_score"),
    *("homogeneity_score", "normalized_mutual_info_score", "rand_score", "top_k_accuracy", "v_measure_score"),
    *(f"roc_auc{each}" for each in ("", "_ovo", "_ovo_weighted", "_ovr", "_ovr_weighted")),
    *(f"{score}{each}" for score in ("f1", "jaccard", "precision", "recall") for each in _AVERAGES),
))  # fmt: skip
"""Scores from 0 to 1."""
AT_MOST_ONE: Final = frozenset((
    *("adjusted_mutual_info_score", "adjusted_rand_score", "explained_variance", "matthews_corrcoef", "r2"),
    *("d2_absolute_error_score", "d2_brier_score", "d2_log_loss_score"),
))  # fmt: skip
"""Scores that are at most 1 and can be negative."""
NEGATED_ERRORS: Final = frozenset(
    f"{NEGATED_PREFIX}{error}"
    for error in (
        *("brier_score", "log_loss", "max_error", "mean_absolute_error", "mean_absolute_percentage_error"),
        *("mean_gamma_deviance", "mean_poisson_deviance", "mean_squared_error", "mean_squared_log_error"),
        *("median_absolute_error", "negative_likelihood_ratio"),
        *("root_mean_squared_error", "root_mean_squared_log_error"),
    )
)
"""Negated errors: the errors are at least 0."""
SIGNIFICANT_DIGITS: Final = 9  # The number of significant digits to which the loss of a constant prediction is rounded
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
    """Return the range of the losses that a `formula` gives for the scorer `name`.

    `classes` is the number of classes, 0 for regression.
    """
    if name in UNIT_SCORES and formula in (name, f"1 - {name}"):
        return LossRange.FROM_0_TO_1
    error = name.removeprefix(NEGATED_PREFIX)
    if name in NEGATED_ERRORS and formula == error:
        # With more classes the Brier score is a sum over them, which some versions of scikit-learn halve.
        return LossRange.FROM_0_TO_1 if error == "brier_score" and classes == 2 else LossRange.FROM_0_ON
    is_from_0 = name in NEGATED_ERRORS | AT_MOST_ONE and formula == f"1 - {name}"
    return LossRange.FROM_0_ON if is_from_0 else LossRange.ANYWHERE


def make_loss_scale(losses: LossRange, constant: Callable[[], float | None]) -> LossScale | None:
    """Return the scale by which losses are normalized; None if the first success is to set it.

    Losses from 0 to 1 are not scaled. Losses from 0 on are divided by the loss of a constant prediction, which
    `constant` returns. For others, or if that loss is not positive and finite, it is None.
    """
    if losses is LossRange.FROM_0_TO_1:
        return UNIT_SCALE
    found = constant() if losses is LossRange.FROM_0_ON else None
    # Rounded: a resumed run may use another version of a library, which may give another last digit.
    width = 0.0 if found is None else float(f"{found:.{SIGNIFICANT_DIGITS}g}")
    return LossScale(0.0, width) if 0 < width < math.inf else None


def best_constant_loss(metric: Metric, kind: Kind, folds: "Sequence[PreparedFold]") -> float | None:
    """Return the smallest mean loss over the folds that a constant prediction has; None if it is undefined.

    The constants are learned from all training rows of each fold.
    """
    found = [_mean_dummy_loss(metric, *each, folds) for each in DUMMY_MODELS[kind]]
    return min((loss for loss in found if math.isfinite(loss)), default=None)


def _mean_dummy_loss(metric: Metric, model: str, strategy: str, folds: "Sequence[PreparedFold]") -> float:
    from sklearn import dummy

    try:
        made = getattr(dummy, model)
        return fmean(
            _dummy_loss(metric, made(strategy=strategy), fold.training_target, fold.held_out_target) for fold in folds
        )
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return math.nan  # such as the logarithm of a negative target
