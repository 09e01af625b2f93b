"""Measures: what a task bounds beside the loss, of a fitted pipeline and the rows that it has not seen."""

import math
import pickle
from collections.abc import Callable, Sequence
from statistics import fmean, median
from typing import Any, Final, assert_never

import numpy as np
import pandas as pd

from spacelang.ir.task import Bound, Measure
from spacelang.ir.trial import Measurement
from spacelang.runtime.folds import Fold
from spacelang.runtime.metric import scorer_of
from spacelang.runtime.split import Rows

REPEATS: Final = 3
"""The timings of which the median is taken (ALGORITHMS.md 9.2)."""

PROTOCOL: Final = 5
"""The pickle protocol in which sizes are measured: the newest would make sizes differ between versions of Python."""


def measure(bound: Bound, pipeline: Any, fold: Fold, clock: Callable[[], float]) -> float:
    """What a bound is about: seconds for each row, bytes, or a difference of scores; nan where it is undefined.

    Raises whatever the pipeline raises.
    """
    match bound.measure:
        case Measure.LATENCY:
            return _latency(pipeline, fold, clock)
        case Measure.SIZE:
            return float(len(pickle.dumps(pipeline, protocol=PROTOCOL)))
        case Measure.DISPARITY:
            return disparity(scorer_of(bound.scorer), pipeline, fold, fold.groups[bound.column])
        case _:
            assert_never(bound.measure)


def together(bounds: Sequence[Bound], folds: Sequence[Sequence[float]]) -> tuple[Measurement, ...]:
    """The mean over the folds for each bound, of those folds in which it is defined; nan where there are none."""
    columns = [[value for value in column if not math.isnan(value)] for column in zip(*folds, strict=True)]
    return tuple(
        Measurement(bound, fmean(values) if values else math.nan) for bound, values in zip(bounds, columns, strict=True)
    )


def disparity(scorer: Callable[..., float], pipeline: Any, fold: Fold, groups: Sequence[Rows]) -> float:
    """The largest minus the smallest score of the groups (ALGORITHMS.md 9.2); nan where no group has a score.

    Groups are skipped where the score is undefined, as it may be where not all classes are there.
    """
    scores = [_score(scorer, pipeline, fold, group) for group in groups]
    defined = [score for score in scores if math.isfinite(score)]
    return max(defined) - min(defined) if defined else math.nan


def _score(scorer: Callable[..., float], pipeline: Any, fold: Fold, group: Rows) -> float:
    features, target = _rows(fold.held_out, group), fold.held_out_target[group]
    try:
        return float(scorer(pipeline, features, target))
    except ValueError:
        # Many scorers raise it where not all classes are there, and say so in words only.
        if len(np.unique(target)) == len(np.unique(fold.held_out_target)):
            raise
        return math.nan


def _rows(table: Any, places: Rows) -> Any:
    return table.iloc[places] if isinstance(table, pd.DataFrame) else table[places]


def _latency(pipeline: Any, fold: Fold, clock: Callable[[], float]) -> float:
    timings = []
    for _ in range(REPEATS):
        started = clock()
        pipeline.predict(fold.held_out)
        timings.append(clock() - started)
    return median(timings) / len(fold.held_out_target)
