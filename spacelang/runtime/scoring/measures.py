"""The measures that a task can bound: prediction latency, pickled size, and disparity between groups."""

import math
import pickle
import warnings
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median
from typing import Any, Final, assert_never

import numpy as np
import pandas as pd

from spacelang.ir.task import Bound, Measure
from spacelang.runtime.evaluation.folds import Fold
from spacelang.runtime.evaluation.splits import Rows
from spacelang.runtime.scoring.cached_predictions import CachedPredictions
from spacelang.runtime.scoring.metric import LossFunction, scorer_of

REPEATS: Final = 3
"""The number of timings, whose median counts (spacelang/optimizers/README.md, section "Measures of constraints")."""

BATCH_ROWS: Final = 1_000
"""The largest number of rows in a timed prediction: more rows would only take longer."""

PICKLE_PROTOCOL: Final = 5
"""The pickle protocol of measured sizes. It is fixed, so that sizes do not depend on the version of Python."""


def measure_bound(
    bound: Bound,
    pipeline: Any,
    answers: CachedPredictions,
    fold: Fold,
    clock: Callable[[], float],
    *,
    writes: bool = False,
) -> float:
    """Return the value of a bound: seconds per row, bytes, or a difference of scores; nan if it is undefined.

    `answers` are the cached predictions of the pipeline for the held-out rows. `writes` is True if the pipeline
    overwrites its input. Raise whatever the pipeline raises.
    """
    match bound.measure:
        case Measure.LATENCY:
            return latency(pipeline, fold.held_out, len(fold.held_out_target), clock, writes=writes)
        case Measure.SIZE:
            return float(pickled_size(pipeline))
        case Measure.DISPARITY:
            groups = fold.groups[bound.column]
            return disparity(scorer_of(bound.scorer), answers, fold.held_out_target, groups)
        case _:
            assert_never(bound.measure)


def defined_mean(values: Iterable[float]) -> float:
    """Return the mean of the values that are not nan, or nan if there are none."""
    defined = [value for value in values if not math.isnan(value)]
    return mean(defined) if defined else math.nan


def mean(values: Sequence[float]) -> float:
    """Return the mean of values that may be infinite or huge; the mean of both infinities is nan."""
    try:
        return fmean(values)
    except (ValueError, OverflowError):
        return sum(value / len(values) for value in values)


def latency(pipeline: Any, features: Any, count: int, clock: Callable[[], float], *, writes: bool = False) -> float:
    """Return the median prediction time, in seconds for each of `count` rows."""
    return median(time_predictions(pipeline, features, count, clock, REPEATS, writes=writes))


def time_predictions(
    pipeline: Any, features: Any, count: int, clock: Callable[[], float], repeats: int, *, writes: bool = False
) -> list[float]:
    """Time the prediction of batches of rows, `repeats` times after an untimed call; return seconds per row.

    With `writes`, the pipeline gets copies of the rows; copying is not timed.
    """
    parts = -(-count // BATCH_ROWS)
    edges = [count * part // parts for part in range(parts + 1)]
    batches = [_batch(features, *edges[part : part + 2]) for part in range(min(parts, repeats))]
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


def _batch(features: Any, first: int, last: int) -> Any:
    return features.iloc[first:last] if isinstance(features, pd.DataFrame) else features[first:last]


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


def disparity(scorer: LossFunction, answers: CachedPredictions, target: Any, groups: Sequence[Rows]) -> float:
    """Return the largest minus the smallest score of the groups, or nan if no group has a score.

    This is the fairness measure of the ADMM paper's appendix 12. Groups whose score is undefined, for instance because
    a class is missing, are skipped.
    """
    scores = group_scores(scorer, answers, target, groups)
    return max(scores) - min(scores) if scores else math.nan


def group_scores(scorer: LossFunction, answers: CachedPredictions, target: Any, groups: Sequence[Rows]) -> list[float]:
    """Return the scores of the groups whose score is defined."""
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
