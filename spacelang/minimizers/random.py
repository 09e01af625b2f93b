"""Random search: uniform points (spacelang/optimizers/README.md, section "Minimizers")."""

from dataclasses import dataclass
from typing import ClassVar

from spacelang.ir.search_protocol import SearchCoroutine
from spacelang.minimizers import Box, Point, PointObjective, minimize_with_proposals


@dataclass(frozen=True, slots=True)
class Random:
    """Points that are drawn uniformly at random."""

    paper: ClassVar[str] = "Bergstra and Bengio, Random Search for Hyper-Parameter Optimization, JMLR 2012"

    def minimise(
        self, value: PointObjective, box: Box, calls: int, start: Point, seconds: float | None = None
    ) -> SearchCoroutine[Point]:
        """Evaluate the start, then uniformly random points, one for each idle worker."""
        return minimize_with_proposals(lambda _, rng: rng.random(len(box)), value, box, calls, start, seconds)
