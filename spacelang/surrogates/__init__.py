"""Surrogates: models of a function that is expensive to evaluate, and proposals of the next point to evaluate.

They work on encoded points (rows of floats in [0, 1]) and on numbers to be minimised. Every result is a function of
these data, in their order, and of a random generator. It does not depend on earlier fits, nor on whether the search was
interrupted. Callers compute proposals under `limit_to_one_thread()`, which makes them reproducible to the last bit.

    gaussian_process     Matern 5/2 kernel with a length per dimension, its fit, and updates row by row as data grow;
                         expected improvement, and the point that maximises it
    cubic_rbf            the interpolating cubic spline
    forest               scikit-learn's random forest with the standard deviation over its trees
    kernel_density       multivariate densities of good and of bad points, as in BOHB
    tpe                  univariate densities of good and of bad points: tree-structured Parzen estimators
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.random import Generator

from spacelang.deprecation import renamed_attributes
from spacelang.sampling.value_codes import Array

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

MAX_POINTS: Final = 500
POINTS_WHEN_FITTED: Final = 384
"""The number of points to which a model is fitted if there are more: half the best, half the latest."""


def subsampling_note(most: int) -> str:
    """Return the sentence in the summary of a search that had more trials than the `most` that a model uses."""
    return f"Surrogate models use at most {most:,} trials: the best ones and the latest ones."


SUBSAMPLING_NOTE: Final = subsampling_note(MAX_POINTS)
"""The sentence for Gaussian processes and splines."""

MAX_DENSITY_POINTS: Final = 1_000
"""The maximum number of trials from which the densities of good and bad configurations are estimated."""


def choose_trials_for_densities(losses: Sequence[float | None]) -> Sequence[int]:
    """Return the ascending indices of the trials from which densities are estimated.

    These are all trials if there are at most `MAX_DENSITY_POINTS`. Otherwise, one half are the trials with the smallest
    losses, and the other half are the latest of the remaining trials. Among equal losses, earlier ones are better. A
    failure (None) is worse than any loss.
    """
    count = len(losses)
    if count <= MAX_DENSITY_POINTS:
        return range(count)
    half = MAX_DENSITY_POINTS // 2
    numbers = np.array(losses, float)  # NaN for a failure, which is sorted last
    is_chosen = np.zeros(count, bool)
    is_chosen[np.argsort(numbers, kind="stable")[:half]] = True
    is_chosen[np.flatnonzero(~is_chosen)[-half:]] = True
    found: list[int] = np.flatnonzero(is_chosen).tolist()
    return found


def limit_to_one_thread() -> AbstractContextManager[Any]:
    """Return a context in which NumPy and SciPy use one thread; the previous setting is restored afterwards."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@cache
def _controller() -> "ThreadpoolController":
    import scipy.linalg  # noqa: F401 - the controller finds only libraries that are already loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@renamed_attributes(edges="cell_edges", places="member_indices")
@dataclass(frozen=True)
class Dimension:
    """One coordinate: all of [0, 1] if `members` is empty, else the ascending, distinct values in `members`."""

    members: tuple[float, ...] = ()
    is_ordered: bool = field(default=True, kw_only=True)
    quantiles: Callable[[Array], Array] | None = field(default=None, kw_only=True, compare=False)

    @cached_property
    def cell_edges(self) -> Array:
        """The k + 1 edges of the cells around k members: half-way between two, and as far beyond the outer members."""
        members = np.array(self.members)
        if len(members) == 1:
            return np.array([0.0, 1.0])
        middles = (members[:-1] + members[1:]) / 2
        return np.concatenate([[2 * members[0] - middles[0]], middles, [2 * members[-1] - middles[-1]]])

    def member_indices(self, values: Array) -> Array:
        """Return the index of the nearest member for each value; the dimension must have members."""
        return np.searchsorted(self.cell_edges[1:-1], values, side="right")


def random_point(dimensions: Sequence[Dimension], rng: Generator) -> Array:
    """Return a random point, shape (d,), whose coordinates follow their priors or are uniform."""
    return apply_priors(dimensions, rng.random(len(dimensions)))


def apply_priors(dimensions: Sequence[Dimension], shares: Array) -> Array:
    """Return the points for shares in [0, 1], shape (..., d): the quantiles where a dimension has a prior."""
    found = shares
    for column, dimension in enumerate(dimensions):
        if dimension.quantiles is not None:
            found = found.copy() if found is shares else found
            found[..., column] = dimension.quantiles(np.atleast_1d(shares[..., column])).reshape(shares.shape[:-1])
    return found


def round_to_members(dimensions: Sequence[Dimension], points: Array) -> Array:
    """Return the points, shape (n, d), with each coordinate rounded to its nearest member."""
    found = np.array(points, float)
    for column, dimension in enumerate(dimensions):
        if dimension.members:
            found[:, column] = np.array(dimension.members)[dimension.member_indices(found[:, column])]
    return found
