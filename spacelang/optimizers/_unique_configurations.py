"""Distinct configurations in random order; finite spaces are exhausted by enumeration."""

from collections.abc import Iterator
from math import inf, prod
from typing import TYPE_CHECKING, Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Domain, parts
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Hyperparameter, Space
from spacelang.ir.value import Value
from spacelang.ir.walk import Structure, assemble, walk_reached
from spacelang.optimizers._pipeline_configurations import HyperparameterDraws
from spacelang.optimizers._random_leaves import BATCH_SIZE, MAX_REPEATED_DRAWS
from spacelang.sampling.sampler import SamplingFailedError
from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator

MAX_LISTED_COMBINATIONS: Final = 1_000_000
"""A structure with more combinations of values than this is sampled instead of enumerated."""


class UniqueConfigurations:
    """The configurations of a space: structures drawn uniformly, hyperparameters from their ranges or priors."""

    def __init__(self, tree: DiscrepancyTree, rng: "Generator") -> None:
        self._tree = tree
        self._draws = HyperparameterDraws(tree)
        self._rng = rng

    def each_once(self) -> Iterator[Configuration]:
        """Yield every configuration once: random draws first, then the remaining ones by enumeration.

        Drawing stops after `MAX_REPEATED_DRAWS` repeated configurations in a row.
        """
        asked: set[Configuration] = set()
        repeated = 0
        drawn = self._draw_endlessly() if self._tree.leaf_count else iter(())
        while repeated < MAX_REPEATED_DRAWS and (configuration := next(drawn, None)) is not None:
            repeated = repeated + 1 if configuration in asked else 0
            if not repeated:
                asked.add(configuration)
                yield configuration
        for configuration in self._enumerate_remaining(asked):
            if configuration not in asked:
                asked.add(configuration)
                yield configuration

    def _draw_endlessly(self) -> Iterator[Configuration]:
        """Yield random configurations without end, their structures uniform."""
        # Drawing many configurations in one batch is much faster than drawing them one by one.
        try:
            while True:
                yield from list(self._draws.sampler.configurations(BATCH_SIZE, self._rng))
        except SamplingFailedError:
            pass
        while True:
            yield self._draw_configuration(self._tree.random_leaf(self._rng))

    def _draw_configuration(self, leaf: Pipeline) -> Configuration:
        return self._draws.configuration(leaf, self._rng)

    def _enumerate_remaining(self, asked: set[Configuration]) -> Iterator[Configuration]:
        """Yield every configuration, leaf by leaf, repetitions included.

        A leaf with too many values to enumerate is sampled instead. Sampling goes round after round until a whole round
        adds nothing to `asked`.
        """
        known, is_endless = -1, True
        while is_endless and len(asked) > known:
            known, is_endless = len(asked), False
            for leaf in self._tree.iter_leaves():
                structure = self._tree.structure_of(leaf)
                if _count_combinations(self._tree.space, structure) <= MAX_LISTED_COMBINATIONS:
                    yield from enumerate_members(self._tree.space, structure)
                else:
                    is_endless = True
                    yield from (self._draw_configuration(leaf) for _ in range(MAX_REPEATED_DRAWS))


def enumerate_members(space: Space, structure: Structure) -> Iterator[Configuration]:
    """Yield all members of a structure whose domains are finite, lazily, in the order of their values."""
    places: list[int] = []
    while True:
        sizes: list[int] = []

        def value_of(node: Hyperparameter, sizes: list[int] = sizes) -> Value:
            # Up to the last position the hyperparameters are those of the previous configuration; later ones may vary.
            if len(sizes) == len(places):
                places.append(0)
            assert node.domain.size is not None
            sizes.append(node.domain.size)
            return _value_at(node.domain, places[len(sizes) - 1])

        configuration = assemble(space, structure, value_of)
        if first_exclusion(space, configuration) is None:
            yield configuration
        while places and places[-1] + 1 == sizes[len(places) - 1]:
            places.pop()
        if not places:
            return
        places[-1] += 1


def _count_combinations(space: Space, structure: Structure) -> float:
    """Return an upper bound on the number of value combinations of a structure; infinity for a continuous range."""
    nodes = [variable.node for variable, _ in walk_reached(space, lambda choice: structure[choice.address])]
    sizes = [node.domain.size for node in nodes if isinstance(node, Hyperparameter)]
    return inf if None in sizes else prod(size for size in sizes if size is not None)


def _value_at(domain: Domain, place: int) -> Value:
    """Return the value at a position of a domain, counted over its parts; raises IndexError beyond the end."""
    for part in parts(domain):
        assert part.size is not None
        if place < part.size:
            return part.value_at(place)
        place -= part.size
    raise IndexError(place)
