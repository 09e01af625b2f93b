"""Kernel densities over mixed dimensions, of good points and of bad ones (BOHB, section 3.2).

Own code on NumPy and SciPy. SciPy's and scikit-learn's densities know numbers only. Those of statsmodels, which the
authors use, reckon the width of a set of categories from their places in a list, so that another order of the same
alternatives is another search, and beyond a width of 1 they have weights below 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from spacelang.draws.codes import Array
from spacelang.surrogates.dimensions import Dimension

if TYPE_CHECKING:
    from numpy.random import Generator

NORMAL_REFERENCE: Final = 1.06
"""The width of a kernel is so many deviations of the data, over the (4 + d)-th root of their number."""

NARROWEST: Final = 1e-3
"""No kernel is narrower, however alike the data are."""

WIDER: Final = 3.0
"""What is proposed is drawn from normal distributions so many times as wide as the kernels."""

LEAST: Final = float(np.log(1e-32))
"""The logarithm below which no density is told from another."""

GOOD: Final = 15
"""So many of a hundred points are good."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelDensity:
    """The mean of a product of kernels at each of n points: `points` (n, d), `widths` (d,), without any NaN.

    The kernel of a number is a normal distribution of that width, that of a set of categories has 1 - width at its own
    and shares the width evenly among the others. n and d are at least 1.
    """

    dimensions: Sequence[Dimension]
    points: Array
    widths: Array

    @classmethod
    def of(cls, dimensions: Sequence[Dimension], points: Array) -> "KernelDensity":
        """That of some points, the widths by the normal reference rule; of a set at most where all are alike.

        The deviation of categories is the root of half the probability that two of them differ: that of 0 and 1 where
        there are two, and the same in whatever order they stand.
        """
        count, width = points.shape
        spreads = [_spread(dimension, column) for dimension, column in zip(dimensions, points.T, strict=True)]
        widest = [1 - 1 / len(each.members) if _is_set(each) else np.inf for each in dimensions]
        widths = NORMAL_REFERENCE * np.array(spreads) * count ** (-1 / (4 + width))
        return cls(dimensions, points, np.clip(widths, NARROWEST, widest))

    def log(self, values: Array) -> Array:
        """The logarithms of the density at m values, (m, d): shape (m,)."""
        total = np.zeros((len(values), len(self.points)))
        columns = zip(self.dimensions, self.points.T, values.T, self.widths, strict=True)
        for dimension, centres, column, width in columns:
            if _is_set(dimension):
                same = dimension.places(column)[:, None] == dimension.places(centres)
                total += np.where(same, np.log1p(-width), np.log(width / (len(dimension.members) - 1)))
            else:
                margins = (column[:, None] - centres) / width
                total -= margins * margins / 2 + np.log(width * np.sqrt(2 * np.pi))
        return np.asarray(logsumexp(total, axis=1) - np.log(len(self.points)))

    def draw(self, count: int, rng: "Generator") -> Array:
        """So many points near some of its own, (count, d): normal ones within [0, 1], wider than the kernels.

        A category is kept with the probability 1 - width, and else any one.
        """
        found = self.points[rng.integers(len(self.points), size=count)]
        for place, (dimension, width) in enumerate(zip(self.dimensions, self.widths, strict=True)):
            if _is_set(dimension):
                changed = rng.random(count) < width
                found[:, place] = np.where(changed, _anywhere(dimension, count, rng), found[:, place])
            else:
                found[:, place] = _truncated(found[:, place], WIDER * width, rng)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class GoodAndBad:
    """Where points are good, and where they are bad."""

    good: KernelDensity
    bad: KernelDensity

    @classmethod
    def of(cls, dimensions: Sequence[Dimension], points: Array, numbers: Array, rng: "Generator") -> "GoodAndBad":
        """The model of n points and their numbers, (n, d) and (n,), infinite ones of failures; n must be enough.

        Good are the least 15 %, bad the others, of both at least d + 1. Of equal numbers the earlier ones are better. A
        coordinate that is no number was not active in its point: it is imputed from another one that is good or bad
        likewise.
        """
        good, bad = shares(len(numbers), len(dimensions))
        order = np.argsort(numbers, kind="stable")
        parts = points[order[:good]], points[order[good : good + bad]]
        one, other = (KernelDensity.of(dimensions, imputed(dimensions, part, rng)) for part in parts)
        return cls(one, other)

    def proposals(self, count: int, rng: "Generator") -> Array:
        """So many points from where the good ones are, (count, d), the likeliest to be one first."""
        drawn = self.good.draw(count, rng)
        ratios = np.maximum(self.bad.log(drawn), LEAST) - np.maximum(self.good.log(drawn), LEAST)
        return np.asarray(drawn[np.argsort(ratios, kind="stable")])


def shares(count: int, width: int) -> tuple[int, int]:
    """How many of `count` points in so many dimensions are good, and how many of the others are bad at most."""
    return max(width + 1, GOOD * count // 100), max(width + 1, (100 - GOOD) * count // 100)


def are_enough(count: int, width: int) -> bool:
    """Whether so many points in so many dimensions, at least 1, leave more than d to the good and to the bad."""
    good, bad = shares(count, width)
    return width > 0 and min(good, bad, count - good) > width


def imputed(dimensions: Sequence[Dimension], points: Array, rng: "Generator") -> Array:
    """The points, (n, d), with something in place of each NaN.

    A point takes all that it lacks and another one has from that one, which is any of those that have the first
    coordinate that it lacks. What none has is any value.
    """
    found = points.copy()
    for column, dimension in enumerate(dimensions):
        lacking = np.flatnonzero(np.isnan(found[:, column]))
        having = np.flatnonzero(~np.isnan(points[:, column]))
        if not len(lacking):
            continue
        if len(having):
            others = points[having[rng.integers(len(having), size=len(lacking))]]
            found[lacking] = np.where(np.isnan(found[lacking]), others, found[lacking])
        else:
            found[lacking, column] = _anywhere(dimension, len(lacking), rng)
    return found


def _is_set(dimension: Dimension) -> bool:
    """Whether a dimension has categories; near members of all others are alike, as near numbers are."""
    return bool(dimension.members) and not dimension.is_ordered


def _spread(dimension: Dimension, values: Array) -> float:
    if not _is_set(dimension):
        return float(values.std())
    shares_of = np.bincount(dimension.places(values), minlength=len(dimension.members)) / len(values)
    return float(np.sqrt((1 - shares_of @ shares_of) / 2))


def _anywhere(dimension: Dimension, count: int, rng: "Generator") -> Array:
    return rng.choice(dimension.members, count) if dimension.members else rng.random(count)


def _truncated(centres: Array, width: float, rng: "Generator") -> Array:
    """A number in [0, 1] near each centre there, by a normal distribution."""
    below = ndtr(-centres / width)
    inside = ndtr((1 - centres) / width) - below
    return np.asarray(np.clip(centres + width * ndtri(below + rng.random(len(centres)) * inside), 0, 1))
