"""ADMM points as arrays, one or many at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spacelang.sampling.value_codes import Array


@dataclass(frozen=True, slots=True, eq=False)
class AdmmPoint:
    """A value of every variable: z, theta_c, theta_d, and one T x T matrix for each order.

    Shapes: z (K,) for the K alternatives of all stages, theta_c (C,), theta_d (D,), orders (T, T) each. A point from
    the target has 0 and 1 in z and the orders, and integers in theta_d. A point that a search has moved may have any
    numbers; `project` makes it a member again. Both thetas are floats, so that a search can set them to any number.
    """

    z: Array
    theta_c: Array
    theta_d: Array
    orders: tuple[Array, ...] = ()

    @property
    def order(self) -> Array | None:
        """The matrix of the first order; None if nothing is permuted."""
        return self.orders[0] if self.orders else None

    def __eq__(self, other: object) -> bool:
        """Return True if all variables have the same values."""
        return isinstance(other, AdmmPoint) and all(map(np.array_equal, self._arrays(), other._arrays()))

    __hash__ = None  # type: ignore[assignment]

    def _arrays(self) -> tuple[Array, ...]:
        return (self.z, self.theta_c, self.theta_d, *self.orders)


@dataclass(frozen=True, slots=True, eq=False)
class AdmmPoints:
    """Many points: the arrays of `AdmmPoint` with an additional first axis, where row i of each is point i."""

    z: Array
    theta_c: Array
    theta_d: Array
    orders: tuple[Array, ...] = ()

    @classmethod
    def stack(cls, points: Sequence[AdmmPoint]) -> "AdmmPoints":
        """Stack one or more points, in their order."""
        orders = tuple(map(np.stack, zip(*(point.orders for point in points), strict=True)))
        return cls(
            np.stack([point.z for point in points]),
            np.stack([point.theta_c for point in points]),
            np.stack([point.theta_d for point in points]),
            orders,
        )

    def __len__(self) -> int:
        return len(self.z)

    def __getitem__(self, row: int) -> AdmmPoint:
        return AdmmPoint(self.z[row], self.theta_c[row], self.theta_d[row], tuple(order[row] for order in self.orders))

    def __iter__(self) -> Iterator[AdmmPoint]:
        return (self[row] for row in range(len(self)))

    def copy(self) -> "AdmmPoints":
        """Return a copy with its own arrays."""
        return AdmmPoints(self.z.copy(), self.theta_c.copy(), self.theta_d.copy(), tuple(map(np.copy, self.orders)))

    def take(self, rows: Array) -> "AdmmPoints":
        """Return the points of some rows."""
        return AdmmPoints(
            self.z[rows], self.theta_c[rows], self.theta_d[rows], tuple(order[rows] for order in self.orders)
        )

    def put(self, rows: Array, others: "AdmmPoints") -> None:
        """Replace the points of some rows, in place."""
        self.z[rows], self.theta_c[rows], self.theta_d[rows] = others.z, others.theta_c, others.theta_d
        for mine, theirs in zip(self.orders, others.orders, strict=True):
            mine[rows] = theirs


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """A mask of the variables, of one point or of many: entries of theta_c and theta_d, and each order as a whole."""

    theta_c: Array
    theta_d: Array
    orders: tuple[Array, ...] = ()
