"""Default configurations of a space and of any structure, and values near defaults that satisfy all constraints."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, islice, product
from math import exp, log
from random import Random
from typing import Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, NotFound, Real, SimpleDomain, contains, members, parts
from spacelang.ir.domain_properties import nearest_value
from spacelang.ir.membership import first_exclusion, is_violated
from spacelang.ir.space import Choice, Context, Hyperparameter, Space
from spacelang.ir.value import Value, are_same_value, is_number, to_fraction
from spacelang.ir.walk import (
    Assignment,
    Structure,
    assemble_configuration,
    default_structure,
    rebuild_tree,
    walk_reached_variables,
)
from spacelang.solver.bucket_elimination import State, draw_states
from spacelang.solver.conditioning_on_decisions import ComponentConditioner, HyperparameterComponent
from spacelang.solver.constraint_network import UNREACHED, ConstraintNetwork, SamplingFailedError
from spacelang.solver.counting import Structures
from spacelang.solver.linear_inequalities import InequalitySystem, find_feasible_values, is_feasible_system
from spacelang.solver.model import SolverWeights, WeightedModelSolver
from spacelang.solver.range_forest import allowed_cells, required_inequalities
from spacelang.solver.summed_ranges import countable_relations


def default_configuration(space: Space) -> Configuration:
    """Return the configuration of all defaults, which is admissible in a checked space."""
    return assemble_configuration(space, default_structure(space), lambda node: node.default)


def member_nearest_to_default(structures: Structures) -> tuple[Structure, Configuration]:
    """Return the structure and configuration nearest to the default; the space must have at least one.

    See `Structures.nearest_structure` and `DefaultCompleter.complete`.
    """
    structure = default_structure(structures.space)
    usual = assemble_configuration(structures.space, structure, lambda node: node.default)
    if first_exclusion(structures.space, usual) is None:
        return structure, usual
    taken = structures.nearest_structure({})
    return taken, DefaultCompleter(structures).complete(taken)


def with_nearest_default(structures: Structures) -> Space:
    """Return a copy of the space whose default is the admissible configuration nearest to its old default."""
    space = structures.space
    taken, nearest = member_nearest_to_default(structures)
    # Values are identified by address, because a key may mean another hyperparameter in another branch.
    values = {
        variable.address: nearest[variable.key]
        for variable, _ in walk_reached_variables(space, lambda choice: taken[choice.address])
        if variable.key in nearest
    }

    def change(node: Hyperparameter) -> Hyperparameter:
        return replace(node, default=values[node.address]) if node.address in values else node

    def decide(choice: Choice) -> Choice:
        branch = taken.get(choice.address)
        return choice if branch is None else replace(choice, default=choice.branch_indices[branch])

    return replace(space, root=rebuild_tree(space.root, change, decide))


class DefaultCompleter:
    """An object that completes structures to default configurations, which algorithm selection evaluates."""

    def __init__(self, structures: Structures) -> None:
        self._space = structures.space
        self.conditioning = ComponentConditioner(self._space)
        self._cached_component = lru_cache(maxsize=8192)(self._make_component)
        self._cached_independent = lru_cache(maxsize=None)(self._make_independent)

    def complete(self, structure: Structure) -> Configuration:
        """Return the configuration of an admissible structure with all defaults, moved where constraints exclude them.

        As few as possible move, to the middle of the nearest admissible part of their domain.
        """
        return Configuration(self.complete_values(structure))

    def complete_values(self, structure: Structure) -> dict[str, Value]:
        """Return the result of `complete` as a new, unsorted dictionary."""
        values: dict[str, Value] = {}
        for variable, branch in walk_reached_variables(self._space, lambda choice: structure[choice.address]):
            if branch is not None:
                values[variable.key] = branch
                values |= self.decision_independent_values((*variable.owners, (variable.address, branch)))
        values |= self.decision_independent_values(())
        for component in self.conditioning.dependent_components(structure):
            values |= self.component_values(component, structure)
        return values

    def decision_independent_values(self, context: Context) -> Mapping[str, Value]:
        """Return the values of hyperparameters directly below a context, by key, that no other decision can change."""
        return self._cached_independent(context)

    def component_values(self, component: HyperparameterComponent, structure: Structure) -> Mapping[str, Value]:
        """Return the values of the active members of a component, by key, in a structure that reaches it."""
        return self._cached_component(component, self.conditioning.relevant_branch_classes(component, structure))

    def _make_independent(self, context: Context) -> Mapping[str, Value]:
        found: dict[str, Value] = {}
        for component in self.conditioning.by_context.get(context, ()):
            if not component.decisions:
                found |= self._cached_component(component, ())
        return found

    def _make_component(self, component: HyperparameterComponent, situation: tuple[int, ...]) -> Mapping[str, Value]:
        space = self.conditioning.residual_space(component, situation)
        moved: dict[str, Value] = {}
        defaults = Assignment(space, {}, lambda node: node.default)
        if any(is_violated(constraint, defaults) for constraint in space.constraints):
            model = self.conditioning.residual_model(component, situation)
            solution = WeightedModelSolver(model, DefaultPreferenceWeights())
            for network in model.by_context.get((), ()):
                if not any(is_violated(constraint, defaults) for constraint in network.constraints):
                    continue
                if network.tested:
                    moved.update(self._tried_values(space, network))
                elif countable_relations(network) is not None:
                    moved.update(_related_values(network))
                else:
                    moved.update(self._changed_values(network, draw_states(solution.solve(network), _index_of_maximum)))
        return dict(assemble_configuration(space, {}, lambda node: moved.get(node.address, node.default)))

    def _tried_values(self, space: Space, network: ConstraintNetwork) -> Mapping[str, Value]:
        def holds(values: Mapping[str, Value]) -> bool:
            assignment = Assignment(space, {}, lambda node: values.get(node.address, node.default))
            return not any(is_violated(constraint, assignment) for constraint in network.constraints)

        nodes = [member.hyperparameter for member in network.members]
        found = find_values_near_defaults(nodes, holds)
        if found is None:
            raise SamplingFailedError(network.constraints)
        return found

    def _changed_values(self, network: ConstraintNetwork, states: Mapping[str, State]) -> dict[str, Value]:
        cells = {a: mine[states[a]] for a, mine in network.cells.items() if states[a] != UNREACHED}
        defaults = {address: self._space.variables[address].hyperparameter.default for address in cells}
        kept = {a: defaults[a] if contains(cell, defaults[a]) else cell.representative for a, cell in cells.items()}
        ranges, needed = network.required_comparisons(states)
        return {**kept, **_nearest_values(ranges, needed, defaults)}


def _nearest_values(
    ranges: Mapping[str, SimpleDomain], needed: Sequence[tuple[InequalitySystem, ...]], defaults: Mapping[str, Value]
) -> dict[str, Value]:
    """Return values in the ranges that satisfy the comparisons; earlier hyperparameters keep their default first."""
    settled = dict(ranges)
    left = [address for address, cell in ranges.items() if contains(cell, defaults[address])]
    number = len(left)  # how many of them are tried together
    while left:
        number = min(number, len(left))
        together = {**settled, **{address: Categorical((defaults[address],)) for address in left[:number]}}
        if is_feasible_system(together, needed):
            settled, left, number = together, left[number:], 2 * number
        elif number > 1:
            number //= 2
        else:
            del left[0]
    found = find_feasible_values(settled, needed)
    assert found is not None
    return found


def _related_values(network: ConstraintNetwork) -> dict[str, Value]:
    """Return values of a network of `countable_relations`; earlier hyperparameters keep their defaults first.

    The factors of such a network do not tell in which cells joint values lie. The cells of one range after another are
    therefore tried, from the default outwards, as long as the whole ranges of the others leave a solution.
    """
    nodes = {member.address: member.hyperparameter for member in network.members}
    rows, cells = required_inequalities(network), allowed_cells(network)
    assert rows is not None
    assert cells is not None
    needed = [(tuple(rows),)]
    whole = {address: part for address, node in nodes.items() for part in parts(node.domain)}
    waiting: list[dict[str, SimpleDomain]] = [{}]
    while waiting:
        settled = waiting.pop()
        if is_feasible_system({**whole, **settled}, needed):
            if len(settled) == len(nodes):
                break
            node = next(each for address, each in nodes.items() if address not in settled)
            options = _cells_from_default(cells[node.address], node.default)
            waiting += [{**settled, node.address: each} for each in reversed(options)]
    found = find_feasible_values(settled, needed)
    assert found is not None
    return found


def _cells_from_default(cells: Iterable[SimpleDomain], default: Value) -> list[SimpleDomain]:
    """Return the cells of a range, the nearest one to the default first, and before it the default if it lies in it."""

    def distance(cell: SimpleDomain) -> Fraction:
        near = default if contains(cell, default) else nearest_value(default, cell)
        return abs(to_fraction(near) - to_fraction(default))

    ordered = sorted(cells, key=distance)
    return [*(Categorical((default,)) for cell in ordered[:1] if contains(cell, default)), *ordered]


class DefaultPreferenceWeights(SolverWeights):
    """Weights that strongly prefer cells with the default, so that the heaviest states keep the most defaults."""

    existential = False

    def cell_weight(self, hyperparameter: Hyperparameter, cell: SimpleDomain) -> float:
        """Return a million for the cell that contains the default, otherwise 1."""
        return 1_000_000 if contains(cell, hyperparameter.default) else 1


def _index_of_maximum(weights: Sequence[float]) -> int:
    return max(range(len(weights)), key=weights.__getitem__)


MAX_LISTED: Final = 40  # Up to this size, all values of a range are tried
POINTS: Final = 33  # The number of values of a larger range that are tried
MAX_PAIRS: Final = 20_000  # The maximum number of joint values of two hyperparameters that are tried
MAX_RANDOM: Final = 100_000  # The maximum number of joint random values that are tried


def find_values_near_defaults(
    nodes: Sequence[Hyperparameter], holds: Callable[[Mapping[str, Value]], bool]
) -> dict[str, Value] | None:
    """Return values by address that satisfy `holds`, with as few and as small changes of defaults as were found.

    One hyperparameter is changed, then two, then all of them at random; of random values, those that can keep their
    defaults do. None if nothing is found; `check` admits a space only if one of 10,000 random values satisfies it.
    """
    defaults = {node.address: node.default for node in nodes}
    options = {
        node.address: [value for value in _tried(node.domain) if not are_same_value(value, node.default)]
        for node in nodes
    }
    found = next(filter(holds, _few_changes(options, defaults)), None)
    if found is not None:
        return found
    random = Random(0)
    drawn = ({node.address: _draw(node.domain, random) for node in nodes} for _ in range(MAX_RANDOM))
    found = next(filter(holds, drawn), None)
    if found is None:
        return None
    for address, value in defaults.items():
        if holds(changed := {**found, address: value}):
            found = changed
    return found


def _few_changes(options: Mapping[str, Sequence[Value]], defaults: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    yield dict(defaults)
    yield from _changes_of(1, options, defaults)
    yield from islice(_changes_of(2, options, defaults), MAX_PAIRS)


def _changes_of(
    number: int, options: Mapping[str, Sequence[Value]], defaults: Mapping[str, Value]
) -> Iterator[dict[str, Value]]:
    for names in combinations(options, number):
        ordered = [_by_distance(options[name], defaults[name]) for name in names]
        for values in product(*ordered):
            yield {**defaults, **dict(zip(names, values, strict=True))}


def _by_distance(values: Sequence[Value], default: Value) -> list[Value]:
    """Return the values sorted by their distance from the default, numbers first; unchanged if it is no number."""
    if not is_number(default):
        return [*values]
    numbers = [each for each in values if is_number(each)]
    others = [each for each in values if not is_number(each)]
    return [*sorted(numbers, key=lambda value: abs(value - default)), *others]


def _tried(domain: Domain) -> list[Value]:
    found: list[Value] = []
    for part in parts(domain):
        if isinstance(part, Real | Grid) and not (part.size is not None and part.size <= MAX_LISTED):
            found += dict.fromkeys(_member_at(place / (POINTS - 1), part) for place in range(POINTS))
        else:
            found += members(part)
    return found


def _draw(domain: Domain, random: Random) -> Value:
    """Return a random value of a domain: of a random part, uniform or log-uniform."""
    part = random.choice(parts(domain))
    if not isinstance(part, Real | Grid):
        return random.choice(part.values)
    return _member_at(random.random(), part)


def _member_at(share: float, part: Real | Grid) -> Value:
    """Return the member nearest to a share of the length of a range, on the logarithmic scale under `log`."""
    lower, upper = float(part.lower), float(part.upper)
    number = exp(log(lower) + share * (log(upper) - log(lower))) if part.log else lower + share * (upper - lower)
    found = part.find(number)
    if isinstance(found, NotFound):
        found = nearest_value(number, part)
    return part.representative if isinstance(found, NotFound) else found
