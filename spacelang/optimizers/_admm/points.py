"""Conversion of ADMM points to configurations, and of theta to points of the unit cube that theta-min searches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final, TypeAlias

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.sampling.value_codes import Array
from spacelang.targets.admm import AdmmForm, AdmmPoint, AdmmPoints, Mask, ThetaBox

Theta: TypeAlias = tuple[Array, Array]
"""Values of the variables of theta_c and of theta_d that a pipeline owns; these are what theta-min searches."""
MAX_CACHED_MEMBERS: Final = 512


def nearest_members(form: AdmmForm, points: AdmmPoints | Sequence[AdmmPoint]) -> list[Configuration | None]:
    """Return for each point the nearest member with the same z and orders; None, a failure, if no member has them."""
    given = form.to_points(points)
    projected = form.project_all(given)
    kept = (projected.z == given.z).all(axis=1)
    for mine, theirs in zip(projected.orders, given.orders, strict=True):
        kept &= (mine == theirs).all(axis=(1, 2))
    rows = np.flatnonzero(kept)
    found: list[Configuration | None] = [None] * len(given)
    for row, configuration in zip(rows.tolist(), form.decode_all(projected.take(rows)), strict=True):
        found[row] = configuration
    return found


class NearestMemberCache:
    """A cache of `nearest_members`, emptied when full: theta-min proposes many points that stand for few members."""

    def __init__(self, form: AdmmForm) -> None:
        self._form = form
        self._cached_members: dict[tuple[bytes, ...], Configuration | None] = {}

    def __call__(self, point: AdmmPoint) -> Configuration | None:
        """Return the configuration to evaluate for a point, or None."""
        theta = self._form.theta_c.nearest(point.theta_c), self._form.theta_d.nearest(point.theta_d)
        key = tuple(each.tobytes() for each in (point.z, *theta, *point.orders))
        if key not in self._cached_members:
            if len(self._cached_members) == MAX_CACHED_MEMBERS:
                self._cached_members.clear()
            self._cached_members[key] = nearest_members(self._form, [point])[0]
        return self._cached_members[key]


@dataclass(frozen=True, slots=True, eq=False)
class ThetaCube:
    """The unit cube that theta-min searches: the owned variables of theta_c, then those of theta_d, not rounded.

    `numbers` and `integers` are the columns of these variables in theta_c and theta_d. `theta_c` and `theta_d` are the
    boxes of these columns alone.
    """

    numbers: Array
    integers: Array
    theta_c: ThetaBox
    theta_d: ThetaBox

    @classmethod
    def from_mask(cls, form: AdmmForm, owned: Mask) -> "ThetaCube":
        """Return the cube of the variables in a mask, such as `AdmmForm.variables_of_selected_alternatives`."""
        numbers, integers = np.flatnonzero(owned.theta_c), np.flatnonzero(owned.theta_d)
        return cls(numbers, integers, form.theta_c.take(numbers), form.theta_d.take(integers))

    @property
    def variable_count(self) -> int:
        """The number of variables; 0 if there is nothing to minimise over."""
        return len(self.numbers) + len(self.integers)

    @property
    def max_members(self) -> float:
        """An upper bound on the number of members that differ in these variables; infinite with a continuous range."""
        box = self.theta_d
        sizes = box.upper - box.lower + 1
        for column, members in box.lattice.items():
            sizes[column] = len(members)
        return inf if len(self.numbers) else float(np.prod(sizes))

    def theta_of(self, point: AdmmPoint) -> Theta:
        """Return the values of the variables of the cube at a point."""
        return point.theta_c[self.numbers], point.theta_d[self.integers]

    def encode(self, theta: Theta) -> Array:
        """Return the coordinates of theta in the unit cube, shape (width,)."""
        return np.concatenate([self.theta_c.to_unit(theta[0]), self.theta_d.to_unit(theta[1])])

    def copy_with_theta(self, theta: Theta, base: AdmmPoint) -> AdmmPoint:
        """Return a copy of `base` with these values of the variables of the cube."""
        theta_c, theta_d = base.theta_c.copy(), base.theta_d.copy()
        theta_c[self.numbers], theta_d[self.integers] = theta
        return replace(base, theta_c=theta_c, theta_d=theta_d)

    def decode(self, place: Array, base: AdmmPoint) -> AdmmPoint:
        """Return a copy of `base` whose variables have the values at coordinates of the unit cube.

        Variables that do not move keep their value to the last bit, so that known trials are not repeated.
        """
        numbers, integers = np.split(np.asarray(place, float), [len(self.numbers)])
        theta_c, theta_d = base.theta_c.copy(), base.theta_d.copy()
        _move_columns(theta_c, self.numbers, self.theta_c, numbers)
        _move_columns(theta_d, self.integers, self.theta_d, integers)
        return replace(base, theta_c=theta_c, theta_d=theta_d)


def _move_columns(theta: Array, columns: Array, box: ThetaBox, place: Array) -> None:
    before = theta[columns]
    theta[columns] = np.where(box.to_unit(before) == place, before, box.from_unit(place))
