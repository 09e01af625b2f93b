"""Points of ADMM as configurations, and those of theta-min in the unit cube."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spacelang.ir.codes import Array
from spacelang.ir.configuration import Configuration
from spacelang.targets.admm import Active, AdmmForm, Box, Point, Points


def members(form: AdmmForm, points: Points | Sequence[Point]) -> list[Configuration | None]:
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


def member(form: AdmmForm, point: Point) -> Configuration | None:
    """The same for one point."""
    return members(form, [point])[0]


@dataclass(frozen=True, slots=True, eq=False)
class Cube:
    """What theta-min moves, as a unit cube: first the numbers of theta_c, then those of theta_d, not rounded.

    `numbers` and `integers` are their columns in theta_c and theta_d.
    """

    numbers: Array
    integers: Array
    theta_c: Box
    theta_d: Box

    @classmethod
    def of(cls, form: AdmmForm, owned: Active) -> "Cube":
        """The cube of what is owned; see `Maps.owned`."""
        numbers, integers = np.flatnonzero(owned.theta_c), np.flatnonzero(owned.theta_d)
        return cls(numbers, integers, form.theta_c.take(numbers), form.theta_d.take(integers))

    @property
    def width(self) -> int:
        """How many variables are moved; 0 where there is nothing to minimise over."""
        return len(self.numbers) + len(self.integers)

    def place(self, point: Point) -> Array:
        """Where a point lies, (width,)."""
        return np.concatenate(
            [self.theta_c.to_unit(point.theta_c[self.numbers]), self.theta_d.to_unit(point.theta_d[self.integers])]
        )

    def point(self, place: Array, base: Point) -> Point:
        """The point at a place; what is not moved is that of `base`, to the last bit: known trials are not repeated."""
        numbers, integers = np.split(np.asarray(place, float), [len(self.numbers)])
        theta_c, theta_d = base.theta_c.copy(), base.theta_d.copy()
        _move(theta_c, self.numbers, self.theta_c, numbers)
        _move(theta_d, self.integers, self.theta_d, integers)
        return replace(base, theta_c=theta_c, theta_d=theta_d)


def _move(theta: Array, columns: Array, box: Box, place: Array) -> None:
    before = theta[columns]
    theta[columns] = np.where(box.to_unit(before) == place, before, box.from_unit(place))
