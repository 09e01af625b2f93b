"""Dimensions: the possible values of one coordinate of an encoded point."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.random import Generator

from spacelang.deprecation import renamed_attributes
from spacelang.sampling.value_codes import Array


@renamed_attributes(edges="cell_edges", places="member_indices")
@dataclass(frozen=True)
class Dimension:
    """One coordinate: all of [0, 1] if there are no `members`, else one of these, which ascend without duplicates.

    A value between two members stands for the nearest one, the upper one in a tie. `is_ordered` is True if neighbouring
    members are similar; it is False for categories. `quantiles` maps uniform shares in [0, 1] to coordinates that
    follow a prior; without it, random coordinates are uniform.
    """

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
