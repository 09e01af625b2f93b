"""Default configurations: of the space, and of any structure."""

from collections.abc import Mapping, Sequence

from spacelang.ir.compiled import Compiled, alternatives_of
from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Existence, Structures
from spacelang.ir.domain import Categorical, Simple, contains
from spacelang.ir.expr import references
from spacelang.ir.linear import Rows, feasible, witness
from spacelang.ir.membership import violates
from spacelang.ir.space import Hyperparameter, Space
from spacelang.ir.tied import TiedGroups
from spacelang.ir.value import Value, is_number
from spacelang.ir.walk import Assignment, Structure, assemble, default_structure


def default(space: Space) -> Configuration:
    """The configuration in which every decision and every active hyperparameter has its default.

    A checked space admits it: analysis reports a default that a constraint excludes.
    """
    return assemble(space, default_structure(space), lambda node: node.default)


class Completer:
    """Default configurations of structures: what algorithm selection evaluates."""

    def __init__(self, structures: Structures) -> None:
        self._space = structures.space
        self._tied = TiedGroups(structures, Preference())

    def complete(self, structure: Structure) -> Configuration:
        """The member that has this structure and the default of every active hyperparameter.

        Where the defaults together break a constraint, the hyperparameters that it ties together take other values,
        as few as possible: the middle of the nearest admissible part of their domains. `structure` must be admissible.
        """
        moved: dict[str, Value] = {}
        defaults = Assignment(self._space, structure, lambda node: node.default)
        for number, compiled in self._tied.within(structure):
            if any(violates(constraint, defaults) for constraint in compiled.group.constraints):
                moved.update(self._moved(number, compiled, structure))
        return assemble(self._space, structure, lambda node: moved.get(node.address, node.default))

    def _moved(self, number: int, compiled: Compiled, structure: Structure) -> dict[str, Value]:
        states = self._tied.states(number, structure, _heaviest)
        cells = self._tied.cells(number, states)
        defaults = {address: self._default(address) for address in cells}
        kept = {a: defaults[a] if contains(cell, defaults[a]) else cell.middle for a, cell in cells.items()}
        numbers = {address: cell for address, cell in cells.items() if is_number(cell.middle)}
        needed = [
            alternatives_of(atom, bool(states[name]))
            for name, atom in compiled.ranges.items()
            if numbers.keys() >= set(references(atom))
        ]
        compared = {address for atom in compiled.ranges.values() for address in references(atom)}
        ranges = {address: cell for address, cell in numbers.items() if address in compared}
        return {**kept, **_nearest(ranges, needed, defaults)}

    def _default(self, address: str) -> Value:
        node = self._space.variables[address].node
        assert isinstance(node, Hyperparameter)
        return node.default


def _nearest(
    ranges: Mapping[str, Simple], needed: Sequence[tuple[Rows, ...]], defaults: Mapping[str, Value]
) -> dict[str, Value]:
    """Values in the ranges that satisfy the comparisons; each keeps its default where those before it let it."""
    settled = dict(ranges)
    for address, cell in ranges.items():
        point = {**settled, address: Categorical((defaults[address],))}
        if contains(cell, defaults[address]) and feasible(point, needed):
            settled = point
    found = witness(settled, needed)
    assert found is not None
    return found


class Preference(Existence):
    """A cell with the default weighs far more than any other, so that the heaviest states keep most defaults."""

    existential = False

    def cell(self, hyperparameter: Hyperparameter, cell: Simple) -> float:
        """A million for the default's cell, 1 for others."""
        return 1_000_000 if contains(cell, hyperparameter.default) else 1


def _heaviest(weights: Sequence[float]) -> int:
    return max(range(len(weights)), key=weights.__getitem__)
