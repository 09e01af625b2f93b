"""What is measured beside the loss: bounds and how trials keep to them, seconds by alternative, failures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from spacelang.ir.space import Choice
from spacelang.ir.task import AnyBound, describe_bound
from spacelang.report.failures import WORDS, as_one
from spacelang.report.page.axes import Axis, Tick, axis_of, seconds, thinned
from spacelang.report.reached import shown

if TYPE_CHECKING:
    from spacelang.draws.codes import Array
    from spacelang.report.page.material import Material
    from spacelang.runtime.history import Record

DOTS: Final = 500
"""At most so many trials are dots beside a bound."""

LANES: Final = 9
"""Dots of trials that follow each other stand in so many rows, to be told apart."""

REASONS: Final = 30
"""So many reasons are told, the most frequent first."""

ALTERNATIVES: Final = 80
"""So many alternatives are told of, those that took longest together first."""


# ---- bounds


@dataclass(frozen=True, slots=True)
class BoundFigures:
    """A bound: the values of trials as dots, `limit` where it is on the axis, and figures in the unit of the bound."""

    name: str
    ticks: tuple[Tick, ...]
    limit: float
    keeping: str
    breaking: str
    holding: int
    measured: int
    unknown: int
    drawn: int
    is_log: bool
    figures: tuple[tuple[str, str], ...]


def bounds(told: "Material") -> tuple[BoundFigures, ...]:
    """Every bound of the run beside what trials have measured of it; none for a run that is subject to nothing."""
    limits = dict.fromkeys(each.bound for record in told.known for each in record.trial.constraints)
    return tuple(_kept(bound, told) for bound in limits)


def _kept(bound: AnyBound, told: "Material") -> BoundFigures:
    found = [each.value for record in told.known for each in record.trial.constraints if each.bound == bound]
    values = [value for value in found if isfinite(value)]
    axis = axis_of([*values, bound.limit])
    drawn = [(place % LANES, value) for place, value in enumerate(thinned(values, DOTS))]
    return BoundFigures(
        name=describe_bound(bound),
        ticks=axis.ticks_as(bound.describe),
        limit=axis.at(bound.limit),
        keeping="".join(_dot(*each, axis) for each in drawn if bound.holds(each[1])),
        breaking="".join(_dot(*each, axis) for each in drawn if not bound.holds(each[1])),
        holding=sum(map(bound.holds, found)),
        measured=len(found),
        unknown=len(found) - len(values),
        drawn=len(drawn),
        is_log=axis.log,
        figures=tuple(_figures(bound, values)),
    )


def _figures(bound: AnyBound, values: Sequence[float]) -> Iterator[tuple[str, str]]:
    if values:
        yield "least", shown(bound, min(values))
        yield "median", shown(bound, median(values))
        yield "greatest", shown(bound, max(values))


def _dot(lane: int, value: float, axis: Axis) -> str:
    return f"M{round(10 * axis.at(value))} {round(1000 * (lane + 0.5) / LANES)}h0"


# ---- cost


@dataclass(frozen=True, slots=True)
class Cost:
    """The seconds of trials with an alternative; places of quartiles and median on the axis are in percent."""

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
class Costs:
    """The alternatives of all stages; `is_whole` says that only trials on all rows were counted for the medians."""

    ticks: tuple[Tick, ...]
    rows: tuple[Cost, ...]
    is_whole: bool
    left: int = 0


def costs(told: "Material") -> Costs | None:
    """What trials took by their alternatives; None without a successful trial of a known space."""
    members = told.members
    if told.space is None or members is None or not told.known:
        return None
    alone = np.array([each.trial.seconds_alone for each in members.records])
    succeeded = ~np.isnan(members.losses)
    whole = succeeded & np.array([told.is_whole(each) for each in members.records])
    counted = whole if whole.any() else succeeded
    if not counted.any():
        return None
    axis = axis_of([float(each) for each in np.quantile(alone[counted], (0.02, 0.98))])
    rows = [
        _cost(stage, place, alone, taken, counted, axis)
        for stage in told.space.stages
        if (taken := members.columns.decisions.get(stage.address)) is not None
        for place in range(len(stage.branches))
        if (counted & (taken == place)).any()
    ]
    rows.sort(key=lambda each: (each.decision, -each.share))
    return Costs(
        axis.ticks_as(seconds), tuple(rows[:ALTERNATIVES]), bool(whole.any()), max(0, len(rows) - ALTERNATIVES)
    )


def _cost(stage: Choice, place: int, alone: "Array", taken: "Array", counted: "Array", axis: Axis) -> Cost:
    mine = taken == place
    ends = [float(each) for each in np.quantile(alone[mine & counted], (0.25, 0.5, 0.75))]
    total, everything = float(alone[mine].sum()), float(alone.sum())
    low, at, high = map(axis.at, ends)
    count = int(np.count_nonzero(mine & counted))
    share = 100 * total / everything if everything > 0 and isfinite(total) else 0.0
    name = stage.branches[place].name
    return Cost(stage.name, name, count, seconds(ends[1]), seconds(total), share, low, at, high)


# ---- failures


@dataclass(frozen=True, slots=True)
class FailureReason:
    """A reason: how many trials failed for it, `share` of all that failed in percent, and the first of them."""

    kind: str
    reason: str
    trials: int
    share: float
    first: int


def failures(told: "Material") -> tuple[tuple[FailureReason, ...], int]:
    """Why trials failed, the most frequent reason first, and how many reasons more there are."""
    failed = [each for each in told.records if each.trial.loss is None]
    names = as_one({(each.trial.status, each.trial.reason) for each in failed})
    found: dict[tuple[str, str], list[Record]] = {}
    for each in failed:
        status, reason = names[each.trial.status, each.trial.reason]
        found.setdefault((WORDS.get(status, ("error", ""))[0], reason), []).append(each)
    total = sum(map(len, found.values()))
    ordered = sorted(found.items(), key=lambda entry: -len(entry[1]))
    rows = [
        FailureReason(kind, reason, len(those), 100 * len(those) / total, those[0].index)
        for (kind, reason), those in ordered[:REASONS]
    ]
    return tuple(rows), max(0, len(ordered) - REASONS)
