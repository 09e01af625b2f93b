"""Enumeration: every pipeline in the order of the text (spacelang/optimizers/README.md, section "Selectors")."""

from dataclasses import dataclass
from itertools import chain, islice
from typing import ClassVar, Literal

from spacelang.ir.search_protocol import Problem, Search, SearchCoroutine
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers import _selection
from spacelang.optimizers._selection import MemorySelector, Selector, SelectorCall, SequentialCandidates
from spacelang.plugins import option
from spacelang.targets.blds import Pipeline


@dataclass(frozen=True, slots=True)
class Enumerate:
    """Exhaustive enumeration: every pipeline once, so the result is the best of all."""

    paper: ClassVar[str] = "Liu et al., An ADMM Based Framework for AutoML Pipeline Configuration, AAAI 2020"
    is_independent_of_workers: ClassVar[bool] = True

    all: bool = option(False, "inside another optimizer: return every pipeline, even if fewer iterations are requested")
    hyperparameters: Literal["default", "sample"] = option("default", settings.HYPERPARAMETERS)

    def search(self, problem: Problem) -> Search:
        """Evaluate every pipeline once and on all rows, in the order in which the text lists the alternatives."""
        yield from _selection.search_with_selector(self.selector(), problem, self.hyperparameters)

    def selector(self) -> Selector:
        """Return a selector whose iterations are pipelines; with `all`, only a limit in seconds ends a call early."""
        return MemorySelector(self._enumerate)

    def _enumerate(self, turn: SelectorCall[Pipeline]) -> SearchCoroutine[None]:
        first = dict.fromkeys(turn.selection.initial)
        others = (leaf for leaf in turn.selection.tree.iter_leaves() if leaf not in first)
        pipelines = islice(chain(first, others), None if self.all else turn.iterations)
        yield from _selection.train_candidates(turn, SequentialCandidates(turn, pipelines))
