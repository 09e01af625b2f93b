"""Where numbers lie on a line of a picture, in percent, and which of them are written beside it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Final, TypeVar

T = TypeVar("T")

STEPS: Final = (1.0, 2.0, 5.0, 10.0)
"""Distances of ticks, times a power of ten."""

TICKS: Final = 5
"""About so many ticks are on an axis."""

WIDE: Final = 30.0
"""Positive numbers that are so many times apart are shown by their logarithms."""

LARGEST: Final = 1e290
"""Numbers beyond are shown at the end of an axis, as are positive ones below its inverse: axes need room in floats."""

FINEST: Final = 1e-9
"""An axis is no shorter than this share of its numbers: floats that are closer have no round numbers between them."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A number on an axis: where it is, in percent of its length, and how it is written."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A line from `low` to `high > low`; under `log` equal lengths are equal ratios, and both are positive."""

    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        """Where a number lies, from 0 to 100; what is beyond an end is at that end."""
        scaled = log10 if self.log else float
        low, high, found = scaled(self.low), scaled(self.high), scaled(min(max(value, self.low), self.high))
        return min(100 * (found - low) / (high - low), 100.0)

    def has(self, value: float) -> bool:
        """Whether a number lies between the ends."""
        return self.low <= value <= self.high

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """Round numbers between the ends, a few."""
        return self.ticks_as(short)

    def ticks_as(self, written: Callable[[float], str]) -> tuple[Tick, ...]:
        """The same, each as it is to be written."""
        found = [value for value in (self._decades() if self.log else self._steps()) if self.has(value)]
        return tuple(Tick(self.at(value), written(value)) for value in found)

    def _steps(self) -> Iterable[float]:
        length = (self.high - self.low) / TICKS
        power = 10.0 ** floor(log10(length))
        step = next((each * power for each in STEPS if each * power >= length), 10 * power)
        first, last = ceil(self.low / step), floor(self.high / step)
        return (0.0 if number == 0 else number * step for number in range(first, min(last, first + 4 * TICKS) + 1))

    def _decades(self) -> Iterable[float]:
        first, last = floor(log10(self.low)), ceil(log10(self.high))
        every = max(1, ceil((last - first) / (TICKS + 2)))
        factors = (1.0, 2.0, 5.0) if last - first <= 2 else (1.0,)
        return (factor * 10.0**power for power in range(first, last + 1, every) for factor in factors)


def axis_of(values: Iterable[float], *, margin: float = 0.04) -> Axis:
    """An axis for some numbers, by logarithms where they are far apart; a margin is a share of its length."""
    given = [min(max(value, -LARGEST), LARGEST) for value in values if isfinite(value)]
    low, high = min(given, default=0.0), max(given, default=1.0)
    if low > 0 and high / WIDE > low:
        least = max(low, 1 / LARGEST)
        factor = 10 ** (margin * (log10(high) - log10(least)))
        return Axis(least / factor, high * factor, log=True)
    largest = max(abs(low), abs(high))
    room = max((high - low) * margin, largest * FINEST) if high > low else largest * 0.1
    room = max(room, 1 / LARGEST) if largest else 0.1
    return Axis(low - room, high + room)


@dataclass(frozen=True, slots=True)
class Times:
    """An axis of times from 0 on, in a unit of so many seconds."""

    axis: Axis
    unit: str
    length: float

    def at(self, seconds: float) -> float:
        """Where a number of seconds lies, from 0 to 100."""
        return self.axis.at(seconds / self.length)


def times_to(end: float) -> Times:
    """An axis of times that ends after so many seconds."""
    last = end if 0 < end < LARGEST else 1.0
    unit, length = _unit(last)
    return Times(Axis(0.0, last / length), unit, length)


def short(value: float) -> str:
    """A number in a few characters."""
    return "0" if value == 0 else f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def seconds(value: float) -> str:
    """A time in the unit that suits it."""
    unit, length = _unit(value)
    return f"{value / length:.3g} {unit}"


def _unit(value: float) -> tuple[str, float]:
    if abs(value) < 120:
        return "s", 1.0
    return ("min", 60.0) if abs(value) < 7_200 else ("h", 3_600.0)


def thinned(items: Sequence[T], most: int) -> Sequence[T]:
    """At most so many of some items, evenly, the first and the last among them."""
    if len(items) <= most:
        return items
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]
