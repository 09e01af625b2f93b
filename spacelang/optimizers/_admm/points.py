"""Points of ADMM as configurations, and those of theta-min in the unit cube."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final, TypeAlias

import numpy as np

from spacelang.draws.codes import Array
from spacelang.ir.configuration import Configuration
from spacelang.targets.admm import AdmmForm, AdmmPoint, AdmmPoints, Mask, ThetaBox

Theta: TypeAlias = tuple[Array, Array]
"""What a search moves of theta_c and of theta_d: the variables that a pipeline owns."""

KNOWN: Final = 512
"""So many members are known at most."""


def members(form: AdmmForm, points: AdmmPoints | Sequence[AdmmPoint]) -> list[Configuration | None]:
    """What is evaluated for each point: the configuration of the nearest member with the same z and the same orders.

    None where no member has them: such a point is as bad as one whose evaluation failed.
    """
    given = form.together(points)
    projected = form.project_all(given)
    kept = (projected.z == given.z).all(axis=1)
    for mine, theirs in zip(projected.orders, given.orders, strict=True):
        kept &= (mine == theirs).all(axis=(1, 2))
    rows = np.flatnonzero(kept)
    found: list[Configuration | None] = [None] * len(given)
    for row, configuration in zip(rows.tolist(), form.decode_all(projected.take(rows)), strict=True):
        found[row] = configuration
    return found


def member(form: AdmmForm, point: AdmmPoint) -> Configuration | None:
    """The same for one point."""
    return members(form, [point])[0]


class MemberCache:
    """The same, where many points stand for few members: those that were looked up last are known."""

    def __init__(self, form: AdmmForm) -> None:
        self._form = form
        self._found: dict[tuple[bytes, ...], Configuration | None] = {}

    def __call__(self, point: AdmmPoint) -> Configuration | None:
        """What is evaluated for a point."""
        theta = self._form.theta_c.nearest(point.theta_c), self._form.theta_d.nearest(point.theta_d)
        key = tuple(each.tobytes() for each in (point.z, *theta, *point.orders))
        if key not in self._found:
            if len(self._found) == KNOWN:
                self._found.clear()
            self._found[key] = member(self._form, point)
        return self._found[key]


@dataclass(frozen=True, slots=True, eq=False)
class Cube:
    """What theta-min moves, as a unit cube: first the numbers of theta_c, then those of theta_d, not rounded.

    `numbers` and `integers` are their columns in theta_c and theta_d.
    """

    numbers: Array
    integers: Array
    theta_c: ThetaBox
    theta_d: ThetaBox

    @classmethod
    def of(cls, form: AdmmForm, owned: Mask) -> "Cube":
        """The cube of what is owned; see `Maps.owned`."""
        numbers, integers = np.flatnonzero(owned.theta_c), np.flatnonzero(owned.theta_d)
        return cls(numbers, integers, form.theta_c.take(numbers), form.theta_d.take(integers))

    @property
    def width(self) -> int:
        """How many variables are moved; 0 where there is nothing to minimise over."""
        return len(self.numbers) + len(self.integers)

    @property
    def members(self) -> float:
        """At most so many members have different values of them; infinity where a range is continuous."""
        box = self.theta_d
        sizes = box.upper - box.lower + 1
        for column, members in box.lattice.items():
            sizes[column] = len(members)
        return inf if len(self.numbers) else float(np.prod(sizes))

    def theta(self, point: AdmmPoint) -> Theta:
        """What is moved, of a point."""
        return point.theta_c[self.numbers], point.theta_d[self.integers]

    def place(self, theta: Theta) -> Array:
        """Where theta lies, (width,)."""
        return np.concatenate([self.theta_c.to_unit(theta[0]), self.theta_d.to_unit(theta[1])])

    def with_theta(self, theta: Theta, base: AdmmPoint) -> AdmmPoint:
        """The point with this theta, and all else as in `base`."""
        theta_c, theta_d = base.theta_c.copy(), base.theta_d.copy()
        theta_c[self.numbers], theta_d[self.integers] = theta
        return replace(base, theta_c=theta_c, theta_d=theta_d)

    def point(self, place: Array, base: AdmmPoint) -> AdmmPoint:
        """The point at a place; what is not moved is that of `base`, to the last bit: known trials are not repeated."""
        numbers, integers = np.split(np.asarray(place, float), [len(self.numbers)])
        theta_c, theta_d = base.theta_c.copy(), base.theta_d.copy()
        _move(theta_c, self.numbers, self.theta_c, numbers)
        _move(theta_d, self.integers, self.theta_d, integers)
        return replace(base, theta_c=theta_c, theta_d=theta_d)


def _move(theta: Array, columns: Array, box: ThetaBox, place: Array) -> None:
    before = theta[columns]
    theta[columns] = np.where(box.to_unit(before) == place, before, box.from_unit(place))
