"""Random search without replacement (spacelang/optimizers/README.md, section "Random search")."""

from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Literal

from spacelang.ir.asking import Asking, Search
from spacelang.ir.problem import Problem
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._candidates import RandomOrder, of_pipelines, search
from spacelang.optimizers._selection import Selector
from spacelang.optimizers._turn import K, OneByOne, Turn, fill
from spacelang.plugins import option


@dataclass(frozen=True, slots=True)
class Random:
    """Random search: structures uniformly, hyperparameters from their ranges, nothing twice."""

    paper: ClassVar[str] = "Bergstra and Bengio, Random Search for Hyper-Parameter Optimization, JMLR 2012"

    hyperparameters: Literal["sample", "default"] = option("sample", settings.CONFIGURATIONS)

    draws_configurations: ClassVar[bool] = True

    def search(self, problem: Problem) -> Search:
        """Evaluate configurations in random order, each once and on all rows.

        The last ones of a finite space come in its order. Trials start one per idle worker, so that a short search is
        as random as a long one.
        """
        yield from search(problem, self.hyperparameters, _draw)

    def selector(self) -> Selector:
        """Return a selector whose iterations are pipelines, drawn uniformly, each once."""
        return of_pipelines(_draw)


def _draw(turn: Turn[K], candidates: RandomOrder[K]) -> Asking[None]:
    """Evaluate the candidates in random order, as many as there are iterations."""
    yield from fill(turn, OneByOne(turn, islice(candidates.each_once(), turn.iterations)))
