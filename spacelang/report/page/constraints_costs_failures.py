"""Measurements other than the loss: bounds and how trials satisfy them, seconds by alternative, and failures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median
from typing import Final

import numpy as np

from spacelang.ir.space import Choice
from spacelang.ir.task import AnyBound, describe_bound
from spacelang.report.page.axes import Axis, Tick, evenly_spaced_items, format_seconds, make_axis_for_values
from spacelang.report.page.run_data import RunData
from spacelang.report.trial_results import WORDS, format_bound_value, shown_reason_by_reason
from spacelang.runtime.history import TrialRecord
from spacelang.sampling.value_codes import Array

MAX_DOTS: Final = 500  # The maximum number of trials drawn as dots next to a bound
LANES: Final = 9  # Dots of successive trials are spread over this many rows, so that they do not overlap
MAX_REASONS: Final = 30  # The maximum number of reasons shown, the most frequent first
MAX_ALTERNATIVES: Final = 80  # The maximum number of alternatives shown, those with the largest total time first


@dataclass(frozen=True, slots=True)
class ConstraintChart:
    """A chart of a bound: the measured values as dots on one axis, and statistics.

    `limit` is the position of the bound in percent. `satisfying_svg_path` and `violating_svg_path` are SVG paths of
    the trials that satisfy and violate it, `holding` is the number of satisfying trials, `measured` of all, `unknown`
    of trials without a value, and `drawn` of dots. `figures` are names and values of statistics.
    """

    name: str
    ticks: tuple[Tick, ...]
    limit: float
    satisfying_svg_path: str
    violating_svg_path: str
    holding: int
    measured: int
    unknown: int
    drawn: int
    is_log: bool
    figures: tuple[tuple[str, str], ...]


def constraint_charts(run_data: RunData) -> tuple[ConstraintChart, ...]:
    """Return a chart for each bound of the run; empty for a run without constraints."""
    limits = dict.fromkeys(each.bound for record in run_data.successful_trials for each in record.trial.constraints)
    return tuple(_bound_chart(bound, run_data) for bound in limits)


def _bound_chart(bound: AnyBound, run_data: RunData) -> ConstraintChart:
    found = [
        each.value for record in run_data.successful_trials for each in record.trial.constraints if each.bound == bound
    ]
    values = [value for value in found if isfinite(value)]
    axis = make_axis_for_values([*values, bound.limit])
    drawn = [(place % LANES, value) for place, value in enumerate(evenly_spaced_items(values, MAX_DOTS))]
    return ConstraintChart(
        name=describe_bound(bound),
        ticks=axis.ticks_with_labels(bound.format_value),
        limit=axis.position(bound.limit),
        satisfying_svg_path="".join(_dot(*each, axis) for each in drawn if bound.is_satisfied_by(each[1])),
        violating_svg_path="".join(_dot(*each, axis) for each in drawn if not bound.is_satisfied_by(each[1])),
        holding=sum(map(bound.is_satisfied_by, found)),
        measured=len(found),
        unknown=len(found) - len(values),
        drawn=len(drawn),
        is_log=axis.log,
        figures=tuple(_figures(bound, values)),
    )


def _figures(bound: AnyBound, values: Sequence[float]) -> Iterator[tuple[str, str]]:
    if values:
        yield "smallest", format_bound_value(bound, min(values))
        yield "median", format_bound_value(bound, median(values))
        yield "largest", format_bound_value(bound, max(values))


def _dot(lane: int, value: float, axis: Axis) -> str:
    return f"M{round(10 * axis.position(value))} {round(1000 * (lane + 0.5) / LANES)}h0"


@dataclass(frozen=True, slots=True)
class AlternativeCost:
    """The seconds of the trials with one alternative of a decision.

    `low`, `at` and `high` are the positions of the lower quartile, the median and the upper quartile on the axis, in
    percent.
    """

    decision: str
    alternative: str
    trials: int
    middle: str
    total: str
    share: float
    low: float
    at: float
    high: float


@dataclass(frozen=True, slots=True)
class AlternativeCostChart:
    """The seconds of trials by alternative, for all stages; if `is_whole`, only of trials on all training rows.

    `left` is the number of alternatives that are not shown.
    """

    ticks: tuple[Tick, ...]
    rows: tuple[AlternativeCost, ...]
    is_whole: bool
    left: int = 0


def alternative_costs(run_data: RunData) -> AlternativeCostChart | None:
    """Return the seconds of trials by alternative; None without a successful trial or a known space."""
    members = run_data.trials_in_space
    if run_data.space is None or members is None or not run_data.successful_trials:
        return None
    alone = np.array([each.trial.seconds_without_sharing for each in members.records])
    succeeded = ~np.isnan(members.losses)
    whole = succeeded & np.array([run_data.is_trained_on_all_rows(each) for each in members.records])
    counted = whole if whole.any() else succeeded
    if not counted.any():
        return None
    axis = make_axis_for_values([float(each) for each in np.quantile(alone[counted], (0.02, 0.98))])
    rows = [
        _cost(stage, place, alone, taken, counted, axis)
        for stage in run_data.space.stages
        if (taken := members.columns.decisions.get(stage.address)) is not None
        for place in range(len(stage.branches))
        if (counted & (taken == place)).any()
    ]
    rows.sort(key=lambda each: (each.decision, -each.share))
    left = max(0, len(rows) - MAX_ALTERNATIVES)
    shown = tuple(rows[:MAX_ALTERNATIVES])
    return AlternativeCostChart(axis.ticks_with_labels(format_seconds), shown, bool(whole.any()), left)


def _cost(stage: Choice, place: int, alone: Array, taken: Array, counted: Array, axis: Axis) -> AlternativeCost:
    mine = taken == place
    ends = [float(each) for each in np.quantile(alone[mine & counted], (0.25, 0.5, 0.75))]
    total, everything = float(alone[mine].sum()), float(alone.sum())
    count = int(np.count_nonzero(mine & counted))
    share = 100 * total / everything if everything > 0 and isfinite(total) else 0.0
    names, times = (stage.name, stage.branches[place].name), (format_seconds(ends[1]), format_seconds(total))
    return AlternativeCost(*names, count, *times, share, *map(axis.position, ends))


@dataclass(frozen=True, slots=True)
class FailureReason:
    """A reason for failures: the number of trials, their `share` of all failures in percent, and the first trial."""

    kind: str
    reason: str
    trials: int
    share: float
    first: int


def failure_reasons(run_data: RunData) -> tuple[tuple[FailureReason, ...], int]:
    """Return the reasons for failures, most frequent first, and the number of reasons that are left out."""
    failed = [each for each in run_data.records if each.trial.loss is None]
    names = shown_reason_by_reason({(each.trial.status, each.trial.reason) for each in failed})
    found: dict[tuple[str, str], list[TrialRecord]] = {}
    for each in failed:
        status, reason = names[each.trial.status, each.trial.reason]
        found.setdefault((WORDS.get(status, ("error", ""))[0], reason), []).append(each)
    total = sum(map(len, found.values()))
    ordered = sorted(found.items(), key=lambda entry: -len(entry[1]))
    rows = [
        FailureReason(kind, reason, len(those), 100 * len(those) / total, those[0].index)
        for (kind, reason), those in ordered[:MAX_REASONS]
    ]
    return tuple(rows), max(0, len(ordered) - MAX_REASONS)
