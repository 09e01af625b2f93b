"""Exact counts: structures, configurations, and structures by their number of changes from a given one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product

from spacelang.deprecation import renamed_attributes
from spacelang.frozen import frozen
from spacelang.grouping import group_by_key
from spacelang.ir.domain import SimpleDomain
from spacelang.ir.expr import Expr, mentioned_addresses
from spacelang.ir.space import Choice, Context, Hyperparameter, Space, Variable
from spacelang.ir.walk import Structure, default_structure, expressions_of
from spacelang.solver.bucket_elimination import FEWEST, Factor, PackedPolynomials, State, Table
from spacelang.solver.constraint_network import UNREACHED, ConstraintNetwork, TooManyConnectedVariablesError
from spacelang.solver.domain_cells import hyperparameter_atoms, is_always_decidable
from spacelang.solver.joint_counts import JointCounts, joint_counts
from spacelang.solver.model import SolverModel, SolverWeights, WeightedModelSolver
from spacelang.solver.summed_ranges import countable_relations


def can_be_counted(network: ConstraintNetwork) -> bool:
    """Return True if the configurations of a network can be counted.

    It must have no expressions that are only tested with draws, and its comparisons of ranges must be countable.
    """
    if network.tested:
        return False
    return not network.ranges or countable_relations(network) is not None or joint_counts(network) is not None


class CountWeights(SolverWeights):
    """Weights that count configurations: a cell weighs as much as it has values."""

    existential = False

    def network_weight(self, network: ConstraintNetwork) -> int | None:
        """Return the number of joint values of a network if `countable_relations` finds its relations, else None."""
        relations = countable_relations(network)
        return None if relations is None else relations.count()

    def joint_counts(self, network: ConstraintNetwork) -> JointCounts | None:
        """Return the numbers of joint values of the compared ranges of a network, or None if they are not counted."""
        return joint_counts(network)

    def cell_weight(self, hyperparameter: Hyperparameter, cell: SimpleDomain) -> float:  # noqa: ARG002
        """Return the number of values in the cell."""
        assert cell.size is not None
        return cell.size


class DiscrepancyWeights(SolverWeights):
    """Weights that give a structure x^k if k of its decisions differ from a reference structure."""

    def __init__(self, reference: Structure, polynomials: PackedPolynomials) -> None:
        self.reference = reference
        self.polynomials = polynomials

    def branch_weight(self, choice: Choice, place: int) -> float:
        """Return 1 for the branch of the reference, and the weight x for any other.

        If the reference does not reach the decision, its default branch weighs 1.
        """
        return self.polynomials.pack_monomial(_is_changed(choice, place, self.reference))


class BranchIndexWeights(SolverWeights):
    """Weights that give a structure the monomial x^(k + 1) if it takes branch k of one decision."""

    def __init__(self, choice: Choice, polynomials: PackedPolynomials) -> None:
        self.choice = choice
        self.polynomials = polynomials

    def branch_weight(self, choice: Choice, place: int) -> float:
        """Return the monomial x^(k + 1) for branch k of the decision, and 1 for any branch of another decision."""
        return self.polynomials.pack_monomial(place + 1) if choice.address == self.choice.address else 1


class ChangeCostWeights(SolverWeights):
    """Weights that give a structure 2^k, where k is the cost of changing a reference structure into it."""

    semiring = FEWEST

    def __init__(self, reference: Structure, costs: Mapping[str, int] | None = None) -> None:
        """Set the costs of single decisions by address; a change of any other decision costs 1."""
        self.reference = reference
        self.costs = costs or {}

    def branch_weight(self, choice: Choice, place: int) -> float:
        """Return 1 for the branch of the reference, and 2^cost for any other.

        If the reference does not reach the decision, its default branch weighs 1.
        """
        return 1 << self.costs.get(choice.address, 1) * _is_changed(choice, place, self.reference)


def _is_changed(choice: Choice, place: int, reference: Structure) -> bool:
    return choice.branches[place].name != reference.get(choice.address, choice.branches[choice.default].name)


def index_of_minimum(weights: Sequence[float]) -> int:
    """Return the index of the first of the smallest weights; a `choose` function for the fewest changes."""
    return min(range(len(weights)), key=weights.__getitem__)


@renamed_attributes(
    configurations="configuration_count",
    decisive="structure_model",
    existence="existence_solver",
    by_discrepancy="count_by_discrepancy",
    nearest="nearest_structure",
    admits="is_admissible",
    is_tested="contains_expression_tested_on_draws",
    tested_expressions="expressions_tested_on_draws",
    contains_tested_expression="contains_expression_tested_on_draws",
    exchanges="exchangeable_branches",
    exchanges_depend_on="decisions_affecting_exchange",
    exchange_dependencies="decisions_affecting_exchange",
)
class Structures:
    """The admissible structures of a space, counted and tested without enumerating them.

    A structure maps the address of every reached decision to the name of its branch.
    """

    def __init__(self, space: Space) -> None:
        """Compile the model; raise TooManyConnectedVariablesError."""
        self.space = space
        self.structure_model = SolverModel(_without_irrelevant_conditions(space), space.constraints)
        """The model without the conditions that cannot affect which structures exist."""

    def __reduce__(self) -> tuple[type["Structures"], tuple[Space]]:
        return type(self), (self.space,)

    @cached_property
    def model(self) -> SolverModel:
        """The compiled model of all decisions and hyperparameters, with all conditions."""
        if self.structure_model.variables is self.space.variables:
            return self.structure_model
        return SolverModel(self.space.variables, self.space.constraints, self.structure_model)

    @cached_property
    def existence_solver(self) -> WeightedModelSolver:
        """A solver in which every admissible structure weighs 1."""
        return WeightedModelSolver(self.model, SolverWeights())

    @cached_property
    def count(self) -> int:
        """The number of structures that have at least one admissible configuration."""
        return int(self.structure_solver.total_weight())

    @cached_property
    def supported_branches(self) -> dict[str, frozenset[int]]:
        """The indices of the branches of each decision that some admissible configuration takes, by address.

        Nothing is guaranteed about decisions that no admissible configuration reaches.
        """
        return self.structure_solver.supported_branches()

    @cached_property
    def structure_solver(self) -> WeightedModelSolver:
        """A solver of the `structure_model` in which every admissible structure weighs 1."""
        if self.structure_model.variables is self.space.variables:
            return self.existence_solver
        return WeightedModelSolver(self.structure_model, SolverWeights())

    @cached_property
    def configuration_count(self) -> int | None:
        """The number of configurations; None if it is infinite or not counted.

        It is infinite with a continuous hyperparameter. It is not counted where large integer ranges are compared with
        each other, since only existence is decided there, or where conditions connect too many variables.
        """
        infinite = any(node.domain.size is None for node in self.space.hyperparameters)
        if infinite or self._has_uncounted_comparisons:
            return None
        try:
            return int(WeightedModelSolver(self.model, CountWeights()).total_weight())
        except TooManyConnectedVariablesError:
            return None

    @property
    def _has_uncounted_comparisons(self) -> bool:
        networks = (network for several in self.model.by_context.values() for network in several)
        return not all(can_be_counted(network) for network in networks)

    @cached_property
    def expressions_tested_on_draws(self) -> frozenset[Expr]:
        """The atoms of conditions and constraints that the solver cannot decide: draws are tested with them."""
        networks = (network for several in self.structure_model.by_context.values() for network in several)
        return frozenset(atom for network in networks for atom in network.tested.values())

    def contains_expression_tested_on_draws(self, expression: Expr) -> bool:
        """Return True if a condition or constraint contains one of the `expressions_tested_on_draws`."""
        return len(self.expressions_tested_on_draws) > 0 and not self.expressions_tested_on_draws.isdisjoint(
            hyperparameter_atoms(expression)
        )

    def count_by_discrepancy(self, reference: Structure) -> tuple[int, ...]:
        """Return the numbers of structures that differ from `reference` in exactly 0, 1, 2, ... decisions.

        A decision that the reference does not reach counts as different if it does not take its default.
        """
        polynomials = PackedPolynomials(self.count.bit_length())
        return polynomials.unpack_coefficients(
            int(WeightedModelSolver(self.model, DiscrepancyWeights(reference, polynomials)).total_weight())
        )

    def count_by_branch(self, choice: Choice) -> dict[str, int]:
        """Return the number of structures that take each branch of a decision, by the name of the branch."""
        polynomials = PackedPolynomials(self.count.bit_length())
        weights = BranchIndexWeights(choice, polynomials)
        found = polynomials.unpack_coefficients(int(WeightedModelSolver(self.structure_model, weights).total_weight()))
        return {branch.name: sum(found[place + 1 : place + 2]) for place, branch in enumerate(choice.branches)}

    def nearest_structure(self, taken: Structure) -> Structure:
        """Return the structure with the given branches that is nearest to the default structure.

        It differs in as few further decisions as possible; ties depend only on the space. At least one admissible
        structure must take the branches. If a decision in `taken` is nested, it must have those that lead to it.
        """
        usual = default_structure(self.space, taken)
        if self.is_admissible(usual):
            return usual
        return self._change_solver.condition(taken).draw_structure(index_of_minimum)

    @cached_property
    def _change_solver(self) -> WeightedModelSolver:
        return WeightedModelSolver(self.model, ChangeCostWeights({}))

    def is_admissible(self, structure: Structure) -> bool:
        """Return True if a structure has an admissible configuration; it must have exactly the decisions it reaches."""
        waiting: list[Context] = [()]
        while waiting:
            context = waiting.pop()
            for hurdle in self._tables_by_context.get(context, ()):
                if not hurdle.table.get(hurdle.branch_indices(structure)):
                    return False
            for variable in self._decisions_to_visit.get(context, ()):
                waiting.append((*variable.owners, (variable.address, structure[variable.address])))
        return True

    def admissible_other_branches(self, structure: Structure, choice: Choice) -> list[str]:
        """Return the other branches of a decision that keep the structure admissible if nothing else changes.

        The branches of the decision must not contain other decisions.
        """
        own = choice.branch_indices[structure[choice.address]]
        left = [place for place in range(len(choice.branches)) if place != own]
        for hurdle in self._tables_by_decision.get(choice.address, ()):
            places, at = hurdle.branch_indices(structure), hurdle.choices.index(choice)
            left = [each for each in left if hurdle.table.get((*places[:at], each, *places[at + 1 :]))]
        return [choice.branches[place].name for place in left]

    def decisions_affecting_exchange(self, choice: Choice) -> Iterator[str]:
        """Yield the addresses of the decisions that `admissible_other_branches` depends on, `choice` included."""
        yield choice.address
        for hurdle in self._tables_by_decision.get(choice.address, ()):
            yield from (other.address for other in hurdle.choices)

    @cached_property
    def _tables_by_decision(self) -> dict[str, list["_ConstraintTable"]]:
        """The constraint tables that each decision takes part in, by its address.

        Each table is in the context of the decision or in one above it.
        """
        hurdles = (each for several in self._tables_by_context.values() for each in several)
        return group_by_key((choice.address, hurdle) for hurdle in hurdles for choice in hurdle.choices)

    @cached_property
    def _decisions_to_visit(self) -> dict[Context, list[Variable]]:
        """The decisions of each context that may have constraint tables below them."""
        found: dict[Context, list[Variable]] = {}
        for context in self._tables_by_context:
            for length in range(len(context)):
                variable = self.space.variables[context[length][0]]
                mine = found.setdefault(context[:length], [])
                if variable not in mine:
                    mine.append(variable)
        return found

    @cached_property
    def _tables_by_context(self) -> dict[Context, list["_ConstraintTable"]]:
        """The constraint tables of each context; tables that exclude nothing are omitted."""
        found: dict[Context, list[_ConstraintTable]] = {}
        for context, networks in self.model.by_context.items():
            for network in (each for each in networks if not each.has_only_unconstrained_hyperparameters):
                factors = self.existence_solver.weighted_decision_graph(network).factors
                for factor in _merge_factors(
                    [factor for factor in factors if _excludes_any_state(factor, network.states)]
                ):
                    choices = (self.space.variables[address].node for address in factor.scope)
                    hurdle = _ConstraintTable(tuple(c for c in choices if isinstance(c, Choice)), factor.table)
                    found.setdefault(context, []).append(hurdle)
        return found


def _without_irrelevant_conditions(space: Space) -> Mapping[str, Variable]:
    """Return the variables without conditions that cannot affect which structures exist.

    These are the conditions of hyperparameters that no other expression mentions: whether they are active or not, some
    value exists. There may be thousands of them in alternatives that would otherwise all be connected.
    """
    expressions = expressions_of(space.variables.values(), space.constraints)
    mentioned = {address for expression in expressions for address in mentioned_addresses(expression)}
    freed = {
        node.address: replace(space.variables[node.address], node=replace(node, condition=None))
        for node in space.hyperparameters
        if node.condition is not None and node.address not in mentioned and is_always_decidable(node.condition)
    }
    return {**space.variables, **freed} if freed else space.variables


@frozen
class _ConstraintTable:
    """A table of the joint branches of some decisions; a positive weight means that something admissible has them."""

    choices: tuple[Choice, ...]
    table: Table

    def branch_indices(self, structure: Structure) -> tuple[State, ...]:
        taken = [(choice, structure.get(choice.address)) for choice in self.choices]
        return tuple([UNREACHED if branch is None else choice.branch_indices[branch] for choice, branch in taken])


def _excludes_any_state(factor: Factor, states: Mapping[str, Sequence[State]]) -> bool:
    return any(not factor.table.get(joint) for joint in product(*(states[name] for name in factor.scope)))


def _merge_factors(factors: Sequence[Factor]) -> Iterator[Factor]:
    for first, *others in group_by_key((frozenset(factor.scope), factor) for factor in factors).values():
        places = [[first.scope.index(name) for name in other.scope] for other in others]
        table: Table = {
            joint: weight
            for joint, weight in first.table.items()
            if all(o.table.get(tuple([joint[p] for p in at])) for o, at in zip(others, places, strict=True))
        }
        yield Factor(first.scope, table)
