"""Tree-structured Parzen estimators, one dimension after the other.

hyperopt's parts say where the bells of a density stand, how wide they are and how much each counts. Drawing from it,
and how dense it is, are own code on SciPy's normal distribution: hyperopt draws numbers one by one until they fall into
the range, and knows cells of equal width only, which members on a logarithmic scale do not have.

See spacelang/optimizers/README.md, section "Parzen estimators".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from spacelang.draws.codes import Array
from spacelang.surrogates.dimensions import Dimension

if TYPE_CHECKING:
    from numpy.random import Generator

MOST_BELOW: Final = 25
"""The good are never more than these."""

FORGETTING: Final = 25
"""So many of the latest observations count fully."""


@dataclass(frozen=True, slots=True)
class Parzen:
    """How dimensions are modelled: after how many points at random, what is good, and how many values are drawn."""

    startup: int = 20
    gamma: float = 0.25
    candidates: int = 24
    prior_weight: float = 1.0

    def below(self, numbers: Array) -> Array:
        """Which of n numbers are good, of shape (n,): the least gamma sqrt(n), earlier ones of equal numbers."""
        count = min(ceil(self.gamma * sqrt(len(numbers))), MOST_BELOW)
        found = np.zeros(len(numbers), bool)
        found[np.argsort(numbers, kind="stable")[:count]] = True
        return found

    def suggest(self, dimensions: Sequence[Dimension], points: Array, numbers: Array, rng: "Generator") -> Array:
        """The next point, of shape (d,), after n points and their numbers, of shapes (n, d) and (n,), in their order.

        A coordinate that is no number was not active in its point; whoever has active ones only takes what is theirs.
        Infinite numbers are those of failures.
        """
        if len(numbers) < self.startup:
            return np.array([_at_random(dimension, rng) for dimension in dimensions])
        is_good = self.below(numbers)
        return np.array(
            [
                self.value(dimension, column[is_good], column[~is_good], rng)
                for dimension, column in zip(dimensions, points.T, strict=True)
            ]
        )

    def value(self, dimension: Dimension, good: Array, bad: Array, rng: "Generator") -> float:
        """Of some values drawn from where the good ones lie the one that is likeliest among them against the bad."""
        likes, dislikes = (self.density(dimension, values[~np.isnan(values)]) for values in (good, bad))
        drawn = likes.draw(self.candidates, rng)
        return float(drawn[(likes.log(drawn) - dislikes.log(drawn)).argmax()])

    def density(self, dimension: Dimension, values: Array) -> "Density":
        """Where values, in the order in which they were observed, lie in a dimension."""
        if dimension.members and not dimension.is_ordered:
            return _counted(dimension, values, self.prior_weight)
        from hyperopt.tpe import adaptive_parzen_normal

        low, high = (dimension.edges[0], dimension.edges[-1]) if dimension.members else (0.0, 1.0)
        weights, centres, widths = adaptive_parzen_normal(
            values, self.prior_weight, (low + high) / 2, high - low, FORGETTING
        )
        mixture = Mixture(weights, centres, widths, low, high)
        return Cells(dimension, mixture.masses(dimension.edges)) if dimension.members else mixture


class Density(Protocol):
    """How probable the values of a dimension are."""

    def draw(self, count: int, rng: "Generator") -> Array:
        """So many values: shape (count,)."""
        ...

    def log(self, values: Array) -> Array:
        """The logarithm of the density or, of members, of the probability of each value."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Normal distributions with their weights, which sum to 1, and nothing outside of [low, high]."""

    weights: Array
    centres: Array
    widths: Array
    low: float
    high: float

    def draw(self, count: int, rng: "Generator") -> Array:
        """So many values: shape (count,)."""
        below, inside = self._inside()
        bell = rng.choice(len(self.weights), count, p=inside * self.weights / (inside @ self.weights))
        share = below[bell] + rng.random(count) * inside[bell]
        return np.asarray(np.clip(self.centres[bell] + self.widths[bell] * ndtri(share), self.low, self.high))

    def log(self, values: Array) -> Array:
        """The logarithms of the density at values between low and high."""
        margins = (values[:, None] - self.centres) / self.widths
        terms = np.log(self.weights / self.widths) - margins * margins / 2 - np.log(2 * np.pi) / 2
        return np.asarray(logsumexp(terms, axis=1) - np.log(self._inside()[1] @ self.weights))

    def masses(self, edges: Array) -> Array:
        """The probabilities of the cells between edges, from low to high."""
        masses = np.diff(ndtr((edges[:, None] - self.centres) / self.widths), axis=0) @ self.weights
        return np.asarray(masses / masses.sum())

    def _inside(self) -> tuple[Array, Array]:
        """Of each bell what lies below `low`, and what between the ends."""
        below = ndtr((self.low - self.centres) / self.widths)
        return below, ndtr((self.high - self.centres) / self.widths) - below


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Members with their probabilities."""

    dimension: Dimension
    masses: Array

    def draw(self, count: int, rng: "Generator") -> Array:
        """So many members: shape (count,)."""
        return np.array(self.dimension.members)[rng.choice(len(self.masses), count, p=self.masses)]

    def log(self, values: Array) -> Array:
        """The logarithms of the probabilities of members."""
        # A cell so far out that no float says how improbable it is still is one.
        return np.asarray(np.log(np.maximum(self.masses, np.finfo(float).tiny))[self.dimension.places(values)])


def _counted(dimension: Dimension, values: Array, prior_weight: float) -> Cells:
    from hyperopt.tpe import linear_forgetting_weights

    count = len(dimension.members)
    weights = linear_forgetting_weights(len(values), FORGETTING)
    seen = np.bincount(dimension.places(values), weights, count) + prior_weight
    return Cells(dimension, seen / seen.sum())


def _at_random(dimension: Dimension, rng: "Generator") -> float:
    return float(rng.choice(dimension.members)) if dimension.members else float(rng.random())
