"""Repair of points that violate constraints: the nearest member, with as few changes as possible.

The result is deterministic.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from spacelang.ir import domain as domains
from spacelang.ir import domain_properties
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, NotFound, Real, SimpleDomain
from spacelang.ir.membership import first_exclusion, is_violated
from spacelang.ir.space import Context, Hyperparameter, Space
from spacelang.ir.value import Value, to_fraction
from spacelang.ir.walk import Assignment, Structure, assemble_configuration, walk_reached_variables
from spacelang.sampling.value_codes import part_index_and_code
from spacelang.solver.bucket_elimination import FEWEST, Elimination, State
from spacelang.solver.conditioning_on_decisions import HyperparameterComponent
from spacelang.solver.constraint_network import UNREACHED, ConstraintNetwork
from spacelang.solver.counting import ChangeCostWeights, Structures, index_of_minimum
from spacelang.solver.defaults import DefaultCompleter, member_nearest_to_default
from spacelang.solver.linear_inequalities import InequalitySystem, find_feasible_values, is_feasible_system
from spacelang.solver.model import SolverWeights, WeightedModelSolver

ValueFunction: TypeAlias = Callable[[Hyperparameter], Value]
"""A function that returns the wanted value of a hyperparameter, which is a member of its domain."""
MAX_BISECTIONS: Final = 40
"""The number of bisection steps for values in ranges that are compared; the error is 2^-40 of the distance."""


class MemberRepair:
    """A search for the nearest member of a nonempty space, given wanted branches and values."""

    def __init__(self, structures: Structures) -> None:
        self._structures = structures
        self._space = structures.space
        self._completer = DefaultCompleter(structures)
        self._conditioning = self._completer.conditioning
        stages = {choice.address for choice in self._space.stages}
        self._costs = dict.fromkeys(stages, len(self._space.decisions) - len(stages) + 1)
        self._cached_structure = lru_cache(maxsize=4096)(self._find_structure)
        self._cached_elimination = lru_cache(maxsize=4096)(self._solve)

    def nearest_member(self, branches: Mapping[str, str], wanted: ValueFunction) -> Configuration:
        """Return the member nearest to the branches, one for each decision of the space, and to the wanted values.

        First as few stages change as possible, then as few of the decisions inside them. Then as few connected
        hyperparameters as possible change to the nearest value of another cell of their domain. It is deterministic.
        """
        structure = self.nearest_structure(branches)
        values: dict[str, Value] = {}
        contexts: list[Context] = [()]
        for variable, branch in walk_reached_variables(self._space, lambda choice: structure[choice.address]):
            if branch is not None:
                values[variable.key] = branch
                contexts.append((*variable.owners, (variable.address, branch)))
        for context in contexts:
            for component in self._conditioning.by_context.get(context, ()):
                values |= self._component_values(component, structure, wanted)
        # A default is needed if the only numbers that satisfy a comparison are not floats.
        found = Configuration(values)
        if first_exclusion(self._space, found) is not None:
            found = self._completer.complete(structure)
        return found if first_exclusion(self._space, found) is None else member_nearest_to_default(self._structures)[1]

    def nearest_structure(self, branches: Mapping[str, str]) -> Structure:
        """Return the nearest structure that has a member."""
        reached = walk_reached_variables(self._space, lambda choice: branches[choice.address])
        taken = {variable.address: branch for variable, branch in reached if branch is not None}
        if self._structures.is_admissible(taken):
            return taken
        return self._cached_structure(tuple([branches[choice.address] for choice in self._space.decisions]))

    def _find_structure(self, branches: tuple[str, ...]) -> Structure:
        wanted = dict(zip((choice.address for choice in self._space.decisions), branches, strict=True))
        return WeightedModelSolver(self._structures.model, ChangeCostWeights(wanted, self._costs)).draw_structure(
            index_of_minimum
        )

    def _component_values(
        self, component: HyperparameterComponent, structure: Structure, wanted: ValueFunction
    ) -> Mapping[str, Value]:
        if component.is_unconstrained:
            node = component.members[0].hyperparameter
            return {node.key: wanted(node)}
        situation = self._conditioning.relevant_branch_classes(component, structure)
        space = self._conditioning.residual_space(component, situation)
        model = self._conditioning.residual_model(component, situation)
        given = {node.address: wanted(node) for node in space.hyperparameters}
        for number, network in enumerate(model.by_context.get((), ())):
            if _is_violated(space, network, given):
                own = tuple(
                    domain_properties.index_of_containing_domain(cells, given[address])
                    for address, cells in network.cells.items()
                )
                elimination = self._cached_elimination(component, situation, number, own)
                for moved in _changed_values(network, elimination, given):
                    given |= moved
                    if not _is_violated(space, network, given):
                        break
        return dict(assemble_configuration(space, {}, lambda node: given[node.address]))

    def _solve(
        self, component: HyperparameterComponent, situation: tuple[int, ...], number: int, own: tuple[State, ...]
    ) -> Elimination:
        model = self._conditioning.residual_model(component, situation)
        network = model.by_context[()][number]
        wanted = {a: cells[state] for (a, cells), state in zip(network.cells.items(), own, strict=True)}
        return WeightedModelSolver(model, _CellChanges(wanted)).solve(network)


class _CellChanges(SolverWeights):
    existential = False
    semiring = FEWEST

    def __init__(self, wanted: Mapping[str, SimpleDomain]) -> None:
        self._wanted = wanted

    def cell_weight(self, hyperparameter: Hyperparameter, cell: SimpleDomain) -> float:
        return 1 if cell is self._wanted[hyperparameter.address] else 2


def _is_violated(space: Space, network: ConstraintNetwork, given: Mapping[str, Value]) -> bool:
    assignment = Assignment(space, {}, lambda node: given[node.address])
    return any(is_violated(constraint, assignment) for constraint in network.constraints)


def _changed_values(
    network: ConstraintNetwork, elimination: Elimination, given: Mapping[str, Value]
) -> Iterator[dict[str, Value]]:
    """Yield repaired values by address, of the hyperparameters that are active, with as few cells changed as possible.

    Comparisons of ranges have several such results, because rounding can make the first ones invalid.
    """
    nodes = {m.address: m.node for m in network.members if isinstance(m.node, Hyperparameter)}
    kept: dict[str, Value] = {}
    states: dict[str, State] = {}
    for bucket in reversed(elimination.eliminated):
        name, weights = bucket.variable, bucket.weights[tuple([states[each] for each in bucket.separator])]
        fewest = min(weights.values())
        possible = [state for state, weight in weights.items() if weight == fewest]
        if name in nodes:
            cells, domain = network.cells[name], nodes[name].domain
            near = {s: nearest_value(cells[s], given[name], domain) for s in possible if s != UNREACHED}
            distances = {s: _distance(value, given[name], domain) for s, value in near.items()}
            states[name] = min(distances, key=distances.__getitem__) if distances else UNREACHED
            if states[name] in near:
                kept[name] = near[states[name]]
        else:
            states[name] = possible[0]
    for found in _satisfying_values(network, states, kept):
        yield kept | found


def _satisfying_values(
    network: ConstraintNetwork, states: Mapping[str, State], kept: Mapping[str, Value]
) -> Iterator[dict[str, Value]]:
    """Yield up to three choices of values for the compared ranges, to be tried one after the other.

    `states` are the cells of the variables, and `kept` the nearest values in them. In the first choice each value is as
    near as the earlier ones allow; the second keeps single values where possible, and the third only the cells.
    """
    free, needed = network.required_comparisons(states)
    if not needed:
        yield {}
        return
    near, pinned = dict(free), dict(free)
    for address in free:
        near[address] = _narrow(near, needed, address, kept[address])
        point = {**pinned, address: Categorical((kept[address],))}
        if is_feasible_system(point, needed):
            pinned = point
    for settled in (near, pinned, free):
        found = find_feasible_values(settled, needed)
        if found is not None:
            yield found


def _narrow(
    cells: Mapping[str, SimpleDomain], needed: Sequence[tuple[InequalitySystem, ...]], address: str, value: Value
) -> SimpleDomain:
    """Return the part of a cell that is nearest to a value and leaves the comparisons solvable.

    `cells` has the present part of each range, by address; `needed` are the systems of inequalities of the comparisons.
    """
    pinned: SimpleDomain = Categorical((value,))
    if is_feasible_system({**cells, address: pinned}, needed):
        return pinned
    cell = cells[address]
    if not isinstance(cell, Grid | Real):
        return cell
    centre = to_fraction(value)
    near, far = Fraction(0), max(centre - to_fraction(cell.lower), to_fraction(cell.upper) - centre)
    # Enough steps to separate the members of a grid, or a constant number for a range.
    steps = MAX_BISECTIONS if isinstance(cell, Real) else math.ceil(far / to_fraction(cell.step)).bit_length() + 2
    for _ in range(max(3, steps)):
        middle = (near + far) / 2
        smaller = _within_distance(cell, centre, middle)
        if smaller is not None and is_feasible_system({**cells, address: smaller}, needed):
            far = middle
        else:
            near = middle
    return _within_distance(cell, centre, far) or cell


def _within_distance(cell: Grid | Real, centre: Fraction, distance: Fraction) -> SimpleDomain | None:
    """Return the values of a cell within a distance of a centre; None if there are none."""
    lower, upper = centre - distance, centre + distance
    if isinstance(cell, Real):
        start = replace(cell, lower=float(lower), lower_open=False) if lower > to_fraction(cell.lower) else cell
        found = replace(start, upper=float(upper), upper_open=False) if upper < to_fraction(cell.upper) else start
        return found if found.lower <= found.upper and domains.contains(found, found.representative) else None
    low, high = max(0, math.ceil(cell.position(lower))), min(cell.last_index, math.floor(cell.position(upper)))
    return None if low > high else domain_properties.subgrid(cell, low, high)


def nearest_value(cell: SimpleDomain, value: Value, domain: Domain) -> Value:
    """Return the value of a cell that is nearest to another value of `domain`.

    Sets count by index, and the larger value wins a tie. If the two lie in different parts of a union, it is the end of
    the cell that is on the side of the other part.
    """
    found = cell.find(value)
    if not isinstance(found, NotFound):
        return found
    (own, _), (other, code) = part_index_and_code(domain, cell.representative), part_index_and_code(domain, value)
    if own != other:
        return cell.representative if cell.size is None else cell.value_at(0 if other < own else cell.last_index)
    match cell:
        case Real():
            number: float = min(max(code, cell.least), cell.greatest)
            return number
        case Grid():
            return cell.value_at(min(max(math.floor(cell.position(code) + Fraction(1, 2)), 0), cell.last_index))
        case Categorical():
            return min(reversed(cell.values), key=lambda each: _distance(each, value, domain))


def _distance(near: Value, wanted: Value, domain: Domain) -> tuple[int, float]:
    """Return the distance of two values of a domain: first that of their parts of a union, then that of the values."""
    (own, here), (other, there) = part_index_and_code(domain, near), part_index_and_code(domain, wanted)
    return (abs(own - other), 0) if own != other else (0, abs(here - there))
