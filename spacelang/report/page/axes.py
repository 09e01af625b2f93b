"""Axes of plots, and the marks of trials: dots, triangles for losses far above the others, ticks for failures."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Final, TypeVar

from spacelang.ir.trial import SCORE_DIGITS, LossName
from spacelang.report.page.run_data import RunData
from spacelang.runtime.history import TrialRecord
from spacelang.text import count_with_noun

T = TypeVar("T")
TICK_STEPS: Final = (1.0, 2.0, 5.0, 10.0)  # Distances between ticks, up to a power of ten
TICKS: Final = 5  # The approximate number of ticks of an axis
LOG_RATIO: Final = 30.0
"""Positive numbers are on a logarithmic axis if the ratio of the largest to the smallest is larger than this."""
LARGEST: Final = 1e290
"""Larger numbers, and positive ones below its inverse, are shown at the end of an axis, to avoid float overflow."""
MARGIN: Final = 0.04  # The share of the length of an axis that is free at each end
MIN_RELATIVE_LENGTH: Final = 1e-9
"""The smallest length of an axis relative to its numbers: closer floats have no round numbers between them."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick of an axis: its position in percent of the length, and its label."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high > low`. If `log`, it is logarithmic, and both ends are positive."""

    low: float
    high: float
    log: bool = False

    def position(self, value: float) -> float:
        """Return the position of a number, from 0 to 100. A number beyond an end has the position of that end."""
        scaled = log10 if self.log else float
        low, high, found = scaled(self.low), scaled(self.high), scaled(min(max(value, self.low), self.high))
        return min(100 * (found - low) / (high - low), 100.0)

    def contains(self, value: float) -> bool:
        """Return True if the number lies between the ends."""
        return self.low <= value <= self.high

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """A few round numbers between the ends."""
        return self.ticks_with_labels(format_number)

    def ticks_with_labels(self, label_of: Callable[[float], str]) -> tuple[Tick, ...]:
        """Return ticks at a few round numbers, each with the label that `label_of` returns for its number."""
        found = [value for value in (self._decades() if self.log else self._steps()) if self.contains(value)]
        return tuple(Tick(self.position(value), label_of(value)) for value in found)

    def _steps(self) -> Iterable[float]:
        length = (self.high - self.low) / TICKS
        power = 10.0 ** floor(log10(length))
        step = next((each * power for each in TICK_STEPS if each * power >= length), 10 * power)
        first, last = ceil(self.low / step), floor(self.high / step)
        return (0.0 if number == 0 else number * step for number in range(first, min(last, first + 4 * TICKS) + 1))

    def _decades(self) -> Iterable[float]:
        first, last = floor(log10(self.low)), ceil(log10(self.high))
        every = max(1, ceil((last - first) / (TICKS + 2)))
        factors = (1.0, 2.0, 5.0) if last - first <= 3 else (1.0,)
        return (factor * 10.0**power for power in range(first, last + 1, every) for factor in factors)


def make_axis_for_values(values: Iterable[float]) -> Axis:
    """Return an axis that contains all finite values, logarithmic if they are of different orders of magnitude."""
    given = [min(max(value, -LARGEST), LARGEST) for value in values if isfinite(value)]
    low, high = min(given, default=0.0), max(given, default=1.0)
    if low > 0 and high / LOG_RATIO > low:
        least = max(low, 1 / LARGEST)
        factor = 10 ** (MARGIN * (log10(high) - log10(least)))
        return Axis(least / factor, high * factor, log=True)
    largest = max(abs(low), abs(high))
    room = max((high - low) * MARGIN, largest * MIN_RELATIVE_LENGTH) if high > low else largest * 0.1
    room = max(room, 1 / LARGEST) if largest else 0.1
    return Axis(low - room, high + room)


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """An axis of times from 0 on, whose `unit` has `length` seconds."""

    axis: Axis
    unit: str
    length: float

    def position(self, seconds: float) -> float:
        """Return the position of a time in seconds, from 0 to 100."""
        return self.axis.position(seconds / self.length)


def make_time_axis(end: float) -> TimeAxis:
    """Return an axis of times from 0 to `end` seconds."""
    last = end if 0 < end < LARGEST else 1.0
    unit, length = _unit(last)
    return TimeAxis(Axis(0.0, last / length), unit, length)


@dataclass(frozen=True, slots=True)
class ScoreAxis:
    """A vertical axis labelled with scores, on which better results are higher, unless a loss is its own score.

    Positions are computed from losses: `losses` is the axis of the losses, and if it is logarithmic, equal distances
    are equal ratios of losses.
    """

    metric: LossName
    losses: Axis

    @property
    def is_flipped(self) -> bool:
        """True if high losses are at the bottom."""
        return not self.metric.is_loss_the_score

    @property
    def log(self) -> bool:
        """True if the axis is logarithmic in the loss."""
        return self.losses.log

    @property
    def title(self) -> str:
        """The name of the score, and how its axis is scaled."""
        scale = f"logarithmic in {self.metric.formula}" if self.is_flipped else "logarithmic"
        return f"{self.metric.score_name}, {scale}" if self.log else self.metric.score_name

    def position(self, loss: float) -> float:
        """Return the height of a loss, from 0 to 100; a loss beyond an end has the height of that end."""
        height = self.losses.position(loss)
        return 100 - height if self.is_flipped else height

    def contains(self, loss: float) -> bool:
        """Return True if the loss lies between the ends."""
        return self.losses.contains(loss)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """A few round scores, or the scores of round losses if the axis is logarithmic or too short for others."""
        if not self.is_flipped:
            return self.losses.ticks
        low, high = self.metric.score_interval(self.losses.low, self.losses.high)
        if self.log or high - low < MIN_RELATIVE_LENGTH * max(abs(low), abs(high)):
            found = self.losses.ticks_with_labels(lambda loss: f"{self.metric.score(loss):{SCORE_DIGITS}}")
            return tuple(Tick(100 - each.at, each.label) for each in found)
        return Axis(low, high).ticks


def format_number(value: float) -> str:
    """Return a number as a short text."""
    return "0" if value == 0 else f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def format_seconds(value: float) -> str:
    """Return a time in a suitable unit, such as `2.5 min`."""
    unit, length = _unit(value)
    return f"{value / length:.3g} {unit}"


def _unit(value: float) -> tuple[str, float]:
    if abs(value) < 120:
        return "s", 1.0
    return ("min", 60.0) if abs(value) < 7_200 else ("h", 3_600.0)


def evenly_spaced_items(items: Sequence[T], most: int) -> Sequence[T]:
    """Return at most `most` of the items, evenly spread, with the first and the last."""
    if len(items) <= most:
        return items
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]


UNITS: Final = 1000  # The side length of the square in which marks are drawn. It is stretched to the size of the plot
MAX_DOTS: Final = 20_000  # The maximum number of trials that are drawn, because of the size of the page
OUTLIER_DISTANCE: Final = 3.0
"""Losses above the upper quartile by more than this multiple of its distance from the lowest loss are outliers."""
GROUPS: Final = 12  # The number of intervals of time whose outliers are one triangle, with room for the number


@dataclass(frozen=True, slots=True)
class OutlierMark:
    """A triangle at the edge of a plot that stands for trials whose losses are off the scale.

    `at` is its position in percent, and `count` the number of trials.
    """

    at: float
    count: int


@dataclass(frozen=True, slots=True)
class TrialMarks:
    """The marks of trials: SVG paths of feasible, infeasible and failed ones, triangles, and notes about them.

    The triangles are at the upper edge, or at the lower one if high losses are `below`.
    """

    dots: str = ""
    infeasible: str = ""
    failed: str = ""
    outliers: tuple[OutlierMark, ...] = ()
    notes: tuple[str, ...] = ()
    below: bool = False


NO_MARKS: Final = TrialMarks()


def largest_loss_without_outliers(losses: Sequence[float]) -> float:
    """Return the largest finite loss that is not far above the upper quartile; the axis of a plot ends just above it.

    If the losses are so far apart that their axis is logarithmic, distances are those of their logarithms.

    >>> largest_loss_without_outliers([0.1, 0.2, 0.2, 0.3, 0.4, 1e9])
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


def make_trial_marks(run_data: RunData, x: TimeAxis, y: ScoreAxis) -> TrialMarks:
    """Return the marks of all trials of a run, placed on the two axes."""
    shown = evenly_spaced_items(run_data.records, MAX_DOTS)
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
        tuple(_notes(run_data.records, shown, beyond, y)),
        y.is_flipped,
    )


def _dots(records: Sequence[TrialRecord], x: TimeAxis, y: ScoreAxis) -> str:
    places = ((x.position(each.finished), y.position(each.trial.loss or 0.0)) for each in records)
    return "".join(
        dict.fromkeys(f"M{percent_to_svg_units(at)} {UNITS - percent_to_svg_units(height)}h0" for at, height in places)
    )


def _ticks(records: Sequence[TrialRecord], x: TimeAxis) -> str:
    places = sorted({percent_to_svg_units(x.position(each.finished)) for each in records})
    return "".join(f"M{at} {UNITS}V{UNITS - 25}" for at in places)


def _groups(records: Sequence[TrialRecord], x: TimeAxis) -> Iterator[OutlierMark]:
    groups: dict[int, list[float]] = {}
    for each in records:
        at = x.position(each.finished)
        groups.setdefault(min(int(at * GROUPS / 100), GROUPS - 1), []).append(at)
    # In the middle of its interval, a triangle for several trials has room for its number.
    return (
        OutlierMark(places[0] if len(places) == 1 else 100 * (number + 0.5) / GROUPS, len(places))
        for number, places in sorted(groups.items())
    )


def _notes(
    records: Sequence[TrialRecord], shown: Sequence[TrialRecord], beyond: Sequence[TrialRecord], y: ScoreAxis
) -> Iterator[str]:
    if len(shown) < len(records):
        yield f"{len(shown):,} of {len(records):,} trials are drawn, evenly spread over time."
    if beyond:
        largest = max(each.trial.loss or 0.0 for each in beyond)
        last = format_number(y.metric.score(largest))
        where = f"below the scale: scores down to {last}" if y.is_flipped else f"above the scale: losses up to {last}"
        yield f"{count_with_noun(len(beyond), 'trial')} {where}."


def percent_to_svg_units(percent: float) -> int:
    """Convert a position in percent to the units of SVG paths: `UNITS` are the length of a side."""
    return round(percent * UNITS / 100)
