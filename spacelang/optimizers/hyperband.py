"""Hyperband: brackets of successive halving that trade the number of configurations against rows.

See spacelang/optimizers/README.md, section "Hyperband".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from spacelang.ir.search_protocol import Problem, Search, SearchCoroutine
from spacelang.optimizers import _candidates
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._candidates import Candidates, ConcurrentBrackets, make_bracket_plan
from spacelang.optimizers._fidelity import hyperband_brackets, rungs, rungs_by_division
from spacelang.optimizers._selection import K, Selector, SelectorCall
from spacelang.plugins import option


@dataclass(frozen=True, slots=True)
class Hyperband:
    """Brackets of successive halving, from many configurations on little data to few on all of it."""

    paper: ClassVar[str] = (
        "Li et al., Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization, JMLR 2018"
    )

    b: int = option(100, settings.B)
    eta: float = option(2.0, settings.ETA)
    rung_rule: Literal["grid", "exact"] = option(
        "grid", "the rows of each rung: from the grid that all optimizers share, or all rows divided by powers of eta"
    )
    bracket_rule: Literal["ceil", "floor"] = option(
        "ceil", "how the sizes of brackets are rounded: as in the paper's algorithm, or as in its table of examples"
    )
    hyperparameters: Literal["sample", "default"] = option("sample", settings.CONFIGURATIONS)
    brackets: Literal["cut", "published"] = option("cut", settings.BRACKETS)

    options_of_earlier_stores: ClassVar[Mapping[str, str]] = settings.BRACKETS_OF_EARLIER_STORES

    draws_configurations: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settings.check_fidelity_grid(self.b, self.eta)

    def search(self, problem: Problem) -> Search:
        """Run all brackets again and again until every configuration was trained on all rows (see `_candidates`)."""
        yield from _candidates.search_with_candidates(problem, self.hyperparameters, self._run_brackets)

    def selector(self) -> Selector:
        """Return a selector that fills the brackets with pipelines; an iteration is a pass through all brackets."""
        return _candidates.pipeline_selector(self._run_brackets)

    def rung_sizes(self, size: int, eta: float) -> tuple[int, ...]:
        """Return the numbers of rows of the rungs for `size` rows, ascending; the exact ones may repeat a number."""
        is_exact = self.rung_rule == "exact"
        return rungs_by_division(size, min(self.b, size), eta) if is_exact else rungs(size, self.b, eta)

    def _run_brackets(self, turn: SelectorCall[K], candidates: Candidates[K]) -> SearchCoroutine[None]:
        size = turn.selection.size
        # A factor beyond the number of rows leads to the same rungs, but to far more candidates.
        eta = min(self.eta, max(size, 2))
        plan = make_bracket_plan(
            turn,
            self.rung_sizes(size, eta),
            eta,
            lambda grid: hyperband_brackets(grid, eta, self.bracket_rule),
            self.brackets,
        )
        yield from ConcurrentBrackets(turn, candidates, plan, eta).run()
