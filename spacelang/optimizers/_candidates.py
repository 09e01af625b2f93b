"""What random search and the brackets of successive halving draw: configurations, or pipelines."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from spacelang.ir.asking import Asking, Search
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Problem
from spacelang.optimizers import _selection
from spacelang.optimizers._configurations import Configurations
from spacelang.optimizers._leaves import Leaves
from spacelang.optimizers._selection import Selection, Selector, look_around
from spacelang.optimizers._turn import K, Memory, Remembering, Turn
from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator


class Candidates(Protocol[K]):
    """All that brackets can be filled with."""

    @property
    def are_exhausted(self) -> bool:
        """Whether nothing new will be drawn."""

    def draw(self, number: int) -> list[K]:
        """So many different ones; fewer where there are no more."""

    def are_all(self, number: int) -> bool:
        """Whether so many different ones are all there are."""

    def in_order(self) -> Iterator[K]:
        """Every one that may not have been drawn yet."""


class RandomOrder(Candidates[K], Protocol):
    """All that can be drawn, whatever came of what was drawn before."""

    def each_once(self) -> Iterator[K]:
        """All in random order."""


class Pipelines:
    """Pipelines: every bracket may hold any of them, the first one those to begin with."""

    are_exhausted = False

    def __init__(self, selection: Selection) -> None:
        self._tree = selection.tree
        self._leaves = Leaves(selection.tree, selection.rng, selection.initial)

    def draw(self, number: int) -> list[Pipeline]:
        """So many different pipelines, uniformly."""
        return self._leaves.draw(number)

    def are_all(self, number: int) -> bool:
        """Whether there are so many pipelines."""
        return number == self._tree.leaves

    def each_once(self) -> Iterator[Pipeline]:
        """All of them in random order, the last ones of many in that of the text."""
        return self._leaves.each_once()

    def in_order(self) -> Iterator[Pipeline]:
        """Every pipeline."""
        return self._tree.leaves_in_order()


class Drawn:
    """Configurations as random search draws them: each is in one bracket, several may be of one pipeline."""

    def __init__(self, tree: DiscrepancyTree, rng: "Generator") -> None:
        self._stream = Configurations(tree, rng).each_once()
        self._drawn = 0
        self.are_exhausted = False

    def draw(self, number: int) -> list[Configuration]:
        """So many configurations that have not been drawn before."""
        found = list(islice(self._stream, number))
        self._drawn += len(found)
        self.are_exhausted = len(found) < number
        return found

    def are_all(self, number: int) -> bool:
        """Whether no other configuration is left."""
        return self.are_exhausted and number == self._drawn

    def each_once(self) -> Iterator[Configuration]:
        """All that was not drawn yet, in random order."""
        return self._stream

    def in_order(self) -> Iterator[Configuration]:
        """None: what was drawn is in a bracket, and nothing is left over once there is nothing to be drawn."""
        return iter(())


Draw: TypeAlias = Callable[[Turn[Any], RandomOrder[Any]], Asking[None]]
"""What a method does in a turn with whatever its candidates are."""


def of_pipelines(method: Draw) -> Selector:
    """The selector that draws pipelines, as they are configured when it is called."""
    return Remembering(lambda turn: method(turn, Pipelines(turn.selection)))


def search(problem: Problem, rule: Literal["sample", "default"], method: Draw) -> Search:
    """Draw configurations, as random search does, each once; or pipelines, by the rule `default` or without others.

    Pipelines are drawn uniformly, for each bracket anew. What was trained before is not asked for again. A candidate
    goes on to the next rung as soon as that is certain, and idle workers begin the next bracket. Once nothing new is
    drawn, or 100 pipelines in a row that reach all rows have been there before, the rest follows, those that came
    furthest first.
    """
    if rule == "default" or not problem.space.hyperparameters:
        yield from _selection.search(of_pipelines(method), problem, "default")
        return
    selection = Selection.of(problem, "default")
    if selection.tree.leaves:
        turn: Turn[Configuration] = Turn((yield from look_around(selection)), _itself, Memory())
        yield from method(turn, Drawn(selection.tree, problem.rng))


def _itself(configuration: Configuration) -> Configuration:
    return configuration
