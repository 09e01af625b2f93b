"""Searches without a model: SciPy's Nelder-Mead and differential evolution.

SciPy calls the function that it minimises, and nobody can be asked in the midst of a call. So it is run again from its
beginning for each proposal, with the numbers that are known, up to the first point whose number is not: that is the
proposal. Both methods are functions of their start and their seed, and a run that is known takes milliseconds.

See spacelang/optimizers/README.md, section "Minimizers".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from spacelang.ir.asking import Asking
from spacelang.minimizers import Box, Point, Seen, Value, minimised
from spacelang.plugins import option

if TYPE_CHECKING:
    from numpy.random import Generator

EDGE: Final = 0.25
"""The edge of the first simplex."""

AGAIN: Final = 100
"""After so many searches in a row that end at what is known the next point is drawn."""


@dataclass(frozen=True, slots=True)
class Direct:
    """Nelder-Mead's simplex or differential evolution, by SciPy, begun again elsewhere whenever it has converged."""

    paper: ClassVar[str] = "Nelder and Mead, A Simplex Method for Function Minimization, The Computer Journal 1965"

    method: Literal["simplex", "evolution"] = option(
        "simplex", "`simplex` is Nelder-Mead's, from the start; `evolution` is differential evolution"
    )

    def minimise(self, value: Value, box: Box, calls: int, start: Point, seconds: float | None = None) -> Asking[Point]:
        """One point after the other, as each depends on all numbers before it."""
        seed = int(value.rng.integers(2**32))
        run = _simplex if self.method == "simplex" else _evolution

        def propose(seen: Seen, rng: "Generator") -> Point:
            numbers = dict(zip(map(tuple, seen.points.tolist()), seen.numbers.tolist(), strict=True))
            return _first_unknown(run, numbers, start, calls, seed) or tuple(rng.random(len(box)).tolist())

        return (yield from minimised(propose, value, box, calls, start, seconds, at_once=1))


class _UnknownError(Exception):
    """A point whose number is not known."""

    def __init__(self, point: Point) -> None:
        super().__init__()
        self.point = point


Run = Callable[[Callable[[Any], float], Point, int, "Generator"], None]
"""A method of SciPy's on a function, from a start, for so many calls."""


def _first_unknown(run: Run, numbers: Mapping[Point, float], start: Point, calls: int, seed: int) -> Point | None:
    """The first point that a method asks for and that has no number, from the start or from later ones."""
    from numpy.random import default_rng

    def number_of(coordinates: Any) -> float:
        point = tuple(map(float, coordinates))
        if point not in numbers:
            raise _UnknownError(point)
        return numbers[point]

    for turn in range(AGAIN):
        rng = default_rng([seed, turn])
        begin = start if turn == 0 else tuple(rng.random(len(start)).tolist())
        try:
            run(number_of, begin, calls, rng)
        except _UnknownError as found:
            return found.point
    return None


def _simplex(number_of: Callable[[Any], float], start: Point, calls: int, _: "Generator") -> None:
    import numpy as np
    from scipy.optimize import minimize

    corners = np.array([start] * (len(start) + 1))
    for column, coordinate in enumerate(start):
        corners[column + 1, column] += EDGE if coordinate <= 0.5 else -EDGE
    options = {"initial_simplex": corners, "maxfev": calls + len(corners), "xatol": 1e-3, "fatol": 1e-9}
    minimize(number_of, start, method="Nelder-Mead", bounds=[(0.0, 1.0)] * len(start), options=options)


def _evolution(number_of: Callable[[Any], float], start: Point, calls: int, rng: "Generator") -> None:
    from scipy.optimize import differential_evolution

    differential_evolution(
        number_of,
        [(0.0, 1.0)] * len(start),
        x0=start,
        maxiter=calls,
        popsize=max(1, min(15, calls // (4 * len(start)))),
        polish=False,
        rng=rng,
    )
