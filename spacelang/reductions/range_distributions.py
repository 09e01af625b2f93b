"""Ranges of numbers with the distribution of their draws, and tables of weights for quantiles within intervals.

A place is a position in a range: the index of a number in a grid, and the number itself in a range of floats. A share
is a probability from 0 to 1.

Modules for other tools contain this source, so it imports nothing but the standard library.
"""

from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import accumulate, chain, pairwise
from math import ceil, exp, floor, inf, log, nextafter
from typing import Any

LEAST_SHARE = 1e-12  # The least probability of a number of a grid


def exact_value(number: Any) -> Any:
    """Return a float as the fraction that equals its printed decimal, and any other number unchanged."""
    return Fraction(repr(number)) if isinstance(number, float) else number


def float_at_most(number: Any) -> float:
    """Return the greatest float whose printed decimal is at most `number`."""
    found = float(number)
    return found if exact_value(found) <= number else nextafter(found, -inf)


class GridRange:
    """The numbers (start + step * i) / below for i from 0 to `last`, drawn evenly, or evenly on a log scale."""

    first = 0

    def __init__(self, start: int, step: int, below: int, last: int, *, is_log: bool = False) -> None:
        """Compute the weight of each number in `masses`: 1 if drawn evenly, its width in logarithms on a log scale."""
        self.start, self.step, self.below, self.last, self.is_log = start, step, below, last, is_log
        self.masses: list[Any] = [1] * (last + 1)
        if is_log:
            half = step / 2
            edges = [log(start - min(half, start / 2)), *(log(start + step * i + half) for i in range(last + 1))]
            self.masses = [upper - lower for lower, upper in pairwise(edges)]

    def value(self, place: int) -> Any:
        """Return the number at the index `place`."""
        number = self.start + self.step * place
        return number if self.below == 1 else number / self.below

    def place(self, value: Any) -> int:
        """Return the index of a number of the grid."""
        return int((exact_value(value) * self.below - self.start) / self.step)

    def first_at_least(self, number: Any, *, strict: bool) -> int:
        """Return the least index whose number is at least `number`, or greater than it if `strict`; never less than 0.

        The result exceeds `last` if there is no such number.
        """
        place = Fraction(number * self.below - self.start) / self.step
        return max(0, floor(place) + 1 if strict else ceil(place))

    def last_at_most(self, number: Any, *, strict: bool) -> int:
        """Return the greatest index whose number is at most `number`, or less if `strict`; never more than `last`.

        The result is negative if there is no such number.
        """
        place = Fraction(number * self.below - self.start) / self.step
        return min(self.last, ceil(place) - 1 if strict else floor(place))


class FloatRange:
    """The floats from `lower` to `upper`, drawn evenly, or evenly on a log scale; places are the floats themselves."""

    def __init__(self, lower: float, upper: float, *, is_log: bool = False) -> None:
        """Store the ends, both of which belong to the range."""
        self.lower, self.upper, self.is_log = lower, upper, is_log
        self.start, self.length = (log(lower), log(upper) - log(lower)) if is_log else (lower, upper - lower)

    @property
    def first(self) -> float:
        """The least float, which is the first place."""
        return self.lower

    @property
    def last(self) -> float:
        """The greatest float, which is the last place."""
        return self.upper

    def value(self, place: float) -> float:
        """Return the number at a place, which is the place itself (unlike in a `GridRange`)."""
        return place

    def place(self, value: float) -> float:
        """Return the place of a number, which is the number itself (unlike in a `GridRange`)."""
        return value

    def share(self, value: float) -> float:
        """Return the probability that a draw from the whole range is smaller than `value`."""
        found = ((log(value) if self.is_log else value) - self.start) / self.length if self.length else 0.0
        return min(max(found, 0.0), 1.0)

    def quantile_at(self, share: float) -> float:
        """Return the number below which a draw from the whole range lies with the probability `share`."""
        number = self.start + share * self.length
        return min(max(exp(number) if self.is_log else number, self.lower), self.upper)

    def first_at_least(self, number: Any, *, strict: bool) -> float:
        """Return the least float that is at least `number`, or greater than it if `strict`; never less than `lower`.

        A float stands for its printed decimal here and in `last_at_most`.
        """
        return -self._most(-number, -self.lower, strict)

    def last_at_most(self, number: Any, *, strict: bool) -> float:
        """Return the greatest float that is at most `number`, or less than it if `strict`; never more than `upper`."""
        return self._most(number, self.upper, strict)

    @staticmethod
    def _most(number: Any, limit: float, strict: bool) -> float:
        if isinstance(number, float):
            return min(limit, nextafter(number, -inf) if strict else number)
        found = float_at_most(number)
        return min(limit, nextafter(found, -inf) if strict and exact_value(found) == number else found)


class GridWeightTable:
    """Weights of the members of a grid, for quantiles within intervals of indices."""

    def __init__(self, weights: list[Any]) -> None:
        self.weights, self.sums = weights, [0, *accumulate(weights)]

    @property
    def is_possible(self) -> bool:
        """True if a weight is positive, and no positive weight is lost to rounding beside the sum of all."""
        least = min((weight for weight in self.weights if weight), default=0)
        return bool(least) and least / self.sums[-1] > LEAST_SHARE

    def mass(self, first: int, last: int) -> Any:
        """Return the sum of the weights from the index `first` to `last`; 0 if `last` is less."""
        return self.sums[last + 1] - self.sums[first] if last >= first else 0

    def quantile(self, first: int, last: int, share: float) -> int:
        """Return the index in the interval below which the part `share` of the interval's weight lies.

        The result has a positive weight if any index of the interval has.
        """
        sums, start = self._sums(first, last)
        whole, steps = sums[last + 1 - start] - sums[first - start], min(int(share * 2**53), 2**53 - 1)
        level = sums[first - start] + (steps * whole >> 53 if isinstance(whole, int) else steps * whole / 2**53)
        place = min(max(bisect_right(sums, level, first - start, last + 2 - start) - 1 + start, first), last)
        around = chain(range(place, last + 1), range(place, first - 1, -1))
        return next((each for each in around if self.weights[each]), place)

    def share(self, first: int, last: int, place: int) -> float:
        """Return the middle of all shares for which `quantile` of the interval returns the index `place`."""
        sums, start = self._sums(first, last)
        below, above, low, high = (sums[n - start] for n in (place, place + 1, first, last + 1))
        return min(max(float((below - low + above - low) / (high - low) / 2), 0.0), 1.0)

    def _sums(self, first: int, last: int) -> tuple[list[Any], int]:
        """Return cumulative sums of weights, and the index of the first weight in them.

        They are the sums over the whole table, unless rounding errors in them would be large beside the weight of the
        interval: then only the interval is summed.
        """
        if isinstance(self.sums[-1], int) or self.mass(first, last) > 1e-6 * self.sums[-1]:
            return self.sums, 0
        return [0, *accumulate(self.weights[first : last + 1])], first


class FloatDensityTable:
    """The cumulative integral of a density relative to the draws of a range, for quantiles within intervals."""

    def __init__(self, of: FloatRange, density: list[float]) -> None:
        """Integrate a density that is given at the quantiles 0, 1/n, 2/n, ..., 1 of the range."""
        self.of, self.parts = of, len(density) - 1
        areas = ((one + other) / 2 for one, other in pairwise(density))
        self.sums = [0.0, *accumulate(areas)]

    @property
    def is_possible(self) -> bool:
        """True if the integral over the whole range is positive."""
        return self.sums[-1] > 0

    def integral_up_to(self, value: float) -> float:
        """Return the integral from the least float of the range to `value`."""
        place = self.of.share(value) * self.parts
        part = min(int(place), self.parts - 1)
        return self.sums[part] + (place - part) * (self.sums[part + 1] - self.sums[part])

    def mass(self, first: float, last: float) -> float:
        """Return the integral from `first` to `last`; 0 if `last` is less."""
        return max(self.integral_up_to(last) - self.integral_up_to(first), 0.0) if last >= first else 0.0

    def quantile(self, first: float, last: float, share: float) -> float:
        """Return the number between `first` and `last` below which the part `share` of the integral lies.

        If the integral between them is 0, the draws of the range itself take the place of the density.
        """
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
        """Return the share for which `quantile` of the interval returns `value`; 0.5 for an empty interval."""
        low, high = self.integral_up_to(first), self.integral_up_to(last)
        if high > low:
            return min(max((self.integral_up_to(value) - low) / (high - low), 0.0), 1.0)
        low, high = self.of.share(first), self.of.share(last)
        return min(max((self.of.share(value) - low) / (high - low), 0.0), 1.0) if high > low else 0.5
