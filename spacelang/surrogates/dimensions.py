"""Dimensions: the possible values of one coordinate of an encoded point."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from spacelang.deprecation import renamed_attributes
from spacelang.sampling.value_codes import Array


@renamed_attributes(edges="cell_edges", places="member_indices")
@dataclass(frozen=True)
class Dimension:
    """One coordinate: all of [0, 1] if there are no `members`, else one of these, which ascend without duplicates.

    A value between two members stands for the nearest one, the upper one in a tie. `is_ordered` is True if neighbouring
    members are similar; it is False for categories.
    """

    members: tuple[float, ...] = ()
    is_ordered: bool = field(default=True, kw_only=True)

    @cached_property
    def cell_edges(self) -> Array:
        """The k + 1 edges of the cells around k members.

        An inner edge is half-way between two members. The outer members have cells that extend equally far to both
        sides.
        """
        members = np.array(self.members)
        if len(members) == 1:
            return np.array([0.0, 1.0])
        middles = (members[:-1] + members[1:]) / 2
        return np.concatenate([[2 * members[0] - middles[0]], middles, [2 * members[-1] - middles[-1]]])

    def member_indices(self, values: Array) -> Array:
        """Return the index of the nearest member for each value; the dimension must have members."""
        return np.searchsorted(self.cell_edges[1:-1], values, side="right")


def round_to_members(dimensions: Sequence[Dimension], points: Array) -> Array:
    """Return the points, shape (n, d), with each coordinate rounded to its nearest member."""
    found = np.array(points, float)
    for column, dimension in enumerate(dimensions):
        if dimension.members:
            found[:, column] = np.array(dimension.members)[dimension.member_indices(found[:, column])]
    return found
