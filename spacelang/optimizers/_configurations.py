"""Configurations in random order, each once: drawn with their hyperparameters, and those that are left at last."""

from collections.abc import Iterator
from math import inf, prod
from typing import TYPE_CHECKING, Final

from spacelang.draws.sampling import UnlikelyError
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Domain, parts
from spacelang.ir.membership import exclusion
from spacelang.ir.space import Hyperparameter, Space
from spacelang.ir.value import Value
from spacelang.ir.walk import Structure, assemble, reached
from spacelang.optimizers._completion import Draws
from spacelang.optimizers._leaves import ROUND, TRIES
from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator

LISTABLE: Final = 1_000_000
"""A structure with more combinations of values than this is not enumerated but drawn from again."""


class Configurations:
    """The configurations of a space: structures uniformly, hyperparameters from their ranges."""

    def __init__(self, tree: DiscrepancyTree, rng: "Generator") -> None:
        self._tree = tree
        self._draws = Draws(tree)
        self._rng = rng

    def each_once(self) -> Iterator[Configuration]:
        """Every configuration once: drawn, as long as that finds new ones, then one after the other."""
        asked: set[Configuration] = set()
        repeated = 0
        drawn = self._drawn() if self._tree.leaves else iter(())
        while repeated < TRIES and (configuration := next(drawn, None)) is not None:
            repeated = repeated + 1 if configuration in asked else 0
            if not repeated:
                asked.add(configuration)
                yield configuration
        for configuration in self._rest(asked):
            if configuration not in asked:
                asked.add(configuration)
                yield configuration

    def _drawn(self) -> Iterator[Configuration]:
        """Draws without end, their structures uniform."""
        # Many configurations are drawn together in a fraction of the time that each of them takes alone.
        try:
            while True:
                yield from list(self._draws.sampler.configurations(ROUND, self._rng))
        except UnlikelyError:
            pass
        while True:
            yield self._values(self._tree.random_leaf(self._rng))

    def _values(self, leaf: Pipeline) -> Configuration:
        return self._draws.configuration(leaf, self._rng)

    def _rest(self, asked: set[Configuration]) -> Iterator[Configuration]:
        """Every configuration, leaf by leaf, repetitions included.

        A leaf with too many values to enumerate is drawn from, round after round until a whole round has added
        nothing to `asked`.
        """
        known, is_endless = -1, True
        while is_endless and len(asked) > known:
            known, is_endless = len(asked), False
            for leaf in self._tree.leaves_in_order():
                structure = self._tree.structure_of(leaf)
                if _combinations(self._tree.space, structure) <= LISTABLE:
                    yield from members(self._tree.space, structure)
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
        if place < part.size:
            return part.at(place)
        place -= part.size
    raise IndexError(place)
