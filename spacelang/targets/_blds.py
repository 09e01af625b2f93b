"""The layers of a discrepancy tree, the constraints between them, and their text listings and DOT graphs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from spacelang.ir.space import Choice, Space
from spacelang.solver.bucket_elimination import Factor, FactorGraph
from spacelang.solver.counting import Structures
from spacelang.targets._text_and_dot import DEFAULT_MARK, OTHER_MARK, digraph, quote_dot, wrap_words
from spacelang.text import count_with_noun

MAX_JOINT_BRANCHES: Final = 100_000
"""The maximum number of joint branches of connected decisions that are enumerated to detect prefixes without leaves."""


@dataclass(frozen=True, slots=True)
class DecisionLayer:
    """A layer of the tree: a decision, with its key in configurations (`stage`).

    `owner` has the index of the layer and of the branch that lead to it, or is None.
    """

    stage: str
    address: str
    alternatives: tuple[str, ...]
    default: int
    owner: tuple[int, int] | None

    def is_reached(self, prefix: Sequence[int]) -> bool:
        """Return True if the branches of a prefix lead to the decision; the prefix must include all earlier layers."""
        return self.owner is None or prefix[self.owner[0]] == self.owner[1]


def decision_layers(space: Space) -> tuple[DecisionLayer, ...]:
    """Return the layers of a space in pipeline order, each after its owner."""
    places = {choice.address: place for place, choice in enumerate(space.decisions)}

    def owner_of(choice: Choice) -> tuple[int, int] | None:
        owners = space.variables[choice.address].owners
        if not owners:
            return None
        place = places[owners[-1][0]]
        return place, space.decisions[place].branch_indices[owners[-1][1]]

    return tuple(
        DecisionLayer(c.key, c.address, tuple(c.branch_indices), c.default, owner_of(c)) for c in space.decisions
    )


@dataclass(frozen=True, slots=True)
class ConstraintTable:
    """A table of the joint branches that the layers in `scope` may take.

    It applies if `within` is None, or if the layer `within[0]` takes the branch `within[1]`.
    """

    scope: tuple[int, ...]
    allowed: frozenset[tuple[int, ...]]
    within: tuple[int, int] | None

    def is_satisfied(self, prefix: Sequence[int]) -> bool:
        """Return True if the branches of a prefix are allowed; the prefix must include the whole scope."""
        if self.within is not None and prefix[self.within[0]] != self.within[1]:
            return True
        return tuple(prefix[place] for place in self.scope) in self.allowed


def constraint_tables_by_layer(
    structures: Structures, layers: Sequence[DecisionLayer]
) -> dict[int, tuple[ConstraintTable, ...]]:
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
            for factor in _factors_with_prefixes(structures.existence_solver.weighted_decision_graph(network), places):
                size = prod(len(network.states[name]) for name in factor.scope)
                if factor.scope and sum(map(bool, factor.table.values())) < size:
                    hurdle = _constraint_table(factor, places, within)
                    found[hurdle.scope[-1]] = (*found.get(hurdle.scope[-1], ()), hurdle)
    return found


def _factors_with_prefixes(graph: FactorGraph, places: Mapping[str, int]) -> Iterator[Factor]:
    """Yield the factors over decisions, and those that follow from eliminating the last layers one after another.

    The latter tell which prefixes can be completed. `places` has the index of each layer by address.
    """
    yield from graph.factors
    for address in sorted(graph.states, key=places.__getitem__, reverse=True):
        tied = {name for factor in graph.factors if address in factor.scope for name in factor.scope}
        if prod(len(graph.states[name]) for name in tied) > MAX_JOINT_BRANCHES:
            return
        graph = graph.project_out({address})
        yield graph.factors[-1]


def _constraint_table(factor: Factor, places: Mapping[str, int], within: tuple[int, int] | None) -> ConstraintTable:
    order = sorted(range(len(factor.scope)), key=lambda index: places[factor.scope[index]])
    kept = frozenset(tuple(states[index] for index in order) for states, weight in factor.table.items() if weight)
    return ConstraintTable(tuple(places[factor.scope[index]] for index in order), kept, within)


MAX_WHOLE_LEAVES: Final = 64  # A tree with at most this many leaves is drawn completely


def text_listing(name: str, layers: Sequence[DecisionLayer], leaves: int, by_discrepancy: Sequence[int]) -> str:
    """Return the layers as a text tree, the default first in each, and the leaf counts by discrepancy."""
    legend = f"{DEFAULT_MARK} the heuristic's choice   {OTHER_MARK} one discrepancy"
    counts = (f"{discrepancy:>11}   {count:,}" for discrepancy, count in enumerate(by_discrepancy))
    table = ["", "discrepancy   leaves", *counts]
    return "\n".join([_title(name, layers, leaves), legend, "", *_layer_lines(None, layers, ""), *table])


def dot_graph(name: str, layers: Sequence[DecisionLayer], leaves: int, in_order: Iterable[Sequence[int]]) -> str:
    """Return a DOT graph of the whole tree if it has few leaves, else of the layers with their alternatives.

    `in_order` are the leaves.
    """
    body = _whole_tree_lines(layers, in_order) if leaves <= MAX_WHOLE_LEAVES else _layer_cluster_lines(layers)
    return digraph(name, _title(name, layers, leaves), body)


def _title(name: str, layers: Sequence[DecisionLayer], leaves: int) -> str:
    return f"{name}: {count_with_noun(len(layers), 'layer')}, {count_with_noun(leaves, 'leaf', 'leaves')}"


def _layer_lines(owner: int | None, layers: Sequence[DecisionLayer], indent: str) -> Iterator[str]:
    mine = [place for place, layer in enumerate(layers) if (layer.owner and layer.owner[0]) == owner]
    for place in mine:
        layer, is_last = layers[place], place == mine[-1]
        deeper = indent + ("   " if is_last else "│  ")
        yield f"{indent}{'└─' if is_last else '├─'} {layer.stage}{_owner_note(layer, layers)}"
        has_layers = any(other.owner is not None and other.owner[0] == place for other in layers)
        others = (name for number, name in enumerate(layer.alternatives) if number != layer.default)
        words = [f"{DEFAULT_MARK} {layer.alternatives[layer.default]}", *(f"{OTHER_MARK} {name}" for name in others)]
        yield from wrap_words(words, *[deeper + ("│  " if has_layers else "   ")] * 2)
        yield from _layer_lines(place, layers, deeper)


def _owner_note(layer: DecisionLayer, layers: Sequence[DecisionLayer]) -> str:
    if layer.owner is None:
        return ""
    owner, branch = layer.owner
    return f" (with {layers[owner].alternatives[branch]})"


def _whole_tree_lines(layers: Sequence[DecisionLayer], in_order: Iterable[Sequence[int]]) -> Iterator[str]:
    """Yield the DOT lines of the tree of partial pipelines; discrepancies from the default are dashed and counted."""
    seen: set[tuple[int, ...]] = set()
    yield '"()" [label="", shape=point]'
    for leaf in in_order:
        parent: tuple[int, ...] = ()
        for number, place in enumerate(leaf):
            if place < 0:
                continue
            prefix, layer = tuple(leaf[: number + 1]), layers[number]
            if prefix not in seen:
                seen.add(prefix)
                label = f"{layer.stage}\n{layer.alternatives[place]}"
                yield f'"{prefix}" [label={quote_dot(label)}]'
                yield f'"{parent}" -> "{prefix}"' + ("" if place == layer.default else " [style=dashed]")
            parent = prefix
        count = sum(place not in (-1, layer.default) for place, layer in zip(leaf, layers, strict=True))
        yield f'"{parent}" -> "leaf {parent}"'
        yield f'"leaf {parent}" [label="{count_with_noun(count, "discrepancy", "discrepancies")}", shape=plaintext]'


def _layer_cluster_lines(layers: Sequence[DecisionLayer]) -> Iterator[str]:
    """Yield a cluster for each layer, and edges from the default of one layer to the alternatives of the next."""
    for number, layer in enumerate(layers):
        inner = [f'"{number}.{place}" [label={quote_dot(name)}]' for place, name in enumerate(layer.alternatives)]
        title = quote_dot(layer.stage + _owner_note(layer, layers))
        yield f"subgraph cluster_{number} {{ label={title}; {'; '.join(inner)} }}"
    previous = None
    for number, layer in enumerate(layers):
        source = f'"{previous[0]}.{previous[1]}"' if previous else '"()"'
        if layer.owner is not None:
            source = f'"{layer.owner[0]}.{layer.owner[1]}"'
        for place in range(len(layer.alternatives)):
            style = "" if place == layer.default else " [style=dashed]"
            yield f'{source} -> "{number}.{place}"{style}'
        if layer.owner is None:
            previous = (number, layer.default)
    yield '"()" [label="", shape=point]'
