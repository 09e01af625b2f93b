"""The one-exchange neighbourhood of a configuration (ALGORITHMS.md 2.7)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Structures
from spacelang.ir.defaults import Completer
from spacelang.ir.domain import Categorical, Simple, contains, parts
from spacelang.ir.expr import INACTIVE, holds
from spacelang.ir.membership import admit
from spacelang.ir.situations import Component, is_taken
from spacelang.ir.space import Choice, Hyperparameter, Space, Variable
from spacelang.ir.unit import placer, to_unit
from spacelang.ir.value import Value, identity, same
from spacelang.ir.walk import Assignment, Structure, assemble, default_structure, reached, structure_of

if TYPE_CHECKING:
    from numpy.random import Generator

DRAWS = 4
DEVIATION = 0.2
"""Numbers move by a normal deviation of 0.2 on the unit interval, four times (as SMAC does)."""


class Neighbourhood:
    """Draws the neighbours of members of one space; only what a change can touch is looked at again."""

    def __init__(self, structures: Structures) -> None:
        self._space: Space = structures.space
        self._structures = structures
        self._completer = Completer(structures)
        self._situations = self._completer.situations
        self._moves = {node.address: Moves(node) for node in self._space.hyperparameters}
        self._inside = lru_cache(maxsize=None)(self._make_inside)
        self._left = lru_cache(maxsize=8192)(self._make_left)
        self._nesting = {owner for variable in self._decisions() for owner, _ in variable.owners}

    def of(
        self, configuration: Configuration, rng: "Generator", fixed: frozenset[str] = frozenset()
    ) -> list[Configuration]:
        """All neighbours of a member, each once; keys in `fixed` never change.

        Structural ones differ in one decision (and in what only it makes reachable) and have the default of every
        hyperparameter of the whole pipeline; the others differ in one hyperparameter: each other value of a set, four
        draws in a range. A hyperparameter that such a change activates takes its default.
        """
        structure: dict[str, str] = {}
        active: list[Hyperparameter] = []
        for variable, branch in reached(self._space, lambda choice: str(configuration[choice.key])):
            if branch is not None:
                structure[variable.address] = branch
            elif (
                variable.key in configuration
                and variable.key not in fixed
                and isinstance(variable.node, Hyperparameter)
            ):
                active.append(variable.node)
        found = [*self._values(structure, active, configuration, rng), *self._structural(structure, fixed)]
        return self._keeping(found, configuration, fixed) if fixed else found

    def _decisions(self) -> Iterator[Variable]:
        return (variable for variable in self._space.variables.values() if isinstance(variable.node, Choice))

    def _structural(self, structure: dict[str, str], fixed: frozenset[str]) -> Iterator[Configuration]:
        completed = self._completer.values(structure)
        for address, taken in structure.items():
            choice = self._space.variables[address].node
            assert isinstance(choice, Choice)
            if choice.key in fixed:
                continue
            if address in self._nesting:
                for name in (name for name in choice.places if name != taken):
                    changed = default_structure(self._space, {**structure, address: name})
                    if self._structures.admits(changed):
                        yield self._completer.complete(changed)
            else:
                yield from Configuration.owning(self._exchanged(choice, structure, completed))

    def _exchanged(
        self, choice: Choice, structure: Structure, completed: Mapping[str, Value]
    ) -> Iterator[dict[str, Value]]:
        """The completed pipelines with other branches of a decision inside of which there are no others."""
        concerned: dict[str | None, list[Component]] = {}
        gone = {*self._inside(choice.address, structure[choice.address])}
        for concern in self._situations.asking_about(choice.address):
            if is_taken(concern.others, structure):
                concerned.setdefault(concern.below, []).append(concern.component)
                if concern.below in (None, structure[choice.address]):
                    gone.update(self._completer.part(concern.component, structure))
        kept = {key: value for key, value in completed.items() if key not in gone}
        for branch in self._structures.exchanges(structure, choice):
            values = {**kept, **self._inside(choice.address, branch)}
            if concerned:
                changed = {**structure, choice.address: branch}
                for component in (*concerned.get(None, ()), *concerned.get(branch, ())):
                    values |= self._completer.part(component, changed)
            yield values

    def _make_inside(self, address: str, branch: str) -> dict[str, Value]:
        """A branch that some member takes, with the values that depend on nothing but that it is taken."""
        variable = self._space.variables[address]
        return {variable.key: branch, **self._completer.independent((*variable.owners, (address, branch)))}

    def _values(
        self,
        structure: Structure,
        active: Sequence[Hyperparameter],
        configuration: Configuration,
        rng: "Generator",
    ) -> Iterator[Configuration]:
        centres = [self._moves[node.address].centre(configuration[node.key]) for node in active]
        drawn = iter(_draws([centre for centre in centres if centre is not None], rng))
        for node, centre in zip(active, centres, strict=True):
            places = () if centre is None else next(drawn)
            others = self._moves[node.address].others(configuration[node.key], places)
            component = self._situations.of_hyperparameter[node.address]
            if node.address in component.mentioned:
                left = self._left(component, self._situations.situation(component, structure))
                yield from Configuration.owning(left.exchanged(node, others, configuration))
            else:
                yield from configuration.with_others(node.key, others)

    def _make_left(self, component: Component, situation: tuple[int, ...]) -> "_Left":
        return _Left(self._situations.model(component, situation).space, component.mentioned)

    def _keeping(
        self, found: Sequence[Configuration], configuration: Configuration, fixed: frozenset[str]
    ) -> list[Configuration]:
        """The neighbours with the values that must not change, where they are members with these."""
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


class _Left:
    """What is left of a component's hyperparameters, which conditions and constraints mention, in one situation."""

    def __init__(self, space: Space, mentioned: frozenset[str]) -> None:
        self._space = space
        self._nodes = {node.address: node for node in space.hyperparameters}
        self._keys = frozenset(node.key for node in space.hyperparameters)
        self._mentioned = [node for node in space.hyperparameters if node.address in mentioned]
        self._is_small = all(isinstance(node.domain, Categorical) for node in self._mentioned)
        self._constraints = [(constraint, constraint.scope) for constraint in space.constraints]
        self._settled: dict[tuple[int, ...], tuple[Hyperparameter, ...] | None] = {}

    def exchanged(
        self, node: Hyperparameter, others: Sequence[Value], configuration: Configuration
    ) -> Iterator[dict[str, Value]]:
        """The values of the members with another value of one of these."""
        known = {a: configuration[each.key] for a, each in self._nodes.items() if each.key in configuration}
        rest = configuration.without(self._keys)
        for value in others:
            known[node.address] = value
            active = self._active(known)
            if active is not None:
                yield {**rest, **{each.key: known.get(each.address, each.default) for each in active}}

    def _active(self, known: Mapping[str, Value]) -> tuple[Hyperparameter, ...] | None:
        """What is active with these values and defaults; None where a constraint is violated.

        It depends on what is mentioned alone: of sets each combination of values is looked at once.
        """
        if not self._is_small:
            return self._settle(known)
        values = [(node.domain, known.get(node.address, node.default)) for node in self._mentioned]
        places = tuple([domain.index[identity(value)] for domain, value in values if isinstance(domain, Categorical)])
        if places not in self._settled:
            self._settled[places] = self._settle(known)
        return self._settled[places]

    def _settle(self, known: Mapping[str, Value]) -> tuple[Hyperparameter, ...] | None:
        worths = Assignment(self._space, {}, lambda node: known.get(node.address, node.default))
        for constraint, scope in self._constraints:
            applies = all(worths(address) is not INACTIVE for address in scope)
            if applies and holds(constraint.expression, worths) == constraint.forbidden:
                return None
        return tuple(node for address, node in self._nodes.items() if worths(address) is not INACTIVE)


def _keeps(other: Configuration, configuration: Configuration, fixed: frozenset[str]) -> bool:
    return all((key in other) == (key in configuration) for key in fixed) and all(
        same(other[key], configuration[key]) for key in fixed if key in other
    )


class Moves:
    """The other values of a hyperparameter that one exchange leads to."""

    def __init__(self, node: Hyperparameter) -> None:
        self._parts = parts(node.domain)
        self._placers = [placer(part) for part in self._parts]
        self._entries = [_entry(part, node) for part in self._parts]

    def centre(self, value: Value) -> float | None:
        """The place on the unit interval around which is drawn; None for a value of a set."""
        for part in self._parts:
            if not isinstance(part, Categorical) and contains(part, value):
                return to_unit(part, value)
        return None

    def others(self, value: Value, places: Sequence[float]) -> list[Value]:
        """Each other value of a set; in the range where the value lies those at some places of the unit interval."""
        found: list[Value] = []
        for part, entry, place_at in zip(self._parts, self._entries, self._placers, strict=True):
            if isinstance(part, Categorical):
                own = part.index.get(identity(value))
                found += [other for place, other in enumerate(part.values) if place != own]
            elif places:
                numbers = dict.fromkeys(map(place_at, places))
                numbers.pop(value, None)
                found += numbers
            else:
                found.append(entry)
        return found


def _entry(part: Simple, node: Hyperparameter) -> Value:
    """Where a move from another part of a union enters a range: at the default if it is there, else in the middle."""
    return node.default if contains(part, node.default) else part.middle


def _draws(centres: Sequence[float], rng: "Generator") -> list[list[float]]:
    """Places on the unit interval around each centre."""
    drawn = rng.normal(0.0, DEVIATION, (len(centres), DRAWS)).tolist()
    for places, centre in zip(drawn, centres, strict=True):
        for number, step in enumerate(places):
            place = centre + step
            while not 0.0 <= place <= 1.0:
                place = float(rng.normal(centre, DEVIATION))
            places[number] = place
    found: list[list[float]] = drawn
    return found
