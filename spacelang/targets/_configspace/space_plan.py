"""The plan of a ConfigSpace object, and the conversion of networks that ConfigSpace can express without unfolding."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Final, Literal

from spacelang.ir import expr
from spacelang.ir.domain import Domain, SimpleDomain, Union, contains, parts
from spacelang.ir.space import Choice, Constraint, Context, Hyperparameter, Variable
from spacelang.ir.value import Value
from spacelang.reductions.space_questions import VariableNames
from spacelang.solver.constraint_network import ConstraintNetwork
from spacelang.solver.counting import Structures
from spacelang.targets._configspace import disjunctive_normal_form as dnf
from spacelang.targets._configspace import encoded_domains as cs
from spacelang.targets._configspace.disjunctive_normal_form import (
    ALWAYS,
    NEVER,
    Conjunction,
    NormalForm,
    conjunction,
    disjunction,
)

MAX_CELLS: Final = 12  # The maximum number of parts into which a range is cut
MAX_CLAUSES: Final = 400
"""The maximum number of clauses: the sampling of ConfigSpace needs memory quadratic in their number."""
MAX_CLAUSES_PER_HYPERPARAMETER: Final = 50  # The maximum number of clauses per hyperparameter
MAX_CONDITION_TERMS: Final = 64
"""The maximum number of conjunctions in a condition.

ConfigSpace compares a condition with itself for each of its tests, which takes minutes for a hundred conjunctions.
"""
_SIGNS: Final[tuple[Literal["<", "==", ">"], ...]] = ("<", "==", ">")

Values = dict[str, cs.FlatValue]
Reader = Callable[[Mapping[str, cs.FlatValue]], tuple[str, Value] | None]
Writer = Callable[[expr.Lookup, Values], None]


@dataclass(frozen=True)
class ConfigSpacePlan:
    """The ConfigSpace hyperparameters, conditions and clauses of a space, with converters of configurations.

    `parameters` has the hyperparameters by name, owners first. `conditions` has the conditions of hyperparameters that
    are not always active. A reader returns the key and the value that a hyperparameter encodes; if several encode one
    value, only the first has a reader. A writer adds the encoded values of some variables of a configuration.

    `constants` has the only value of each hyperparameter that is left out because it is always the same: tools such as
    SMAC evaluate more initial configurations for more hyperparameters. `fixed` has the values in configurations that
    they encode, by key. Nothing is left out if it would be everything, or if names are those of auto-sklearn.
    """

    parameters: dict[str, cs.FlatHyperparameter]
    conditions: dict[str, NormalForm]
    clauses: tuple[Conjunction, ...]
    readers: Mapping[str, Reader]
    writers: tuple[Writer, ...]
    coded: tuple[tuple[Choice | Hyperparameter, cs.EncodedDomain | cs.FlatHyperparameter], ...]
    unfolded: tuple[ConstraintNetwork, ...]
    constants: Mapping[str, cs.FlatValue]
    fixed: Mapping[str, Value]

    @cached_property
    def index_by_name(self) -> Mapping[str, int]:
        """The index of each hyperparameter, by name."""
        return {name: place for place, name in enumerate(self.parameters)}


class UnsupportedHyperparameterError(Exception):
    """An error for a hyperparameter whose range ConfigSpace cannot represent."""

    def __init__(self, node: Hyperparameter) -> None:
        super().__init__()
        self.node = node


class LongConditionError(dnf.InexpressibleError):
    """An error for a condition with more than `MAX_CONDITION_TERMS` conjunctions."""


@dataclass
class PlanBuilder:
    """A plan under construction; `suffix` is appended to the names of the parameters for decisions."""

    structures: Structures
    suffix: str
    names: VariableNames
    parameters: dict[str, cs.FlatHyperparameter] = field(default_factory=dict)
    activity: dict[str, NormalForm] = field(default_factory=dict)
    clauses: list[Conjunction] = field(default_factory=list)
    readers: dict[str, Reader] = field(default_factory=dict)
    writers: list[Writer] = field(default_factory=list)
    coded: list[tuple[Choice | Hyperparameter, cs.EncodedDomain | cs.FlatHyperparameter]] = field(default_factory=list)
    decisions: dict[str, cs.FlatHyperparameter] = field(default_factory=dict)
    unfolded: list[ConstraintNetwork] = field(default_factory=list)
    _depths: dict[tuple[str, NormalForm], int] = field(default_factory=dict)

    def copy(self) -> "PlanBuilder":
        """Return an independent copy."""
        held = {name: value.copy() for name, value in vars(self).items() if name not in {"structures", "suffix"}}
        return PlanBuilder(self.structures, self.suffix, **held)

    def build(self) -> ConfigSpacePlan:
        """Return the finished plan, without hyperparameters that are never active."""
        active = self.activity.items()
        conditions = {name: self.make_order_independent(ways) if ways != ALWAYS else ways for name, ways in active}
        while never := {name for name, ways in conditions.items() if ways == NEVER}:
            left = ((name, ways) for name, ways in conditions.items() if name not in never)
            conditions = {name: tuple(way for way in ways if not dnf.tested_names(way) & never) for name, ways in left}
        clauses = tuple(dict.fromkeys(dnf.without_implied_tests(way, self.activity) for way in self.clauses))
        parameters = {name: self.parameters[name] for name in conditions}
        needed = {name: ways for name, ways in conditions.items() if ways != ALWAYS}
        kept = tuple(way for way in clauses if dnf.tested_names(way) <= conditions.keys())
        lists = (tuple(self.writers), tuple(self.coded), tuple(self.unfolded))
        tested = {name for way in (*kept, *chain(*needed.values())) for name in dnf.tested_names(way)}
        always = {name: each for name, each in parameters.items() if name not in needed and name not in tested}
        constants = {name: each.choices[0] for name, each in always.items() if each.kind == "constant"}
        if self.suffix or len(constants) == len(parameters):
            constants = {}
        read = (self.readers[name](constants) for name in constants if name in self.readers)
        chosen = {name: each for name, each in parameters.items() if name not in constants}
        return ConfigSpacePlan(chosen, needed, kept, self.readers, *lists, constants, dict(filter(None, read)))

    def context_reached_condition(self, context: Context) -> NormalForm:
        """Return the condition that the last branch of a context is taken."""
        if not context:
            return ALWAYS
        owner, branch = context[-1]
        return dnf.membership_form(self.decisions[owner], [branch], self.activity)

    def preferred_name(self, node: Choice | Hyperparameter) -> str:
        """Return the preferred name of a variable; that of a decision ends with the suffix."""
        return self.names.name_of(node) + (self.suffix if isinstance(node, Choice) else "")

    def add_hyperparameter(self, parameter: cs.FlatHyperparameter, active: NormalForm) -> None:
        """Add a ConfigSpace hyperparameter, and the condition under which it is active."""
        self.parameters[parameter.name] = parameter
        self.activity[parameter.name] = active

    def add_domain(self, node: Hyperparameter, domain: Domain, active: NormalForm) -> cs.EncodedDomain:
        """Add the ConfigSpace hyperparameters for `domain`, which is the domain of `node` or a piece of it.

        `active` is the condition under which it is active. Raises UnsupportedHyperparameterError for ranges that
        ConfigSpace cannot represent.
        """
        try:
            several = parts(domain)
            is_cut = len(several) > 1 and domain != node.domain
            shares = tuple(cs.piece_probability(part, node.domain) for part in several) if is_cut else None
            name = self.preferred_name(node)
            found = cs.encode_domain(domain, name, self.names.make_unique, cs.normal_prior_parameters(node), shares)
        except cs.UnsupportedRangeError as error:
            raise UnsupportedHyperparameterError(node) from error
        self.add_hyperparameter(found.parameters[0], active)
        for place, piece in enumerate(found.pieces):
            if found.selector is not None and isinstance(piece, cs.HyperparameterPiece):
                taken = dnf.membership_form(found.selector, [found.selector.choices[place]], self.activity)
                self.add_hyperparameter(piece.parameter, taken)
        self.readers[found.parameters[0].name] = lambda values: (node.key, found.decode(values))
        self.coded.append((node, found))
        return found

    def make_order_independent(self, ways: NormalForm) -> NormalForm:
        """Return an equivalent condition that does not depend on the order in which ConfigSpace checks conditions.

        ConfigSpace sorts conditions by the shallowest hyperparameter that each of them names. Until the condition of an
        inactive hyperparameter has been checked, its drawn value still counts. Raises InexpressibleError if ConfigSpace
        cannot express the condition.
        """
        found = disjunction(tuple(dnf.without_implied_tests(way, self.activity) for way in ways))
        if len({self._depth(name) for way in found for name in dnf.tested_names(way)}) > 1:
            found = disjunction(*(dnf.with_activity_conditions(way, self.activity) for way in found))
        if any(isinstance(test, dnf.PairRelation) for way in found for test in way):
            raise dnf.InexpressibleError
        if len(found) > MAX_CONDITION_TERMS:
            raise LongConditionError
        return found

    def _depth(self, name: str) -> int:
        """Return the depth of a hyperparameter in the condition graph of ConfigSpace, counted from 1."""
        key = (name, self.activity[name])
        if key not in self._depths:
            tests = [dnf.without_implied_tests(way, self.activity) for way in key[1]]
            named = {other for way in tests for other in dnf.tested_names(way)}
            self._depths[key] = 1 + max((self._depth(other) for other in named), default=0)
        return self._depths[key]


class DirectNetworkConverter:
    """A conversion of one network, without unfolding it, into entries of a plan."""

    def __init__(self, plan: PlanBuilder, network: ConstraintNetwork) -> None:
        self.plan, self.network = plan, network
        self.cells = network.cells
        self.members: Mapping[str, Variable] = {member.address: member for member in network.members}
        self.codes: dict[str, cs.EncodedDomain] = {}

    def add_to_plan(self) -> None:
        """Add the network to the plan; raise InexpressibleError if ConfigSpace cannot express it."""
        for address in self.members:
            self._add_variable(address)
        clauses = [way for constraint in self.network.constraints for way in self._clauses(constraint)]
        most = min(MAX_CLAUSES, MAX_CLAUSES_PER_HYPERPARAMETER * len(self.plan.parameters))
        if len(clauses) + len(self.plan.clauses) > most:
            raise dnf.InexpressibleError
        self.plan.clauses.extend(clauses)
        self.plan.writers.append(self._write)

    def _write(self, lookup: expr.Lookup, values: dict[str, cs.FlatValue]) -> None:
        for address in self.members:
            worth = lookup(address)
            if isinstance(worth, expr.InactiveValue):
                continue
            if address in self.codes:
                values.update(self.codes[address].encode(worth))
            else:
                assert isinstance(worth, str)
                values[self.plan.decisions[address].name] = worth

    def _add_variable(self, address: str) -> None:
        """Add a variable of the network to the plan, after all variables on which it depends."""
        if address in self.codes or address in self.plan.decisions:
            return
        member = self.members[address]
        for owner, _ in member.owners:
            if owner in self.members:
                self._add_variable(owner)
        active = self.plan.context_reached_condition(member.owners)
        node = member.node
        if isinstance(node, Choice):
            self._add_decision(node, active)
            return
        if node.condition is not None:
            active = conjunction(active, self.normal_form(node.condition, True))
        self.codes[address] = self.plan.add_domain(node, self._cut_domain(node), active)

    def _cut_domain(self, node: Hyperparameter) -> Domain:
        """Return the domain of a hyperparameter, with logarithmic integers split where tests compare them.

        Only ranges that are too large for exact comparisons are split; each piece becomes a part of a union.
        """
        cells = self.cells[node.address]
        blurred = [part for part in parts(node.domain) if not dnf.has_exact_thresholds(part)]
        if not blurred or len(cells) > MAX_CELLS:
            return node.domain
        found: list[SimpleDomain] = []
        for part in parts(node.domain):
            found += [c for c in cells if contains(part, c.representative)] if part in blurred else [part]
        return node.domain if len(found) == len(parts(node.domain)) else Union(tuple(found))

    def _add_decision(self, choice: Choice, active: NormalForm) -> None:
        plan = self.plan
        owners = self.members[choice.address].owners
        total = plan.structures.existence_solver.total_weight
        counts = {each.name: total((*owners, (choice.address, each.name))) for each in choice.branches}
        living = [each for each in choice.branches if counts[each.name]]
        if not living:
            plan.clauses.extend(active)
            living, active = [*choice.branches], NEVER
        branches = tuple(branch.name for branch in living)
        # An alternative is drawn as often as the structures in it; each number of uses of a chain is drawn alike.
        below = [Fraction(branch.weight) * (1 if choice.repeats else counts[branch.name] or 1) for branch in living]
        weights = [float(weight / sum(below)) for weight in below] if len({*below}) > 1 else None
        default = choice.branches[choice.default].name
        usual = default if default in branches else branches[0]
        name = plan.names.make_unique(plan.preferred_name(choice))
        parameter = cs.make_finite_hyperparameter(name, branches, usual, weights)
        plan.add_hyperparameter(parameter, active)
        plan.decisions[choice.address] = parameter
        plan.coded.append((choice, parameter))
        known: dict[cs.FlatValue, str] = {branch: branch for branch in branches}
        plan.readers[name] = lambda values: (choice.key, known[values[name]])

    def _clauses(self, constraint: Constraint) -> NormalForm:
        """Return the forbidden clauses of a constraint, which applies where all variables that it names are active."""
        applies = conjunction(*(self._where_active(address) for address in constraint.scope))
        found = conjunction(applies, self.normal_form(constraint.expression, constraint.forbidden))
        if frozenset() in found:
            raise dnf.InexpressibleError
        return found

    def normal_form(self, expression: expr.Expr, truth: bool) -> NormalForm:
        """Return the condition that an expression has the truth value `truth`, as a normal form."""
        match expression:
            case expr.Not():
                return self.normal_form(expression.term, not truth)
            case expr.And() | expr.Or():
                ways = [self.normal_form(term, truth) for term in expression.terms]
                return conjunction(*ways) if isinstance(expression, expr.And) is truth else disjunction(*ways)
            case expr.BranchTest():
                return self._branch_test(expression, truth)
            case expr.ActivityTest():
                active = self._where_active(expression.address)
                return active if truth else self._negation(active)
            case _:
                return self._atom(expression, truth)

    def _atom(self, atom: expr.Expr, truth: bool) -> NormalForm:
        named = expr.references(atom)
        if not named:
            return ALWAYS if expr.is_true(atom, lambda _: expr.INACTIVE) is truth else NEVER
        if any(isinstance(node, expr.BranchTest | expr.ActivityTest) for node in expr.nodes(atom)):
            raise dnf.InexpressibleError
        for address in named:
            self._add_variable(address)
        found = dnf.atom_normal_form(atom, truth, self.codes, self.plan.activity)
        inactive = () if truth else (self._negation(self._where_active(address)) for address in named)
        return found if truth else disjunction(*inactive, found)

    def _branch_test(self, test: expr.BranchTest, truth: bool) -> NormalForm:
        self._add_variable(test.address)
        parameter = self.plan.decisions[test.address]
        branches = [branch for branch in parameter.choices if (branch in test.branches) is truth]
        found = dnf.membership_form(parameter, branches, self.plan.activity)
        return found if truth else disjunction(self._negation(self.plan.activity[parameter.name]), found)

    def _where_active(self, address: str) -> NormalForm:
        self._add_variable(address)
        known = self.codes[address].parameters[0] if address in self.codes else self.plan.decisions[address]
        return self.plan.activity[known.name]

    def _negation(self, ways: NormalForm) -> NormalForm:
        return conjunction(*(disjunction(*(self._test_negation(test) for test in way)) for way in ways))

    def _test_negation(self, test: dnf.MembershipTest | dnf.ThresholdTest | dnf.PairRelation) -> NormalForm:
        if isinstance(test, dnf.PairRelation):
            raise dnf.InexpressibleError
        parameter = self.plan.parameters[test.name]
        if isinstance(test, dnf.MembershipTest):
            left = [value for value in parameter.choices if value not in test.values]
            others = dnf.membership_form(parameter, left, self.plan.activity)
            return disjunction(self._negation(self.plan.activity[test.name]), others)
        is_possible = {"<": test.number > parameter.lower, "==": True, ">": test.number < parameter.upper}
        signs = [sign for sign in _SIGNS if sign != test.sign and is_possible[sign]]
        others = disjunction(*((frozenset((replace(test, sign=sign),)),) for sign in signs))
        return disjunction(self._negation(self.plan.activity[test.name]), others)
