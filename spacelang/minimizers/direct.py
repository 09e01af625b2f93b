"""Search without a model: Nelder-Mead and differential evolution from SciPy.

SciPy calls the function that it minimises, and such a call cannot wait for a trial. For each proposal the method is
therefore run again from its beginning with the known numbers, up to the first point whose number is unknown. That point
is the proposal. Both methods are deterministic functions of their start and seed, and replaying known numbers takes
milliseconds.

See spacelang/optimizers/README.md, section "Minimizers".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

import numpy as np
from numpy.random import Generator, default_rng

from spacelang.ir.search_protocol import SearchCoroutine
from spacelang.minimizers import Box, MinimizationProblem, Observations, Point, minimize_with_proposals
from spacelang.plugins import option
from spacelang.surrogates import random_point

SIMPLEX_EDGE: Final = 0.25

MAX_RESTARTS: Final = 100
"""The number of restarts that may end without an unknown point; then a random point is proposed."""


@dataclass(frozen=True, slots=True)
class Direct:
    """Nelder-Mead or differential evolution, from SciPy, restarted at a random point whenever it has converged."""

    paper: ClassVar[str] = "Nelder and Mead, A Simplex Method for Function Minimization, The Computer Journal 1965"

    method: Literal["simplex", "evolution"] = option(
        "simplex", "`simplex` is Nelder-Mead, which begins at the start point; `evolution` is differential evolution"
    )

    def minimise(
        self, value: MinimizationProblem, box: Box, calls: int, start: Point, seconds: float | None = None
    ) -> SearchCoroutine[Point]:
        """Evaluate one point at a time, because each point depends on all earlier numbers."""
        seed = int(value.rng.integers(2**32))
        run = _run_simplex if self.method == "simplex" else _run_evolution

        def propose(seen: Observations, rng: Generator) -> Point:
            numbers = dict(zip(map(tuple, seen.points.tolist()), seen.numbers.tolist(), strict=True))
            return _first_unknown_point(run, numbers, box, start, calls, seed) or tuple(random_point(box, rng).tolist())

        return (yield from minimize_with_proposals(propose, value, box, calls, start, seconds, at_once=1))


class _UnknownError(Exception):
    def __init__(self, point: Point) -> None:
        super().__init__()
        self.point = point


ScipyMethod = Callable[[Callable[[Any], float], Point, int, Generator], None]
"""A function that runs a SciPy method on a function, from a start point, for a number of calls."""


def _first_unknown_point(
    run: ScipyMethod, numbers: Mapping[Point, float], box: Box, start: Point, calls: int, seed: int
) -> Point | None:
    """Run a SciPy method on the known numbers; return the first point that it evaluates and whose number is unknown.

    The first run begins at `start`, and up to `MAX_RESTARTS` - 1 further runs begin at random points. If all of them
    converge on known numbers, the result is None.
    """

    def number_of(coordinates: Any) -> float:
        point = tuple(map(float, coordinates))
        if point not in numbers:
            raise _UnknownError(point)
        return numbers[point]

    for turn in range(MAX_RESTARTS):
        rng = default_rng([seed, turn])
        begin = start if turn == 0 else tuple(random_point(box, rng).tolist())
        try:
            run(number_of, begin, calls, rng)
        except _UnknownError as found:
            return found.point
    return None


def _run_simplex(number_of: Callable[[Any], float], start: Point, calls: int, _: Generator) -> None:
    from scipy.optimize import minimize

    corners = np.array([start] * (len(start) + 1))
    for column, coordinate in enumerate(start):
        corners[column + 1, column] += SIMPLEX_EDGE if coordinate <= 0.5 else -SIMPLEX_EDGE
    options = {"initial_simplex": corners, "maxfev": calls + len(corners), "xatol": 1e-3, "fatol": 1e-9}
    minimize(number_of, start, method="Nelder-Mead", bounds=[(0.0, 1.0)] * len(start), options=options)


def _run_evolution(number_of: Callable[[Any], float], start: Point, calls: int, rng: Generator) -> None:
    from scipy.optimize import differential_evolution

    box, population = [(0.0, 1.0)] * len(start), max(1, min(15, calls // (4 * len(start))))
    differential_evolution(number_of, box, x0=start, maxiter=calls, popsize=population, polish=False, rng=rng)
