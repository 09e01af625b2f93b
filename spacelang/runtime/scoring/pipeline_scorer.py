"""Scoring of fitted pipelines on held-out rows, and the means over the folds."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from spacelang.ir.task import AnyBound, Bound, BoundedMeasure, Cost, CostGoal
from spacelang.ir.trial import LossName, Measurement, Request, Status, Trial
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.evaluation.folds import EvaluationSettings, PreparedFold, may_overwrite_input
from spacelang.runtime.evaluation.splits import Rows
from spacelang.runtime.random_state import preserve_global_random_state
from spacelang.runtime.run_deadline import LossComputationTime
from spacelang.runtime.scoring.bound_measures import (
    CachedPredictions,
    mean_of_defined,
    measure_bound,
    measure_latency,
    overflow_safe_mean,
    pickled_size,
)
from spacelang.runtime.scoring.metric import (
    LossFunction,
    Metric,
    check_metric,
    default_metric,
    find_scorer,
    metric_of_goal,
    named_metric,
    vectorised_loss,
)
from spacelang.runtime.scoring.user_functions import Constraint, ConstraintError, protect_from_changes, scorer_metric


@dataclass(frozen=True, slots=True)
class FittedFold:
    """A pipeline fitted on a fold in `seconds`; `predictor` is its last step, which takes the rows `held_out`."""

    pipeline: Any
    predictor: Any
    held_out: Any
    seconds: float = math.nan


@dataclass(frozen=True, slots=True, eq=False)
class FoldScores:
    """The scores of a pipeline on one fold; nan is undefined.

    `constraints`, `metrics` and `other_objectives` (all but the loss) are in the order of the `PipelineScorer`.
    `predictions` have the format of `Trial.predictions`. They are None if they were not requested or could not be
    computed.
    """

    loss: float
    constraints: tuple[float, ...] = ()
    metrics: tuple[float, ...] = ()
    training_loss: float = math.nan
    predictions: npt.NDArray[np.float64] | None = None
    other_objectives: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class PipelineScorer:
    """The measurements of every trial: its loss, its bounded quantities and its recorded metrics.

    `bounds` are those of the task, `constraints` those of the user, `scorers` are pairs of name and function. `classes`
    is the number of classes, 0 for regression, or None if predictions are not stored. `other_objectives` are all but
    the loss.
    """

    metric: Metric
    bounds: tuple[Bound, ...]
    clock: Callable[[], float]
    constraints: tuple[Constraint, ...] = ()
    scorers: tuple[tuple[str, LossFunction], ...] = ()
    training_score: bool = False
    classes: int | None = None
    other_objectives: tuple[Metric | Cost, ...] = ()

    @property
    def objective_names(self) -> tuple[LossName, ...]:
        """The names of several objectives, the loss first; empty if the loss is the only one."""
        names = [
            each if isinstance(each, Metric) else LossName(each.value, each.value) for each in self.other_objectives
        ]
        return (self.metric, *names) if names else ()

    @property
    def all_bounds(self) -> tuple[AnyBound, ...]:
        """All bounds that a trial must satisfy, in the order of its measurements."""
        return (*self.bounds, *(each.bound for each in self.constraints))

    def score(self, fitted: FittedFold, fold: PreparedFold, fidelity: int | None) -> FoldScores:
        """Score a pipeline on the held-out rows of a fold; it was fitted on the first `fidelity` training rows.

        Raise what the pipeline raises for the loss and the bounds, and ConstraintError. Metrics that are only recorded
        never raise or change anything: a failing metric is undefined. If the loss is not finite, nothing else is
        measured.
        """
        writes = self._measures_more and may_overwrite_input(fitted.pipeline)
        answers = CachedPredictions(fitted.predictor, fitted.held_out, writes=writes)
        loss = self.metric.loss(answers, fitted.held_out, fold.held_out_target)
        if not self._measures_more or not math.isfinite(loss):
            return FoldScores(loss)
        rows = (fold.held_out, fold.held_out_target)
        with preserve_global_random_state():
            return FoldScores(
                loss,
                metrics=tuple(_score_or_nan(scorer, answers, None, fold.held_out_target) for _, scorer in self.scorers),
                other_objectives=tuple(
                    self._objective(each, fitted, answers, fold, writes) for each in self.other_objectives
                ),
                predictions=self._predictions(answers),
                training_loss=self._training_loss(fitted.pipeline, fold, fidelity, writes),
                # Functions of the user come last: they may change the pipeline, and nothing is measured afterwards.
                constraints=(
                    *(measure_bound(b, fitted.pipeline, answers, fold, self.clock, writes=writes) for b in self.bounds),
                    *(each.measure(fitted.pipeline, *map(protect_from_changes, rows)) for each in self.constraints),
                ),
            )

    def make_trial(
        self,
        request: Request,
        judgements: Sequence[FoldScores],
        cost: float,
        cost_alone: float | None = None,
        *,
        is_partial: bool = False,
    ) -> Trial:
        """Return the trial of a request from its scores on all folds, or on some of them if `is_partial`.

        Each value is the mean over the folds. Folds in which a metric or a bounded quantity is undefined are left out
        of its mean; the loss must be defined in all. Predictions are concatenated fold by fold, or None if those of a
        fold are missing. If the mean loss or another objective is not finite, the trial has failed, and has no other
        measurements.
        """
        loss = overflow_safe_mean([each.loss for each in judgements])
        if not math.isfinite(loss):
            reason = f"the {self.metric.name} is {loss}"
            return Trial(request, None, cost, Status.INVALID, reason, cost_alone=cost_alone)
        values = (loss, *_means([each.other_objectives for each in judgements])) if self.other_objectives else ()
        objectives = tuple(zip((each.formula for each in self.objective_names), values, strict=True))
        for name, value in objectives:
            if not math.isfinite(value):
                return Trial(request, None, cost, Status.INVALID, f"the {name} is {value}", cost_alone=cost_alone)
        training_loss = mean_of_defined(each.training_loss for each in judgements)
        metrics = _means([each.metrics for each in judgements])
        return Trial(
            request,
            loss,
            cost,
            constraints=tuple(map(Measurement, self.all_bounds, _means([each.constraints for each in judgements]))),
            cost_alone=cost_alone,
            metrics=tuple(zip((name for name, _ in self.scorers), metrics, strict=True)),
            training_loss=None if math.isnan(training_loss) else training_loss,
            predictions=None if is_partial else _concatenate([each.predictions for each in judgements]),
            folds=len(judgements) if is_partial else None,
            objectives=objectives,
        )

    @property
    def _measures_more(self) -> bool:
        records = bool(self.scorers) or self.training_score or self.classes is not None
        return records or bool(self.bounds) or bool(self.constraints) or bool(self.other_objectives)

    def _objective(
        self, objective: Metric | Cost, fitted: FittedFold, answers: CachedPredictions, fold: PreparedFold, writes: bool
    ) -> float:
        """Return the value of an objective other than the loss; raise what the pipeline raises."""
        match objective:
            case Metric():
                return objective.loss(answers, fitted.held_out, fold.held_out_target)
            case Cost.FIT:
                return fitted.seconds
            case Cost.SIZE:
                return float(pickled_size(fitted.pipeline))
            case Cost.LATENCY:
                return measure_latency(
                    fitted.pipeline, fold.held_out, len(fold.held_out_target), self.clock, writes=writes
                )
            case _:
                assert_never(objective)

    def _predictions(self, answers: CachedPredictions) -> npt.NDArray[np.float64] | None:
        if self.classes is None:
            return None
        try:
            return prediction_array(answers, self.classes)
        except Exception:  # noqa: BLE001 - missing predictions must not fail a trial that has a loss
            return None

    def _training_loss(self, pipeline: Any, fold: PreparedFold, fidelity: int | None, writes: bool) -> float:
        if not self.training_score:
            return math.nan
        # The whole pipeline: some steps transform rows differently while they are fitted on them.
        features, target = fold.training_rows(fidelity, own=writes)
        found = _score_or_nan(self.metric.loss, pipeline, features, target)
        return found if math.isfinite(found) else math.nan


def make_pipeline_scorer(settings: EvaluationSettings, dataset: Dataset, clock: Callable[[], float]) -> PipelineScorer:
    """Create the scorer of a run; raise MetricError for unsuitable metrics, and ConstraintError for equal names."""
    for bound in settings.bounds:
        if bound.measure is BoundedMeasure.DISPARITY:
            check_metric(named_metric(bound.scorer), dataset)
    names = tuple(dict.fromkeys(settings.metrics))
    for name in names:
        check_metric(named_metric(name), dataset)
    if settings.scorer is not None:
        metric = scorer_metric(settings.scorer, dataset.classes)
    else:
        metric = default_metric(dataset) if settings.goal is None else metric_of_goal(settings.goal)
    check_metric(metric, dataset)
    other_objectives = tuple(
        each.measure if isinstance(each, CostGoal) else metric_of_goal(each) for each in settings.further_goals
    )
    for each in other_objectives:
        if isinstance(each, Metric):
            check_metric(each, dataset)
    _check_unique_names(settings.constraints)
    scorers = tuple((name, find_scorer(name)) for name in names)
    classes, bounds = len(dataset.classes) if settings.predictions else None, settings.bounds
    own, training_score = settings.constraints, settings.training_score
    return PipelineScorer(metric, bounds, clock, own, scorers, training_score, classes, other_objectives)


def prediction_array(answers: Any, classes: int) -> npt.NDArray[np.float64]:
    """Return predictions as floats: n numbers, or n x `classes` probabilities.

    A classifier without probabilities has 1 for the predicted class. A class that the pipeline has not learned has 0.
    """
    if not classes:
        return np.asarray(answers.predict(None), np.float64).reshape(-1)
    learned = np.asarray(answers.classes_, np.int64)
    if hasattr(answers, "predict_proba"):
        given = np.asarray(answers.predict_proba(None), np.float64)
    else:
        given = (np.asarray(answers.predict(None)).reshape(-1, 1) == learned).astype(np.float64)
    found = np.zeros((len(given), classes))
    found[:, learned] = given
    return found


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutRows:
    """The n held-out rows that the predictions of trials are for, in the same order: fold after fold.

    `rows` are their numbers in the table, from 0. `target` is their true target: a number, or the index of the class in
    `classes`. `folds` is the index of the fold that holds out each row, and `groups` the number of its group, if rows
    have any.
    """

    rows: Rows
    target: npt.NDArray[Any]
    folds: npt.NDArray[np.int64]
    classes: tuple[Any, ...]
    groups: Rows | None = None


def held_out_rows(folds: Sequence[PreparedFold], dataset: Dataset) -> HeldOutRows:
    """Return the held-out rows of all folds of a data set."""
    rows, groups = np.concatenate([fold.rows for fold in folds]), dataset.relations.groups
    return HeldOutRows(
        rows,
        np.concatenate([fold.held_out_target for fold in folds]),
        np.repeat(np.arange(len(folds)), [len(fold.rows) for fold in folds]),
        dataset.classes,
        None if groups is None else groups[rows],
    )


def _score_or_nan(score: LossFunction, pipeline: Any, features: Any, target: Any) -> float:
    try:
        return float(score(pipeline, features, target))
    except Exception:  # noqa: BLE001 - an extra metric must not fail a trial
        return math.nan


def _means(folds: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(map(mean_of_defined, zip(*folds, strict=True)))


def _concatenate(parts: Sequence[npt.NDArray[np.float64] | None]) -> npt.NDArray[np.float64] | None:
    there = [part for part in parts if part is not None]
    return np.concatenate(there) if len(there) == len(parts) else None


def _check_unique_names(constraints: Sequence[Constraint]) -> None:
    names = [constraint.name for constraint in constraints]
    for name in names:
        if names.count(name) > 1:
            raise ConstraintError(f"two constraints are called `{name}`", "give each its own name")


PredictionLoss: TypeAlias = Callable[[npt.NDArray[np.float64]], float]
"""A function from predictions for the held-out rows to their loss; nan if the loss is undefined."""
BatchPredictionLoss: TypeAlias = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
"""A function from m such predictions in one array to m losses, which may differ from the exact ones by rounding."""


def make_prediction_loss_function(held_out: HeldOutRows, metric: Metric) -> PredictionLoss:
    """Return a function from predictions as in `Trial` to their loss, the mean over the folds, or nan if undefined."""
    folds = _rows_by_fold(held_out)
    targets = [held_out.target[rows] for rows in folds]
    made = StoredProbabilitiesClassifier if held_out.classes else StoredNumbersRegressor

    def judged(predictions: npt.NDArray[np.float64]) -> float:
        models = [made(predictions[rows]) for rows in folds]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return overflow_safe_mean(
                    [metric.loss(model, None, target) for model, target in zip(models, targets, strict=True)]
                )
        except Exception:  # noqa: BLE001 - a metric may raise anything where it is undefined
            return math.nan

    return judged


def make_batch_prediction_loss_function(held_out: HeldOutRows, metric: Metric) -> BatchPredictionLoss:
    """Return `make_prediction_loss_function` for many predictions in one array, about a hundred times as fast."""
    many = None if held_out.target.ndim > 1 else vectorised_loss(metric.formula, len(held_out.classes))
    if many is None:
        judged = make_prediction_loss_function(held_out, metric)
        return lambda stack: np.array([judged(each) for each in stack])
    folds = _rows_by_fold(held_out)
    return lambda stack: np.mean([many(stack[:, rows], held_out.target[rows]) for rows in folds], axis=0)


TIMED_MODELS: Final = 8  # The number of models whose losses are timed in one call
TIMINGS: Final = 3  # The number of timings, of which the shortest counts: other programs delay the others


def measure_loss_seconds(held_out: HeldOutRows, metric: Metric) -> LossComputationTime:
    """Return the seconds of losses of predictions for held-out rows, measured with random predictions."""
    rows, rng = len(held_out.target), np.random.default_rng(0)
    stack = _draw_predictions(held_out, TIMED_MODELS, rng)
    losses_of = make_batch_prediction_loss_function(held_out, metric)
    losses_of(stack[:1])  # the first call may import what the metric needs
    one, several = (min(_time_call(losses_of, stack[:count]) for _ in range(TIMINGS)) for count in (1, TIMED_MODELS))
    of_row = max(several - one, 0.0) / (TIMED_MODELS - 1) / rows
    return LossComputationTime(max(one - rows * of_row, 0.0), of_row)


def _draw_predictions(held_out: HeldOutRows, models: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Return random predictions of some models; of several targets all are 0 or 1, which any metric takes."""
    if held_out.target.ndim > 1:
        return rng.integers(2, size=(models, *held_out.target.shape)).astype(np.float64)
    drawn = rng.random((models, len(held_out.target), max(len(held_out.classes), 1)))
    return drawn / drawn.sum(axis=2, keepdims=True) if held_out.classes else drawn[:, :, 0]


def _time_call(losses_of: BatchPredictionLoss, stack: npt.NDArray[np.float64]) -> float:
    started = perf_counter()
    losses_of(stack)
    return perf_counter() - started


def _rows_by_fold(held_out: HeldOutRows) -> list[Rows]:
    return [np.flatnonzero(held_out.folds == number) for number in range(int(held_out.folds[-1]) + 1)]


class StoredProbabilitiesClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier of the classes 0, 1, … with stored predictions: `answers` are n x classes probabilities."""

    def __init__(self, answers: Any) -> None:
        self.answers = answers
        self.classes_ = np.arange(answers.shape[1])

    def predict_proba(self, _features: Any) -> Any:
        """Return the stored probabilities."""
        return self.answers

    def predict(self, _features: Any) -> Any:
        """Return the most probable classes; of equally probable ones, the first."""
        return self.answers.argmax(axis=1)


class StoredNumbersRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted regressor with stored predictions: `answers` are n numbers."""

    def __init__(self, answers: Any) -> None:
        self.answers = answers

    def predict(self, _features: Any) -> Any:
        """Return the stored numbers."""
        return self.answers
