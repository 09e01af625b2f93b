"""TPE over a space as a whole, by a library (ALGORITHMS.md 2.5)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from spacelang.ir.asking import Search
from spacelang.ir.counting import Structures
from spacelang.ir.problem import Problem
from spacelang.optimizers import _proposing
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._hyperopt import HyperoptTpe, TpeSettings, form_of
from spacelang.optimizers._proposing import Proposer
from spacelang.plugins import option
from spacelang.targets._lowered import Lowered
from spacelang.targets.hyperopt import HyperoptSpace, Values


@dataclass(frozen=True, slots=True)
class Tpe:
    """TPE, the tree-structured Parzen estimator of hyperopt: densities of good and of bad trials, by hyperparameter."""

    paper: ClassVar[str] = "Bergstra et al., Algorithms for Hyper-Parameter Optimization, NeurIPS 2011"

    library: Literal["hyperopt"] = option("hyperopt", "the library that proposes")
    startup: int = option(20, settings.STARTUP)
    gamma: float = option(0.25, settings.GAMMA)
    candidates: int = option(24, settings.CANDIDATES)

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        TpeSettings(self.startup, self.gamma, self.candidates)

    def form(self, structures: Structures) -> Lowered[HyperoptSpace, Values]:
        """What the library searches; raises RefusedError for a space that it cannot hold."""
        return form_of(structures)

    def search(self, problem: Problem) -> Search:
        """What the library proposes, without end; in a finite space until every configuration was evaluated.

        Idle workers are given proposals, too: what is under way counts as a trial that failed, as it does in the
        library. What was proposed before is proposed again, ten times, then one is drawn. Where constraints are broken
        100 times in a row, or nothing new is drawn, all that is left is drawn. Raises RefusedError for a space that the
        library cannot hold.
        """
        structures = Structures(problem.space)
        if structures.count:
            yield from _proposing.search(self._proposer(structures), problem, structures)

    def _proposer(self, structures: Structures) -> Proposer:
        match self.library:
            case "hyperopt":
                return HyperoptTpe(structures, TpeSettings(self.startup, self.gamma, self.candidates))
