"""Minimization with a cubic spline through all points, for few evaluations that are expensive.

See spacelang/optimizers/README.md, section "Cubic spline".
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spacelang.ir.asking import Asking
from spacelang.minimizers import Box, Point, Seen, Value, minimised
from spacelang.minimizers._designs import beginning_with, latin_hypercube
from spacelang.surrogates.sizes import KEPT

if TYPE_CHECKING:
    from numpy.random import Generator

    from spacelang.draws.codes import Array


@dataclass(frozen=True, slots=True)
class Rbf:
    """A cubic spline through all points; balances small predicted values and large distances to known points."""

    paper: ClassVar[str] = "Regis and Shoemaker, A Stochastic Radial Basis Function Method, INFORMS J. Comp. 2007"
    most_modelled: ClassVar[int] = KEPT

    def minimise(self, value: Value, box: Box, calls: int, start: Point, seconds: float | None = None) -> Asking[Point]:
        """Evaluate a Latin hypercube of 2 (d + 1) points, but at most half of the calls, then proposals.

        The proposals combine the values of the spline with the distances to known points.
        """
        from spacelang.surrogates.cubic_rbf import next_point

        design = latin_hypercube(max(1, min(2 * (len(box) + 1), calls // 2)), len(box), value.rng)

        def propose(seen: Seen, rng: "Generator") -> "Array":
            return next_point(seen.points, seen.numbers, seen.pending, rng)

        return (yield from minimised(beginning_with(design, propose), value, box, calls, start, seconds))
