"""The loss and the bounds of a fitted pipeline on test rows, with confidence intervals."""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from statistics import median
from typing import Any, Final, assert_never

import numpy as np
import numpy.typing as npt
import pandas as pd

from spacelang.ir.task import AnyBound, Bound, BoundedMeasure
from spacelang.ir.trial import TestScore, UnseenRowsMeasurement
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.errors import describe_exception
from spacelang.runtime.evaluation.folds import PreparedFold, may_overwrite_input
from spacelang.runtime.evaluation.splits import Rows
from spacelang.runtime.random_state import preserve_global_random_state
from spacelang.runtime.scoring import bound_measures
from spacelang.runtime.scoring.bound_measures import CachedPredictions
from spacelang.runtime.scoring.metric import LossFunction, Metric, find_scorer, vectorised_loss
from spacelang.runtime.scoring.pipeline_scorer import HeldOutRows, PipelineScorer, make_batch_prediction_loss_function
from spacelang.runtime.scoring.user_functions import Constraint, protect_from_changes
from spacelang.text import count_with_noun

MAX_RESAMPLES: Final = 1_000  # The largest number of bootstrap resamples of the test rows
MIN_RESAMPLES: Final = 200  # The smallest number of resamples, if there are many rows
MAX_RESAMPLED_ROWS: Final = 10_000_000
"""The number of rows over all resamples; it limits the resamples, of which there are at least `MIN_RESAMPLES`."""
PERCENTILES: Final = (2.5, 97.5)  # The percentiles of the resampled losses that are the ends of a 95 % interval
MAX_UNDEFINED_SHARE: Final = 0.1  # The largest share of resamples without a loss for which an interval is given
SEED_STREAM: Final = 12_074  # Combined with the seed, so that resamples are drawn independently of everything else
TIMING_COUNT: Final = 30  # The number of timings of a prediction: enough for an interval of the median
MAX_GROUP_SCORES: Final = 1_000
"""The number of group scores over all resamples. It limits the resamples; `MIN_RESAMPLES` is their minimum."""
MIN_GROUPS: Final = 5  # The fewest groups for an interval: resamples of fewer hardly differ from each other
MAX_FUNCTION_SECONDS: Final = 10.0  # The seconds that a user's function may take for all resamples


def score_with_interval(
    pipeline: Any,
    features: Any,
    tested: Dataset,
    metric: Metric,
    seed: int,
    *,
    has_interval: bool = True,
    interval_seconds: float | None = None,
) -> TestScore:
    """Return the loss of a fitted pipeline on the test rows, with a 95 % percentile bootstrap interval.

    `features` are the features of the test rows in the form that the pipeline takes; the pipeline predicts labels as
    the user wrote them. It predicts once. Resamples are drawn with replacement from all of its predictions, without
    stratification, so that the shares of classes may vary, too. Resamples without a defined loss are ignored. There is
    no interval if the rows are of fewer than `MIN_GROUPS` groups, or if it would take more than `interval_seconds` from
    the start of this function on. If the pipeline raises, the score has a reason instead of a loss; this function does
    not raise.
    """
    started, target, rows = time.monotonic(), tested.target.to_numpy(), len(tested.target)
    answers = CachedPredictions(_CodePredictor(pipeline, tested.classes) if tested.classes else pipeline, features)
    try:
        loss = metric.loss(answers, features, target)
    except Exception as error:  # noqa: BLE001 - a user's pipeline may raise anything on unseen rows
        return TestScore(None, None, None, rows, describe_exception(error))
    if not math.isfinite(loss):
        return TestScore(None, None, None, rows, f"the {metric.name} is {loss}")
    if not has_interval:
        return TestScore(loss, None, None, rows)
    until = math.inf if interval_seconds is None else started + interval_seconds
    groups = tested.relations.groups
    if reason := _too_few_groups(groups):
        return TestScore(loss, None, None, rows, reason)
    losses = resampled_losses(answers, target, metric, seed, len(tested.classes), until, groups)
    if len(losses) < resample_count(rows):
        return TestScore(loss, None, None, rows, "no interval: the time was up")
    low, high, reason = percentile_interval(losses, metric.name)
    return TestScore(loss, low, high, rows, reason)


def _too_few_groups(groups: Rows | None) -> str:
    """Return the reason why rows of these groups have no interval; empty if they have one."""
    if groups is None or (count := len(np.unique(groups))) >= MIN_GROUPS:
        return ""
    return f"no interval: the rows are of {count_with_noun(count, 'group')} only"


def resampled_losses(
    answers: CachedPredictions,
    target: Any,
    metric: Metric,
    seed: int,
    classes: int,
    until: float = math.inf,
    groups: Rows | None = None,
) -> Any:
    """Return the losses on bootstrap resamples, nan if undefined; `answers` must have been asked for all rows.

    No further resample is evaluated once `time.monotonic()` has reached `until`. Rows are resampled in whole `groups`,
    if there are any.
    """
    judged = _loss_of_rows(answers, target, metric, classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = bootstrap_rows(len(target), seed, groups=groups)
        resamples = takewhile(lambda _: time.monotonic() < until, drawn)
        return np.array([judged(rows) for rows in resamples])


def bootstrap_rows(count: int, seed: int, most: int | None = None, *, groups: Rows | None = None) -> Iterator[Rows]:
    """Yield arrays of row positions: bootstrap resamples of `count` rows, at most `most`, determined by the seed.

    With the group of each row, whole groups are drawn, as many as there are: rows of one group are not independent.
    """
    rng = np.random.default_rng([seed, SEED_STREAM])
    times = resample_count(count)
    draw = bootstrap_row_sampler(count, groups)
    for _ in range(times if most is None else min(times, most)):
        yield draw(rng)


def bootstrap_row_sampler(count: int, groups: Rows | None) -> Callable[[np.random.Generator], Rows]:
    """Return a function that draws a bootstrap resample: positions of `count` rows, in whole groups if given."""
    if groups is None:
        return lambda rng: rng.integers(0, count, count)
    order = np.argsort(groups, kind="stable")
    _, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)

    def draw(rng: np.random.Generator) -> Rows:
        chosen = rng.integers(0, len(starts), len(starts))
        lengths = sizes[chosen]
        ends = np.cumsum(lengths)
        found: Rows = order[np.arange(ends[-1]) + np.repeat(starts[chosen] - ends + lengths, lengths)]
        return found

    return draw


def resample_count(rows: int) -> int:
    """Return the number of bootstrap resamples of `rows` test rows: `MAX_RESAMPLES`, but fewer for many rows.

    All together have about `MAX_RESAMPLED_ROWS` rows at most, but there are at least `MIN_RESAMPLES`.
    """
    return min(MAX_RESAMPLES, max(MIN_RESAMPLES, MAX_RESAMPLED_ROWS // max(rows, 1)))


def percentile_interval(
    values: Any, name: str, *, may_be_fixed: bool = False
) -> tuple[float | None, float | None, str]:
    """Return the ends of the percentile interval of resampled values, and a reason if there is none.

    There is no interval if too many values are undefined. There is none either if all values are equal. For instance,
    rows that were all predicted correctly give only resamples without an error, though other rows could have errors.
    `may_be_fixed` allows equal values, for quantities that do not depend on the rows, such as the size of a pipeline.
    """
    defined = values[np.isfinite(values)]
    if len(defined) < (1 - MAX_UNDEFINED_SHARE) * len(values):
        lacking = f"{len(values) - len(defined):,} of {len(values):,} resamples"
        return None, None, f"no interval: the {name} is undefined in {lacking}"
    if not may_be_fixed and np.ptp(defined) == 0:
        return None, None, f"no interval: the {name} is the same in all resamples"
    low, high = np.percentile(defined, PERCENTILES)
    return float(low), float(high), ""


def _loss_of_rows(answers: CachedPredictions, target: Any, metric: Metric, classes: int) -> Callable[[Rows], float]:
    """Return a function from row positions to the loss; for usual metrics it is twenty times as fast as the scorer."""
    many, table = vectorised_loss(metric.formula, classes), _prediction_table(answers, len(target), classes)
    if many is None or table is None:
        return lambda rows: _loss_or_nan(answers, target, metric, rows)
    return lambda rows: float(many(table[np.newaxis, rows], target[rows])[0])


def _prediction_table(answers: CachedPredictions, rows: int, classes: int) -> Any:
    """Return the predictions that the metric used, as n numbers or n x classes probabilities for vectorized losses.

    Labels become probabilities 1 and 0. Return None if the metric used several methods, or other shapes.
    """
    match answers.only_cached_prediction():
        case ["predict", found] if found.shape == (rows,):
            return np.eye(classes)[found] if classes else found
        case ["predict_proba", found] if found.shape == (rows, classes):
            return found
        case ["decision_function", found] if found.shape == (rows,):
            return np.column_stack([-found, found])
    return None


def _loss_or_nan(answers: CachedPredictions, target: Any, metric: Metric, rows: Any) -> float:
    try:
        return metric.loss(answers.subset(rows), None, target[rows])
    except Exception:  # noqa: BLE001 - the predictions exist: only the metric can fail on these rows
        return math.nan


class _CodePredictor:
    def __init__(self, pipeline: Any, classes: tuple[Any, ...]) -> None:
        self._pipeline = pipeline
        self._codes = {label: code for code, label in enumerate(classes)}

    @property
    def classes_(self) -> Any:
        return self._encode(self._pipeline.classes_)

    def predict(self, features: Any) -> Any:
        return self._encode(self._pipeline.predict(features))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pipeline, name)

    def _encode(self, labels: Any) -> Any:
        return np.array([self._codes[label] for label in np.asarray(labels).tolist()], dtype=np.int64)


def measure_bounds(
    judge: PipelineScorer, pipeline: Any, fold: PreparedFold, seed: int, related: Rows | None = None
) -> tuple[UnseenRowsMeasurement, ...]:
    """Measure every bound of a fitted pipeline on the held-out rows of a fold, with 95 % intervals.

    Intervals of disparities and of functions of the user are bootstrap percentile intervals over the rows, or over the
    groups of rows that belong together: `related` has the group of each row, and fewer than `MIN_GROUPS` groups have no
    interval. Intervals of latencies are bootstrap percentile intervals over timings; sizes have none. A measure that
    raises has a reason instead of a value; this function does not raise.
    """
    subject = _MeasuredPipeline(pipeline, fold, judge.clock, seed, related)
    with preserve_global_random_state(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measured = [_measure_or_reason(bound, partial(_measure, bound, subject)) for bound in judge.bounds]
        # Functions of the user come last, as in trials.
        for each in judge.constraints:
            measured.append(_measure_or_reason(each.bound, partial(_measure_function, each, subject)))
    return tuple(measured)


@dataclass(frozen=True, slots=True, eq=False)
class _MeasuredPipeline:
    pipeline: Any
    fold: PreparedFold
    clock: Callable[[], float]
    seed: int
    related: Rows | None

    def resamples(self, most: int) -> Iterator[Rows]:
        return bootstrap_rows(self.count, self.seed, most, groups=self.related)

    @property
    def reason_without_interval(self) -> str:
        return _too_few_groups(self.related)

    @property
    def writes(self) -> bool:
        return may_overwrite_input(self.pipeline)

    @property
    def count(self) -> int:
        return len(self.fold.held_out_target)

    @property
    def answers(self) -> CachedPredictions:
        return CachedPredictions(self.pipeline, self.fold.held_out, writes=self.writes)


def _measure_or_reason(bound: AnyBound, measure: Callable[[], UnseenRowsMeasurement]) -> UnseenRowsMeasurement:
    try:
        return measure()
    except Exception as error:  # noqa: BLE001 - a pipeline or a function may raise anything on unseen rows
        return UnseenRowsMeasurement(bound, None, reason=describe_exception(error))


def _measure(bound: Bound, subject: _MeasuredPipeline) -> UnseenRowsMeasurement:
    match bound.measure:
        case BoundedMeasure.LATENCY:
            return _measure_latency(bound, subject)
        case BoundedMeasure.SIZE:
            return UnseenRowsMeasurement(bound, float(bound_measures.pickled_size(subject.pipeline)))
        case BoundedMeasure.DISPARITY:
            return _measure_disparity(bound, subject)
        case _:
            assert_never(bound.measure)


def _measure_latency(bound: Bound, subject: _MeasuredPipeline) -> UnseenRowsMeasurement:
    given = (subject.pipeline, subject.fold.held_out, subject.count, subject.clock, TIMING_COUNT)
    found = np.array(bound_measures.time_predictions(*given, writes=subject.writes))
    medians = [median(found[turns]) for turns in bootstrap_rows(TIMING_COUNT, subject.seed)]
    return _with_interval(bound, median(found), np.array(medians))


def _measure_disparity(bound: Bound, subject: _MeasuredPipeline) -> UnseenRowsMeasurement:
    target, groups, answers = subject.fold.held_out_target, subject.fold.groups[bound.column], subject.answers
    scorer, of_group = find_scorer(bound.scorer), np.full(subject.count, len(groups))
    value = _score_range(bound_measures.group_scores(scorer, answers, target, groups))
    if math.isnan(value):
        reason = f"fewer than two groups of `{bound.column}` have a score on these rows"
        return UnseenRowsMeasurement(bound, None, reason=reason)
    for group, places in enumerate(groups):
        of_group[places] = group
    if reason := subject.reason_without_interval:
        return UnseenRowsMeasurement(bound, float(value), reason=reason)
    drawn = subject.resamples(max(MIN_RESAMPLES, MAX_GROUP_SCORES // len(groups)))
    values = [
        _resampled_disparity(scorer, answers.subset(rows), target[rows], of_group[rows], len(groups)) for rows in drawn
    ]
    return _with_interval(bound, value, np.array(values))


def _resampled_disparity(
    scorer: LossFunction, answers: CachedPredictions, target: Any, of_group: npt.NDArray[Any], groups: int
) -> float:
    there = [places for group in range(groups) if len(places := np.flatnonzero(of_group == group))]
    try:
        return _score_range(bound_measures.group_scores(scorer, answers, target, there))
    except Exception:  # noqa: BLE001 - the predictions exist: only the scorer can fail on these rows
        return math.nan


def _score_range(scores: Sequence[float]) -> float:
    """Return the largest minus the smallest score, or nan if there are fewer than two."""
    return max(scores) - min(scores) if len(scores) > 1 else math.nan


def _measure_function(constraint: Constraint, subject: _MeasuredPipeline) -> UnseenRowsMeasurement:
    """Measure a function of the user on the rows and on resamples, for which predictions are cached."""
    fold, answers = subject.fold, subject.answers
    started = time.perf_counter()
    value = constraint.measure(
        subject.pipeline, protect_from_changes(fold.held_out), protect_from_changes(fold.held_out_target)
    )
    if reason := subject.reason_without_interval:
        return UnseenRowsMeasurement(constraint.bound, None if math.isnan(value) else float(value), reason=reason)
    values: list[float] = []
    for rows in subject.resamples(MIN_RESAMPLES):
        if time.perf_counter() - started > MAX_FUNCTION_SECONDS:
            slow = f"no interval: the function takes more than {MAX_FUNCTION_SECONDS:g} s for {MIN_RESAMPLES} resamples"
            return UnseenRowsMeasurement(constraint.bound, None if math.isnan(value) else value, reason=slow)
        features = protect_from_changes(_select_rows(fold.held_out, rows))
        asked = _with_known_predictions(subject.pipeline, answers.subset(rows), features)
        try:
            values.append(constraint.measure(asked, features, protect_from_changes(fold.held_out_target[rows])))
        except Exception:  # noqa: BLE001 - it succeeded on all rows, but fails on this resample
            values.append(math.nan)
    return _with_interval(constraint.bound, value, np.array(values), may_be_fixed=True)


def _with_interval(
    bound: AnyBound, value: float, values: npt.NDArray[np.float64], *, may_be_fixed: bool = False
) -> UnseenRowsMeasurement:
    if math.isnan(value):
        return UnseenRowsMeasurement(bound, None, reason="the value is undefined on these rows")
    low, high, reason = percentile_interval(values, bound.name, may_be_fixed=may_be_fixed)
    return UnseenRowsMeasurement(bound, float(value), low, high, reason)


def _select_rows(features: Any, rows: Rows) -> Any:
    return features.iloc[rows] if isinstance(features, pd.DataFrame) else features[rows]


def _with_known_predictions(pipeline: Any, answers: CachedPredictions, own: Any) -> Any:
    """Return a copy of the pipeline that answers from cached predictions when it is called on the rows `own`."""
    asked = copy(pipeline)
    for question in bound_measures.PREDICTION_METHODS:
        if hasattr(pipeline, question):
            setattr(asked, question, _known_or_computed(getattr(answers, question), getattr(pipeline, question), own))
    return asked


def _known_or_computed(known: Callable[..., Any], anew: Callable[..., Any], own: Any) -> Callable[..., Any]:
    def answer(rows: Any, **options: Any) -> Any:
        return known(rows) if rows is own and not options else anew(rows, **options)

    return answer


INTERVAL_SEED_STREAM: Final = 12_075


def held_out_interval(
    predictions: npt.NDArray[Any], held_out: HeldOutRows, metric: Metric, seed: int
) -> tuple[float | None, float | None]:
    """Return the ends of a 95 % bootstrap interval of the mean loss over the folds; None if it has none.

    The rows of each fold are resampled, equally for all trials of a run; rows with groups in whole groups, of which
    each fold must have at least `MIN_GROUPS`. The interval does not account for the choice of the trial among others.
    """
    rng, groups = np.random.default_rng([seed, INTERVAL_SEED_STREAM]), held_out.groups
    places = [np.flatnonzero(held_out.folds == fold) for fold in np.unique(held_out.folds)]
    if groups is not None and min(len(np.unique(groups[each])) for each in places) < MIN_GROUPS:
        return None, None
    samplers = [bootstrap_row_sampler(len(each), None if groups is None else groups[each]) for each in places]
    losses = []
    for _ in range(MIN_RESAMPLES):
        rows = np.concatenate([each[draw(rng)] for each, draw in zip(places, samplers, strict=True)])
        drawn = HeldOutRows(held_out.rows[rows], held_out.target[rows], held_out.folds[rows], held_out.classes)
        losses.append(float(make_batch_prediction_loss_function(drawn, metric)(predictions[rows][np.newaxis])[0]))
    low, high, _ = percentile_interval(np.array(losses), metric.name)
    return low, high
