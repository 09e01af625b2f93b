"""Random search without replacement (spacelang/optimizers/README.md, section "Random search")."""

from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Literal

from spacelang.ir.search_protocol import Problem, Search, SearchCoroutine
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._candidates import RandomCandidates, pipeline_selector, search_with_candidates
from spacelang.optimizers._selection import K, Selector, SelectorCall, SequentialCandidates, train_candidates
from spacelang.plugins import option


@dataclass(frozen=True, slots=True)
class Random:
    """Random search: draws by `@weight` and `@prior`, uniform without them, nothing twice."""

    paper: ClassVar[str] = "Bergstra and Bengio, Random Search for Hyper-Parameter Optimization, JMLR 2012"
    is_independent_of_workers: ClassVar[bool] = True

    hyperparameters: Literal["sample", "default"] = option("sample", settings.CONFIGURATIONS)

    draws_configurations: ClassVar[bool] = True
    takes_several_objectives: ClassVar[bool] = True

    def search(self, problem: Problem) -> Search:
        """Evaluate configurations in random order, each once and on all rows.

        The last ones of a finite space come in its order. Trials start one per idle worker, so that a short search is
        as random as a long one.
        """
        yield from search_with_candidates(problem, self.hyperparameters, _random_loop)

    def selector(self) -> Selector:
        """Return a selector whose iterations are pipelines, drawn uniformly, each once."""
        return pipeline_selector(_random_loop)


def _random_loop(turn: SelectorCall[K], candidates: RandomCandidates[K]) -> SearchCoroutine[None]:
    yield from train_candidates(
        turn, SequentialCandidates(turn, islice(candidates.each_once_in_random_order(), turn.iterations))
    )
