"""The one-exchange neighbourhood of a configuration (ALGORITHMS.md 2.7)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Structures
from spacelang.ir.defaults import Completer
from spacelang.ir.domain import Categorical, Simple, contains, parts
from spacelang.ir.expr import INACTIVE
from spacelang.ir.membership import admit
from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.ir.unit import from_unit, to_unit
from spacelang.ir.value import Value, identity, same
from spacelang.ir.walk import Assignment, Structure, assemble, default_structure, structure_of

if TYPE_CHECKING:
    from numpy.random import Generator

DRAWS = 4
DEVIATION = 0.2
"""Numbers move by a normal deviation of 0.2 on the unit interval, four times (as SMAC does)."""


class Neighbourhood:
    """Draws the neighbours of members of one space."""

    def __init__(self, structures: Structures) -> None:
        self._space: Space = structures.space
        self._structures = structures
        self._completer = Completer(structures)

    def of(
        self, configuration: Configuration, rng: "Generator", fixed: frozenset[str] = frozenset()
    ) -> list[Configuration]:
        """All neighbours that are members; keys in `fixed` never change.

        Structural ones differ in one decision (and in what only it makes reachable) and have the default of every
        hyperparameter of the whole pipeline; the others differ in one hyperparameter: each other value of a set, four
        draws in a range. A hyperparameter that such a change activates takes its default.
        """
        known = [node for node in self._space.hyperparameters if node.key in fixed]
        found = [*self._values(configuration, rng, fixed), *self._structural(configuration, fixed, known)]
        members = dict.fromkeys(admit(self._space, other) for other in found)
        return [
            other
            for other in members
            if isinstance(other, Configuration) and other != configuration and _keeps(other, configuration, fixed)
        ]

    def _structural(
        self, configuration: Configuration, fixed: frozenset[str], known: list[Hyperparameter]
    ) -> Iterator[Configuration]:
        structure = structure_of(self._space, configuration)
        for address, taken in structure.items():
            choice = self._space.variables[address].node
            assert isinstance(choice, Choice)
            for branch in () if choice.key in fixed else choice.branches:
                changed = default_structure(self._space, {**structure, address: branch.name})
                if branch.name != taken and self._structures.admits(changed):
                    completed = self._completer.complete(changed)
                    yield self._with_fixed(changed, completed, configuration, known) if known else completed

    def _with_fixed(
        self, structure: Structure, completed: Configuration, configuration: Configuration, known: list[Hyperparameter]
    ) -> Configuration:
        """The completed configuration with the values that must not change; it need not be a member."""
        kept = {node.address: configuration[node.key] for node in known if node.key in configuration}

        def value_of(node: Hyperparameter) -> Value:
            return kept.get(node.address, completed.get(node.key, node.default))

        return assemble(self._space, structure, value_of)

    def _values(self, configuration: Configuration, rng: "Generator", fixed: frozenset[str]) -> Iterator[Configuration]:
        structure = structure_of(self._space, configuration)
        assignment = Assignment.of(self._space, configuration)
        active = [node for node in self._space.hyperparameters if assignment(node.address) is not INACTIVE]
        known = {node.address: configuration[node.key] for node in active}
        for node in active:
            for other in () if node.key in fixed else moves(node, known[node.address], rng):
                yield self._changed(structure, {**known, node.address: other})

    def _changed(self, structure: Structure, known: dict[str, Value]) -> Configuration:
        return assemble(self._space, structure, lambda node: known.get(node.address, node.default))


def _keeps(other: Configuration, configuration: Configuration, fixed: frozenset[str]) -> bool:
    return all((key in other) == (key in configuration) for key in fixed) and all(
        same(other[key], configuration[key]) for key in fixed if key in other
    )


def moves(node: Hyperparameter, value: Value, rng: "Generator") -> list[Value]:
    """The other values that one exchange leads to: all of a set's, and four draws near a number in its range."""
    found: list[Value] = []
    for part in parts(node.domain):
        if isinstance(part, Categorical):
            found.extend(part.values)
        elif contains(part, value):
            found.extend(from_unit(part, place) for place in _draws(to_unit(part, value), rng))
        else:
            found.append(_entry(part, node))
    others = {identity(other): other for other in found}
    others.pop(identity(value), None)
    return list(others.values())


def _draws(centre: float, rng: "Generator") -> Iterator[float]:
    drawn = 0
    while drawn < DRAWS:
        place = float(rng.normal(centre, DEVIATION))
        if 0.0 <= place <= 1.0:
            drawn += 1
            yield place


def _entry(part: Simple, node: Hyperparameter) -> Value:
    """Where a move from another part of a union enters a range: at the default if it is there, else in the middle."""
    return node.default if contains(part, node.default) else part.middle
