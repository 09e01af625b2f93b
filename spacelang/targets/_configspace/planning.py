"""The planning of a space for ConfigSpace.

A network is a group of decisions and hyperparameters that conditions and constraints connect. It stays as it is if
ConfigSpace can express all its conditions and constraints. Otherwise it is unfolded into forks
(`reductions.unfolding`), which become categoricals.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final, Literal

from spacelang.ir.domain import Domain, Grid, Real, SimpleDomain, Union, contains, parts
from spacelang.ir.expr import (
    INACTIVE,
    Active,
    And,
    Expr,
    InactiveValue,
    Is,
    Lookup,
    Not,
    Or,
    is_true,
    nodes,
    references,
)
from spacelang.ir.space import Choice, Constraint, Context, Hyperparameter, Variable
from spacelang.ir.value import Value
from spacelang.reductions.questions import VariableNames
from spacelang.reductions.unfolding import network_unfolder
from spacelang.solver.cells import probability_of_cell
from spacelang.solver.counting import CountWeights, Structures
from spacelang.solver.model import Solver
from spacelang.solver.network import Network, TooManyConnectedVariablesError
from spacelang.targets._configspace.forks import ForkConverter
from spacelang.targets._configspace.normal_form import (
    ALWAYS,
    NEVER,
    InexpressibleError,
    MembershipTest,
    NormalForm,
    PairRelation,
    ThresholdTest,
    atom_normal_form,
    conjunction,
    disjunction,
    membership_form,
)
from spacelang.targets._configspace.pieces import (
    EncodedDomain,
    FlatHyperparameter,
    FlatValue,
    finite_hyperparameter,
    weights_or_none,
)
from spacelang.targets._configspace.plan import Plan, PlanBuilder

MIN_ACCEPTANCE: Final = 0.02
"""The minimum share of draws that must satisfy the constraints of a network: ConfigSpace samples by rejection."""


class RefusedConstraintsError(Exception):
    """An error for a network whose conditions or constraints ConfigSpace cannot express at all."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network


def make_plan(structures: Structures, suffix: str) -> Plan:
    """Return the plan of a nonempty space; `suffix` is appended to the names of decisions.

    Raises RefusedConstraintsError and UnsupportedHyperparameterError.
    """
    planner = Planner(structures, suffix)
    planner.add_networks(())
    return planner.plan.build()


class Planner:
    """A builder that adds networks to a plan, one after the other."""

    def __init__(self, structures: Structures, suffix: str) -> None:
        self.plan = PlanBuilder(structures, suffix, VariableNames(structures.space))
        self._structures = structures
        self._unfold = network_unfolder(structures)

    def add_networks(self, context: Context) -> None:
        """Add all networks below a context, whose decisions are already in the plan as categoricals."""
        for network in self._structures.model.by_context.get(context, ()):
            if not self._is_worth_trying(network) or not self._try_direct(network):
                self._add_unfolded(network, context)
                continue
            for member in network.members:
                decision = self.plan.decisions.get(member.address)
                if decision is not None and self.plan.activity[decision.name] != NEVER:
                    for branch in decision.choices:
                        self.add_networks((*member.owners, (member.address, str(branch))))

    def _is_worth_trying(self, network: Network) -> bool:
        """Return True if it is worth trying to express a network directly.

        The constraints must be satisfied by enough draws, and must not fix a float range to single values.
        """
        if not network.constraints:
            return True
        try:
            if Solver(self._structures.model, _AcceptanceProbability()).solve(network).total < MIN_ACCEPTANCE:
                return False
            supported = self._supported
        except TooManyConnectedVariablesError:
            return True
        points = {
            address: frozenset(state for state, cell in enumerate(cells) if cell.size == 1)
            for address, cells in network.cells.items()
            if any(isinstance(cell, Real) and cell.size is None for cell in cells)
        }
        return all((supported[address] - {-1}) - mine or not supported[address] for address, mine in points.items())

    @cached_property
    def _supported(self) -> Mapping[str, frozenset[int]]:
        return self._structures.existence_solver.supported_states()

    def _try_direct(self, network: Network) -> bool:
        """Try to add a network as it is; return False and restore the plan if ConfigSpace cannot express it."""
        before = self.plan.copy()
        try:
            DirectNetworkConverter(self.plan, network).add_to_plan()
            for name in [*self.plan.parameters][len(before.parameters) :]:
                self.plan.order_independent(self.plan.activity[name])
        except InexpressibleError:
            self.plan = before
            return False
        return True

    def _add_unfolded(self, network: Network, context: Context) -> None:
        self.plan.unfolded.append(network)
        try:
            ForkConverter(self.plan, self._unfold(network), context).add_to_plan()
        except (InexpressibleError, TooManyConnectedVariablesError) as error:
            raise RefusedConstraintsError(network) from error


class _AcceptanceProbability(CountWeights):
    """Weights for the probability that independent draws satisfy the constraints of a network."""

    def branch_weight(self, choice: Choice, place: int) -> float:  # noqa: ARG002
        """Return the probability of a branch: all branches are equally likely."""
        return 1 / len(choice.branches)

    def cell_weight(self, hyperparameter: Hyperparameter, cell: SimpleDomain) -> float:
        """Return the share of the values that lie in a cell."""
        return probability_of_cell(cell, hyperparameter.domain)


MAX_CELLS: Final = 12
"""The maximum number of parts into which a range is cut."""
MAX_CLAUSES: Final = 400
"""The maximum number of clauses: the sampling of ConfigSpace needs memory quadratic in their number."""
MAX_CLAUSES_PER_HYPERPARAMETER: Final = 50
"""The maximum number of clauses per hyperparameter."""
_SIGNS: Final[tuple[Literal["<", "==", ">"], ...]] = ("<", "==", ">")


class DirectNetworkConverter:
    """A conversion of one network, without unfolding it, into entries of a plan."""

    def __init__(self, plan: PlanBuilder, network: Network) -> None:
        self.plan = plan
        self.network = network
        self.cells = network.cells
        self.members: Mapping[str, Variable] = {member.address: member for member in network.members}
        self.codes: dict[str, EncodedDomain] = {}

    def add_to_plan(self) -> None:
        """Add the network to the plan; raise InexpressibleError if ConfigSpace cannot express it."""
        for address in self.members:
            self._add_variable(address)
        clauses = [way for constraint in self.network.constraints for way in self._clauses(constraint)]
        most = min(MAX_CLAUSES, MAX_CLAUSES_PER_HYPERPARAMETER * len(self.plan.parameters))
        if len(clauses) + len(self.plan.clauses) > most:
            raise InexpressibleError
        self.plan.clauses.extend(clauses)
        self.plan.writers.append(self._write)

    def _write(self, lookup: Lookup, values: dict[str, FlatValue]) -> None:
        for address in self.members:
            worth = lookup(address)
            if isinstance(worth, InactiveValue):
                continue
            if address in self.codes:
                values.update(self.codes[address].encode(worth))
            else:
                assert isinstance(worth, str)
                values[self.plan.decisions[address].name] = worth

    def _add_variable(self, address: str) -> None:
        """Add a variable to the plan, after all variables on which it depends."""
        if address in self.codes or address in self.plan.decisions:
            return
        member = self.members[address]
        for owner, _ in member.owners:
            if owner in self.members:
                self._add_variable(owner)
        active = self.plan.reached_form(member.owners)
        node = member.node
        if isinstance(node, Choice):
            self._add_decision(node, active)
            return
        if node.condition is not None:
            active = conjunction(active, self.normal_form(node.condition, True))
        self.codes[address] = self.plan.add_domain(node, self._cut_domain(node), active)

    def _cut_domain(self, node: Hyperparameter) -> Domain:
        """Return the domain, cut at limits that ConfigSpace could not compare exactly.

        It compares the logarithms of integers, which have rounding errors.
        """
        cells = self.cells[node.address]
        blurred = [part for part in parts(node.domain) if isinstance(part, Grid) and part.log]
        if not blurred or len(cells) > MAX_CELLS:
            return node.domain
        found = [
            cell
            for part in parts(node.domain)
            for cell in ([cell for cell in cells if contains(part, cell.representative)] if part in blurred else [part])
        ]
        return node.domain if len(found) == len(parts(node.domain)) else Union(tuple(found))

    def _add_decision(self, choice: Choice, active: NormalForm) -> None:
        plan = self.plan
        owners = self.members[choice.address].owners
        total = plan.structures.existence_solver.total
        living = [each for each in choice.branches if total((*owners, (choice.address, each.name)))]
        if not living:
            plan.clauses.extend(active)
            living, active = [*choice.branches], NEVER
        branches = tuple(branch.name for branch in living)
        weights = tuple(branch.weight for branch in living)
        default = choice.branches[choice.default].name
        usual = default if default in branches else branches[0]
        parameter = finite_hyperparameter(
            plan.names.make_unique(plan.preferred_name(choice)), branches, usual, weights_or_none(weights)
        )
        plan.add_hyperparameter(parameter, active)
        plan.decisions[choice.address] = parameter
        plan.coded.append((choice, parameter))
        plan.readers[parameter.name] = lambda values: (choice.key, _branch(parameter, values))

    def _clauses(self, constraint: Constraint) -> NormalForm:
        """Return the forbidden clauses of a constraint.

        A constraint applies only where all variables that it names are active.
        """
        applies = conjunction(*(self._where_active(address) for address in constraint.scope))
        found = conjunction(applies, self.normal_form(constraint.expression, constraint.forbidden))
        if frozenset() in found:
            raise InexpressibleError
        return found

    def normal_form(self, expression: Expr, truth: bool) -> NormalForm:
        """Return the normal form of the configurations in which an expression has a truth value."""
        match expression:
            case Not():
                return self.normal_form(expression.term, not truth)
            case And() | Or():
                ways = [self.normal_form(term, truth) for term in expression.terms]
                return conjunction(*ways) if isinstance(expression, And) is truth else disjunction(*ways)
            case Is():
                return self._branch_test(expression, truth)
            case Active():
                active = self._where_active(expression.address)
                return active if truth else self._negation(active)
            case _:
                return self._atom(expression, truth)

    def _atom(self, atom: Expr, truth: bool) -> NormalForm:
        named = references(atom)
        if not named:
            return ALWAYS if is_true(atom, lambda _: INACTIVE) is truth else NEVER
        if any(isinstance(node, Is | Active) for node in nodes(atom)):
            raise InexpressibleError
        for address in named:
            self._add_variable(address)
        found = atom_normal_form(atom, truth, self.codes, self.plan.activity)
        return (
            found if truth else disjunction(*(self._negation(self._where_active(address)) for address in named), found)
        )

    def _branch_test(self, test: Is, truth: bool) -> NormalForm:
        self._add_variable(test.address)
        parameter = self.plan.decisions[test.address]
        branches = [branch for branch in parameter.choices if (branch in test.branches) is truth]
        found = membership_form(parameter, branches, self.plan.activity)
        return found if truth else disjunction(self._negation(self.plan.activity[parameter.name]), found)

    def _where_active(self, address: str) -> NormalForm:
        self._add_variable(address)
        known = self.codes[address].parameters[0] if address in self.codes else self.plan.decisions[address]
        return self.plan.activity[known.name]

    def _negation(self, ways: NormalForm) -> NormalForm:
        """Return the negation of a normal form."""
        return conjunction(*(disjunction(*(self._test_negation(test) for test in way)) for way in ways))

    def _test_negation(self, test: MembershipTest | ThresholdTest | PairRelation) -> NormalForm:
        if not isinstance(test, MembershipTest):
            return self._comparison_negation(test)
        parameter = self.plan.parameters[test.name]
        others = membership_form(parameter, [v for v in parameter.choices if v not in test.values], self.plan.activity)
        return disjunction(self._negation(self.plan.activity[test.name]), others)

    def _comparison_negation(self, test: ThresholdTest | PairRelation) -> NormalForm:
        if isinstance(test, PairRelation):
            raise InexpressibleError
        parameter = self.plan.parameters[test.name]
        signs = [sign for sign in _SIGNS if sign != test.sign]
        others = disjunction(
            *(
                (frozenset((replace(test, sign=sign),)),)
                for sign in signs
                if not (sign == "<" and test.number <= parameter.lower)
                and not (sign == ">" and test.number >= parameter.upper)
            )
        )
        return disjunction(self._negation(self.plan.activity[test.name]), others)


def _branch(parameter: FlatHyperparameter, values: Mapping[str, FlatValue]) -> Value:
    branch = values[parameter.name]
    if branch not in parameter.choices:
        raise LookupError
    return branch
