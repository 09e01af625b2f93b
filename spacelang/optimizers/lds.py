"""Limited discrepancy search as a local search on all rows, LDS(disc).

See spacelang/optimizers/README.md, section "LDS".
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from spacelang.ir.search_protocol import Problem, Search, SearchCoroutine
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._descent import ArmStatistics, DescentRules, DescentSequence, InitialPipelines
from spacelang.optimizers._selection import MemorySelector, Selector, SelectorCall, search_with_selector
from spacelang.plugins import option
from spacelang.targets.blds import Pipeline


@dataclass(frozen=True, slots=True)
class Lds:
    """Local search: from a pipeline to the first better one within a few changed decisions, nearest ones first."""

    paper: ClassVar[str] = "Harvey and Ginsberg, Limited Discrepancy Search, IJCAI 1995"
    is_independent_of_workers: ClassVar[bool] = True

    disc: int = option(1, settings.DISC)
    hyperparameters: Literal["default", "sample"] = option("default", settings.HYPERPARAMETERS)

    def __post_init__(self) -> None:
        settings.check_disc(self.disc)

    def search(self, problem: Problem) -> Search:
        """Run LDS: descents to local optima until every leaf was evaluated.

        Each descent starts from another initial pipeline. Around a pipeline the search looks at neighbours of
        discrepancy 1, then of at most 2, and so on up to `disc`. The first one with a smaller loss replaces the
        pipeline. If there is none, the descent is over.
        """
        yield from search_with_selector(self.selector(), problem, self.hyperparameters)

    def selector(self) -> Selector:
        """Return a selector whose iterations are descents, the first from the given start."""
        return MemorySelector(self._descend)

    def _descend(self, turn: SelectorCall[Pipeline]) -> SearchCoroutine[None]:
        # One rung with all rows and bounds of width 0: losses are compared directly.
        arms = ArmStatistics(turn, sizes=(turn.selection.size,), widths=(0.0,), worth=turn.selection.penalized_loss)
        yield from DescentSequence(turn, DescentRules(self.disc, end_rule="local_optimum"), InitialPipelines(turn)).run(
            arms
        )
