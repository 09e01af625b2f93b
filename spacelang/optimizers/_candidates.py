"""What the brackets of successive halving are filled with: configurations, or pipelines at their defaults."""

from collections.abc import Hashable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from spacelang.ir.configuration import Configuration
from spacelang.optimizers._configurations import Configurations
from spacelang.optimizers._leaves import Leaves
from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator

K = TypeVar("K", bound=Hashable)


class Candidates(Protocol[K]):
    """All that can be drawn."""

    @property
    def are_exhausted(self) -> bool:
        """Whether nothing new will be drawn."""
        ...

    def draw(self, number: int) -> list[K]:
        """So many different ones; fewer where there are no more."""
        ...

    def are_all(self, number: int) -> bool:
        """Whether so many different ones are all there are."""
        ...

    def in_order(self) -> Iterator[K]:
        """Every one that may not have been drawn yet."""
        ...

    def configuration(self, candidate: K) -> Configuration:
        """The configuration that is evaluated."""
        ...


class Pipelines:
    """Pipelines with their hyperparameters at their defaults: every bracket may hold any of them."""

    are_exhausted = False

    def __init__(self, tree: DiscrepancyTree, rng: "Generator") -> None:
        self._tree = tree
        self._leaves = Leaves(tree, rng)

    def draw(self, number: int) -> list[Pipeline]:
        """So many different pipelines, uniformly."""
        return self._leaves.draw(number)

    def are_all(self, number: int) -> bool:
        """Whether there are so many pipelines."""
        return number == self._tree.leaves

    def in_order(self) -> Iterator[Pipeline]:
        """Every pipeline."""
        return self._tree.leaves_in_order()

    def configuration(self, candidate: Pipeline) -> Configuration:
        """The pipeline at its defaults."""
        return self._tree.complete(candidate)


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

    def in_order(self) -> Iterator[Configuration]:
        """None: what was drawn is in a bracket, and nothing is left over once there is nothing to be drawn."""
        return iter(())

    def configuration(self, candidate: Configuration) -> Configuration:
        """Itself."""
        return candidate


def candidates(tree: DiscrepancyTree, rule: Literal["sample", "default"], rng: "Generator") -> Candidates[Any]:
    """What brackets are filled with; without hyperparameters a pipeline is a configuration."""
    return Drawn(tree, rng) if rule == "sample" and tree.space.hyperparameters else Pipelines(tree, rng)
