"""Ranges of numbers with the laws of their draws, and tables of weights for quantiles within intervals.

The place of a number is its index in a grid, and the number itself in a range of floats.

Modules for other tools contain this source, so it imports nothing but the standard library.
"""

from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import accumulate, chain, pairwise
from math import ceil, exp, floor, inf, log, nextafter
from typing import Any

LEAST_SHARE = 1e-12  # The least probability of a number of a grid


def exact_value(number: Any) -> Any:
    """Return a number exactly; a float stands for the decimal that it is printed as."""
    return Fraction(repr(number)) if isinstance(number, float) else number


def float_at_most(number: Any) -> float:
    """Return the greatest float that is at most a number."""
    found = float(number)
    return found if exact_value(found) <= number else nextafter(found, -inf)


class GridRange:
    """The numbers (start + step * i) / below for i from 0 to `last`, drawn evenly, or evenly on a log scale."""

    first = 0

    def __init__(self, start: int, step: int, below: int, last: int, *, is_log: bool = False) -> None:
        """Compute the probabilities up to a factor; integers if they are equal."""
        self.start, self.step, self.below, self.last, self.is_log = start, step, below, last, is_log
        self.masses: list[Any] = [1] * (last + 1)
        if is_log:
            half = step / 2
            edges = [log(start - min(half, start / 2)), *(log(start + step * i + half) for i in range(last + 1))]
            self.masses = [upper - lower for lower, upper in pairwise(edges)]

    def value(self, place: int) -> Any:
        """Return the number at an index."""
        number = self.start + self.step * place
        return number if self.below == 1 else number / self.below

    def place(self, value: Any) -> int:
        """Return the index of a number."""
        return int((exact_value(value) * self.below - self.start) / self.step)

    def first_at_least(self, number: Any, *, strict: bool) -> int:
        """Return the least index whose number is at least a number, or greater if `strict`; 0 if it is negative."""
        place = Fraction(number * self.below - self.start) / self.step
        return max(0, floor(place) + 1 if strict else ceil(place))

    def last_at_most(self, number: Any, *, strict: bool) -> int:
        """Return the greatest index whose number is at most a number, or less if `strict`."""
        place = Fraction(number * self.below - self.start) / self.step
        return min(self.last, ceil(place) - 1 if strict else floor(place))


class FloatRange:
    """The floats from `lower` to `upper`, drawn evenly, or evenly on a log scale; places are the floats themselves."""

    def __init__(self, lower: float, upper: float, *, is_log: bool = False) -> None:
        """Take the ends, which belong to the range."""
        self.lower, self.upper, self.is_log = lower, upper, is_log
        self.start, self.length = (log(lower), log(upper) - log(lower)) if is_log else (lower, upper - lower)

    @property
    def first(self) -> float:
        """The first place."""
        return self.lower

    @property
    def last(self) -> float:
        """The last place."""
        return self.upper

    def value(self, place: float) -> float:
        """Return the place itself."""
        return place

    def place(self, value: float) -> float:
        """Return the value itself."""
        return value

    def share(self, value: float) -> float:
        """Return the probability that a draw is smaller than a value."""
        found = ((log(value) if self.is_log else value) - self.start) / self.length if self.length else 0.0
        return min(max(found, 0.0), 1.0)

    def quantile_at(self, share: float) -> float:
        """Return the value below which a draw lies with the probability `share`."""
        number = self.start + share * self.length
        return min(max(exp(number) if self.is_log else number, self.lower), self.upper)

    def first_at_least(self, number: Any, *, strict: bool) -> float:
        """Return the least float that is at least a number, or greater if `strict`; `lower` if it is smaller."""
        return -self._most(-number, -self.lower, strict)

    def last_at_most(self, number: Any, *, strict: bool) -> float:
        """Return the greatest float that is at most a number, or less if `strict`."""
        return self._most(number, self.upper, strict)

    @staticmethod
    def _most(number: Any, limit: float, strict: bool) -> float:
        found = float_at_most(number)
        return min(limit, nextafter(found, -inf) if strict and exact_value(found) == number else found)


class GridWeightTable:
    """Weights of the members of a grid, for quantiles within intervals of indices."""

    def __init__(self, weights: list[Any]) -> None:
        self.weights, self.sums = weights, [0, *accumulate(weights)]

    @property
    def is_possible(self) -> bool:
        """True if there are weights, and none is too small to be told apart from 0 beside the others."""
        least = min((weight for weight in self.weights if weight), default=0)
        return bool(least) and least / self.sums[-1] > LEAST_SHARE

    def mass(self, first: int, last: int) -> Any:
        """Return the sum of the weights from `first` to `last`."""
        return self.sums[last + 1] - self.sums[first] if last >= first else 0

    def quantile(self, first: int, last: int, share: float) -> int:
        """Return the index for a share of the weights of an interval."""
        sums, start = self._sums(first, last)
        whole, steps = sums[last + 1 - start] - sums[first - start], min(int(share * 2**53), 2**53 - 1)
        level = sums[first - start] + (steps * whole >> 53 if isinstance(whole, int) else steps * whole / 2**53)
        place = min(max(bisect_right(sums, level, first - start, last + 2 - start) - 1 + start, first), last)
        around = chain(range(place, last + 1), range(place, first - 1, -1))
        return next((each for each in around if self.weights[each]), place)

    def share(self, first: int, last: int, place: int) -> float:
        """Return the middle of the shares that lead to an index."""
        sums, start = self._sums(first, last)
        below, above, low, high = (sums[n - start] for n in (place, place + 1, first, last + 1))
        return min(max(float((below - low + above - low) / (high - low) / 2), 0.0), 1.0)

    def _sums(self, first: int, last: int) -> tuple[list[Any], int]:
        """Return partial sums in which the weights of an interval are not lost beside larger ones, and their start."""
        if isinstance(self.sums[-1], int) or self.mass(first, last) > 1e-6 * self.sums[-1]:
            return self.sums, 0
        return [0, *accumulate(self.weights[first : last + 1])], first


class FloatDensityTable:
    """The integral of a density over shares of a range of floats, for quantiles within intervals."""

    def __init__(self, of: FloatRange, density: list[float]) -> None:
        """Take the density at the ends of equal parts of the range."""
        self.of, self.parts = of, len(density) - 1
        areas = ((one + other) / 2 for one, other in pairwise(density))
        self.sums = [0.0, *accumulate(areas)]

    @property
    def is_possible(self) -> bool:
        """True if the integral is positive."""
        return self.sums[-1] > 0

    def integral_up_to(self, value: float) -> float:
        """Return the integral up to a value."""
        place = self.of.share(value) * self.parts
        part = min(int(place), self.parts - 1)
        return self.sums[part] + (place - part) * (self.sums[part + 1] - self.sums[part])

    def mass(self, first: float, last: float) -> float:
        """Return the integral over an interval."""
        return max(self.integral_up_to(last) - self.integral_up_to(first), 0.0) if last >= first else 0.0

    def quantile(self, first: float, last: float, share: float) -> float:
        """Return the value for a share of the integral over an interval."""
        low, high = self.integral_up_to(first), self.integral_up_to(last)
        if high <= low:
            place = (1 - share) * self.of.share(first) + share * self.of.share(last)
            return min(max(self.of.quantile_at(place), first), last)
        level = low + share * (high - low)
        part = min(max(bisect_left(self.sums, level) - 1, 0), self.parts - 1)
        width = self.sums[part + 1] - self.sums[part]
        place = part + ((level - self.sums[part]) / width if width else 0.0)
        return min(max(self.of.quantile_at(place / self.parts), first), last)

    def share(self, first: float, last: float, value: float) -> float:
        """Return the share that leads to a value."""
        low, high = self.integral_up_to(first), self.integral_up_to(last)
        if high > low:
            return min(max((self.integral_up_to(value) - low) / (high - low), 0.0), 1.0)
        low, high = self.of.share(first), self.of.share(last)
        return min(max((self.of.share(value) - low) / (high - low), 0.0), 1.0) if high > low else 0.5
