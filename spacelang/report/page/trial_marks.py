"""The marks of all trials in the plot of a run: dots, triangles for losses far above the others, ticks for failures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, log10
from typing import Final

from spacelang.report.page.axes import LARGEST, LOG_RATIO, Axis, TimeAxis, evenly_spaced, format_number
from spacelang.report.page.run_data import RunData
from spacelang.runtime.history import TrialRecord
from spacelang.text import count_with_noun

UNITS: Final = 1000  # The side length of the square in which marks are drawn. It is stretched to the size of the plot
MAX_DOTS: Final = 20_000  # The maximum number of trials that are drawn, because of the size of the page
OUTLIER_DISTANCE: Final = 3.0
"""Losses above the upper quartile by more than this multiple of its distance from the lowest loss are outliers."""
GROUPS: Final = 12  # The number of intervals of time whose outliers are one triangle, with room for the number


@dataclass(frozen=True, slots=True)
class OutlierGroup:
    """A triangle at the upper edge: its position in percent, and the number of trials whose losses are beyond."""

    at: float
    count: int


@dataclass(frozen=True, slots=True)
class TrialMarks:
    """The marks of trials: SVG paths of feasible, infeasible and failed ones, triangles, and notes about them."""

    dots: str = ""
    infeasible: str = ""
    failed: str = ""
    outliers: tuple[OutlierGroup, ...] = ()
    notes: tuple[str, ...] = ()


NO_MARKS: Final = TrialMarks()


def largest_usual_loss(losses: Sequence[float]) -> float:
    """Return the largest loss that is no outlier: the axis of a plot ends above it, so that differences are visible.

    If the losses are so far apart that their axis is logarithmic, distances are those of their logarithms.

    >>> largest_usual_loss([0.1, 0.2, 0.2, 0.3, 0.4, 1e9])
    0.4
    """
    found = sorted(loss for loss in losses if isfinite(loss))
    lowest, quartile = found[0], found[-(-3 * len(found) // 4) - 1]
    if 0 < lowest < found[-1] / LOG_RATIO:
        exponent = log10(quartile) + OUTLIER_DISTANCE * (log10(quartile) - log10(lowest))
        limit = 10 ** min(exponent, log10(LARGEST))
    else:
        limit = quartile + OUTLIER_DISTANCE * (quartile - lowest)
    return max(loss for loss in found if loss <= max(limit, quartile))


def marks_of(run_data: RunData, x: TimeAxis, y: Axis) -> TrialMarks:
    """Return the marks of all trials of a run."""
    shown = evenly_spaced(run_data.records, MAX_DOTS)
    succeeded = [each for each in shown if each.trial.loss is not None]
    inside = [each for each in succeeded if y.contains(each.trial.loss or 0.0)]
    beyond = [each for each in succeeded if not y.contains(each.trial.loss or 0.0)]
    dots, infeasible = (
        _dots([each for each in inside if each.trial.is_feasible is kind], x, y) for kind in (True, False)
    )
    return TrialMarks(
        dots,
        infeasible,
        _ticks([each for each in shown if each.trial.loss is None], x),
        tuple(_groups(beyond, x)),
        tuple(_notes(run_data.records, shown, beyond)),
    )


def _dots(records: Sequence[TrialRecord], x: TimeAxis, y: Axis) -> str:
    places = ((x.position(each.finished), y.position(each.trial.loss or 0.0)) for each in records)
    return "".join(dict.fromkeys(f"M{to_units(at)} {UNITS - to_units(height)}h0" for at, height in places))


def _ticks(records: Sequence[TrialRecord], x: TimeAxis) -> str:
    places = sorted({to_units(x.position(each.finished)) for each in records})
    return "".join(f"M{at} {UNITS}V{UNITS - 25}" for at in places)


def _groups(records: Sequence[TrialRecord], x: TimeAxis) -> Iterator[OutlierGroup]:
    groups: dict[int, list[float]] = {}
    for each in records:
        at = x.position(each.finished)
        groups.setdefault(min(int(at * GROUPS / 100), GROUPS - 1), []).append(at)
    # In the middle of its interval, a triangle for several trials has room for its number.
    return (
        OutlierGroup(places[0] if len(places) == 1 else 100 * (number + 0.5) / GROUPS, len(places))
        for number, places in sorted(groups.items())
    )


def _notes(
    records: Sequence[TrialRecord], shown: Sequence[TrialRecord], beyond: Sequence[TrialRecord]
) -> Iterator[str]:
    if len(shown) < len(records):
        yield f"{len(shown):,} of {len(records):,} trials are drawn, evenly spread over time."
    if beyond:
        largest = format_number(max(each.trial.loss or 0.0 for each in beyond))
        yield f"{count_with_noun(len(beyond), 'trial')} above the scale: losses up to {largest}."


def to_units(percent: float) -> int:
    """Return a position in percent in the units of the square."""
    return round(percent * UNITS / 100)
