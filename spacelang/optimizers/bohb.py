"""BOHB: Hyperband whose candidates are proposed by a model of good and bad configurations."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count
from typing import ClassVar

from spacelang.ir.problem import Problem
from spacelang.ir.search_protocol import Search
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._common_options import check
from spacelang.optimizers._fidelity import divided_rungs, rungs
from spacelang.optimizers._lazy_candidates import LazyCandidateCall, LazyCandidates
from spacelang.optimizers._selection import SelectionProblem, observe_idle_workers
from spacelang.optimizers._successive_halving import Bracket, BracketRuns, brackets_for_grid
from spacelang.plugins import option


@dataclass(frozen=True, slots=True)
class Bohb:
    """Hyperband whose configurations are proposed by kernel densities of the good and of the bad ones."""

    paper: ClassVar[str] = "Falkner et al., BOHB: Robust and Efficient Hyperparameter Optimization at Scale, ICML 2018"

    b_min: float = option(1 / 27, "the rows of a configuration's first training, as a share of all training rows")
    eta: float = option(3.0, settings.ETA)
    b: int = option(0, "rows of the first training on the grid that all methods share; 0: use `b_min`")
    random_fraction: float = option(1 / 3, "the share of configurations that are always drawn at random")
    candidates: int = option(64, "points drawn for a proposal; the one most likely to be good is taken")

    def __post_init__(self) -> None:
        """Raise OptionError for a value out of bounds."""
        settings.check_fidelity_grid(max(self.b, 1), self.eta)
        check(self.b >= 0, f"`b` is {self.b}", "`b` must be at least 1 row, or 0 to use `b_min`")
        check(
            0 < self.b_min <= 1,
            f"`b_min` is {self.b_min}",
            "`b_min` is a share of all rows: choose a value greater than 0 and at most 1",
        )
        is_share = 0 <= self.random_fraction <= 1
        check(
            is_share,
            f"`random_fraction` is {self.random_fraction}",
            "`random_fraction` is a share: choose a value from 0 to 1",
        )
        check(self.candidates >= 1, f"`candidates` is {self.candidates}", "`candidates` must be at least 1")

    def search(self, problem: Problem) -> Search:
        """Run brackets of successive halving without end.

        With first trainings on 1/27 of all rows and `eta=3` the numbers of candidates are 27, 9, 3, 1; 9, 3, 1; 6, 2;
        4, and so on from the first. The initial configurations form a bracket of their own on all rows, which comes
        first, and are known to the model.

        The configuration of a candidate is chosen when it starts, from all trials known by then. The model uses the
        largest number of rows with enough trials: d + 1 good and d + 1 bad ones for encoded vectors of d numbers
        (section 3.2 of the paper). Before that, and for a share `random_fraction` of candidates, configurations are
        drawn. A proposal that is no member of the space is replaced, and none is proposed twice. If nothing new is
        left, all configurations are trained on all rows, those on the highest rung first.
        """
        selection = SelectionProblem.from_problem(problem, "default")
        if not selection.tree.leaf_count:
            return
        selection = yield from observe_idle_workers(selection)
        places = LazyCandidates(selection, problem.initial, self.random_fraction, self.candidates)
        grid, eta = self.rungs(problem.size), self._effective_eta(problem.size)
        passes = chain.from_iterable(brackets_for_grid(grid, eta, "floor") for _ in count())
        yield from BracketRuns(
            LazyCandidateCall(selection, places), places, _with_initial_bracket(problem, passes), eta
        ).run()

    def rungs(self, size: int) -> tuple[int, ...]:
        """Return the numbers of rows of the rungs for `size` rows, ascending, without repetitions."""
        eta = self._effective_eta(size)
        if self.b:
            return rungs(size, self.b, eta)
        return tuple(dict.fromkeys(divided_rungs(size, size * self.b_min, eta)))

    def _effective_eta(self, size: int) -> float:
        """Return `eta`, limited by the number of rows.

        A larger factor leads to the same rungs, but to far more candidates.
        """
        return min(self.eta, max(size, 2))


def _with_initial_bracket(problem: Problem, brackets: Iterator[Bracket]) -> Iterator[Bracket]:
    """Yield a bracket of the initial configurations on all rows, then the other brackets."""
    if problem.initial:
        yield Bracket(len(problem.initial), (problem.size,))
    yield from brackets
