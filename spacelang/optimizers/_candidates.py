"""Sources of candidates (configurations or pipelines) for random search and successive halving."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Problem, Search, SearchCoroutine
from spacelang.optimizers import _selection
from spacelang.optimizers._draws import RandomLeaves, UniqueConfigurations
from spacelang.optimizers._selection import (
    K,
    MemorySelector,
    SelectionProblem,
    Selector,
    SelectorCall,
    TrialMemory,
    observe_idle_workers,
)
from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator


class Candidates(Protocol[K]):
    """A source of candidates that brackets of successive halving are filled with."""

    @property
    def are_exhausted(self) -> bool:
        """True if no new candidate will be drawn."""

    def draw(self, number: int) -> list[K]:
        """Return `number` different candidates, or fewer if there are no more."""

    def is_total(self, number: int) -> bool:
        """Return True if `number` different candidates are all that exist."""

    def candidates_for_final_pass(self) -> Iterator[K]:
        """Yield every candidate that may not have been drawn yet."""


class RandomCandidates(Candidates[K], Protocol):
    """A source of candidates that can also list all of them in random order, whatever the results of earlier trials."""

    def each_once(self) -> Iterator[K]:
        """Yield each candidate once, in random order."""


class PipelineCandidates:
    """Pipelines as candidates: each bracket may contain any of them, and the initial pipelines are drawn first."""

    are_exhausted = False

    def __init__(self, selection: SelectionProblem) -> None:
        self._tree = selection.tree
        self._leaves = RandomLeaves(selection.tree, selection.rng, selection.initial)

    def draw(self, number: int) -> list[Pipeline]:
        """Return `number` different pipelines, drawn uniformly."""
        return self._leaves.draw(number)

    def is_total(self, number: int) -> bool:
        """Return True if there are exactly `number` pipelines."""
        return number == self._tree.leaf_count

    def each_once(self) -> Iterator[Pipeline]:
        """Yield all pipelines in random order; in a large tree the last ones follow in text order."""
        return self._leaves.each_once()

    def candidates_for_final_pass(self) -> Iterator[Pipeline]:
        """Yield every pipeline in text order."""
        return self._tree.iter_leaves()


class ConfigurationCandidates:
    """Configurations drawn as in random search: each is in one bracket, and several may share a pipeline."""

    def __init__(self, tree: DiscrepancyTree, rng: "Generator") -> None:
        self._stream = UniqueConfigurations(tree, rng).each_once()
        self._drawn = 0
        self.are_exhausted = False

    def draw(self, number: int) -> list[Configuration]:
        """Return `number` configurations that were not drawn before, or fewer if there are no more."""
        found = list(islice(self._stream, number))
        self._drawn += len(found)
        self.are_exhausted = len(found) < number
        return found

    def is_total(self, number: int) -> bool:
        """Return True if `number` configurations were drawn and no other one is left."""
        return self.are_exhausted and number == self._drawn

    def each_once(self) -> Iterator[Configuration]:
        """Yield the configurations that were not drawn yet, in random order."""
        return self._stream

    def candidates_for_final_pass(self) -> Iterator[Configuration]:
        """Yield nothing: every drawn configuration is already in a bracket, and no other one is left over."""
        return iter(())


CandidateLoop: TypeAlias = Callable[[SelectorCall[Any], RandomCandidates[Any]], SearchCoroutine[None]]
"""The body of a search that works on any kind of candidates within one selector call."""


def pipeline_selector(method: CandidateLoop) -> Selector:
    """Return a selector that runs `method` with pipelines as candidates, as configured in each selector call."""
    return MemorySelector(lambda turn: method(turn, PipelineCandidates(turn.selection)))


def search(problem: Problem, rule: Literal["sample", "default"], method: CandidateLoop) -> Search:
    """Run `method` on configurations, or on pipelines with the rule `default` or in a space without hyperparameters.

    Configurations are drawn as in random search, each once. Pipelines are drawn uniformly and anew for each bracket.
    Known trials are not requested again. Successive halving promotes a candidate to the next rung as soon as its
    promotion is certain, and idle workers start the next bracket.

    After 100 repeated pipelines on all rows in a row, or once nothing new is drawn, the remaining candidates are
    trained on all rows. Those that reached the highest rung come first.
    """
    if rule == "default" or not problem.space.hyperparameters:
        yield from _selection.search(pipeline_selector(method), problem, "default")
        return
    selection = SelectionProblem.from_problem(problem, "default")
    if selection.tree.leaf_count:
        turn: SelectorCall[Configuration] = SelectorCall(
            (yield from observe_idle_workers(selection)), _identity, TrialMemory()
        )
        yield from method(turn, ConfigurationCandidates(selection.tree, problem.rng))


def _identity(configuration: Configuration) -> Configuration:
    return configuration
