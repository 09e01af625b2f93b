"""Check that the hyperparameters that a bound names are active wherever its range is active."""

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.diagnostics.domains import BoundMayBeInactive
from spacelang.ir import expr
from spacelang.ir.range_bounds import bounded_address
from spacelang.ir.space import Space, Variable
from spacelang.ir.tuple_parameters import is_condition_implied_by_tuple, name_in_expressions
from spacelang.solver.constraint_network import TooManyConnectedVariablesError
from spacelang.solver.satisfiability import ExpressionInContext, possible_truths
from spacelang.text import Span


def check_bound_activity(space: Space, report: DiagnosticCollector) -> None:
    """Report each bound with a hyperparameter that can be inactive while the range of the bound is active."""
    seen: set[Span] = set()
    for constraint in space.constraints:
        owner = bounded_address(constraint)
        if owner is None or owner not in space.variables or constraint.span in seen:
            continue
        for address in constraint.scope:
            reason = None if address == owner else _inactive_reason(space, space.variables[owner], address)
            if reason is not None:
                seen.add(constraint.span)
                name, parameter = (name_in_expressions(space.variables[each].node.name) for each in (address, owner))
                report.add(BoundMayBeInactive(constraint.span, name=name, parameter=parameter, reason=reason))
                break


def _inactive_reason(space: Space, ranged: Variable, address: str) -> str | None:
    """Return why `address` can be inactive while the hyperparameter `ranged` is active, or None if it cannot."""
    named = space.variables[address]
    name, taken = name_in_expressions(named.node.name), dict(ranged.owners)
    for owner, branch in named.owners:
        decision = space.variables[owner].choice
        if taken.get(owner, branch) != branch:
            return f"`{name}` and `{ranged.node.name}` belong to different alternatives of `{decision.name}`"
        if owner not in taken and len(decision.branches) > 1:
            return f"`{name}` belongs to the alternative `{branch}` of `{decision.name}`"
    if named.condition is None or named.condition == ranged.condition:
        return None
    statement = ExpressionInContext(expr.ActivityTest(address), ranged.owners, (ranged.address,))
    try:
        _, can_be_inactive = possible_truths(space, statement)
    except TooManyConnectedVariablesError:
        can_be_inactive = True
    return _activity(space, named, named.condition) if can_be_inactive else None


def _activity(space: Space, named: Variable, condition: expr.Expr) -> str:
    """Return a sentence that says where a hyperparameter is active.

    It quotes the condition as written. The added condition of a length or element of a tuple is put in words instead.
    """
    name = name_in_expressions(named.node.name)
    if not is_condition_implied_by_tuple(named.address, condition, space):
        return f"`{name}` is active only `when {' '.join(condition.span.text.split())}`"
    parameter = space.tuples[named.address]
    if parameter.length in expr.references(condition):
        return f"`{name}` is active only where `{parameter.name}` has enough elements to contain this one"
    return f"`{name}` is active only where `{parameter.name}` is a tuple"
