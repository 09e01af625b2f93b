"""Measures: what a task bounds beside the loss, of a fitted pipeline and the rows that it has not seen."""

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
from spacelang.runtime.evaluation.split import Rows
from spacelang.runtime.judging.answers import Answers
from spacelang.runtime.judging.metric import Loss, scorer_of

REPEATS: Final = 3
"""The timings of which the median is taken (spacelang/optimizers/README.md, section "Measures of constraints")."""

BATCH: Final = 1_000
"""The most rows that are predicted at once where it is timed: more would only take longer."""

PROTOCOL: Final = 5
"""The pickle protocol in which sizes are measured: the newest would make sizes differ between versions of Python."""


def measure(
    bound: Bound, pipeline: Any, answers: Answers, fold: Fold, clock: Callable[[], float], *, writes: bool = False
) -> float:
    """What a bound is about: seconds for each row, bytes, or a difference of scores; nan where it is undefined.

    `answers` are those of the pipeline for the held-out rows; `writes` says that it overwrites what it is given. Raises
    whatever the pipeline raises.
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
    """The mean over the folds in which something is defined; nan where there are none."""
    defined = [value for value in values if not math.isnan(value)]
    return mean(defined) if defined else math.nan


def mean(values: Sequence[float]) -> float:
    """The mean of what may be infinite or as large as floats can be; nan of both infinities."""
    try:
        return fmean(values)
    except (ValueError, OverflowError):
        return sum(value / len(values) for value in values)


def latency(pipeline: Any, features: Any, count: int, clock: Callable[[], float], *, writes: bool = False) -> float:
    """Seconds for each of `count` rows: the median of the timings of some batches."""
    return median(timings(pipeline, features, count, clock, REPEATS, writes=writes))


def timings(
    pipeline: Any, features: Any, count: int, clock: Callable[[], float], repeats: int, *, writes: bool = False
) -> list[float]:
    """So many timings of batches of `count` rows, in seconds for each row, after one that does not count.

    A pipeline that `writes` into what it is given is given copies, which are not timed.
    """
    parts = -(-count // BATCH)
    edges = [count * part // parts for part in range(parts + 1)]
    batches = [_batch(features, *edges[part : part + 2]) for part in range(min(parts, repeats))]
    # What is made at the first call is made once in the life of a pipeline.
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
    """The bytes of the pickle, which is never there as a whole."""
    counter = _Counter()
    pickle.Pickler(counter, protocol=PROTOCOL).dump(pipeline)
    return counter.bytes


class _Counter:
    """A file that only counts what is written to it."""

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, data: Any) -> int:
        count = memoryview(data).nbytes  # of arrays it is given their own memory
        self.bytes += count
        return count


def disparity(scorer: Loss, answers: Answers, target: Any, groups: Sequence[Rows]) -> float:
    """The largest minus the smallest score of the groups (ADMM's appendix 12); nan where no group has a score.

    Groups are skipped where the score is undefined, as it may be where not all classes are there.
    """
    scores = scores_of_groups(scorer, answers, target, groups)
    return max(scores) - min(scores) if scores else math.nan


def scores_of_groups(scorer: Loss, answers: Answers, target: Any, groups: Sequence[Rows]) -> list[float]:
    """The scores of the groups that have one."""
    scores = [_score(scorer, answers.among(group), target[group], target) for group in groups]
    return [score for score in scores if math.isfinite(score)]


def _score(scorer: Loss, answers: Answers, target: Any, everybody: Any) -> float:
    from sklearn.exceptions import UndefinedMetricWarning

    try:
        with warnings.catch_warnings():
            # A precision where nothing is predicted is 0 to scikit-learn: no group is unfair by that.
            warnings.simplefilter("error", UndefinedMetricWarning)
            return float(scorer(answers, None, target))
    except UndefinedMetricWarning:
        return math.nan
    except ValueError:
        # Many scorers raise it where not all classes are there, and say so in words only.
        if len(np.unique(target)) == len(np.unique(everybody)):
            raise
        return math.nan
