"""What excludes structures, as linear constraints over the 0-1 variables of z and of orders.

They come from the tables of tied decisions, which cost what constraints tie together, never from a list of structures.

See spacelang/optimizers/README.md, section "ADMM: variables".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import Final, TypeAlias

from spacelang.grouping import grouped
from spacelang.ir.domain import contains
from spacelang.ir.space import Constraint
from spacelang.solver.counting import Structures
from spacelang.solver.elimination import EXISTS, Factor, FactorGraph, State, Table, TangledError, eliminate
from spacelang.solver.network import UNREACHED, Network, TooTangledError
from spacelang.targets._admm.layout import Block, Indicator, Layout

Term: TypeAlias = tuple[str, tuple[int, ...]]
"""A stage or order, by the address of its decision, and the places of some of its alternatives or orders."""
Axis: TypeAlias = tuple[str, dict[State, tuple[int, ...]]]
"""A variable of a table: the address of its decision, and the alternatives that each of its states stands for."""
JOINT: Final = 20_000
"""The most joint alternatives of tied stages that are looked at for constraints over as few stages as there can be."""


@dataclass(frozen=True, slots=True)
class LinearRule:
    """Of the terms, no more than `most` may be taken together: one less than there are."""

    terms: tuple[Term, ...]

    @property
    def most(self) -> int:
        """The bound on the sum of the variables of all terms."""
        return len(self.terms) - 1


@dataclass(frozen=True, slots=True)
class LinearRules:
    """The rules, and the constraints of the space that are tied too closely to be said by rules."""

    rules: tuple[LinearRule, ...]
    left: tuple[Constraint, ...]


def linear_rules(structures: Structures, layout: Layout) -> LinearRules:
    """The rules that exclude exactly the joint alternatives (and top orders) with which no member is.

    What alternatives settle beside their branch counts; all that z and orders do not say may take any value.
    """
    blocks = {block.address: block for block in layout.blocks}
    settled = frozenset(a for block in layout.blocks for way in block.alternatives for a in way.settled.domains)
    found: dict[LinearRule, None] = {}
    left: list[Constraint] = []
    for context, networks in structures.model.by_context.items():
        for network in (each for each in networks if not each.is_free):
            try:
                graph = _decided(structures, network, settled)
                if context:
                    found |= dict.fromkeys(_inside(blocks[context[0][0]], context, network, graph))
                else:
                    over, axes = _over_blocks(structures, blocks, network, graph)
                    found |= dict.fromkeys(rule for factor in over for rule in _rules(factor, axes))
            except (TangledError, TooTangledError):
                left += network.constraints
    return LinearRules(_sorted(found, layout), tuple(left))


def _sorted(rules: Iterable[LinearRule], layout: Layout) -> tuple[LinearRule, ...]:
    """The rules over few blocks first, then in the order of the pipeline, as are the terms of each."""
    addresses = [*(block.address for block in layout.blocks), *(order.address for order in layout.orders)]
    places = {address: place for place, address in enumerate(addresses)}
    ordered = {LinearRule(tuple(sorted(rule.terms, key=lambda term: places[term[0]]))): None for rule in rules}
    return tuple(sorted(ordered, key=lambda rule: (len(rule.terms), [(places[a], which) for a, which in rule.terms])))


def _decided(structures: Structures, network: Network, settled: frozenset[str]) -> FactorGraph:
    """What a network admits of its decisions, and of the hyperparameters that alternatives settle."""
    decided = structures.existence.decisions(network)
    if not settled & network.states.keys():
        return decided
    return network.times(decided.factors).without(network.existential - settled)


def _inside(
    block: Block, context: Sequence[tuple[str, str]], network: Network, graph: FactorGraph
) -> Iterator[LinearRule]:
    """The alternatives of a block that settle what lies below a context as no member does."""
    dead = []
    for number, alternative in enumerate(block.alternatives):
        taken = {block.address: alternative.branch, **alternative.settled.branches}
        if alternative.settled.label and all(taken.get(owner) == branch for owner, branch in context):
            left = {name: _left(name, network, alternative, block) for name in graph.states}
            if not eliminate(graph.given(left), (graph.states, EXISTS)).total:
                dead.append(number)
    if dead:
        yield LinearRule(((block.address, tuple(dead)),))


def _left(name: str, network: Network, alternative: Indicator, block: Block) -> Sequence[State]:
    """The states of a variable that an alternative of its block leaves."""
    states, settled = network.states[name], alternative.settled
    if name == block.address:
        return [alternative.place]
    if name in settled.domains:
        domain = settled.domains[name]
        if domain is None:
            return [UNREACHED]
        cells = network.cells[name]
        return [state for state in states if state != UNREACHED and contains(domain, cells[state].middle)]
    if name not in settled.branches:
        return states
    state = dict(network.fixed(settled.branches)).get(name, UNREACHED)
    return [state] if state in states else []


def _over_blocks(
    structures: Structures, blocks: Mapping[str, Block], network: Network, graph: FactorGraph
) -> tuple[tuple[Factor, ...], dict[str, Axis]]:
    """The factors over z and orders alone, and what their states stand for.

    Where what lies inside a block is tied too, a variable of its own stands for the block: its states are the first of
    the alternatives that settle this alike.
    """
    variables = structures.space.variables
    names = dict.fromkeys(name for factor in graph.factors for name in factor.scope)
    states: dict[str, Sequence[State]] = dict(graph.states)
    axes: dict[str, Axis] = {}
    links: list[Factor] = []
    owned = grouped((variables[name].owners[0][0], name) for name in names if variables[name].owners)
    for address, inner in owned.items():
        block = blocks[address]
        alike = _alike(block, inner, network)
        axes[_z(address)] = (address, {numbers[0]: numbers for numbers in alike})
        states[_z(address)] = tuple(numbers[0] for numbers in alike)
        for name in (address, *inner):
            table: Table = {
                (numbers[0], state): 1
                for numbers in alike
                for state in _left(name, network, block.alternatives[numbers[0]], block)
            }
            links.append(Factor((_z(address), name), table))
    gone = {*owned, *(name for inner in owned.values() for name in inner)}
    for name in names:
        if name in blocks:
            axes[name] = (name, dict(blocks[name].variants))
        elif name not in gone:
            axes[name] = (name, {state: (state,) for state in graph.states[name]})
    return FactorGraph(states, (*graph.factors, *links)).without(gone).factors, axes


def _z(address: str) -> str:
    return f"z {address}"  # no address of a space has a blank


def _alike(block: Block, inner: Sequence[str], network: Network) -> list[tuple[int, ...]]:
    """The alternatives of a block by their branch and what they leave of some variables."""
    left = ([tuple(_left(name, network, each, block)) for name in inner] for each in block.alternatives)
    places = ((each.place, *mine) for each, mine in zip(block.alternatives, left, strict=True))
    return [tuple(numbers) for numbers in grouped((place, n) for n, place in enumerate(places)).values()]


def _rules(factor: Factor, known: Mapping[str, Axis]) -> Iterator[LinearRule]:
    """What a table leaves out, each exclusion over as few variables as it can be said with."""
    axes = [known[name] for name in factor.scope]
    allowed = {joint for joint, weight in factor.table.items() if weight}
    if not factor.scope:
        return
    options = [tuple(axis) for _, axis in axes]
    exclusions = _by_prefix if prod(map(len, options)) > JOINT else _smallest
    for box in exclusions(options, allowed):
        terms = (
            (address, tuple(sorted(number for state in states for number in axis[state])))
            for (address, axis), states in zip(axes, box, strict=True)
            if states is not None
        )
        yield LinearRule(tuple(terms))


Cube: TypeAlias = tuple[tuple[State, ...] | None, ...]
"""The states of each variable whose combinations are excluded; None for all of them."""


def _smallest(options: Sequence[tuple[State, ...]], allowed: set[tuple[State, ...]]) -> Iterator[Cube]:
    """Exclusions over one variable, then over two, ...; those that smaller ones cover are left out."""
    count = len(options)
    excluded: list[tuple[tuple[int, ...], set[tuple[State, ...]]]] = []
    for size in range(1, count + 1):
        for places in combinations(range(count), size):
            seen = {tuple([joint[place] for place in places]) for joint in allowed}
            smaller = [
                ([places.index(place) for place in mine], joints)
                for mine, joints in excluded
                if set(mine) <= set(places)
            ]
            missing = [
                joint
                for joint in product(*(options[place] for place in places))
                if joint not in seen
                and not any(tuple([joint[at] for at in mine]) in joints for mine, joints in smaller)
            ]
            if missing:
                excluded.append((places, set(missing)))
                for cube in _merged(missing):
                    given = dict(zip(places, cube, strict=True))
                    yield tuple(given.get(place) for place in range(count))


def _merged(joints: Sequence[tuple[State, ...]]) -> list[tuple[tuple[State, ...], ...]]:
    """Joint states put together along one variable after the other, the last one first."""
    cubes: list[tuple[tuple[State, ...], ...]] = [tuple([(state,) for state in joint]) for joint in joints]
    for place in reversed(range(len(joints[0]))):
        together: dict[tuple[tuple[State, ...], ...], tuple[State, ...]] = {}
        for cube in cubes:
            others = (*cube[:place], *cube[place + 1 :])
            together[others] = (*together.get(others, ()), *cube[place])
        cubes = [(*others[:place], states, *others[place:]) for others, states in together.items()]
    return cubes


def _by_prefix(options: Sequence[tuple[State, ...]], allowed: set[tuple[State, ...]]) -> Iterator[Cube]:
    """After each beginning of an admitted combination the states that continue none: as many as the table is large."""
    count = len(options)
    following: dict[tuple[State, ...], dict[State, None]] = {(): {}}
    for joint in sorted(allowed):
        for length in range(count):
            following.setdefault(joint[:length], {})[joint[length]] = None
    for prefix, known in following.items():
        missing = tuple(state for state in options[len(prefix)] if state not in known)
        if missing:
            rest = [None] * (count - len(prefix) - 1)
            yield (*((state,) for state in prefix), missing, *rest)
