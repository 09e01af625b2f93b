"""Multi-fidelity limited discrepancy search, MLDS(disc): BLDS without its bounds.

See spacelang/optimizers/README.md, section "MLDS".
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from spacelang.ir.search_protocol import Problem, Search, SearchCoroutine
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._descent import (
    ArmStatistics,
    DescentRules,
    DescentSequence,
    InitialPipelines,
    make_descent_end_rule,
)
from spacelang.optimizers._fidelity import rungs
from spacelang.optimizers._selection import MemorySelector, Selector, SelectorCall, search_with_selector
from spacelang.plugins import option
from spacelang.targets.blds import Pipeline


@dataclass(frozen=True, slots=True)
class Mlds:
    """Local search around a pipeline on growing data; losses on different numbers of rows are compared directly."""

    paper: ClassVar[str] = (
        "Kishimoto et al., Bandit Limited Discrepancy Search and Application to Machine Learning Pipeline "
        "Optimization, AAAI 2022"
    )
    is_independent_of_workers: ClassVar[bool] = True

    disc: int = option(1, settings.DISC)
    b: int = option(100, settings.B)
    eta: float = option(2.0, settings.ETA)
    match_fidelity: bool = option(False, "train a neighbour as often as the pipeline that it is compared with")
    hyperparameters: Literal["default", "sample"] = option("default", settings.HYPERPARAMETERS)

    def __post_init__(self) -> None:
        settings.check_disc(self.disc)
        settings.check_fidelity_grid(self.b, self.eta)

    def search(self, problem: Problem) -> Search:
        """Run MLDS: BLDS with bounds of width 0, until every leaf is fully trained.

        A neighbour with a smaller loss is accepted. One with an equal loss is trained once more and accepted if its
        loss is smaller then. Losses on different numbers of rows are compared as they are. With a single rung a descent
        ends in a local optimum.
        """
        yield from search_with_selector(self.selector(), problem, self.hyperparameters)

    def selector(self) -> Selector:
        """Return a selector whose iterations are descents, the first from the given start."""
        return MemorySelector(self._descend)

    def _descend(self, turn: SelectorCall[Pipeline]) -> SearchCoroutine[None]:
        sizes = rungs(turn.selection.size, self.b, self.eta)
        arms = ArmStatistics(turn, sizes, widths=(0.0,) * len(sizes), worth=turn.selection.penalized_loss)
        rules = DescentRules(self.disc, end_rule=make_descent_end_rule(sizes), match_fidelity=self.match_fidelity)
        yield from DescentSequence(turn, rules, InitialPipelines(turn)).run(arms)
