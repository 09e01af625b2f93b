"""Constraints in the bodies of operators: each applies only if the alternative that has the body is taken."""

from collections.abc import Mapping
from dataclasses import replace

from spacelang.analysis.drafts import BranchKey, DraftConstraint
from spacelang.ir.expr import And, Constant, Expr, Is, Not, Or, references, scope
from spacelang.ir.partial_evaluation import assume_inactive
from spacelang.ir.space import Constraint, Context, Space, Variable
from spacelang.text import Span


def restrict_to_branch(
    written: Constraint, branch: BranchKey | None, space: Space
) -> tuple[Constraint, DraftConstraint]:
    """Return the constraint restricted to the branch whose body it stands in, and the constraint as it was written.

    `branch` is the innermost branch around the body, or None if the body is in no alternative. No test is added if a
    hyperparameter of the constraint is active in that branch only, or if the constraint never excludes anything
    elsewhere.
    """
    owners = () if branch is None else _enclosing_branches(branch, space.variables)
    named = {owner for address in references(written.expression) for owner in space.variables[address].owners}
    if not owners or owners[-1] in named:
        return written, DraftConstraint(written.expression)
    said = DraftConstraint(written.expression, owners)
    below = frozenset(each for each in scope(written.expression) if owners[-1] in space.variables[each].owners)
    if assume_inactive(written.expression, below) == Constant(not written.forbidden):
        return written, said
    test = Is(owners[-1][0], (owners[-1][1],))
    within = _with_branch_test(written.expression, written.expression.span, test, forbidden=written.forbidden)
    return replace(written, expression=within), said


def _enclosing_branches(branch: BranchKey, variables: Mapping[str, Variable]) -> Context:
    """Return the branches that lead to a branch, including itself, outermost first.

    The innermost branches are left out as long as their decision has no other alternative.
    """
    found = [*variables[branch[0]].owners, branch]
    while found:
        decision = variables[found[-1][0]].choice
        if len(decision.branches) > 1:
            break
        found.pop()
    return tuple(found)


def _with_branch_test(expression: Expr, span: Span, test: Is, *, forbidden: bool) -> Expr:
    if forbidden:
        terms = expression.terms if isinstance(expression, And) else (expression,)
        return And((test, *terms), span)
    terms = expression.terms if isinstance(expression, Or) else (expression,)
    return Or((Not(test), *terms), span)
