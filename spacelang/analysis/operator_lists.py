"""Lists of operators with optional members, `(A? & B? & C)`: the number of members, and lists that may be empty."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.diagnostics.structure import EmptyOperatorList
from spacelang.ir.expr import BranchTest, Constant, Expr
from spacelang.ir.partial_evaluation import UNKNOWN, partially_evaluate
from spacelang.ir.space import (
    ABSTRACT_CATALOGUE,
    LIST_PARAMETER,
    SKIPPED_STEP,
    Branch,
    Choice,
    Constraint,
    Hyperparameter,
    Node,
    Product,
    ProductKind,
    Space,
    operators,
)
from spacelang.solver.satisfiability import is_unsatisfiable
from spacelang.text import Span


def member_presence_conditions(decision: Choice, span: Span) -> tuple[Expr, ...]:
    """Return one condition for each member of the lists of a decision, which is true where the list has the member.

    An alternative that is no list counts as one member, if it is not `none` or a plain value. Return nothing for a
    decision without lists.
    """
    if not any(members_of_list(branch) for branch in decision.branches):
        return ()
    found: list[Expr] = []
    for branch in decision.branches:
        members = members_of_list(branch)
        if not members and branch.node != SKIPPED_STEP and not isinstance(branch.node, Hyperparameter):
            found.append(BranchTest(decision.address, (branch.name,), span))
        for member in members:
            optional = decision_of_optional_member(member)
            if optional is None:
                found.append(BranchTest(decision.address, (branch.name,), span))
            else:
                names = tuple(each.name for each in optional.branches if not _is_none(each))
                found.append(BranchTest(optional.address, names, span))
    return tuple(found)


def members_of_list(branch: Branch) -> tuple[Node, ...]:
    """Return the members of an alternative that is a list of operators or parallel steps, else an empty tuple."""
    is_list = isinstance(branch.node, Product) and branch.node.kind is ProductKind.PARALLEL
    return branch.node.children if isinstance(branch.node, Product) and is_list else ()


def decision_of_optional_member(member: Node) -> Choice | None:
    """Return the decision of a member that may be left out, or None if a list always has the member."""
    return member if isinstance(member, Choice) and any(map(_is_none, member.branches)) else None


def check_possibly_empty_lists(space: Space, report: DiagnosticCollector) -> None:
    """Report the lists of operators that have no member in some configuration."""
    for decision in _list_decisions(space):
        for branch in decision.branches:
            members = members_of_list(branch)
            optional = [each for each in map(decision_of_optional_member, members) if each is not None]
            left_out = {each.address: inner.name for each in optional for inner in each.branches if _is_none(inner)}
            owners = space.variables[decision.address].owners
            taken = {**dict(owners), decision.address: branch.name, **left_out}
            if members and len(optional) == len(members) and _is_possible(space, taken):
                report.add(EmptyOperatorList(branch.span, parameter=decision.name))


def _list_decisions(space: Space) -> Iterator[Choice]:
    for operator in operators(space.root):
        for child in operator.children if operator.catalogue != ABSTRACT_CATALOGUE else ():
            if isinstance(child, Choice) and child.name == LIST_PARAMETER:
                yield child


def _is_possible(space: Space, taken: Mapping[str, str]) -> bool:
    """Return True if some configuration takes the given branches of decisions."""
    # Known branches decide most constraints on the number of members, which would connect many decisions.
    left = [
        constraint
        if constraint.scope
        else replace(
            constraint,
            expression=partially_evaluate(constraint.expression, lambda each: taken.get(each, UNKNOWN)),
        )
        for constraint in space.constraints
    ]
    if any(constraint.expression == Constant(constraint.forbidden) for constraint in left):
        return False
    tests = (Constraint(BranchTest(address, (name,)), forbidden=False) for address, name in taken.items())
    undecided = (each for each in left if not isinstance(each.expression, Constant))
    return not is_unsatisfiable(space, (*undecided, *tests))


def _is_none(branch: Branch) -> bool:
    return branch.node == SKIPPED_STEP and branch.value is None
