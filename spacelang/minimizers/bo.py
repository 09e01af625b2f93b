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
    """A Gaussian process says where the number is expected to improve most (Matern 5/2, a length each dimension)."""

    paper: ClassVar[str] = "Snoek et al., Practical Bayesian Optimization of Machine Learning Algorithms, NeurIPS 2012"
    most_modelled: ClassVar[int] = KEPT

    initial: int = option(10, "points before the first model, at most half of the calls; what is known counts")

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        check_initial(self.initial)

    def minimise(self, value: Value, box: Box, calls: int, start: Point, seconds: float | None = None) -> Asking[Point]:
        """A Latin hypercube, and then the points that promise most; those under way count as the median.

        No point is proposed that is known, or under way, or rounds to such a one, as long as there is another.
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
