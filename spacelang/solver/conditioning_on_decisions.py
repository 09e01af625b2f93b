"""Condition hyperparameters on decisions, once for all structures that are equivalent for them.

A structure is a choice of one branch for every reached decision. A component is a set of hyperparameters that
conditions and constraints connect once all decisions are known. These sets are much smaller than the networks that
include decisions. The situation of a component is all that matters to it about the decisions: whether its owners are
taken, and the outcome of the decisions that its conditions and constraints test.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from spacelang.grouping import group_by_key
from spacelang.ir import space as ir
from spacelang.ir.expr import (
    INACTIVE,
    ActivityTest,
    And,
    BranchTest,
    Constant,
    ExpressionValue,
    Not,
    Or,
    nodes,
    references,
)
from spacelang.ir.partial_evaluation import UNKNOWN, Unknown, partially_evaluate
from spacelang.ir.walk import Structure, expressions_of
from spacelang.solver.bucket_elimination import group_variables
from spacelang.solver.model import SolverModel


@dataclass(frozen=True, slots=True)
class RelevantDecision:
    """A decision that matters to a component, with its branches grouped into equivalence classes.

    `classes` has the class of each branch and of "not reached" (last), `examples` one branch (None) of each class, and
    `by_branch` the class of each branch name (None).
    """

    address: str
    classes: tuple[int, ...]
    examples: tuple[str | None, ...]
    by_branch: Mapping[str | None, int]


@dataclass(frozen=True, eq=False)
class HyperparameterComponent:
    """A set of connected hyperparameters with their constraints, below the branches that lead to all of them."""

    members: tuple[ir.Variable, ...]
    constraints: tuple[ir.Constraint, ...]
    context: ir.Context
    decisions: tuple[RelevantDecision, ...]

    @cached_property
    def is_unconstrained(self) -> bool:
        """True if the component has no constraint and no condition; it then has a single hyperparameter."""
        return not self.constraints and all(member.condition is None for member in self.members)

    @cached_property
    def mentioned_members(self) -> frozenset[str]:
        """The addresses of the hyperparameters that a condition or constraint of the component mentions."""
        expressions = expressions_of(self.members, self.constraints)
        return frozenset(address for expression in expressions for address in references(expression))


@dataclass(frozen=True, slots=True)
class DecisionDependency:
    """A component that depends on a decision: the decision matters to it, or one of its branches contains it.

    `below` is the branch of this decision that contains the component, or None. `others` are the branches of other
    decisions around the component.
    """

    component: HyperparameterComponent
    below: str | None
    others: ir.Context


class ComponentConditioner:
    """The components of a space, and a cache of what remains of each component in each situation."""

    def __init__(self, space: ir.Space) -> None:
        self.by_context = group_by_key((component.context, component) for component in _components(space))
        self._dependent = [each for found in self.by_context.values() for each in found if each.decisions]
        components = (each for found in self.by_context.values() for each in found)
        self.component_of = {member.address: each for each in components for member in each.members}
        self._cached_space = lru_cache(maxsize=8192)(self._make_space)
        self._cached_model = lru_cache(maxsize=8192)(self._make_model)

    def dependent_components(self, structure: Structure) -> Iterator[HyperparameterComponent]:
        """Yield the components that a structure reaches and that depend on decisions outside of their context."""
        return (component for component in self._dependent if is_context_reached(component.context, structure))

    def dependencies_on(self, address: str) -> Sequence["DecisionDependency"]:
        """Return the components to which a decision matters or that lie below one of its branches.

        Only components that depend on decisions outside of their context are among them.
        """
        return self._dependencies.get(address, ())

    @cached_property
    def _dependencies(self) -> dict[str, list["DecisionDependency"]]:
        found: dict[str, list[DecisionDependency]] = {}
        for component in self._dependent:
            asked = (ask.address for ask in component.decisions)
            for address in dict.fromkeys([*asked, *(owner for owner, _ in component.context)]):
                below = next((branch for owner, branch in component.context if owner == address), None)
                others = tuple(each for each in component.context if each[0] != address)
                found.setdefault(address, []).append(DecisionDependency(component, below, others))
        return found

    def relevant_branch_classes(self, component: HyperparameterComponent, structure: Structure) -> tuple[int, ...]:
        """Return the situation of a component: the class of the taken branch of each decision that matters to it."""
        return tuple([ask.by_branch[structure.get(ask.address)] for ask in component.decisions])

    def representative_branches(self, component: HyperparameterComponent, situation: tuple[int, ...]) -> Structure:
        """Return an example of a branch for each decision that matters to a component, given the classes of branches.

        `situation` is the result of `relevant_branch_classes`. Decisions that are not reached are missing.
        """
        asked = zip(component.decisions, situation, strict=True)
        return {ask.address: branch for ask, each in asked if (branch := ask.examples[each]) is not None}

    def residual_space(self, component: HyperparameterComponent, situation: tuple[int, ...]) -> ir.Space:
        """Return what remains of a component in a situation, as a space of hyperparameters without decisions.

        The situation is the result of `relevant_branch_classes`.
        """
        return self._cached_space(component, situation)

    def residual_model(self, component: HyperparameterComponent, situation: tuple[int, ...]) -> SolverModel:
        """Return the model of what remains of a component in a situation."""
        return self._cached_model(component, situation)

    def _make_model(self, component: HyperparameterComponent, situation: tuple[int, ...]) -> SolverModel:
        space = self.residual_space(component, situation)
        return SolverModel(space.variables, space.constraints)

    def _make_space(self, component: HyperparameterComponent, situation: tuple[int, ...]) -> ir.Space:
        taken = {**dict(component.context), **self.representative_branches(component, situation)}
        return condition_on_decisions(component.members, component.constraints, taken)


def is_context_reached(context: ir.Context, structure: Structure) -> bool:
    """Return True if a structure takes all branches of a context."""
    return not context or all(structure.get(owner) == branch for owner, branch in context)


def _components(space: ir.Space) -> Iterator[HyperparameterComponent]:
    variables = {a: v for a, v in space.variables.items() if isinstance(v.node, ir.Hyperparameter)}
    for context, members, constraints in group_variables(variables, [each for each in space.constraints if each.scope]):
        yield HyperparameterComponent(
            members, constraints, context, tuple(_relevant_decisions(space, members, constraints, context))
        )


def _relevant_decisions(
    space: ir.Space, members: Sequence[ir.Variable], constraints: Sequence[ir.Constraint], context: ir.Context
) -> Iterator[RelevantDecision]:
    expressions = expressions_of(members, constraints)
    tests = [each for expression in expressions for each in nodes(expression) if isinstance(each, BranchTest)]
    owners = dict.fromkeys(owner for member in members for owner in member.owners[len(context) :])
    known = {address for address, _ in context}
    for address in dict.fromkeys([*(owner for owner, _ in owners), *(test.address for test in tests)]):
        if address in known:
            continue
        choice = space.variables[address].choice
        mine = dict.fromkeys(test.branches for test in tests if test.address == address)
        owning = {branch for owner, branch in owners if owner == address}
        yield _relevant_decision(choice, owning, tuple(mine))


def _relevant_decision(choice: ir.Choice, owning: set[str], tests: tuple[tuple[str, ...], ...]) -> RelevantDecision:
    classes: list[int] = []
    examples: dict[tuple[object, ...], str | None] = {}
    for branch in (*choice.branch_indices, None):
        signature = (branch if branch in owning else None, *(branch in test for test in tests))
        examples.setdefault(signature, branch)
        classes.append(list(examples).index(signature))
    by_branch = dict(zip((*choice.branch_indices, None), classes, strict=True))
    return RelevantDecision(choice.address, tuple(classes), tuple(examples.values()), by_branch)


def condition_on_decisions(
    members: Sequence[ir.Variable], constraints: Sequence[ir.Constraint], taken: Structure
) -> ir.Space:
    """Return a space of those `members` that are reached if all decisions are as in `taken`.

    Decisions missing in `taken` are not reached. Conditions and constraints are simplified accordingly. `members` must
    include all hyperparameters that they name.
    """
    settled = _ConditionedParts(members, taken)
    nodes = [node for member in members if (node := settled.residual_hyperparameter(member.address)) is not None]
    kept = [found for constraint in constraints if (found := settled.residual_constraint(constraint)) is not None]
    return ir.Space("", ir.Product(ir.ProductKind.SEQUENCE, tuple(nodes)), tuple(kept))


class _ConditionedParts:
    def __init__(self, members: Sequence[ir.Variable], taken: Structure) -> None:
        self._members: Mapping[str, ir.Variable] = {member.address: member for member in members}
        self._taken = taken
        self._nodes: dict[str, ir.Hyperparameter | None] = {}

    def residual_hyperparameter(self, address: str) -> ir.Hyperparameter | None:
        if address not in self._nodes:
            self._nodes[address] = self._make_hyperparameter(self._members[address])
        return self._nodes[address]

    def _make_hyperparameter(self, member: ir.Variable) -> ir.Hyperparameter | None:
        node = member.hyperparameter
        if any(self._taken.get(owner) != branch for owner, branch in member.owners):
            return None
        if node.condition is None:
            return node
        condition = partially_evaluate(node.condition, self._known_value)
        if condition == Constant(False):
            return None
        return replace(node, condition=None if condition == Constant(True) else condition)

    def residual_constraint(self, constraint: ir.Constraint) -> ir.Constraint | None:
        """Simplify a constraint under the known decisions; None if it is inapplicable or always holds."""
        found = [self.residual_hyperparameter(address) for address in constraint.scope]
        if any(node is None for node in found):
            return None
        truth = partially_evaluate(constraint.expression, self._known_value)
        if truth == Constant(not constraint.forbidden):
            return None
        named = set(references(truth))
        lost = [n for n in found if n is not None and n.condition is not None and n.address not in named]
        if not lost:
            return replace(constraint, expression=truth)
        # The constraint applies only if all that it named is active: names that vanished are tested explicitly.
        kept = Not(truth) if constraint.forbidden else truth
        inactive = Not(And(tuple(ActivityTest(node.address) for node in lost)))
        return replace(constraint, expression=Or((inactive, kept)), forbidden=False)

    def _known_value(self, address: str) -> ExpressionValue | Unknown:
        """Return the known value of a decision, INACTIVE for an inactive hyperparameter, and UNKNOWN otherwise.

        The value of a decision is its branch, or INACTIVE if the decision is not reached.
        """
        if address not in self._members:
            return self._taken.get(address, INACTIVE)
        return INACTIVE if self.residual_hyperparameter(address) is None else UNKNOWN
