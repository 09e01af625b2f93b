"""Constraints that exclude structures, as linear constraints over the 0-1 variables of z and of orders.

They are derived from the tables of connected decisions, never from a list of structures. The cost is that of the
decisions that constraints connect.
See spacelang/optimizers/README.md, section "ADMM: variables".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import Final, TypeAlias

from spacelang.grouping import group_by_key
from spacelang.ir.domain import contains
from spacelang.ir.space import Constraint
from spacelang.solver.bucket_elimination import (
    EXISTS,
    Factor,
    FactorGraph,
    State,
    Table,
    TooManyJointStatesError,
    eliminate,
)
from spacelang.solver.constraint_network import UNREACHED, ConstraintNetwork, TooManyConnectedVariablesError
from spacelang.solver.counting import Structures
from spacelang.targets._admm.layout import IndicatorVariable, OneHotBlock, VariableLayout

Term: TypeAlias = tuple[str, tuple[int, ...]]
"""The address of a stage or an order, and the indices of some of its alternatives or orders."""
Axis: TypeAlias = tuple[str, dict[State, tuple[int, ...]]]
"""A variable of a table: the address of its decision, and the indices of the alternatives of each state."""
MAX_JOINT_STATES: Final = 20_000
"""The maximum number of joint alternatives for which constraints over as few stages as possible are sought."""


@dataclass(frozen=True, slots=True)
class LinearConstraint:
    """A linear constraint on 0-1 variables: not all terms may be 1.

    A term is the sum of some alternatives of one block or order, and thus 0 or 1. The sum of all terms is at most
    `upper_bound`, which is the number of terms minus one.
    """

    terms: tuple[Term, ...]

    @property
    def upper_bound(self) -> int:
        """The upper bound of the sum of the variables of all terms."""
        return len(self.terms) - 1


def derive_linear_constraints(
    structures: Structures, layout: VariableLayout
) -> tuple[tuple[LinearConstraint, ...], tuple[Constraint, ...]]:
    """Return the linear constraints on z and orders, and the constraints of the space that have none.

    The linear constraints exclude the combinations of alternatives and outer orders that no member of the space has.
    Constraints that connect too many decisions are returned as they are.
    """
    blocks = {block.address: block for block in layout.blocks}
    settled = frozenset(a for block in layout.blocks for way in block.alternatives for a in way.case.domains)
    found: dict[LinearConstraint, None] = {}
    left: list[Constraint] = []
    for context, networks in structures.model.by_context.items():
        for network in (each for each in networks if not each.has_only_unconstrained_hyperparameters):
            try:
                graph = _decision_factors(structures, network, settled)
                if context:
                    found |= dict.fromkeys(_constraint_on_block(blocks[context[0][0]], context, network, graph))
                else:
                    over, axes = _block_factors(structures, blocks, network, graph)
                    found |= dict.fromkeys(rule for factor in over for rule in _constraints_of_factor(factor, axes))
            except (TooManyJointStatesError, TooManyConnectedVariablesError):
                left += network.constraints
    return _sort_constraints(found, layout), tuple(left)


def _sort_constraints(rules: Iterable[LinearConstraint], layout: VariableLayout) -> tuple[LinearConstraint, ...]:
    """Return the constraints without duplicates, those with few terms first; terms are in pipeline order."""
    addresses = [*(block.address for block in layout.blocks), *(order.address for order in layout.orders)]
    places = {address: place for place, address in enumerate(addresses)}
    ordered = {LinearConstraint(tuple(sorted(rule.terms, key=lambda term: places[term[0]]))): None for rule in rules}
    return tuple(sorted(ordered, key=lambda rule: (len(rule.terms), [(places[a], which) for a, which in rule.terms])))


def _decision_factors(structures: Structures, network: ConstraintNetwork, settled: frozenset[str]) -> FactorGraph:
    decided = structures.existence_solver.weighted_decision_graph(network)
    if not settled & network.states.keys():
        return decided
    return network.with_factors(decided.factors).project_out(network.existential_variables - settled)


def _constraint_on_block(
    block: OneHotBlock, context: Sequence[tuple[str, str]], network: ConstraintNetwork, graph: FactorGraph
) -> Iterator[LinearConstraint]:
    """Yield at most one constraint, which excludes the alternatives of a block that the network makes impossible.

    `graph` has the factors of the network, which lies in `context`, inside the block.
    """
    dead = []
    for number, alternative in enumerate(block.alternatives):
        taken = {block.address: alternative.branch, **alternative.case.branches}
        if alternative.case.label and all(taken.get(owner) == branch for owner, branch in context):
            left = {name: _possible_states(name, network, alternative, block) for name in graph.states}
            if not eliminate(graph.restrict(left), (graph.states, EXISTS)).total:
                dead.append(number)
    if dead:
        yield LinearConstraint(((block.address, tuple(dead)),))


def _possible_states(
    name: str, network: ConstraintNetwork, alternative: IndicatorVariable, block: OneHotBlock
) -> Sequence[State]:
    states, settled = network.states[name], alternative.case
    if name == block.address:
        return [alternative.branch_index]
    if name in settled.domains:
        domain = settled.domains[name]
        if domain is None:
            return [UNREACHED]
        cells = network.cells[name]
        return [state for state in states if state != UNREACHED and contains(domain, cells[state].representative)]
    if name not in settled.branches:
        return states
    state = dict(network.fixed_decisions(settled.branches)).get(name, UNREACHED)
    return [state] if state in states else []


def _block_factors(
    structures: Structures, blocks: Mapping[str, OneHotBlock], network: ConstraintNetwork, graph: FactorGraph
) -> tuple[tuple[Factor, ...], dict[str, Axis]]:
    """Return the factors over z and orders alone, and the alternatives that their states stand for.

    If variables inside a block are connected too, an additional variable represents the block. Its states are the
    groups of alternatives that fix these variables in the same way; each group is represented by its first alternative.
    """
    variables = structures.space.variables
    names = dict.fromkeys(name for factor in graph.factors for name in factor.scope)
    states: dict[str, Sequence[State]] = dict(graph.states)
    axes: dict[str, Axis] = {}
    links: list[Factor] = []
    owned = group_by_key((variables[name].owners[0][0], name) for name in names if variables[name].owners)
    for address, inner in owned.items():
        block = blocks[address]
        left = ([tuple(_possible_states(name, network, w, block)) for name in inner] for w in block.alternatives)
        places = ((w.branch_index, *mine) for w, mine in zip(block.alternatives, left, strict=True))
        alike = [tuple(numbers) for numbers in group_by_key((place, n) for n, place in enumerate(places)).values()]
        axes[_block_variable(address)] = (address, {numbers[0]: numbers for numbers in alike})
        states[_block_variable(address)] = tuple(numbers[0] for numbers in alike)
        for name in (address, *inner):
            firsts = [numbers[0] for numbers in alike]
            states_of = {n: _possible_states(name, network, block.alternatives[n], block) for n in firsts}
            table: Table = {(n, state): 1 for n in firsts for state in states_of[n]}
            links.append(Factor((_block_variable(address), name), table))
    gone = {*owned, *(name for inner in owned.values() for name in inner)}
    for name in names:
        if name in blocks:
            axes[name] = (name, dict(blocks[name].alternatives_by_branch))
        elif name not in gone:
            axes[name] = (name, {state: (state,) for state in graph.states[name]})
    return FactorGraph(states, (*graph.factors, *links)).project_out(gone).factors, axes


def _block_variable(address: str) -> str:
    return f"z {address}"  # never an address, because addresses contain no blanks


def _constraints_of_factor(factor: Factor, known: Mapping[str, Axis]) -> Iterator[LinearConstraint]:
    """Yield linear constraints that exclude exactly the joint states with weight 0.

    Each has as few terms as possible; for large tables, its terms are those of a prefix instead.
    """
    axes = [known[name] for name in factor.scope]
    allowed = {joint for joint, weight in factor.table.items() if weight}
    if not factor.scope:
        return
    options = [tuple(axis) for _, axis in axes]
    exclusions = _prefix_exclusions if prod(map(len, options)) > MAX_JOINT_STATES else _smallest_exclusions
    for box in exclusions(options, allowed):
        taken = ((*axis, states) for axis, states in zip(axes, box, strict=True) if states is not None)
        terms = ((a, tuple(sorted(number for state in states for number in axis[state]))) for a, axis, states in taken)
        yield LinearConstraint(tuple(terms))


StateCube: TypeAlias = tuple[tuple[State, ...] | None, ...]
"""The states of each variable whose combinations are excluded; None for all states."""


def _smallest_exclusions(options: Sequence[tuple[State, ...]], allowed: set[tuple[State, ...]]) -> Iterator[StateCube]:
    """Yield sets of joint states that are not allowed: over one variable, then over two, and so on.

    Joint states that an exclusion over fewer variables implies are left out.
    """
    count = len(options)
    excluded: list[tuple[tuple[int, ...], set[tuple[State, ...]]]] = []
    for size in range(1, count + 1):
        for places in combinations(range(count), size):
            seen = {tuple([joint[place] for place in places]) for joint in allowed}
            inside = ((mine, joints) for mine, joints in excluded if set(mine) <= set(places))
            smaller = [([places.index(place) for place in mine], joints) for mine, joints in inside]
            others = (joint for joint in product(*(options[place] for place in places)) if joint not in seen)
            missing = [j for j in others if not any(tuple([j[at] for at in mine]) in known for mine, known in smaller)]
            if missing:
                excluded.append((places, set(missing)))
                for cube in _merge(missing):
                    given = dict(zip(places, cube, strict=True))
                    yield tuple(given.get(place) for place in range(count))


def _merge(joints: Sequence[tuple[State, ...]]) -> list[tuple[tuple[State, ...], ...]]:
    """Return joint states merged into cubes along one variable after the other, starting with the last one."""
    cubes: list[tuple[tuple[State, ...], ...]] = [tuple([(state,) for state in joint]) for joint in joints]
    for place in reversed(range(len(joints[0]))):
        together: dict[tuple[tuple[State, ...], ...], tuple[State, ...]] = {}
        for cube in cubes:
            others = (*cube[:place], *cube[place + 1 :])
            together[others] = (*together.get(others, ()), *cube[place])
        cubes = [(*others[:place], states, *others[place:]) for others, states in together.items()]
    return cubes


def _prefix_exclusions(options: Sequence[tuple[State, ...]], allowed: set[tuple[State, ...]]) -> Iterator[StateCube]:
    """Yield one exclusion for each prefix of allowed joint states: the next states with which none continues.

    There are at most as many as the table has entries.
    """
    count = len(options)
    following: dict[tuple[State, ...], dict[State, None]] = {(): {}}
    for joint in sorted(allowed):
        for length in range(count):
            following.setdefault(joint[:length], {})[joint[length]] = None
    for prefix, known in following.items():
        missing = tuple(state for state in options[len(prefix)] if state not in known)
        if missing:
            yield (*((state,) for state in prefix), missing, *[None] * (count - len(prefix) - 1))
