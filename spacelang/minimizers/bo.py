"""Bayesian optimization: a Gaussian process and expected improvement.

See spacelang/optimizers/README.md, section "Minimizers".
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
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
from spacelang.plugins import OptionError, option
from spacelang.sampling.value_codes import Array
from spacelang.surrogates import POINTS_WHEN_FITTED, round_to_members


@dataclass(frozen=True, slots=True)
class Bo:
    """Bayesian optimization with a Gaussian process (Matern 5/2, one length per dimension) and expected improvement."""

    paper: ClassVar[str] = "Snoek et al., Practical Bayesian Optimization of Machine Learning Algorithms, NeurIPS 2012"
    most_modelled: ClassVar[int] = POINTS_WHEN_FITTED

    initial: int = option(10, "points before the first model, known ones included; at most half of the calls")

    def __post_init__(self) -> None:
        if self.initial < 2:
            raise OptionError(f"`initial` is {self.initial}", "give at least 2, as a model needs 2 points")

    def minimise(
        self, value: MinimizationProblem, box: Box, calls: int, start: Point, seconds: float | None = None
    ) -> SearchCoroutine[Point]:
        """Evaluate a Latin hypercube, then points of maximum expected improvement.

        Pending points are assumed to have the median of all numbers. A point is not proposed again if it, or another
        point that rounds to the same members, is known or pending, as long as there is any other candidate.
        """
        from spacelang.surrogates.gaussian_process import (
            IncrementalGaussianProcess,
            make_closeness_test,
            maximise_expected_improvement,
        )

        growing = IncrementalGaussianProcess()

        def propose(seen: Observations, rng: Generator) -> Array:
            model = growing.fit(seen.points, seen.numbers, seen.pending)
            is_close = make_closeness_test(round_to_members(box, np.vstack([seen.points, seen.pending])))
            best = float(model.standardise(seen.numbers.min()))
            return maximise_expected_improvement(
                model.process, best, seen.best_point, rng, lambda points: is_close(round_to_members(box, points))
            )

        proposals = prepend_initial_design(max(2, min(self.initial, calls // 2)), box, value.rng, propose)
        return (yield from minimize_with_proposals(proposals, value, box, calls, start, seconds))
