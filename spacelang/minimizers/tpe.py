"""Tree-structured Parzen estimators: for boxes with categories.

See spacelang/optimizers/README.md, section "Minimizers".
"""

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, ClassVar

from spacelang.ir.asking import Asking
from spacelang.minimizers import Box, Point, Seen, Value, minimised
from spacelang.plugins import OptionError, option

if TYPE_CHECKING:
    from numpy.random import Generator

    from spacelang.draws.codes import Array


@dataclass(frozen=True, slots=True)
class Tpe:
    """Where good points are denser than bad ones, each dimension by itself; knows categories and members."""

    paper: ClassVar[str] = "Bergstra et al., Algorithms for Hyper-Parameter Optimization, NeurIPS 2011"

    startup: int = option(20, "random points before the first model; what is known counts")
    gamma: float = option(0.25, "so many times the square root of their number are the good points")
    candidates: int = option(24, "values from which each one is chosen")

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        for name, number, least in (("startup", self.startup, 1), ("candidates", self.candidates, 1)):
            if number < least:
                raise OptionError(f"`{name}` is {number}", f"it is at least {least}")
        if not 0 < self.gamma < inf:
            raise OptionError(f"`gamma` is {self.gamma}", "it is greater than 0")

    def minimise(self, value: Value, box: Box, calls: int, start: Point, seconds: float | None = None) -> Asking[Point]:
        """Random points, and then likely ones; those under way are neither good nor bad."""
        from spacelang.surrogates.tpe import Parzen

        parzen = Parzen(self.startup, self.gamma, self.candidates)

        def propose(seen: Seen, rng: "Generator") -> "Array":
            return parzen.suggest(box, seen.points, seen.numbers, rng)

        return minimised(propose, value, box, calls, start, seconds)
