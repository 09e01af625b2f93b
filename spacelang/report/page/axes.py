"""Axes of plots: positions of numbers in percent, and ticks."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Final, TypeVar

T = TypeVar("T")
TICK_STEPS: Final = (1.0, 2.0, 5.0, 10.0)  # Distances between ticks, up to a power of ten
TICKS: Final = 5  # The approximate number of ticks of an axis
LOG_RATIO: Final = 30.0
"""Positive numbers are on a logarithmic axis if the ratio of the largest to the smallest is larger than this."""
LARGEST: Final = 1e290
"""Larger numbers, and positive ones below its inverse, are shown at the end of an axis, to avoid float overflow."""
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

    def ticks_with_labels(self, written: Callable[[float], str]) -> tuple[Tick, ...]:
        """Return the ticks with labels made by `written`."""
        found = [value for value in (self._decades() if self.log else self._steps()) if self.contains(value)]
        return tuple(Tick(self.position(value), written(value)) for value in found)

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


def axis_of(values: Iterable[float], *, margin: float = 0.04) -> Axis:
    """Return an axis for the finite numbers, logarithmic if they are far apart; `margin` is a share of its length."""
    given = [min(max(value, -LARGEST), LARGEST) for value in values if isfinite(value)]
    low, high = min(given, default=0.0), max(given, default=1.0)
    if low > 0 and high / LOG_RATIO > low:
        least = max(low, 1 / LARGEST)
        factor = 10 ** (margin * (log10(high) - log10(least)))
        return Axis(least / factor, high * factor, log=True)
    largest = max(abs(low), abs(high))
    room = max((high - low) * margin, largest * MIN_RELATIVE_LENGTH) if high > low else largest * 0.1
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


def time_axis(end: float) -> TimeAxis:
    """Return an axis of times from 0 to `end` seconds."""
    last = end if 0 < end < LARGEST else 1.0
    unit, length = _unit(last)
    return TimeAxis(Axis(0.0, last / length), unit, length)


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


def evenly_spaced(items: Sequence[T], most: int) -> Sequence[T]:
    """Return at most `most` of the items, evenly spread, with the first and the last."""
    if len(items) <= most:
        return items
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]
