"""Measurements of all bounds on test rows, with confidence intervals.

Values are measured as in trials: by the same functions, on the steps behind the preparation.
"""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, Final, assert_never

import numpy as np
import numpy.typing as npt
import pandas as pd

from spacelang.ir.task import AnyBound, Bound, Measure
from spacelang.ir.trial import Reached
from spacelang.runtime.chance import kept_chance
from spacelang.runtime.evaluation.folds import Fold, writes_in_place
from spacelang.runtime.evaluation.split import Rows
from spacelang.runtime.failures import described
from spacelang.runtime.judging.answers import QUESTIONS, Answers
from spacelang.runtime.judging.constraints import Constraint
from spacelang.runtime.judging.judge import Judge, guarded
from spacelang.runtime.judging.measures import pickled_size, scores_of_groups, timings
from spacelang.runtime.judging.metric import Loss, scorer_of
from spacelang.runtime.judging.testing import FEWEST, interval, resamples

TIMINGS: Final = 30
"""The number of timings of a prediction: enough for an interval of the median."""

SCORES: Final = 1_000
"""The number of group scores over all resamples; it limits the resamples, of which there are at least `FEWEST`."""

PATIENCE: Final = 10.0
"""The seconds that a user's function may take for all resamples."""


def reached(judge: Judge, pipeline: Any, fold: Fold, seed: int) -> tuple[Reached, ...]:
    """Measure every bound of a fitted pipeline on the held-out rows of a fold, with 95 % intervals.

    Intervals of disparities and of functions of the user are bootstrap percentile intervals over the rows. Intervals of
    latencies are bootstrap percentile intervals over timings; sizes have none. A measure that raises has a reason
    instead of a value; this function does not raise.
    """
    subject = _Subject(pipeline, fold, judge.clock, seed)
    with kept_chance(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measured = [_attempted(bound, partial(_measured, bound, subject)) for bound in judge.bounds]
        # Functions of the user come last, as in trials.
        return (
            *measured,
            *(_attempted(each.bound, partial(_of_function, each, subject)) for each in judge.constraints),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Subject:
    """A fitted pipeline, and the fold on whose held-out rows it is measured."""

    pipeline: Any
    fold: Fold
    clock: Callable[[], float]
    seed: int

    @property
    def writes(self) -> bool:
        return writes_in_place(self.pipeline)

    @property
    def count(self) -> int:
        return len(self.fold.held_out_target)

    @property
    def answers(self) -> Answers:
        return Answers(self.pipeline, self.fold.held_out, writes=self.writes)


def _attempted(bound: AnyBound, measure: Callable[[], Reached]) -> Reached:
    try:
        return measure()
    except Exception as error:  # noqa: BLE001 - a pipeline or a function may raise anything on unseen rows
        return Reached(bound, None, reason=described(error))


def _measured(bound: Bound, subject: _Subject) -> Reached:
    match bound.measure:
        case Measure.LATENCY:
            return _of_latency(bound, subject)
        case Measure.SIZE:
            return Reached(bound, float(pickled_size(subject.pipeline)))
        case Measure.DISPARITY:
            return _of_disparity(bound, subject)
        case _:
            assert_never(bound.measure)


def _of_latency(bound: Bound, subject: _Subject) -> Reached:
    rows = subject.fold.held_out
    found = np.array(timings(subject.pipeline, rows, subject.count, subject.clock, TIMINGS, writes=subject.writes))
    medians = [median(found[turns]) for turns in resamples(TIMINGS, subject.seed)]
    return _with_interval(bound, median(found), np.array(medians))


def _of_disparity(bound: Bound, subject: _Subject) -> Reached:
    target, groups, answers = subject.fold.held_out_target, subject.fold.groups[bound.column], subject.answers
    scorer, of_group = scorer_of(bound.scorer), np.full(subject.count, len(groups))
    value = _difference(scores_of_groups(scorer, answers, target, groups))
    if math.isnan(value):
        return Reached(bound, None, reason=f"fewer than two groups of `{bound.column}` have a score on these rows")
    for group, places in enumerate(groups):
        of_group[places] = group
    drawn = resamples(subject.count, subject.seed, max(FEWEST, SCORES // len(groups)))
    values = [
        _disparity_among(scorer, answers.among(rows), target[rows], of_group[rows], len(groups)) for rows in drawn
    ]
    return _with_interval(bound, value, np.array(values))


def _disparity_among(scorer: Loss, answers: Answers, target: Any, of_group: npt.NDArray[Any], groups: int) -> float:
    """Return the disparity on a resample of the rows, or nan if fewer than two groups have a score."""
    there = [places for group in range(groups) if len(places := np.flatnonzero(of_group == group))]
    try:
        return _difference(scores_of_groups(scorer, answers, target, there))
    except Exception:  # noqa: BLE001 - the predictions exist: only the scorer can fail on these rows
        return math.nan


def _difference(scores: Sequence[float]) -> float:
    """Return the largest minus the smallest score, or nan if there are fewer than two."""
    return max(scores) - min(scores) if len(scores) > 1 else math.nan


def _of_function(constraint: Constraint, subject: _Subject) -> Reached:
    """Measure a function of the user on the rows, and its interval on resamples of the rows.

    For the rows that it gets, the predictions of the pipeline are taken from the cache. It may let the pipeline predict
    other rows, too.
    """
    fold, answers = subject.fold, subject.answers
    started = time.perf_counter()
    value = constraint.measure(subject.pipeline, guarded(fold.held_out), guarded(fold.held_out_target))
    values: list[float] = []
    for rows in resamples(subject.count, subject.seed, FEWEST):
        if time.perf_counter() - started > PATIENCE:
            slow = f"no interval: the function takes more than {PATIENCE:g} s for {FEWEST} resamples"
            return Reached(constraint.bound, _known(value), reason=slow)
        features = guarded(_among(fold.held_out, rows))
        asked = _knowing(subject.pipeline, answers.among(rows), features)
        try:
            values.append(constraint.measure(asked, features, guarded(fold.held_out_target[rows])))
        except Exception:  # noqa: BLE001 - it succeeded on all rows, but fails on this resample
            values.append(math.nan)
    return _with_interval(constraint.bound, value, np.array(values), may_be_fixed=True)


def _with_interval(
    bound: AnyBound, value: float, values: npt.NDArray[np.float64], *, may_be_fixed: bool = False
) -> Reached:
    if math.isnan(value):
        return Reached(bound, None, reason="it is undefined on these rows")
    low, high, reason = interval(values, bound.name, may_be_fixed=may_be_fixed)
    return Reached(bound, float(value), low, high, reason)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _among(features: Any, rows: Rows) -> Any:
    return features.iloc[rows] if isinstance(features, pd.DataFrame) else features[rows]


def _knowing(pipeline: Any, answers: Answers, own: Any) -> Any:
    """Return a copy of the pipeline that answers from cached predictions when it is called on the rows `own`."""
    asked = copy(pipeline)
    for question in QUESTIONS:
        if hasattr(pipeline, question):
            setattr(asked, question, _either(getattr(answers, question), getattr(pipeline, question), own))
    return asked


def _either(known: Callable[..., Any], anew: Callable[..., Any], own: Any) -> Callable[..., Any]:
    def answer(rows: Any, **options: Any) -> Any:
        return known(rows) if rows is own and not options else anew(rows, **options)

    return answer
