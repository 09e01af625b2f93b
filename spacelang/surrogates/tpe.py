"""Tree-structured Parzen estimators, which model one dimension at a time.

hyperopt computes the centres, widths and weights of the normal distributions of a density. Sampling and evaluating the
density are our own code on SciPy's normal distribution, for two reasons. hyperopt samples numbers one by one until they
fall into the range. It also supports only cells of equal width, which the members of a logarithmic scale do not have.

See spacelang/optimizers/README.md, section "Parzen estimators".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Final

import numpy as np
from numpy.random import Generator
from scipy.special import logsumexp, ndtr, ndtri

from spacelang.sampling.value_codes import Array
from spacelang.surrogates import Dimension, apply_priors

MAX_GOOD: Final = 25

FULL_WEIGHT_COUNT: Final = 25
"""The number of latest observations with full weight; the weights of earlier ones decrease linearly."""


@dataclass(frozen=True, slots=True)
class TreeParzenEstimator:
    """A tree-structured Parzen estimator, which suggests points; its fields are its settings.

    `startup` random points come before the first model, `gamma` determines how many points are good, `candidates`
    values are drawn for each coordinate, and `prior_weight` is the weight of the prior in each density.
    """

    startup: int = 20
    gamma: float = 0.25
    candidates: int = 24
    prior_weight: float = 1.0

    def good_mask(self, numbers: Array) -> Array:
        """Return a boolean array: True for the gamma * sqrt(n) smallest of n numbers, at most `MAX_GOOD`.

        Of equal numbers the earlier ones are good.
        """
        count = min(ceil(self.gamma * sqrt(len(numbers))), MAX_GOOD)
        found = np.zeros(len(numbers), bool)
        found[np.argsort(numbers, kind="stable")[:count]] = True
        return found

    def suggest(self, dimensions: Sequence[Dimension], points: Array, numbers: Array, rng: Generator) -> Array:
        """Return the next point, shape (d,), after n points, shape (n, d), and their numbers, shape (n,), in order.

        A NaN coordinate was not active in its point. All coordinates of the result are filled in; the caller uses those
        that are active. The number of a failed trial is infinite.
        """
        if len(numbers) < self.startup:
            return apply_priors(dimensions, np.array([_draw_uniform(dimension, rng) for dimension in dimensions]))
        is_good, columns = self.good_mask(numbers), zip(dimensions, points.T, strict=True)
        return np.array([self.suggest_value(each, column[is_good], column[~is_good], rng) for each, column in columns])

    def suggest_value(self, dimension: Dimension, good: Array, bad: Array, rng: Generator) -> float:
        """Draw candidates from the good density; return the one with the largest ratio of good to bad density."""
        likes, dislikes = (self.fit_density(dimension, values[~np.isnan(values)]) for values in (good, bad))
        drawn = likes.draw(self.candidates, rng)
        return float(drawn[(likes.log_density(drawn) - dislikes.log_density(drawn)).argmax()])

    def fit_density(self, dimension: Dimension, values: Array) -> "NormalMixture | CategoricalDensity":
        """Return the density of a dimension for values in the order in which they were observed."""
        if dimension.members and not dimension.is_ordered:
            return _categorical_density(dimension, values, self.prior_weight)
        from hyperopt.tpe import adaptive_parzen_normal

        low, high = (dimension.cell_edges[0], dimension.cell_edges[-1]) if dimension.members else (0.0, 1.0)
        weights, centres, widths = adaptive_parzen_normal(
            values, self.prior_weight, (low + high) / 2, high - low, FULL_WEIGHT_COUNT
        )
        mixture = NormalMixture(weights, centres, widths, low, high)
        if not dimension.members:
            return mixture
        return CategoricalDensity(dimension, mixture.cell_probabilities(dimension.cell_edges))


@dataclass(frozen=True, slots=True, eq=False)
class NormalMixture:
    """A mixture of normal distributions, truncated to [low, high]; the weights sum to 1."""

    weights: Array
    centres: Array
    widths: Array
    low: float
    high: float

    def draw(self, count: int, rng: Generator) -> Array:
        """Return `count` random values: shape (count,)."""
        below, inside = self._probabilities_below_and_inside()
        bell = rng.choice(len(self.weights), count, p=inside * self.weights / (inside @ self.weights))
        share = below[bell] + rng.random(count) * inside[bell]
        return np.asarray(np.clip(self.centres[bell] + self.widths[bell] * ndtri(share), self.low, self.high))

    def log_density(self, values: Array) -> Array:
        """Return the logarithms of the density at values between `low` and `high`."""
        margins = (values[:, None] - self.centres) / self.widths
        terms = np.log(self.weights / self.widths) - margins * margins / 2 - np.log(2 * np.pi) / 2
        return np.asarray(logsumexp(terms, axis=1) - np.log(self._probabilities_below_and_inside()[1] @ self.weights))

    def cell_probabilities(self, edges: Array) -> Array:
        """Return the probabilities of the cells between edges that go from `low` to `high`."""
        masses = np.diff(ndtr((edges[:, None] - self.centres) / self.widths), axis=0) @ self.weights
        return np.asarray(masses / masses.sum())

    def _probabilities_below_and_inside(self) -> tuple[Array, Array]:
        """Return the probabilities of each normal distribution below `low`, and within [low, high]."""
        below = ndtr((self.low - self.centres) / self.widths)
        return below, ndtr((self.high - self.centres) / self.widths) - below


@dataclass(frozen=True, slots=True, eq=False)
class CategoricalDensity:
    """A categorical distribution over the members of a dimension."""

    dimension: Dimension
    probabilities: Array

    def draw(self, count: int, rng: Generator) -> Array:
        """Return `count` random members: shape (count,)."""
        return np.array(self.dimension.members)[rng.choice(len(self.probabilities), count, p=self.probabilities)]

    def log_density(self, values: Array) -> Array:
        """Return the logarithms of the probabilities of members."""
        # The probability of a remote cell may underflow to 0; its logarithm must stay finite.
        logarithms = np.log(np.maximum(self.probabilities, np.finfo(float).tiny))
        return np.asarray(logarithms[self.dimension.member_indices(values)])


def _categorical_density(dimension: Dimension, values: Array, prior_weight: float) -> CategoricalDensity:
    from hyperopt.tpe import linear_forgetting_weights

    count = len(dimension.members)
    weights = linear_forgetting_weights(len(values), FULL_WEIGHT_COUNT)
    seen = np.bincount(dimension.member_indices(values), weights, count) + prior_weight
    return CategoricalDensity(dimension, seen / seen.sum())


def _draw_uniform(dimension: Dimension, rng: Generator) -> float:
    return float(rng.choice(dimension.members)) if dimension.members else float(rng.random())
