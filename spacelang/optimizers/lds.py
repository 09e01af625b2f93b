"""Limited discrepancy search as a local search on all rows, LDS(disc).

See spacelang/optimizers/README.md, section "LDS".
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from spacelang.ir.asking import Asking, Search
from spacelang.ir.problem import Problem
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._arms import Arms
from spacelang.optimizers._descent import Descents, Rules, Starts
from spacelang.optimizers._selection import Selector, search
from spacelang.optimizers._turn import Remembering, Turn
from spacelang.plugins import option
from spacelang.targets.blds import Pipeline


@dataclass(frozen=True, slots=True)
class Lds:
    """Local search: from a pipeline to the first better one within a few changed decisions, nearest ones first."""

    paper: ClassVar[str] = "Harvey and Ginsberg, Limited Discrepancy Search, IJCAI 1995"

    disc: int = option(1, settings.DISC)
    hyperparameters: Literal["default", "sample"] = option("default", settings.HYPERPARAMETERS)

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        settings.check_disc(self.disc)

    def search(self, problem: Problem) -> Search:
        """LDS: descents to local optima, from one initial pipeline after the other until every leaf was evaluated.

        Around a pipeline those with one discrepancy are looked at, then those with at most two, and so on up to
        `disc`; the first with a smaller loss takes its place. Without any, the descent is over.
        """
        yield from search(self.selector(), problem, self.hyperparameters)

    def selector(self) -> Selector:
        """One that makes as many descents as there are iterations, the first from where it is to start."""
        return Remembering(self._descend)

    def _descend(self, turn: Turn[Pipeline]) -> Asking[None]:
        # One rung with all rows, and bounds of no width: what looks better is better.
        arms = Arms(turn, sizes=(turn.selection.size,), widths=(0.0,), worth=turn.selection.number)
        rules = Rules(self.disc, until="local_optimum")
        yield from Descents(turn, rules, Starts(turn)).run(arms)
