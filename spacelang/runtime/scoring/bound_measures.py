"""The measures that a task can bound: prediction latency, pickled size, and disparity between groups."""

import math
import pickle
import warnings
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median
from typing import Any, Final, Self, assert_never

import numpy as np
import pandas as pd

from spacelang.ir.task import Bound, BoundedMeasure
from spacelang.runtime.evaluation.folds import PreparedFold
from spacelang.runtime.evaluation.splits import Rows
from spacelang.runtime.scoring.metric import LossFunction, find_scorer

REPEATS: Final = 3
"""The number of timings, whose median counts (spacelang/optimizers/README.md, section "Measures of constraints")."""
BATCH_ROWS: Final = 1_000  # The largest number of rows in a timed prediction: more rows would only take longer
PICKLE_PROTOCOL: Final = 5
"""The pickle protocol of measured sizes. It is fixed, so that sizes do not depend on the version of Python."""
PREDICTION_METHODS: Final = ("predict", "predict_proba", "predict_log_proba", "decision_function")
"""The prediction methods that scorers call."""


class CachedPredictions:
    """A stand-in for a fitted pipeline that predicts fixed rows, and caches the predictions.

    A scorer can use it like the pipeline. Its prediction methods ignore the rows that they get, and return the
    predictions for the fixed rows. All other attributes are those of the pipeline. With `writes`, the pipeline gets
    copies of the rows, because it overwrites its input.
    """

    def __init__(self, pipeline: Any, rows: Any, *, writes: bool = False) -> None:
        self._pipeline = pipeline
        self._rows = rows
        self._writes = writes
        self._predictions: dict[str, Any] = {}

    def subset(self, places: Rows) -> "CachedPredictions":
        """Return a stand-in for the rows at these positions, which uses the same cached predictions."""
        return _Subset(self, places)

    def only_cached_prediction(self) -> tuple[str, Any] | None:
        """Return the one prediction method called so far and its result as an array; None if none or several were."""
        if len(self._predictions) != 1:
            return None
        ((question, answer),) = self._predictions.items()
        # For several targets, probabilities may be a list with an array per target.
        return None if isinstance(answer, list) else (question, np.asarray(answer))

    def _predict(self, question: str) -> Any:
        if question not in self._predictions:
            rows = self._rows.copy() if self._writes else self._rows
            self._predictions[question] = getattr(self._pipeline, question)(rows)
        return self._predictions[question]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._pipeline, name)  # scorers need the AttributeError of a pipeline without the method
        return self._make_method(name) if name in PREDICTION_METHODS else found

    def _make_method(self, question: str) -> Callable[..., Any]:
        def answer(_rows: Any = None) -> Any:
            return self._predict(question)

        answer.__name__ = question  # scorers read it
        return answer


def measure_bound(
    bound: Bound,
    pipeline: Any,
    answers: CachedPredictions,
    fold: PreparedFold,
    clock: Callable[[], float],
    *,
    writes: bool = False,
) -> float:
    """Return the value of a bound: seconds per row, bytes, or largest minus smallest score of groups; nan if undefined.

    `answers` are the cached predictions for the held-out rows. With `writes`, the pipeline overwrites its input and
    gets copies. What the pipeline raises is raised.
    """
    match bound.measure:
        case BoundedMeasure.LATENCY:
            return measure_latency(pipeline, fold.held_out, len(fold.held_out_target), clock, writes=writes)
        case BoundedMeasure.SIZE:
            return float(pickled_size(pipeline))
        case BoundedMeasure.DISPARITY:
            groups = fold.groups[bound.column]
            return group_disparity(find_scorer(bound.scorer), answers, fold.held_out_target, groups)
        case _:
            assert_never(bound.measure)


def mean_of_defined(values: Iterable[float]) -> float:
    """Return the mean of the values that are not nan, or nan if there are none."""
    defined = [value for value in values if not math.isnan(value)]
    return overflow_safe_mean(defined) if defined else math.nan


def overflow_safe_mean(values: Sequence[float]) -> float:
    """Return the mean of values, also of infinite or huge ones; that of inf and -inf is nan."""
    try:
        return fmean(values)
    except (ValueError, OverflowError):
        return sum(value / len(values) for value in values)


def measure_latency(
    pipeline: Any, features: Any, count: int, clock: Callable[[], float], *, writes: bool = False
) -> float:
    """Return the median seconds of a prediction of the `count` rows of `features`, divided by `count`."""
    return median(time_predictions(pipeline, features, count, clock, REPEATS, writes=writes))


def time_predictions(
    pipeline: Any, features: Any, count: int, clock: Callable[[], float], repeats: int, *, writes: bool = False
) -> list[float]:
    """Return the seconds per row of `repeats` batches after an untimed call; copies (`writes`) are not timed."""
    parts = -(-count // BATCH_ROWS)
    edges = [count * part // parts for part in range(parts + 1)]
    table = features.iloc if isinstance(features, pd.DataFrame) else features
    batches = [table[edges[part] : edges[part + 1]] for part in range(min(parts, repeats))]
    # The first call is not timed: it may do work that happens once in the life of a pipeline.
    pipeline.predict(batches[0].copy() if writes else batches[0])
    found = []
    for turn in range(repeats):
        part = turn % len(batches)
        batch = batches[part].copy() if writes else batches[part]
        started = clock()
        pipeline.predict(batch)
        found.append((clock() - started) / (edges[part + 1] - edges[part]))
    return found


def pickled_size(pipeline: Any) -> int:
    """Return the bytes of the pickled pipeline, without holding the whole pickle in memory."""
    counter = _ByteCounter()
    pickle.Pickler(counter, protocol=PICKLE_PROTOCOL).dump(pipeline)
    return counter.bytes


class _ByteCounter:
    """A file object that counts the bytes written to it and discards them."""

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, data: Any) -> int:
        count = memoryview(data).nbytes  # NumPy arrays are passed as buffers, not as bytes
        self.bytes += count
        return count


def group_disparity(scorer: LossFunction, answers: CachedPredictions, target: Any, groups: Sequence[Rows]) -> float:
    """Return the largest minus the smallest score of the groups; nan if no group has a defined score.

    This is the fairness of the ADMM paper (appendix 12).
    """
    scores = group_scores(scorer, answers, target, groups)
    return max(scores) - min(scores) if scores else math.nan


def group_scores(scorer: LossFunction, answers: CachedPredictions, target: Any, groups: Sequence[Rows]) -> list[float]:
    """Return the scores on the rows of each group, without the groups whose score is undefined."""
    scores = [_group_score(scorer, answers.subset(group), target[group], target) for group in groups]
    return [score for score in scores if math.isfinite(score)]


def _group_score(scorer: LossFunction, answers: CachedPredictions, target: Any, everybody: Any) -> float:
    from sklearn.exceptions import UndefinedMetricWarning

    try:
        with warnings.catch_warnings():
            # scikit-learn gives a precision of 0 where nothing is predicted, with this warning: here it is undefined.
            warnings.simplefilter("error", UndefinedMetricWarning)
            return float(scorer(answers, None, target))
    except UndefinedMetricWarning:
        return math.nan
    except ValueError:
        # Many scorers raise ValueError where a class is missing; only the message would tell that reason.
        if len(np.unique(target)) == len(np.unique(everybody)):
            raise
        return math.nan


class _Subset(CachedPredictions):
    def __init__(self, whole: CachedPredictions, places: Rows) -> None:
        super().__init__(whole._pipeline, None)
        self._whole = whole
        self._places = places

    def subset(self, places: Rows) -> Self:
        return type(self)(self._whole, self._places[places])

    def _predict(self, question: str) -> Any:
        whole = self._whole._predict(question)
        if isinstance(whole, list):  # an array of probabilities for each of several targets
            return [np.asarray(each)[self._places] for each in whole]
        return np.asarray(whole)[self._places]
