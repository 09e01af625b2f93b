"""BOHB: the brackets of Hyperband, filled with what a model of good and of bad configurations proposes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count
from typing import ClassVar

from spacelang.ir.asking import Search
from spacelang.ir.problem import Problem
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._fidelity import divided, rungs
from spacelang.optimizers._halving import Bracket, Races, brackets_on
from spacelang.optimizers._placeholders import Filling, Placeholders
from spacelang.optimizers._selection import Selection, look_around
from spacelang.optimizers._settings import check
from spacelang.plugins import option


@dataclass(frozen=True, slots=True)
class Bohb:
    """Hyperband whose configurations are proposed by kernel densities of the good and of the bad ones."""

    paper: ClassVar[str] = "Falkner et al., BOHB: Robust and Efficient Hyperparameter Optimization at Scale, ICML 2018"

    b_min: float = option(1 / 27, "the share of the training rows of a configuration's first training")
    eta: float = option(3.0, settings.ETA)
    b: int = option(0, "training rows of a first training, on the grid that all methods share; 0: as `b_min` says")
    random_fraction: float = option(1 / 3, "the share of configurations that are drawn in any case")
    candidates: int = option(64, "points that are drawn for a proposal, of which the likeliest to be good is taken")

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        settings.check_grid(max(self.b, 1), self.eta)
        check(self.b >= 0, f"`b` is {self.b}", "a training takes at least 1 row; 0 leaves it to `b_min`")
        check(0 < self.b_min <= 1, f"`b_min` is {self.b_min}", "it is a share of all rows: more than 0, at most 1")
        is_share = 0 <= self.random_fraction <= 1
        check(is_share, f"`random_fraction` is {self.random_fraction}", "it is a share: from 0 to 1")
        check(self.candidates >= 1, f"`candidates` is {self.candidates}", "the best of at least 1 is taken")

    def search(self, problem: Problem) -> Search:
        """Brackets of successive halving without end: with 1/27 of all rows 27, 9, 3, 1; 9, 3, 1; 6, 2; 4, and again.

        Which configuration has a place in a bracket is said when it begins, by all that was told until then. The model
        is of the trials on the most rows on which there are enough: of d + 1 good ones and as many bad ones, where a
        vector has d numbers (section 3.2). Until then, and in `random_fraction` of all cases, configurations are drawn.
        Those to begin with are known to the model. What is no member of the space is proposed again. None is proposed
        twice; where nothing new is left, all are trained on all rows, those that came furthest first.
        """
        selection = Selection.of(problem, "default")
        if not selection.tree.leaves:
            return
        selection = yield from look_around(selection)
        places = Placeholders(selection, problem.initial, self.random_fraction, self.candidates)
        grid, eta = self.rungs(problem.size), self._factor(problem.size)
        passes = chain.from_iterable(brackets_on(grid, eta, "floor") for _ in count())
        yield from Races(Filling(selection, places), places, _after(problem, passes), eta).run()

    def rungs(self, size: int) -> tuple[int, ...]:
        """The rows of the rungs where there are `size`, ascending; a number that rounding repeats is there once."""
        eta = self._factor(size)
        if self.b:
            return rungs(size, self.b, eta)
        return tuple(dict.fromkeys(divided(size, size * self.b_min, eta)))

    def _factor(self, size: int) -> float:
        """A factor beyond the number of rows leads to the same rungs as that number, and to far more candidates."""
        return min(self.eta, max(size, 2))


def _after(problem: Problem, brackets: Iterator[Bracket]) -> Iterator[Bracket]:
    """What to begin with, on all rows, before the brackets."""
    if problem.initial:
        yield Bracket(len(problem.initial), (problem.size,))
    yield from brackets
