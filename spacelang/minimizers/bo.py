"""Bayesian optimization: a Gaussian process and expected improvement.

See spacelang/optimizers/README.md, section "Minimizers".
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spacelang.ir.asking import Asking
from spacelang.minimizers import Box, Point, Seen, Value, minimised
from spacelang.minimizers._designs import beginning_with, check_initial, latin_hypercube
from spacelang.plugins import option
from spacelang.surrogates.sizes import KEPT

if TYPE_CHECKING:
    from numpy.random import Generator

    from spacelang.draws.codes import Array


@dataclass(frozen=True, slots=True)
class Bo:
    """Bayesian optimization with a Gaussian process (Matern 5/2, one length per dimension) and expected improvement."""

    paper: ClassVar[str] = "Snoek et al., Practical Bayesian Optimization of Machine Learning Algorithms, NeurIPS 2012"
    most_modelled: ClassVar[int] = KEPT

    initial: int = option(10, "points before the first model, known ones included; at most half of the calls")

    def __post_init__(self) -> None:
        """Raise OptionError if an option is out of its bounds."""
        check_initial(self.initial)

    def minimise(self, value: Value, box: Box, calls: int, start: Point, seconds: float | None = None) -> Asking[Point]:
        """Evaluate a Latin hypercube, then points of maximum expected improvement.

        Pending points count with the median of all numbers. A point is not proposed again if it, or another point that
        rounds to the same members, is known or pending, as long as there is any other candidate.
        """
        import numpy as np

        from spacelang.surrogates.dimensions import rounded
        from spacelang.surrogates.growth import Growing
        from spacelang.surrogates.improvement import close_to, most_promising

        design = latin_hypercube(max(2, min(self.initial, calls // 2)), len(box), value.rng)
        growing = Growing()

        def propose(seen: Seen, rng: "Generator") -> "Array":
            model = growing.model(seen.points, seen.numbers, seen.pending)
            is_close = close_to(rounded(box, np.vstack([seen.points, seen.pending])))
            best = float(model.standardised(seen.numbers.min()))
            return most_promising(model.process, best, seen.best, rng, lambda points: is_close(rounded(box, points)))

        return (yield from minimised(beginning_with(design, propose), value, box, calls, start, seconds))
