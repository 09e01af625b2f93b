"""Distributions for scikit-learn's random search: `rvs` draws Python's own numbers, from closed bounds alone.

The target `sklearn` writes this source into its modules, so that it imports nothing of ours.
"""

import math
from typing import Any

import numpy as np
from scipy.stats import truncnorm
from sklearn.utils import check_random_state


class Uniform:
    """The floats from `lower` to `upper`: alike, under `log` alike in their logarithms."""

    def __init__(self, lower: float, upper: float, log: bool = False) -> None:
        self.lower, self.upper, self.log = lower, upper, log

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """One float; a list of `size` of them where that is given."""
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
    """The floats from `lower` to `upper` as a normal distribution has them there, under `log` their logarithms."""

    def __init__(self, lower: float, upper: float, mean: float, deviation: float, log: bool = False) -> None:
        self.lower, self.upper, self.mean, self.deviation, self.log = lower, upper, mean, deviation, log

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """One float; a list of `size` of them where that is given."""
        return _several(self._draw, size, random_state)

    def _draw(self, random: Any) -> Any:
        ends = (math.log(self.lower), math.log(self.upper)) if self.log else (self.lower, self.upper)
        start, end = ((place - self.mean) / self.deviation for place in ends)
        place = float(truncnorm.rvs(start, end, loc=self.mean, scale=self.deviation, random_state=random))
        # Very far from the mean there is no number left to draw: then the lower end, also for what is none.
        inside = min(max(ends[0], place), ends[1])
        return min(max(math.exp(inside) if self.log else inside, self.lower), self.upper)


class Whole:
    """The integers from `lower` to `upper` by `step`, alike or nearly alike in their logarithms."""

    def __init__(self, lower: int, upper: int, step: int = 1, log: bool = False) -> None:
        self.lower, self.upper, self.step, self.log = lower, upper, step, log

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """One integer; a list of `size` of them where that is given."""
        return _several(self._draw, size, random_state)

    def _draw(self, random: Any) -> Any:
        places = (self.upper - self.lower) // self.step + 1
        if not self.log:
            return self.lower + self.step * _below(places, random)
        # Each integer stands for what is nearest to it.
        start = math.log(self.lower - min(self.step, self.lower) / 2)
        end = math.log(self.lower + (places - 0.5) * self.step)
        number = math.exp(start + (end - start) * random.random_sample())
        return self.lower + self.step * min(max(round((number - self.lower) / self.step), 0), places - 1)


class Steps:
    """The decimals (start + step i) / below with i from `first` to `last`, alike."""

    def __init__(self, start: int, step: int, below: int, first: int, last: int) -> None:
        self.start, self.step, self.below, self.first, self.last = start, step, below, first, last

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """One float; a list of `size` of them where that is given."""
        return _several(self._draw, size, random_state)

    def _draw(self, random: Any) -> Any:
        place = self.first + _below(self.last - self.first + 1, random)
        return (self.start + self.step * place) / self.below


class OneOf:
    """One of the options, with equal or with given shares; what is a distribution itself is drawn from."""

    def __init__(self, options: Any, shares: Any = None) -> None:
        self.options, self.shares = options, shares

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """What is drawn; a list of `size` of such where that is given."""
        return _several(self._draw, size, random_state)

    def _draw(self, random: Any) -> Any:
        if self.shares is None:
            place = random.randint(len(self.options))
        else:
            place = min(np.searchsorted(np.cumsum(self.shares), random.random_sample()), len(self.options) - 1)
        return _drawn(self.options[place], random)


class Together:
    """A dictionary of all that is drawn at once; dictionaries within it are laid flat."""

    def __init__(self, parts: Any) -> None:
        self.parts = parts

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """A dictionary; a list of `size` of them where that is given."""
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
    """An integer from 0 to bound - 1."""
    return int(random.randint(bound, dtype=np.int64))
