"""Lists of operators with optional members, `(A? & B? & C)`: their number of members, and empty ones."""

from collections.abc import Iterable, Iterator

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.diagnostics.structure import EmptyOperatorList
from spacelang.ir.expr import And, BranchTest, Expr
from spacelang.ir.space import SKIPPED_STEP, Branch, Choice, Constraint, Product, ProductKind, Space
from spacelang.solver.satisfiability import is_unsatisfiable
from spacelang.text import Span


def is_list(branch: Branch) -> bool:
    """Return True if an alternative is a list of operators or parallel steps."""
    return isinstance(branch.node, Product) and branch.node.kind is ProductKind.PARALLEL


def is_optional(member: object) -> bool:
    """Return True if a member of a list may be left out."""
    return isinstance(member, Choice) and any(_is_none(each) for each in member.branches)


def presence_of_members(decision: Choice, span: Span) -> tuple[Expr, ...]:
    """Return one condition for each member of the lists of a decision, which is true where the list has the member."""
    return tuple(
        BranchTest(member.address, tuple(each.name for each in member.branches if not _is_none(each)), span)
        if isinstance(member, Choice) and is_optional(member)
        else BranchTest(decision.address, (branch.name,), span)
        for branch, member in _members(decision)
    )


def check(space: Space, addresses: Iterable[str], report: DiagnosticCollector) -> None:
    """Report the lists of decisions, given by address, that have no member in some configuration."""
    for address in addresses:
        decision = space.variables[address].node
        assert isinstance(decision, Choice)
        for branch in decision.branches:
            members = [member for each, member in _members(decision) if each is branch]
            if not members or not all(map(is_optional, members)):
                continue
            none = [BranchTest(each.address, _names_of_none(each)) for each in members if isinstance(each, Choice)]
            empty = And((BranchTest(address, (branch.name,)), *none))
            if not is_unsatisfiable(space, (*space.constraints, Constraint(empty, forbidden=False))):
                report.add(EmptyOperatorList(branch.span, parameter=decision.name))


def _members(decision: Choice) -> Iterator[tuple[Branch, object]]:
    for branch in decision.branches:
        if isinstance(branch.node, Product) and is_list(branch):
            yield from ((branch, member) for member in branch.node.children)


def _is_none(branch: Branch) -> bool:
    return branch.node == SKIPPED_STEP and branch.value is None


def _names_of_none(member: Choice) -> tuple[str, ...]:
    return tuple(each.name for each in member.branches if _is_none(each))
