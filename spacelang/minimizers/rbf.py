"""Minimization with a cubic spline through all points, for few evaluations that are expensive.

See spacelang/optimizers/README.md, section "Cubic spline".
"""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from spacelang.ir.search_protocol import SearchCoroutine
from spacelang.minimizers import (
    Box,
    MinimizationProblem,
    Observations,
    Point,
    minimize_with_proposals,
    prepend_initial_design,
)
from spacelang.sampling.value_codes import Array
from spacelang.surrogates import POINTS_WHEN_FITTED


@dataclass(frozen=True, slots=True)
class Rbf:
    """A cubic spline through all points; balances small predicted values and large distances to known points."""

    paper: ClassVar[str] = "Regis and Shoemaker, A Stochastic Radial Basis Function Method, INFORMS J. Comp. 2007"
    most_modelled: ClassVar[int] = POINTS_WHEN_FITTED

    def minimise(
        self, value: MinimizationProblem, box: Box, calls: int, start: Point, seconds: float | None = None
    ) -> SearchCoroutine[Point]:
        """Evaluate a Latin hypercube, then proposals of the spline.

        With d dimensions, the hypercube has 2 (d + 1) points, but at most half of the calls.
        """
        from spacelang.surrogates.cubic_rbf import propose_point

        def propose(seen: Observations, rng: Generator) -> Array:
            return propose_point(seen.points, seen.numbers, seen.pending, rng)

        proposals = prepend_initial_design(max(1, min(2 * (len(box) + 1), calls // 2)), box, value.rng, propose)
        return (yield from minimize_with_proposals(proposals, value, box, calls, start, seconds))
