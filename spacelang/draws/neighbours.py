"""The one-exchange neighbourhood of a configuration (spacelang/optimizers/README.md, section "Neighbourhood")."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from spacelang.draws.moves import Moves, draws
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical
from spacelang.ir.expr import INACTIVE, references
from spacelang.ir.membership import admit, violates
from spacelang.ir.space import Choice, Context, Hyperparameter, Space, Variable, said
from spacelang.ir.value import Value, identity, same
from spacelang.ir.walk import Assignment, Structure, assemble, default_structure, structure_of
from spacelang.solver.conditioning import Component, is_taken
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import Completer

if TYPE_CHECKING:
    from numpy.random import Generator


MOST_KEPT = 256
"""The maximum number of structures whose structural neighbours are cached. Most lookups of a search share a few."""


MOST_EXCHANGES = 4096
"""The maximum number of cached exchanges, each for one decision and the few other decisions that affect it."""


@dataclass(frozen=True, slots=True)
class _Mover:
    """A hyperparameter with its possible moves.

    `component` is None if no condition or constraint mentions the hyperparameter.
    """

    node: Hyperparameter
    moves: Moves
    component: Component | None


@dataclass(frozen=True, slots=True)
class _Exchange:
    """The effect of changing one decision to each other branch.

    `gone` are the keys that are removed with the old branch. `others` has, for each other branch, the values to add, by
    key.
    """

    gone: frozenset[str]
    others: tuple[dict[str, Value], ...]


@dataclass(slots=True)
class _Place:
    """A context (a sequence of taken branches) with its choices, hyperparameters and default values.

    `values` are the default values, by key, that depend on these branches alone. `asking` are the components in this
    context whose defaults depend on further decisions. `below` caches the nested contexts.
    """

    context: Context
    choices: tuple[Choice, ...]
    movers: tuple[_Mover, ...]
    values: Mapping[str, Value]
    asking: tuple[Component, ...]
    below: dict[tuple[str, str], "_Place"] = field(default_factory=dict)


class Neighbourhood:
    """A generator of the neighbours of configurations of one space; recomputes only what an exchange can affect."""

    def __init__(self, structures: Structures) -> None:
        self._space: Space = structures.space
        self._structures = structures
        self._completer = Completer(structures)
        self._conditioning = self._completer.conditioning
        self._asked = lru_cache(maxsize=None)(self._make_asked)
        self._exchange: dict[tuple[str | None, ...], _Exchange] = {}
        self._inside = lru_cache(maxsize=None)(self._make_inside)
        self._left = lru_cache(maxsize=8192)(self._make_left)
        self._nesting = {owner for variable in self._decisions() for owner, _ in variable.owners}
        self._top = self._place(())
        self._kept: OrderedDict[tuple[str, ...], list[tuple[Choice, list[Configuration]]] | None] = OrderedDict()

    def of(
        self, configuration: Configuration, rng: "Generator", fixed: frozenset[str] = frozenset()
    ) -> list[Configuration]:
        """Return all neighbours of a configuration, each once; keys in `fixed` never change.

        A structural neighbour differs in one decision (and in what only the new branch makes reachable). It has default
        values for all hyperparameters of the pipeline. Every other neighbour differs in one hyperparameter: each other
        value of a set, or four random numbers of a range. A hyperparameter that becomes active by the exchange takes
        its default.
        """
        values = configuration.view
        structure, places = self._walk(values)
        movers = [mover for place in places for mover in place.movers if mover.node.key in values]
        if fixed:
            movers = [mover for mover in movers if mover.node.key not in fixed]
        found = self._values(structure, movers, configuration, rng)
        for choice, others in self._structural(structure, places):
            if choice.key not in fixed:
                found += others
        return self._keeping(found, configuration, fixed) if fixed else found

    # ---- structures

    def _decisions(self) -> Iterator[Variable]:
        return (variable for variable in self._space.variables.values() if isinstance(variable.node, Choice))

    def _place(self, context: Context) -> _Place:
        nodes = [variable.node for variable in self._space.by_context.get(context, ())]
        choices = tuple(node for node in nodes if isinstance(node, Choice))
        movers = tuple(self._mover(node) for node in nodes if isinstance(node, Hyperparameter))
        components = self._conditioning.by_context.get(context, ())
        asking = tuple(component for component in components if component.decisions)
        return _Place(context, choices, movers, self._completer.independent(context), asking)

    def _mover(self, node: Hyperparameter) -> _Mover:
        component = self._conditioning.of_hyperparameter[node.address]
        return _Mover(node, Moves(node), component if node.address in component.mentioned else None)

    def _walk(self, values: Mapping[str, Value]) -> tuple[dict[str, str], list[_Place]]:
        """Return the structure of a configuration, and the contexts that it reaches.

        A structure is a choice of one alternative for every reached decision.
        """
        structure: dict[str, str] = {}
        places = [self._top]
        for place in places:
            for choice in place.choices:
                taken = choice.address, str(values[choice.key])
                structure[choice.address] = taken[1]
                below = place.below.get(taken)
                if below is None:
                    below = place.below[taken] = self._place((*place.context, taken))
                places.append(below)
        return structure, places

    def _structural(
        self, structure: dict[str, str], places: Sequence[_Place]
    ) -> list[tuple[Choice, list[Configuration]]]:
        """Return, for every reached decision, the neighbours that take another branch there.

        They depend on the structure alone, so they are cached once a structure has been seen twice.
        """
        # The branches are in the order of the walk, so they also determine which decisions they belong to.
        key = tuple(structure.values())
        is_again = key in self._kept
        found = self._kept.get(key)
        if found is None:
            completed = self._completed(structure, places)
            choices = [choice for place in places for choice in place.choices]
            found = [(choice, self._exchanges(choice, structure, completed)) for choice in choices]
        # Cache a structure only when it is seen again: with random centres, few structures repeat soon.
        self._kept[key] = found if is_again else None
        self._kept.move_to_end(key)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return found

    def _completed(self, structure: Structure, places: Sequence[_Place]) -> dict[str, Value]:
        """Return the values of the default configuration of a structure, as `Completer.complete` would."""
        values: dict[str, Value] = {}
        for place in places:
            for choice in place.choices:
                values[choice.key] = structure[choice.address]
            values |= place.values
            for component in place.asking:
                values |= self._completer.part(component, structure)
        return values

    def _exchanges(
        self, choice: Choice, structure: dict[str, str], completed: Mapping[str, Value]
    ) -> list[Configuration]:
        if choice.address not in self._nesting:
            return Configuration.owning(self._exchanged(choice, structure, completed))
        others = (name for name in choice.places if name != structure[choice.address])
        changed = (default_structure(self._space, {**structure, choice.address: name}) for name in others)
        return [self._completer.complete(each) for each in changed if self._structures.admits(each)]

    def _exchanged(
        self, choice: Choice, structure: Structure, completed: Mapping[str, Value]
    ) -> list[dict[str, Value]]:
        """Return the default pipelines with each other branch of a decision that has no decisions below it."""
        key = choice.address, *map(structure.get, self._asked(choice.address))
        exchange = self._exchange.get(key)
        if exchange is None:
            if len(self._exchange) >= MOST_EXCHANGES:
                self._exchange.clear()
            exchange = self._exchange[key] = self._exchange_of(choice, structure)
        gone = exchange.gone
        kept = {key: value for key, value in completed.items() if key not in gone}
        return [kept | values for values in exchange.others]

    def _make_asked(self, address: str) -> tuple[str, ...]:
        """Return the addresses of the decisions on which the result of exchanging a decision depends."""
        choice = self._space.variables[address].choice
        found = dict.fromkeys(self._structures.exchanges_depend_on(choice))
        for concern in self._conditioning.asking_about(choice.address):
            found |= dict.fromkeys(owner for owner, _ in concern.others)
            found |= dict.fromkeys(ask.address for ask in concern.component.decisions)
        return tuple(found)

    def _exchange_of(self, choice: Choice, structure: Structure) -> _Exchange:
        concerned: dict[str | None, list[Component]] = {}
        gone = {*self._inside(choice.address, structure[choice.address])}
        for concern in self._conditioning.asking_about(choice.address):
            if is_taken(concern.others, structure):
                concerned.setdefault(concern.below, []).append(concern.component)
                if concern.below in (None, structure[choice.address]):
                    gone.update(self._completer.part(concern.component, structure))
        others: list[dict[str, Value]] = []
        for branch in self._structures.exchanges(structure, choice):
            values = {**self._inside(choice.address, branch)}
            changed = {**structure, choice.address: branch}
            for component in (*concerned.get(None, ()), *concerned.get(branch, ())):
                values |= self._completer.part(component, changed)
            others.append(values)
        return _Exchange(frozenset(gone), tuple(others))

    def _make_inside(self, address: str, branch: str) -> dict[str, Value]:
        """Return the values of a branch by key: the branch itself and the defaults that depend on it alone.

        Some admissible configuration must take the branch.
        """
        variable = self._space.variables[address]
        return {variable.key: branch, **self._completer.independent((*variable.owners, (address, branch)))}

    # ---- values

    def _values(
        self, structure: Structure, movers: Sequence[_Mover], configuration: Configuration, rng: "Generator"
    ) -> list[Configuration]:
        values = configuration.view
        centres = [mover.moves.centre(values[mover.node.key]) for mover in movers]
        drawn = iter(draws([centre for centre in centres if centre is not None], rng))
        known: dict[_Left, _Known] = {}
        found: list[Configuration] = []
        for mover, centre in zip(movers, centres, strict=True):
            key = mover.node.key
            others = mover.moves.others(values[key], () if centre is None else next(drawn))
            left = None
            if mover.component is not None:
                left = self._left(mover.component, self._conditioning.situation(mover.component, structure))
            if left is None or mover.node.address not in left.mentioned:
                found += configuration.with_others(key, others)
                continue
            if left not in known:
                known[left] = left.known(configuration)
            found += Configuration.owning(left.exchanged(mover.node, others, known[left]))
        return found

    def _make_left(self, component: Component, situation: tuple[int, ...]) -> "_Left":
        return _Left(self._conditioning.left(component, situation))

    def _keeping(
        self, found: Sequence[Configuration], configuration: Configuration, fixed: frozenset[str]
    ) -> list[Configuration]:
        """Return the neighbours with the fixed values put back, if the result is still a valid configuration."""
        known = {node.key for node in self._space.hyperparameters if node.key in fixed and node.key in configuration}
        kept: dict[Configuration, None] = {}
        for other in found:
            structure = structure_of(self._space, other)

            def value_of(node: Hyperparameter, other: Configuration = other) -> Value:
                return configuration[node.key] if node.key in known else other.get(node.key, node.default)

            member = admit(self._space, assemble(self._space, structure, value_of)) if known else other
            if isinstance(member, Configuration) and member != configuration and _keeps(member, configuration, fixed):
                kept[member] = None
        return list(kept)


_Known: TypeAlias = tuple[dict[str, Value], dict[str, Value]]
"""The values of the hyperparameters of a component by address, and all other values by key."""


class _Left:
    """The hyperparameters of a component under known decisions, with the conditions and constraints that remain."""

    def __init__(self, space: Space) -> None:
        self._space = space
        expressions = said(space.variables.values(), space.constraints)
        self.mentioned = frozenset(address for expression in expressions for address in references(expression))
        """The hyperparameters that remaining conditions and constraints mention; others affect nothing else."""
        self._nodes = {node.address: node for node in space.hyperparameters}
        self._keys = frozenset(node.key for node in space.hyperparameters)
        self._mentioned = [self._nodes[address] for address in self._nodes if address in self.mentioned]
        self._is_small = all(isinstance(node.domain, Categorical) for node in self._mentioned)
        self._settled: dict[tuple[int, ...], tuple[Hyperparameter, ...] | None] = {}

    def known(self, configuration: Configuration) -> "_Known":
        """Return the values of these hyperparameters by address, and all other values of the configuration by key."""
        values = configuration.view
        known = {a: values[each.key] for a, each in self._nodes.items() if each.key in values}
        return known, configuration.without(self._keys)

    def exchanged(self, node: Hyperparameter, others: Sequence[Value], known: "_Known") -> Iterator[dict[str, Value]]:
        """Yield the values of each valid configuration in which one of these hyperparameters takes another value."""
        mine, rest = {**known[0]}, known[1]
        for value in others:
            mine[node.address] = value
            active = self._active(mine)
            if active is not None:
                yield rest | {each.key: mine.get(each.address, each.default) for each in active}

    def _active(self, known: Mapping[str, Value]) -> tuple[Hyperparameter, ...] | None:
        """Return the hyperparameters that are active with the given values; None if a constraint is violated.

        Hyperparameters without a given value have their defaults.

        The result depends only on the hyperparameters that are mentioned. If all of them are categorical, it is cached
        for each combination of their values.
        """
        if not self._is_small:
            return self._settle(known)
        values = [(node.domain, known.get(node.address, node.default)) for node in self._mentioned]
        places = tuple([domain.index[identity(value)] for domain, value in values if isinstance(domain, Categorical)])
        if places not in self._settled:
            self._settled[places] = self._settle(known)
        return self._settled[places]

    def _settle(self, known: Mapping[str, Value]) -> tuple[Hyperparameter, ...] | None:
        assignment = Assignment(self._space, {}, lambda node: known.get(node.address, node.default))
        if any(violates(constraint, assignment) for constraint in self._space.constraints):
            return None
        return tuple(node for address, node in self._nodes.items() if assignment(address) is not INACTIVE)


def _keeps(other: Configuration, configuration: Configuration, fixed: frozenset[str]) -> bool:
    return all((key in other) == (key in configuration) for key in fixed) and all(
        same(other[key], configuration[key]) for key in fixed if key in other
    )
