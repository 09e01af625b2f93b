"""Default configurations of a space and of any structure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Simple, contains
from spacelang.ir.membership import exclusion, violates
from spacelang.ir.rebuilding import rebuilt
from spacelang.ir.space import Choice, Context, Hyperparameter, Space
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment, Structure, assemble, default_structure, reached
from spacelang.solver.conditioning import Component, Conditioning
from spacelang.solver.counting import Structures
from spacelang.solver.elimination import State, draw
from spacelang.solver.linear import Rows, feasible, witness
from spacelang.solver.model import Solver, Weights
from spacelang.solver.network import UNREACHED, Network


def default(space: Space) -> Configuration:
    """Return the configuration in which every decision and active hyperparameter has its default.

    It is admissible in a checked space, because analysis reports defaults that a constraint excludes.
    """
    return assemble(space, default_structure(space), lambda node: node.default)


def nearest_admissible(structures: Structures) -> tuple[Structure, Configuration]:
    """Return the admissible configuration nearest to the default, preceded by its structure.

    It differs from the default in as few decisions as possible (see `Structures.nearest`). Its hyperparameters are
    those of `Completer.complete`. The space must not be empty.
    """
    structure = default_structure(structures.space)
    usual = assemble(structures.space, structure, lambda node: node.default)
    if exclusion(structures.space, usual) is None:
        return structure, usual
    taken = structures.nearest({})
    return taken, Completer(structures).complete(taken)


def with_nearest_default(structures: Structures) -> Space:
    """Return a copy of the space whose default is the admissible configuration nearest to its old default."""
    space = structures.space
    taken, nearest = nearest_admissible(structures)
    # Values are identified by address, because a key may mean another hyperparameter in another branch.
    values = {
        variable.address: nearest[variable.key]
        for variable, _ in reached(space, lambda choice: taken[choice.address])
        if variable.key in nearest
    }

    def change(node: Hyperparameter) -> Hyperparameter:
        return replace(node, default=values[node.address]) if node.address in values else node

    def decide(choice: Choice) -> Choice:
        return replace(choice, default=choice.places[taken[choice.address]]) if choice.address in taken else choice

    return replace(space, root=rebuilt(space.root, change, decide))


class Completer:
    """An object that completes structures to default configurations, which algorithm selection evaluates."""

    def __init__(self, structures: Structures) -> None:
        self._space = structures.space
        self.conditioning = Conditioning(self._space)
        self._part = lru_cache(maxsize=8192)(self._make_part)
        self._independent = lru_cache(maxsize=None)(self._make_independent)

    def complete(self, structure: Structure) -> Configuration:
        """Return the configuration of a structure in which every active hyperparameter has its default.

        If the defaults violate a constraint, as few as possible of the hyperparameters that it connects take another
        value: the middle of the nearest admissible part of their domain. `structure` must be admissible.
        """
        return Configuration(self.values(structure))

    def values(self, structure: Structure) -> dict[str, Value]:
        """Return the result of `complete` as a new, unsorted dictionary."""
        values: dict[str, Value] = {}
        for variable, branch in reached(self._space, lambda choice: structure[choice.address]):
            if branch is not None:
                values[variable.key] = branch
                values |= self.independent((*variable.owners, (variable.address, branch)))
        values |= self.independent(())
        for component in self.conditioning.asking(structure):
            values |= self.part(component, structure)
        return values

    def independent(self, context: Context) -> Mapping[str, Value]:
        """Return the values below a context, by key, that depend only on the decisions that lead there.

        The branches of the context count as taken.
        """
        return self._independent(context)

    def part(self, component: Component, structure: Structure) -> Mapping[str, Value]:
        """Return the values of the active members of a component, by key, in a structure that reaches it."""
        return self._part(component, self.conditioning.situation(component, structure))

    def _make_independent(self, context: Context) -> Mapping[str, Value]:
        found: dict[str, Value] = {}
        for component in self.conditioning.by_context.get(context, ()):
            if not component.decisions:
                found |= self._part(component, ())
        return found

    def _make_part(self, component: Component, situation: tuple[int, ...]) -> Mapping[str, Value]:
        space, model = self.conditioning.left(component, situation), self.conditioning.model(component, situation)
        moved: dict[str, Value] = {}
        defaults = Assignment(space, {}, lambda node: node.default)
        solution = Solver(model, Preference())
        for network in model.by_context.get((), ()):
            if any(violates(constraint, defaults) for constraint in network.constraints):
                moved.update(self._moved(network, draw(solution.solve(network), _heaviest)))
        return dict(assemble(space, {}, lambda node: moved.get(node.address, node.default)))

    def _moved(self, network: Network, states: Mapping[str, State]) -> dict[str, Value]:
        cells = {a: mine[states[a]] for a, mine in network.cells.items() if states[a] != UNREACHED}
        defaults = {address: self._space.variables[address].hyperparameter.default for address in cells}
        kept = {a: defaults[a] if contains(cell, defaults[a]) else cell.middle for a, cell in cells.items()}
        ranges, needed = network.compared(states)
        return {**kept, **_nearest(ranges, needed, defaults)}


def _nearest(
    ranges: Mapping[str, Simple], needed: Sequence[tuple[Rows, ...]], defaults: Mapping[str, Value]
) -> dict[str, Value]:
    """Return values in the ranges that satisfy the comparisons; earlier hyperparameters keep their default first."""
    settled = dict(ranges)
    for address, cell in ranges.items():
        point = {**settled, address: Categorical((defaults[address],))}
        if contains(cell, defaults[address]) and feasible(point, needed):
            settled = point
    found = witness(settled, needed)
    assert found is not None
    return found


class Preference(Weights):
    """Weights that strongly prefer cells with the default, so that the heaviest states keep the most defaults."""

    existential = False

    def cell(self, hyperparameter: Hyperparameter, cell: Simple) -> float:
        """Return a million for the cell that contains the default, otherwise 1."""
        return 1_000_000 if contains(cell, hyperparameter.default) else 1


def _heaviest(weights: Sequence[float]) -> int:
    return max(range(len(weights)), key=weights.__getitem__)
