"""Random search (spacelang/optimizers/README.md, section "Minimizers")."""

from dataclasses import dataclass
from typing import ClassVar

from spacelang.ir.search_protocol import SearchCoroutine
from spacelang.minimizers import Box, MinimizationProblem, Point, minimize_with_proposals
from spacelang.surrogates import random_point


@dataclass(frozen=True, slots=True)
class Random:
    """Points that are drawn at random: by the priors of the coordinates, else uniformly."""

    paper: ClassVar[str] = "Bergstra and Bengio, Random Search for Hyper-Parameter Optimization, JMLR 2012"

    def minimise(
        self, value: MinimizationProblem, box: Box, calls: int, start: Point, seconds: float | None = None
    ) -> SearchCoroutine[Point]:
        """Evaluate the start, then random points, one for each idle worker."""
        return minimize_with_proposals(lambda _, rng: random_point(box, rng), value, box, calls, start, seconds)
