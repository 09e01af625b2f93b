"""Repeated successive halving with new configurations.

See spacelang/optimizers/README.md, section "Successive halving".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from spacelang.ir.search_protocol import Problem, Search, SearchCoroutine
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._candidates import (
    Candidates,
    ConcurrentBrackets,
    make_bracket_plan,
    pipeline_selector,
    search_with_candidates,
)
from spacelang.optimizers._fidelity import Bracket, rungs
from spacelang.optimizers._selection import K, Selector, SelectorCall
from spacelang.plugins import option


@dataclass(frozen=True, slots=True)
class SuccessiveHalving:
    """Many configurations on little data, the better part of them on more, and so on up to all of it."""

    paper: ClassVar[str] = (
        "Jamieson and Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization, AISTATS 2016"
    )

    b: int = option(100, settings.B)
    eta: float = option(2.0, settings.ETA)
    n: int = option(128, "configurations on the first rung; at least one of them reaches the last")
    hyperparameters: Literal["sample", "default"] = option("sample", settings.CONFIGURATIONS)
    brackets: Literal["cut", "published"] = option("cut", settings.BRACKETS)

    options_of_earlier_stores: ClassVar[Mapping[str, str]] = settings.BRACKETS_OF_EARLIER_STORES

    draws_configurations: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settings.check_fidelity_grid(self.b, self.eta)
        settings.check_option(self, "n", self.n >= 1, "must be at least 1")

    def search(self, problem: Problem) -> Search:
        """Halve `n` new configurations, again and again, until all were trained on all rows (see `_candidates`)."""
        yield from search_with_candidates(problem, self.hyperparameters, self._run_brackets)

    def selector(self) -> Selector:
        """Return a selector that fills the brackets with pipelines; an iteration is a bracket."""
        return pipeline_selector(self._run_brackets)

    def _run_brackets(self, turn: SelectorCall[K], candidates: Candidates[K]) -> SearchCoroutine[None]:
        grid = rungs(turn.selection.size, self.b, self.eta)
        plan = make_bracket_plan(turn, grid, self.eta, lambda grid: (Bracket(self.n, grid),), self.brackets)
        yield from ConcurrentBrackets(turn, candidates, plan, self.eta).run()
