"""Random search: uniform points (spacelang/optimizers/README.md, section "Minimizers")."""

from dataclasses import dataclass
from typing import ClassVar

from spacelang.ir.asking import Asking
from spacelang.minimizers import Box, Point, Value, minimised


@dataclass(frozen=True, slots=True)
class Random:
    """Points that are drawn uniformly at random."""

    paper: ClassVar[str] = "Bergstra and Bengio, Random Search for Hyper-Parameter Optimization, JMLR 2012"

    def minimise(self, value: Value, box: Box, calls: int, start: Point, seconds: float | None = None) -> Asking[Point]:
        """Evaluate the start, then uniformly random points, one for each idle worker."""
        return minimised(lambda _, rng: rng.random(len(box)), value, box, calls, start, seconds)
