"""Random search without replacement (ALGORITHMS.md 3.1)."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, prod
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Structures
from spacelang.ir.domain import Domain, Real, parts
from spacelang.ir.membership import exclusion
from spacelang.ir.sampling import Sampler, UnlikelyError
from spacelang.ir.space import Hyperparameter, Space
from spacelang.ir.trial import Request, Search
from spacelang.ir.value import Value
from spacelang.ir.walk import Structure, assemble, reached
from spacelang.plugins import option
from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator

TRIES: Final = 100
"""So many draws in a row without a new configuration mean that fewer than 1 % are new: the rest is enumerated."""
LISTABLE: Final = 1_000_000
"""A structure with more combinations of values than this is not enumerated but drawn from again."""


@dataclass(frozen=True, slots=True)
class Random:
    """Random search: structures uniformly, hyperparameters from their ranges, nothing twice."""

    paper: ClassVar[str] = "Bergstra and Bengio, Random Search for Hyper-Parameter Optimization, JMLR 2012"

    hyperparameters: Literal["sample", "default"] = option(
        "sample", "draw hyperparameters too, or keep them at their defaults"
    )

    def search(self, space: Space, size: int, rng: "Generator") -> Search:  # noqa: ARG002
        """Configurations in random order, each once and on all rows; the last ones of a finite space in its order."""
        draws = _Draws(space, self.hyperparameters == "sample", rng)
        asked: set[Configuration] = set()
        repeated = 0
        while draws.tree.leaves and repeated < TRIES:
            configuration = draws.draw()
            repeated = repeated + 1 if configuration in asked else 0
            if not repeated:
                asked.add(configuration)
                yield [Request(configuration)]
        for configuration in draws.rest(asked):
            if configuration not in asked:
                asked.add(configuration)
                yield [Request(configuration)]


class _Draws:
    """Where configurations come from: with hyperparameters drawn as well, or at their defaults."""

    def __init__(self, space: Space, sampled: bool, rng: "Generator") -> None:
        structures = Structures(space)
        self.tree = DiscrepancyTree(structures)
        self._space = space
        self._sampled = sampled
        self._sampler = Sampler(structures)
        self._rng = rng

    def draw(self) -> Configuration:
        """One configuration, its structure uniform."""
        leaf = self.tree.random_leaf(self._rng)
        return self._values(leaf) if self._sampled else self.tree.complete(leaf)

    def _values(self, leaf: Pipeline) -> Configuration:
        """A configuration of the leaf; its default one where values that constraints allow are too rare to be drawn."""
        try:
            return self._sampler.configuration(self._rng, self.tree.structure_of(leaf))
        except UnlikelyError:
            return self.tree.complete(leaf)

    def rest(self, asked: set[Configuration]) -> Iterator[Configuration]:
        """Every configuration, leaf by leaf, repetitions included.

        A leaf with too many values to enumerate is drawn from, round after round until a whole round has added
        nothing to `asked`.
        """
        known, is_endless = -1, True
        while is_endless and len(asked) > known:
            known, is_endless = len(asked), False
            for leaf in self.tree.leaves_in_order():
                structure = self.tree.structure_of(leaf)
                if not self._sampled:
                    yield self.tree.complete(leaf)
                elif _combinations(self._space, structure) <= LISTABLE:
                    yield from members(self._space, structure)
                else:
                    is_endless = True
                    yield from (self._values(leaf) for _ in range(TRIES))


def members(space: Space, structure: Structure) -> Iterator[Configuration]:
    """All members of a structure whose hyperparameters have finite domains, lazily, in the order of their values."""
    places: list[int] = []
    while True:
        sizes: list[int] = []

        def value_of(node: Hyperparameter, sizes: list[int] = sizes) -> Value:
            # The questions up to the last place are those of the configuration before: only later ones may differ.
            if len(sizes) == len(places):
                places.append(0)
            assert node.domain.size is not None
            sizes.append(node.domain.size)
            return _value_at(node.domain, places[len(sizes) - 1])

        configuration = assemble(space, structure, value_of)
        if exclusion(space, configuration) is None:
            yield configuration
        while places and places[-1] + 1 == sizes[len(places) - 1]:
            places.pop()
        if not places:
            return
        places[-1] += 1


def _combinations(space: Space, structure: Structure) -> float:
    """At least as many combinations of values as a structure has; infinity where a range is continuous."""
    nodes = [variable.node for variable, _ in reached(space, lambda choice: structure[choice.address])]
    sizes = [node.domain.size for node in nodes if isinstance(node, Hyperparameter)]
    return inf if None in sizes else prod(size for size in sizes if size is not None)


def _value_at(domain: Domain, place: int) -> Value:
    for part in parts(domain):
        assert part.size is not None
        if place >= part.size:
            place -= part.size
        elif isinstance(part, Real):
            return part.lower if part.step is None else part.at(part.first_index + place)
        else:
            return part.at(place)
    raise IndexError(place)
