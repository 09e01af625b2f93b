"""Tree-structured Parzen estimators, for spaces with categories.

See spacelang/optimizers/README.md, section "Minimizers".
"""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from numpy.random import Generator

from spacelang.ir.search_protocol import SearchCoroutine
from spacelang.minimizers import Box, MinimizationProblem, Observations, Point, minimize_with_proposals
from spacelang.plugins import OptionError, option
from spacelang.sampling.value_codes import Array


@dataclass(frozen=True, slots=True)
class Tpe:
    """Tree-structured Parzen estimators: the ratio of good to bad densities per dimension; supports categories."""

    paper: ClassVar[str] = "Bergstra et al., Algorithms for Hyper-Parameter Optimization, NeurIPS 2011"

    startup: int = option(20, "the number of random points before the first model; known points count")
    gamma: float = option(0.25, "the number of good points is gamma times the square root of the number of points")
    candidates: int = option(24, "the number of values drawn for each coordinate; the best of them is used")

    def __post_init__(self) -> None:
        for name, number, least in (("startup", self.startup, 1), ("candidates", self.candidates, 1)):
            if number < least:
                raise OptionError(f"`{name}` is {number}", f"give at least {least}")
        if not 0 < self.gamma < inf:
            raise OptionError(f"`gamma` is {self.gamma}", "give a number greater than 0")

    def minimise(
        self, value: MinimizationProblem, box: Box, calls: int, start: Point, seconds: float | None = None
    ) -> SearchCoroutine[Point]:
        """Evaluate random points, then proposals of the model; pending points are neither good nor bad."""
        from spacelang.surrogates.tpe import TreeParzenEstimator

        parzen = TreeParzenEstimator(self.startup, self.gamma, self.candidates)

        def propose(seen: Observations, rng: Generator) -> Array:
            return parzen.suggest(box, seen.points, seen.numbers, rng)

        return minimize_with_proposals(propose, value, box, calls, start, seconds)
