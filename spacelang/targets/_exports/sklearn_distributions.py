"""Distributions for the random search of scikit-learn; `rvs` returns Python numbers and includes both bounds.

The target `sklearn` copies this source into its modules, so that they do not import spacelang.
"""

import math
from typing import Any

import numpy as np
from scipy.stats import truncnorm
from sklearn.utils import check_random_state


class Uniform:
    """A uniform distribution over the floats from `lower` to `upper`; log-uniform with `log`."""

    def __init__(self, lower: float, upper: float, log: bool = False) -> None:
        self.lower, self.upper, self.log = lower, upper, log

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """Draw a float, or a list of `size` floats."""
        return _several(self._draw, size, random_state)

    def _draw(self, random: Any) -> Any:
        share = random.random_sample()
        if self.log:
            start, end = math.log(self.lower), math.log(self.upper)
            number = math.exp(start + (end - start) * share)
        else:
            number = self.lower * (1 - share) + self.upper * share
        return min(max(number, self.lower), self.upper)


class Normal:
    """A normal distribution truncated to [lower, upper]; with `log`, a normal distribution of logarithms."""

    def __init__(self, lower: float, upper: float, mean: float, deviation: float, log: bool = False) -> None:
        self.lower, self.upper, self.mean, self.deviation, self.log = lower, upper, mean, deviation, log

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """Draw a float, or a list of `size` floats."""
        return _several(self._draw, size, random_state)

    def _draw(self, random: Any) -> Any:
        ends = (math.log(self.lower), math.log(self.upper)) if self.log else (self.lower, self.upper)
        start, end = ((place - self.mean) / self.deviation for place in ends)
        place = float(truncnorm.rvs(start, end, loc=self.mean, scale=self.deviation, random_state=random))
        # Very far from the mean, nothing is left to draw: NaN and values out of bounds become an end of the range.
        inside = min(max(ends[0], place), ends[1])
        return min(max(math.exp(inside) if self.log else inside, self.lower), self.upper)


class UniformInteger:
    """A uniform distribution over the integers from `lower` to `upper` by `step`; about log-uniform with `log`."""

    def __init__(self, lower: int, upper: int, step: int = 1, log: bool = False) -> None:
        self.lower, self.upper, self.step, self.log = lower, upper, step, log

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """Draw an integer, or a list of `size` integers."""
        return _several(self._draw, size, random_state)

    def _draw(self, random: Any) -> Any:
        places = (self.upper - self.lower) // self.step + 1
        if not self.log:
            return self.lower + self.step * _below(places, random)
        # Each integer represents the interval of numbers nearest to it.
        start = math.log(self.lower - min(self.step, self.lower) / 2)
        end = math.log(self.lower + (places - 0.5) * self.step)
        number = math.exp(start + (end - start) * random.random_sample())
        return self.lower + self.step * min(max(round((number - self.lower) / self.step), 0), places - 1)


class UniformGrid:
    """A uniform distribution over the decimals (start + step i) / below with i from `first` to `last`."""

    def __init__(self, start: int, step: int, below: int, first: int, last: int) -> None:
        self.start, self.step, self.below, self.first, self.last = start, step, below, first, last

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """Draw a float, or a list of `size` floats."""
        return _several(self._draw, size, random_state)

    def _draw(self, random: Any) -> Any:
        place = self.first + _below(self.last - self.first + 1, random)
        return (self.start + self.step * place) / self.below


class OneOf:
    """A choice of one of the options, with equal or given shares; an option may be a distribution itself."""

    def __init__(self, options: Any, shares: Any = None) -> None:
        self.options, self.shares = options, shares

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """Draw an option, or a list of `size` options."""
        return _several(self._draw, size, random_state)

    def _draw(self, random: Any) -> Any:
        if self.shares is None:
            place = random.randint(len(self.options))
        else:
            place = min(np.searchsorted(np.cumsum(self.shares), random.random_sample()), len(self.options) - 1)
        return _drawn(self.options[place], random)


class JointDistribution:
    """A joint distribution: a dictionary of values that are drawn at once, with nested dictionaries flattened."""

    def __init__(self, parts: Any) -> None:
        self.parts = parts

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """Draw a dictionary, or a list of `size` dictionaries."""
        return _several(self._draw, size, random_state)

    def _draw(self, random: Any) -> Any:
        return _flat(_drawn(self.parts, random))


def _several(draw: Any, size: Any, random_state: Any) -> Any:
    random = check_random_state(random_state)
    return draw(random) if size is None else [draw(random) for _ in range(size)]


def _drawn(value: Any, random: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drawn(inner, random) for key, inner in value.items()}
    return value.rvs(random_state=random) if hasattr(value, "rvs") else value


def _flat(drawn: Any) -> Any:
    found: Any = {}
    for key, value in drawn.items():
        found.update(_flat(value) if isinstance(value, dict) else {key: value})
    return found


def _below(bound: int, random: Any) -> int:
    """Draw an integer from 0 to bound - 1."""
    return int(random.randint(bound, dtype=np.int64))
