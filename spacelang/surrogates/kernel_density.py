"""Kernel densities over mixed dimensions, for good and for bad points (BOHB, section 3.2).

The code is our own, on NumPy and SciPy, because the densities of SciPy and scikit-learn support numbers only. The
authors of BOHB use statsmodels. It computes the width of categories from their positions in a list, so that reordering
the alternatives changes the search, and its weights become negative for widths above 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator
from scipy.special import logsumexp, ndtr, ndtri

from spacelang.sampling.value_codes import Array
from spacelang.surrogates import Dimension

NORMAL_REFERENCE_FACTOR: Final = 1.06
"""The factor of the normal reference rule: width = 1.06 * deviation * n^(-1 / (4 + d))."""
MIN_WIDTH: Final = 1e-3  # The minimum width of a kernel, even if all data are equal
PROPOSAL_WIDTH_FACTOR: Final = 3.0
"""Proposals are drawn from normal distributions that are this many times as wide as the kernels."""
MIN_LOG_DENSITY: Final = float(np.log(1e-32))  # The lower bound of logarithms of densities; smaller ones count as equal
GOOD_PERCENT: Final = 15


@dataclass(frozen=True, slots=True, eq=False)
class KernelDensity:
    """A kernel density estimate: the mean of product kernels at n points.

    `points` has shape (n, d) and no NaN, `widths` has shape (d,), and n and d are at least 1. The kernel of a number is
    a normal distribution with that width as its standard deviation. The kernel of a category gives probability 1 -
    width to the category itself and divides the width evenly among the others.
    """

    dimensions: Sequence[Dimension]
    points: Array
    widths: Array

    @classmethod
    def from_points(cls, dimensions: Sequence[Dimension], points: Array) -> "KernelDensity":
        """Return the density of some points, shape (n, d), with widths by the normal reference rule.

        The width of a categorical dimension is at most the one at which all categories are equally likely. Its
        deviation is the square root of half the probability that two points differ. With two categories, this is the
        standard deviation of 0 and 1. It does not depend on the order of the categories.
        """
        count, width = points.shape
        spreads = [_deviation(dimension, column) for dimension, column in zip(dimensions, points.T, strict=True)]
        widest = [1 - 1 / len(each.members) if _is_categorical(each) else np.inf for each in dimensions]
        widths = NORMAL_REFERENCE_FACTOR * np.array(spreads) * count ** (-1 / (4 + width))
        return cls(dimensions, points, np.clip(widths, MIN_WIDTH, widest))

    def log_density(self, values: Array) -> Array:
        """Return the logarithms of the density at m points, shape (m, d): shape (m,)."""
        total = np.zeros((len(values), len(self.points)))
        columns = zip(self.dimensions, self.points.T, values.T, self.widths, strict=True)
        for dimension, centres, column, width in columns:
            if _is_categorical(dimension):
                same = dimension.member_indices(column)[:, None] == dimension.member_indices(centres)
                total += np.where(same, np.log1p(-width), np.log(width / (len(dimension.members) - 1)))
            else:
                margins = (column[:, None] - centres) / width
                total -= margins * margins / 2 + np.log(width * np.sqrt(2 * np.pi))
        return np.asarray(logsumexp(total, axis=1) - np.log(len(self.points)))

    def draw(self, count: int, rng: Generator) -> Array:
        """Return `count` points near random points of the density, shape (count, d).

        Numbers follow normal distributions truncated to [0, 1], wider than the kernels. A category stays the same with
        probability 1 - width; otherwise any category is drawn.
        """
        found = self.points[rng.integers(len(self.points), size=count)]
        for place, (dimension, width) in enumerate(zip(self.dimensions, self.widths, strict=True)):
            if _is_categorical(dimension):
                changed = rng.random(count) < width
                found[:, place] = np.where(changed, _draw_uniform(dimension, count, rng), found[:, place])
            else:
                found[:, place] = _draw_truncated_normal(found[:, place], PROPOSAL_WIDTH_FACTOR * width, rng)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class GoodAndBadDensities:
    """The densities of the good and of the bad points."""

    good: KernelDensity
    bad: KernelDensity

    @classmethod
    def from_points(
        cls, dimensions: Sequence[Dimension], points: Array, numbers: Array, rng: Generator
    ) -> "GoodAndBadDensities":
        """Return the model of n points, shape (n, d), and of their numbers, shape (n,).

        The number of a failure is infinite. The 15 % with the smallest numbers are good and the others bad, at least d
        + 1 each. Of equal numbers the earlier ones are better. NaN coordinates, which are inactive in their points, are
        imputed from other points of the same group. `has_enough_points` must be true for n and d.
        """
        good, bad = good_and_bad_counts(len(numbers), len(dimensions))
        order = np.argsort(numbers, kind="stable")
        parts = points[order[:good]], points[order[good : good + bad]]
        one, other = (KernelDensity.from_points(dimensions, impute(dimensions, part, rng)) for part in parts)
        return cls(one, other)

    def propose(self, count: int, rng: Generator) -> Array:
        """Return `count` points near good ones, (count, d), the largest ratio of good to bad density first."""
        drawn = self.good.draw(count, rng)
        bad, good = (np.maximum(each.log_density(drawn), MIN_LOG_DENSITY) for each in (self.bad, self.good))
        return np.asarray(drawn[np.argsort(bad - good, kind="stable")])


def good_and_bad_counts(count: int, width: int) -> tuple[int, int]:
    """Return how many of `count` points with `width` dimensions are good, and the maximum number of bad ones."""
    return max(width + 1, GOOD_PERCENT * count // 100), max(width + 1, (100 - GOOD_PERCENT) * count // 100)


def has_enough_points(count: int, width: int) -> bool:
    """Return True if `count` points give more than `width` good and more than `width` bad points, and `width` >= 1."""
    good, bad = good_and_bad_counts(count, width)
    return width > 0 and min(good, bad, count - good) > width


def impute(dimensions: Sequence[Dimension], points: Array, rng: Generator) -> Array:
    """Return the points, shape (n, d), with every NaN replaced.

    For the first NaN of a point, a random other point is drawn that has this coordinate, and all NaN of the point that
    the other one has are copied from it. A coordinate that no point has is drawn uniformly.
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
            found[lacking, column] = _draw_uniform(dimension, len(lacking), rng)
    return found


def _is_categorical(dimension: Dimension) -> bool:
    return bool(dimension.members) and not dimension.is_ordered


def _deviation(dimension: Dimension, values: Array) -> float:
    if not _is_categorical(dimension):
        return float(values.std())
    shares_of = np.bincount(dimension.member_indices(values), minlength=len(dimension.members)) / len(values)
    return float(np.sqrt((1 - shares_of @ shares_of) / 2))


def _draw_uniform(dimension: Dimension, count: int, rng: Generator) -> Array:
    return rng.choice(dimension.members, count) if dimension.members else rng.random(count)


def _draw_truncated_normal(centres: Array, width: float, rng: Generator) -> Array:
    """Return a draw near each centre from a normal distribution truncated to [0, 1]."""
    below = ndtr(-centres / width)
    inside = ndtr((1 - centres) / width) - below
    return np.asarray(np.clip(centres + width * ndtri(below + rng.random(len(centres)) * inside), 0, 1))
