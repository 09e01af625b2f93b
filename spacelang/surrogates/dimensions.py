"""Dimensions: what a coordinate of an encoded point may be, a number in [0, 1] or one of some of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from spacelang.draws.codes import Array


@dataclass(frozen=True)
class Dimension:
    """One coordinate: all of [0, 1] where there are no `members`, else these, ascending, none twice.

    What lies between two members stands for the nearer one, the upper one of two. `is_ordered` says whether near
    members are alike; those of a set of categories are not.
    """

    members: tuple[float, ...] = ()
    is_ordered: bool = field(default=True, kw_only=True)

    @cached_property
    def edges(self) -> Array:
        """The k + 1 ends of the cells of k members: half-way to the next one, the outer ones as far to both sides."""
        members = np.array(self.members)
        if len(members) == 1:
            return np.array([0.0, 1.0])
        middles = (members[:-1] + members[1:]) / 2
        return np.concatenate([[2 * members[0] - middles[0]], middles, [2 * members[-1] - middles[-1]]])

    def places(self, values: Array) -> Array:
        """The place of the nearest member of each value; the dimension must have members."""
        return np.searchsorted(self.edges[1:-1], values, side="right")


def rounded(dimensions: Sequence[Dimension], points: Array) -> Array:
    """The points, of shape (n, d), with each coordinate at its nearest member."""
    found = np.array(points, float)
    for column, dimension in enumerate(dimensions):
        if dimension.members:
            found[:, column] = np.array(dimension.members)[dimension.places(found[:, column])]
    return found
