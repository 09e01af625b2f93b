"""Enumeration: every pipeline in the order of the text (spacelang/optimizers/README.md, section "Selectors")."""

from dataclasses import dataclass
from itertools import chain, islice
from typing import ClassVar, Literal

from spacelang.ir.asking import Asking, Search
from spacelang.ir.problem import Problem
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._selection import Selector, search
from spacelang.optimizers._turn import OneByOne, Remembering, Turn, fill
from spacelang.plugins import option
from spacelang.targets.blds import Pipeline


@dataclass(frozen=True, slots=True)
class Enumerate:
    """Enumeration: every pipeline once, one after the other; what is found is the best there is."""

    paper: ClassVar[str] = "Liu et al., An ADMM Based Framework for AutoML Pipeline Configuration, AAAI 2020"

    all: bool = option(False, "as a part of another optimizer: take every pipeline, not only as many as it may")
    hyperparameters: Literal["default", "sample"] = option("default", settings.HYPERPARAMETERS)

    def search(self, problem: Problem) -> Search:
        """Every pipeline once and on all rows, in the order in which the text lists their alternatives."""
        yield from search(self.selector(), problem, self.hyperparameters)

    def selector(self) -> Selector:
        """One that takes as many pipelines as there are iterations, the first ones of the tree; with `all` every one.

        The seconds of a call are kept to in both cases.
        """
        return Remembering(self._enumerate)

    def _enumerate(self, turn: Turn[Pipeline]) -> Asking[None]:
        first = dict.fromkeys(turn.selection.initial)
        others = (leaf for leaf in turn.selection.tree.leaves_in_order() if leaf not in first)
        yield from fill(turn, OneByOne(turn, islice(chain(first, others), None if self.all else turn.iterations)))
