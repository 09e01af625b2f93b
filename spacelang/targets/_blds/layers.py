"""The layers of a discrepancy tree, and what ties them together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from spacelang.ir.space import Choice, Space
from spacelang.solver.counting import Structures
from spacelang.solver.elimination import Factor, FactorGraph

JOINT: Final = 100_000
"""The most joint branches of tied decisions that are looked at to recognise a prefix that has no leaf."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One decision of a space.

    `stage` is its key in configurations, `address` its unique name; `owner` is the layer and the place of the branch
    that lead to it, None for a stage of the pipeline.
    """

    stage: str
    address: str
    alternatives: tuple[str, ...]
    default: int
    owner: tuple[int, int] | None

    def is_reached(self, prefix: Sequence[int]) -> bool:
        """Whether branches that include those of all earlier layers lead to the decision."""
        return self.owner is None or prefix[self.owner[0]] == self.owner[1]


def layers_of(space: Space) -> tuple[Layer, ...]:
    """The layers of a space in pipeline order, each after its owner."""
    places = {choice.address: place for place, choice in enumerate(space.decisions)}

    def owner_of(choice: Choice) -> tuple[int, int] | None:
        owners = space.variables[choice.address].owners
        if not owners:
            return None
        place = places[owners[-1][0]]
        return place, space.decisions[place].places[owners[-1][1]]

    return tuple(
        Layer(choice.key, choice.address, tuple(choice.places), choice.default, owner_of(choice))
        for choice in space.decisions
    )


@dataclass(frozen=True, slots=True)
class Hurdle:
    """The joint branches that the layers of `scope` may take, where the layer and branch `within` are taken."""

    scope: tuple[int, ...]
    allowed: frozenset[tuple[int, ...]]
    within: tuple[int, int] | None

    def is_passed(self, prefix: Sequence[int]) -> bool:
        """Whether branches that include those of the whole scope are allowed."""
        if self.within is not None and prefix[self.within[0]] != self.within[1]:
            return True
        return tuple(prefix[place] for place in self.scope) in self.allowed


def hurdles_of(structures: Structures, layers: Sequence[Layer]) -> dict[int, tuple[Hurdle, ...]]:
    """What has to be looked at once a layer's branch is known, by the place of the layer.

    A pipeline that passes all hurdles is admissible, and a prefix that passes those of its layers has a leaf, but for
    decisions that are tied so closely that only complete pipelines are looked at (`JOINT`).
    """
    places = {layer.address: place for place, layer in enumerate(layers)}
    found: dict[int, tuple[Hurdle, ...]] = {}
    for context, networks in structures.model.by_context.items():
        within = None
        if context:
            address, branch = context[-1]
            within = (places[address], layers[places[address]].alternatives.index(branch))
        for network in networks:
            for factor in _with_prefixes(structures.existence.decisions(network), places):
                if factor.scope and not _is_trivial(network, factor):
                    hurdle = _hurdle(factor, places, within)
                    found[hurdle.scope[-1]] = (*found.get(hurdle.scope[-1], ()), hurdle)
    return found


def _with_prefixes(graph: FactorGraph, places: Mapping[str, int]) -> Iterator[Factor]:
    """The factors over the decisions of a network and, layer by layer from the last, over prefixes that have leaves."""
    yield from graph.factors
    for address in sorted(graph.states, key=places.__getitem__, reverse=True):
        tied = {name for factor in graph.factors if address in factor.scope for name in factor.scope}
        if prod(len(graph.states[name]) for name in tied) > JOINT:
            return
        graph = graph.without({address})
        yield graph.factors[-1]


def _is_trivial(graph: FactorGraph, factor: Factor) -> bool:
    return sum(map(bool, factor.table.values())) == prod(len(graph.states[name]) for name in factor.scope)


def _hurdle(factor: Factor, places: Mapping[str, int], within: tuple[int, int] | None) -> Hurdle:
    order = sorted(range(len(factor.scope)), key=lambda index: places[factor.scope[index]])
    return Hurdle(
        tuple(places[factor.scope[index]] for index in order),
        frozenset(tuple(states[index] for index in order) for states, weight in factor.table.items() if weight),
        within,
    )
