"""Lists of operators with optional members, `(A? & B? & C)`: the number of members, and lists that may be empty."""

from collections.abc import Iterable

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.diagnostics.structure import EmptyOperatorList
from spacelang.ir.expr import And, BranchTest, Expr
from spacelang.ir.space import (
    SKIPPED_STEP,
    Branch,
    Choice,
    Constraint,
    Hyperparameter,
    Node,
    Product,
    ProductKind,
    Space,
)
from spacelang.solver.satisfiability import is_unsatisfiable
from spacelang.text import Span


def presence_of_members(decision: Choice, span: Span) -> tuple[Expr, ...]:
    """Return one condition for each member of the lists of a decision, which is true where the list has the member.

    An alternative that is no list counts as one member, if it is not `none` or a plain value. Return nothing for a
    decision without lists.
    """
    if not any(members_of(branch) for branch in decision.branches):
        return ()
    found: list[Expr] = []
    for branch in decision.branches:
        members = members_of(branch)
        if not members and branch.node != SKIPPED_STEP and not isinstance(branch.node, Hyperparameter):
            found.append(BranchTest(decision.address, (branch.name,), span))
        for member in members:
            optional = optional_member(member)
            test = (decision.address, (branch.name,))
            if optional is not None:
                names = tuple(each.name for each in optional.branches if not _is_none(each))
                test = (optional.address, names)
            found.append(BranchTest(*test, span))
    return tuple(found)


def members_of(branch: Branch) -> tuple[Node, ...]:
    """Return the members of an alternative that is a list of operators or parallel steps, else an empty tuple."""
    is_list = isinstance(branch.node, Product) and branch.node.kind is ProductKind.PARALLEL
    return branch.node.children if isinstance(branch.node, Product) and is_list else ()


def optional_member(member: Node) -> Choice | None:
    """Return the decision of a member that may be left out, or None if a list always has the member."""
    return member if isinstance(member, Choice) and any(map(_is_none, member.branches)) else None


def check(space: Space, addresses: Iterable[str], report: DiagnosticCollector) -> None:
    """Report the lists of decisions, given by address, that have no member in some configuration."""
    for address in addresses:
        decision = space.variables[address].choice
        for branch in decision.branches:
            members = members_of(branch)
            optional = [each for each in map(optional_member, members) if each is not None]
            if len(optional) < len(members):
                continue
            left_out = [
                BranchTest(each.address, tuple(inner.name for inner in each.branches if _is_none(inner)))
                for each in optional
            ]
            is_empty = And((BranchTest(address, (branch.name,)), *left_out))
            if not is_unsatisfiable(space, (*space.constraints, Constraint(is_empty, forbidden=False))):
                report.add(EmptyOperatorList(branch.span, parameter=decision.name))


def _is_none(branch: Branch) -> bool:
    return branch.node == SKIPPED_STEP and branch.value is None
