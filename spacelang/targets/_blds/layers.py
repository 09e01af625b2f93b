"""The layers of a discrepancy tree, and the constraints between them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from spacelang.ir.space import Choice, Space
from spacelang.solver.counting import Structures
from spacelang.solver.elimination import Factor, FactorGraph

MAX_JOINT_BRANCHES: Final = 100_000
"""The maximum number of joint branches of connected decisions that are enumerated to detect prefixes without leaves."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A decision of a space as a layer of the tree.

    `stage` is its key in configurations and `address` its unique name. `owner` is the pair of the layer index and
    branch index that lead to the decision, or None for a stage of the pipeline.
    """

    stage: str
    address: str
    alternatives: tuple[str, ...]
    default: int
    owner: tuple[int, int] | None

    def is_reached(self, prefix: Sequence[int]) -> bool:
        """Return True if the branches of a prefix lead to the decision; the prefix must include all earlier layers."""
        return self.owner is None or prefix[self.owner[0]] == self.owner[1]


def layers_of(space: Space) -> tuple[Layer, ...]:
    """Return the layers of a space in pipeline order, each after its owner."""
    places = {choice.address: place for place, choice in enumerate(space.decisions)}

    def owner_of(choice: Choice) -> tuple[int, int] | None:
        owners = space.variables[choice.address].owners
        if not owners:
            return None
        place = places[owners[-1][0]]
        return place, space.decisions[place].branch_indices[owners[-1][1]]

    return tuple(
        Layer(choice.key, choice.address, tuple(choice.branch_indices), choice.default, owner_of(choice))
        for choice in space.decisions
    )


@dataclass(frozen=True, slots=True)
class ConstraintTable:
    """A table of the joint branches that the layers of `scope` may take.

    It applies only where the layer `within[0]` takes the branch `within[1]`; if `within` is None, it always applies.
    """

    scope: tuple[int, ...]
    allowed: frozenset[tuple[int, ...]]
    within: tuple[int, int] | None

    def is_satisfied(self, prefix: Sequence[int]) -> bool:
        """Return True if the branches of a prefix are allowed; the prefix must include the whole scope."""
        if self.within is not None and prefix[self.within[0]] != self.within[1]:
            return True
        return tuple(prefix[place] for place in self.scope) in self.allowed


def constraint_tables_of(structures: Structures, layers: Sequence[Layer]) -> dict[int, tuple[ConstraintTable, ...]]:
    """Return the tables to check once the branch of a layer is known, by layer index.

    A pipeline that satisfies all tables is admissible, and a prefix that satisfies those of its layers has a leaf. The
    exception are decisions with more than `MAX_JOINT_BRANCHES` joint branches: for these, only complete pipelines are
    checked.
    """
    places = {layer.address: place for place, layer in enumerate(layers)}
    found: dict[int, tuple[ConstraintTable, ...]] = {}
    for context, networks in structures.model.by_context.items():
        within = None
        if context:
            address, branch = context[-1]
            within = (places[address], layers[places[address]].alternatives.index(branch))
        for network in networks:
            for factor in _factors_with_prefixes(structures.existence_solver.weighted_decisions(network), places):
                if factor.scope and not _is_trivial(network, factor):
                    hurdle = _constraint_table(factor, places, within)
                    found[hurdle.scope[-1]] = (*found.get(hurdle.scope[-1], ()), hurdle)
    return found


def _factors_with_prefixes(graph: FactorGraph, places: Mapping[str, int]) -> Iterator[Factor]:
    """Yield the factors over the decisions of a network, and then factors over prefixes that have leaves.

    The latter come from eliminating one layer after the other, the last layer first.
    """
    yield from graph.factors
    for address in sorted(graph.states, key=places.__getitem__, reverse=True):
        tied = {name for factor in graph.factors if address in factor.scope for name in factor.scope}
        if prod(len(graph.states[name]) for name in tied) > MAX_JOINT_BRANCHES:
            return
        graph = graph.project_out({address})
        yield graph.factors[-1]


def _is_trivial(graph: FactorGraph, factor: Factor) -> bool:
    return sum(map(bool, factor.table.values())) == prod(len(graph.states[name]) for name in factor.scope)


def _constraint_table(factor: Factor, places: Mapping[str, int], within: tuple[int, int] | None) -> ConstraintTable:
    order = sorted(range(len(factor.scope)), key=lambda index: places[factor.scope[index]])
    return ConstraintTable(
        tuple(places[factor.scope[index]] for index in order),
        frozenset(tuple(states[index] for index in order) for states, weight in factor.table.items() if weight),
        within,
    )
