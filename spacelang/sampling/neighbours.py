"""The one-exchange neighbourhood of a configuration (spacelang/optimizers/README.md, section "Neighbourhood")."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, SimpleDomain, contains, parts
from spacelang.ir.expr import INACTIVE, references
from spacelang.ir.membership import is_violated, member_or_exclusion
from spacelang.ir.space import Choice, Context, Hyperparameter, Space
from spacelang.ir.value import Value, are_same_value, identity_key
from spacelang.ir.walk import (
    Assignment,
    Structure,
    assemble_configuration,
    default_structure,
    expressions_of,
    structure_of,
)
from spacelang.sampling.unit_scale import from_unit_function, to_unit_function
from spacelang.solver.conditioning_on_decisions import HyperparameterComponent, is_context_reached
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter

if TYPE_CHECKING:
    from numpy.random import Generator

MOVES_PER_NUMBER = 4
MOVE_DEVIATION = 0.2  # The standard deviation of moves on the unit interval. SMAC also draws four moves with 0.2
MAX_CACHED_STRUCTURES = 256
"""The maximum number of structures whose structural neighbours are cached. Most lookups of a search share a few."""
MAX_CACHED_EXCHANGES = 4096
"""The maximum number of cached exchanges, each for one decision and the few other decisions that affect it."""


class NeighbouringValues:
    """The neighbouring values of one hyperparameter: each other value of a set, or numbers near the present one."""

    def __init__(self, node: Hyperparameter) -> None:
        found = parts(node.domain)
        self._parts = [_OtherMembers(p) if isinstance(p, Categorical) else _NearbyNumbers(p, node) for p in found]
        self._only = self._parts[0] if len(self._parts) == 1 else None

    def unit_position(self, value: Value) -> float | None:
        """Return the position of a number on the unit interval, around which moves are drawn; else None."""
        part = self._only or next(part for part in self._parts if part.contains(value))
        return part.to_unit(value) if isinstance(part, _NearbyNumbers) else None

    def other_values(self, value: Value, places: Sequence[float]) -> Sequence[Value]:
        """Return the other values of sets, and the numbers at some positions of the unit interval.

        Without positions, a range contributes its default or middle, because the move comes from another part.
        """
        if self._only is not None:
            return self._only.other_values(value, places)
        return [other for part in self._parts for other in part.other_values(value, places)]


class _OtherMembers:
    def __init__(self, part: Categorical) -> None:
        self._all = part.values
        self._others = {identity_key(v): tuple(o for o in part.values if o is not v) for v in part.values}

    def contains(self, value: Value) -> bool:
        return identity_key(value) in self._others

    def other_values(self, value: Value, _: Sequence[float]) -> Sequence[Value]:
        return self._others.get(identity_key(value), self._all)


class _NearbyNumbers:
    def __init__(self, part: SimpleDomain, node: Hyperparameter) -> None:
        self._part = part
        self._entry_values = (node.default if contains(part, node.default) else part.representative,)
        """The value for a move from another part of a union: the default if it lies here, else the middle."""
        self._value_at = from_unit_function(part)
        self.to_unit = to_unit_function(part)

    def contains(self, value: Value) -> bool:
        return contains(self._part, value)

    def other_values(self, value: Value, places: Sequence[float]) -> Sequence[Value]:
        if not places:
            return self._entry_values
        numbers = dict.fromkeys(map(self._value_at, places))
        numbers.pop(value, None)
        return [*numbers]


def draw_unit_positions(centres: Sequence[float], rng: "Generator", deviation: float) -> list[list[float]]:
    """Return `MOVES_PER_NUMBER` positions in [0, 1] for each centre, from a truncated normal distribution."""
    drawn = rng.normal(0.0, deviation, (len(centres), MOVES_PER_NUMBER)).tolist()
    for places, centre in zip(drawn, centres, strict=True):
        for number, step in enumerate(places):
            place = centre + step
            while not 0.0 <= place <= 1.0:
                place = float(rng.normal(centre, deviation))
            places[number] = place
    found: list[list[float]] = drawn
    return found


@dataclass(frozen=True, slots=True)
class _MovableHyperparameter:
    """A hyperparameter with its moves; `component` is None if no condition or constraint mentions it."""

    node: Hyperparameter
    moves: NeighbouringValues
    component: HyperparameterComponent | None


@dataclass(frozen=True, slots=True)
class _BranchExchange:
    """A change of one decision: the keys of the old branch, and the new values by key for each other branch."""

    removed_keys: frozenset[str]
    added_values: tuple[dict[str, Value], ...]


@dataclass(slots=True)
class _ContextNode:
    """A context (a sequence of taken branches) with its choices, hyperparameters and default values.

    `values` are the default values, by key, that depend on these branches alone. `dependent_components` are the
    components in this context whose defaults depend on further decisions. `below` caches the nested contexts.
    """

    context: Context
    choices: tuple[Choice, ...]
    movable: tuple[_MovableHyperparameter, ...]
    values: Mapping[str, Value]
    dependent_components: tuple[HyperparameterComponent, ...]
    below: dict[tuple[str, str], "_ContextNode"] = field(default_factory=dict)


class Neighbourhood:
    """A generator of the neighbours of configurations of one space; recomputes only what an exchange can affect."""

    def __init__(self, structures: Structures) -> None:
        self._space: Space = structures.space
        self._structures = structures
        self._completer = DefaultCompleter(structures)
        self._conditioning = self._completer.conditioning
        self._exchange_dependencies = lru_cache(maxsize=None)(self._make_exchange_dependencies)
        self._exchange_cache: dict[tuple[str | None, ...], _BranchExchange] = {}
        self._branch_values = lru_cache(maxsize=None)(self._make_branch_values)
        self._residual_component = lru_cache(maxsize=8192)(
            lambda component, situation: _ResidualComponent(self._conditioning.residual_space(component, situation))
        )
        decisions = (variable for variable in self._space.variables.values() if isinstance(variable.node, Choice))
        self._decisions_with_nested = {owner for variable in decisions for owner, _ in variable.owners}
        self._root = self._make_node(())
        self._structural_cache: OrderedDict[tuple[str, ...], list[tuple[Choice, list[Configuration]]] | None] = (
            OrderedDict()
        )

    def neighbours_of(
        self,
        configuration: Configuration,
        rng: "Generator",
        fixed: frozenset[str] = frozenset(),
        deviation: float = MOVE_DEVIATION,
    ) -> list[Configuration]:
        """Return all neighbours of a configuration, each once; keys in `fixed` never change.

        One decision differs, with defaults for all hyperparameters, or one hyperparameter: any other value of a set, or
        four random numbers of a range, with this standard deviation on the unit interval. What becomes active takes its
        default.
        """
        values = configuration.view
        structure, places = self._walk(values)
        movers = [mover for place in places for mover in place.movable if mover.node.key in values]
        if fixed:
            movers = [mover for mover in movers if mover.node.key not in fixed]
        found = self._value_neighbours(structure, movers, configuration, rng, deviation)
        for choice, others in self._structural_neighbours(structure, places):
            if choice.key not in fixed:
                found += others
        return self._restore_fixed_values(found, configuration, fixed) if fixed else found

    # ---- structures

    def _make_node(self, context: Context) -> _ContextNode:
        nodes = [variable.node for variable in self._space.by_context.get(context, ())]
        choices = tuple(node for node in nodes if isinstance(node, Choice))
        movers = tuple(self._make_movable(node) for node in nodes if isinstance(node, Hyperparameter))
        components = self._conditioning.by_context.get(context, ())
        asking = tuple(component for component in components if component.decisions)
        return _ContextNode(context, choices, movers, self._completer.decision_independent_values(context), asking)

    def _make_movable(self, node: Hyperparameter) -> _MovableHyperparameter:
        component = self._conditioning.component_of[node.address]
        return _MovableHyperparameter(
            node, NeighbouringValues(node), component if node.address in component.mentioned_members else None
        )

    def _walk(self, values: Mapping[str, Value]) -> tuple[dict[str, str], list[_ContextNode]]:
        """Return the structure of a configuration (a branch for every reached decision) and the contexts it reaches."""
        structure: dict[str, str] = {}
        places = [self._root]
        for place in places:
            for choice in place.choices:
                taken = choice.address, str(values[choice.key])
                structure[choice.address] = taken[1]
                below = place.below.get(taken)
                if below is None:
                    below = place.below[taken] = self._make_node((*place.context, taken))
                places.append(below)
        return structure, places

    def _structural_neighbours(
        self, structure: dict[str, str], places: Sequence[_ContextNode]
    ) -> list[tuple[Choice, list[Configuration]]]:
        """Return the neighbours with another branch for every reached decision, cached if a structure is seen twice."""
        # The branches are in the order of the walk, so they also determine which decisions they belong to.
        key = tuple(structure.values())
        is_again = key in self._structural_cache
        found = self._structural_cache.get(key)
        if found is None:
            completed = self._complete_values(structure, places)
            choices = [choice for place in places for choice in place.choices]
            found = [(choice, self._neighbours_by_branch(choice, structure, completed)) for choice in choices]
        # Cache a structure only when it is seen again: with random centres, few structures repeat soon.
        self._structural_cache[key] = found if is_again else None
        self._structural_cache.move_to_end(key)
        if len(self._structural_cache) > MAX_CACHED_STRUCTURES:
            self._structural_cache.popitem(last=False)
        return found

    def _complete_values(self, structure: Structure, places: Sequence[_ContextNode]) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for place in places:
            for choice in place.choices:
                values[choice.key] = structure[choice.address]
            values |= place.values
            for component in place.dependent_components:
                values |= self._completer.component_values(component, structure)
        return values

    def _neighbours_by_branch(
        self, choice: Choice, structure: dict[str, str], completed: Mapping[str, Value]
    ) -> list[Configuration]:
        if choice.address not in self._decisions_with_nested:
            return Configuration.wrap_dicts(self._exchange_values(choice, structure, completed))
        others = (name for name in choice.branch_indices if name != structure[choice.address])
        changed = (default_structure(self._space, {**structure, choice.address: name}) for name in others)
        return [self._completer.complete(each) for each in changed if self._structures.is_admissible(each)]

    def _exchange_values(
        self, choice: Choice, structure: Structure, completed: Mapping[str, Value]
    ) -> list[dict[str, Value]]:
        key = choice.address, *map(structure.get, self._exchange_dependencies(choice.address))
        exchange = self._exchange_cache.get(key)
        if exchange is None:
            if len(self._exchange_cache) >= MAX_CACHED_EXCHANGES:
                self._exchange_cache.clear()
            exchange = self._exchange_cache[key] = self._make_exchange(choice, structure)
        gone = exchange.removed_keys
        kept = {key: value for key, value in completed.items() if key not in gone}
        return [kept | values for values in exchange.added_values]

    def _make_exchange_dependencies(self, address: str) -> tuple[str, ...]:
        """Return the addresses of the decisions on which the result of exchanging a decision depends."""
        choice = self._space.variables[address].choice
        found = dict.fromkeys(self._structures.decisions_affecting_exchange(choice))
        for concern in self._conditioning.dependencies_on(choice.address):
            found |= dict.fromkeys(owner for owner, _ in concern.others)
            found |= dict.fromkeys(ask.address for ask in concern.component.decisions)
        return tuple(found)

    def _make_exchange(self, choice: Choice, structure: Structure) -> _BranchExchange:
        concerned: dict[str | None, list[HyperparameterComponent]] = {}
        gone = {*self._branch_values(choice.address, structure[choice.address])}
        for concern in self._conditioning.dependencies_on(choice.address):
            if is_context_reached(concern.others, structure):
                concerned.setdefault(concern.below, []).append(concern.component)
                if concern.below in (None, structure[choice.address]):
                    gone.update(self._completer.component_values(concern.component, structure))
        others: list[dict[str, Value]] = []
        for branch in self._structures.admissible_other_branches(structure, choice):
            values = {**self._branch_values(choice.address, branch)}
            changed = {**structure, choice.address: branch}
            for component in (*concerned.get(None, ()), *concerned.get(branch, ())):
                values |= self._completer.component_values(component, changed)
            others.append(values)
        return _BranchExchange(frozenset(gone), tuple(others))

    def _make_branch_values(self, address: str, branch: str) -> dict[str, Value]:
        """Return, by key, a branch that can be taken and the defaults that depend on it alone."""
        variable = self._space.variables[address]
        return {
            variable.key: branch,
            **self._completer.decision_independent_values((*variable.owners, (address, branch))),
        }

    # ---- values

    def _value_neighbours(
        self,
        structure: Structure,
        movers: Sequence[_MovableHyperparameter],
        configuration: Configuration,
        rng: "Generator",
        deviation: float,
    ) -> list[Configuration]:
        values = configuration.view
        centres = [mover.moves.unit_position(values[mover.node.key]) for mover in movers]
        drawn = iter(draw_unit_positions([centre for centre in centres if centre is not None], rng, deviation))
        known: dict[_ResidualComponent, _KnownValues] = {}
        found: list[Configuration] = []
        for mover, centre in zip(movers, centres, strict=True):
            key = mover.node.key
            others = mover.moves.other_values(values[key], () if centre is None else next(drawn))
            left = None
            if mover.component is not None:
                left = self._residual_component(
                    mover.component, self._conditioning.relevant_branch_classes(mover.component, structure)
                )
            if left is None or mover.node.address not in left.mentioned:
                found += configuration.with_each_value(key, others)
                continue
            if left not in known:
                known[left] = left.split_values(configuration)
            found += Configuration.wrap_dicts(left.exchange(mover.node, others, known[left]))
        return found

    def _restore_fixed_values(
        self, found: Sequence[Configuration], configuration: Configuration, fixed: frozenset[str]
    ) -> list[Configuration]:
        """Return the neighbours with the fixed values put back, if the result is still a valid configuration."""
        known = {node.key for node in self._space.hyperparameters if node.key in fixed and node.key in configuration}
        kept: dict[Configuration, None] = {}
        for other in found:
            structure = structure_of(self._space, other)

            def value_of(node: Hyperparameter, other: Configuration = other) -> Value:
                return configuration[node.key] if node.key in known else other.get(node.key, node.default)

            member = (
                member_or_exclusion(self._space, assemble_configuration(self._space, structure, value_of))
                if known
                else other
            )
            if (
                isinstance(member, Configuration)
                and member != configuration
                and _has_fixed_values(member, configuration, fixed)
            ):
                kept[member] = None
        return list(kept)


_KnownValues: TypeAlias = tuple[dict[str, Value], dict[str, Value]]
"""The values of the hyperparameters of a component by address, and all other values by key."""


class _ResidualComponent:
    def __init__(self, space: Space) -> None:
        self._space = space
        expressions = expressions_of(space.variables.values(), space.constraints)
        self.mentioned = frozenset(address for expression in expressions for address in references(expression))
        """The hyperparameters that remaining conditions and constraints mention; others affect nothing else."""
        self._nodes = {node.address: node for node in space.hyperparameters}
        self._keys = frozenset(node.key for node in space.hyperparameters)
        self._mentioned = [self._nodes[address] for address in self._nodes if address in self.mentioned]
        self._is_small = all(isinstance(node.domain, Categorical) for node in self._mentioned)
        self._active_cache: dict[tuple[int, ...], tuple[Hyperparameter, ...] | None] = {}

    def split_values(self, configuration: Configuration) -> "_KnownValues":
        """Return the values of the hyperparameters of this component by address, and all other values by key."""
        values = configuration.view
        known = {a: values[each.key] for a, each in self._nodes.items() if each.key in values}
        return known, configuration.without(self._keys)

    def exchange(
        self, node: Hyperparameter, others: Sequence[Value], known: "_KnownValues"
    ) -> Iterator[dict[str, Value]]:
        """Yield the values of each valid configuration in which `node` has one of the values `others`.

        `known` is the result of `split_values`. What becomes active takes its default, and what becomes inactive is
        left out.
        """
        mine, rest = {**known[0]}, known[1]
        for value in others:
            mine[node.address] = value
            active = self._active_hyperparameters(mine)
            if active is not None:
                yield rest | {each.key: mine.get(each.address, each.default) for each in active}

    def _active_hyperparameters(self, known: Mapping[str, Value]) -> tuple[Hyperparameter, ...] | None:
        """Return the hyperparameters that are active with the given values; None if a constraint is violated.

        Hyperparameters without a given value have their defaults.

        The result depends only on the hyperparameters that are mentioned. If all of them are categorical, it is cached
        for each combination of their values.
        """
        if not self._is_small:
            return self._find_active_hyperparameters(known)
        values = [(node.domain, known.get(node.address, node.default)) for node in self._mentioned]
        places = tuple([d.index[identity_key(v)] for d, v in values if isinstance(d, Categorical)])
        if places not in self._active_cache:
            self._active_cache[places] = self._find_active_hyperparameters(known)
        return self._active_cache[places]

    def _find_active_hyperparameters(self, known: Mapping[str, Value]) -> tuple[Hyperparameter, ...] | None:
        assignment = Assignment(self._space, {}, lambda node: known.get(node.address, node.default))
        if any(is_violated(constraint, assignment) for constraint in self._space.constraints):
            return None
        return tuple(node for address, node in self._nodes.items() if assignment(address) is not INACTIVE)


def _has_fixed_values(other: Configuration, configuration: Configuration, fixed: frozenset[str]) -> bool:
    return all((key in other) == (key in configuration) for key in fixed) and all(
        are_same_value(other[key], configuration[key]) for key in fixed if key in other
    )
