"""Partial evaluation: simplify an expression when some of its variables are known."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import compress, product
from typing import Final, TypeAlias

from spacelang.frozen import frozen
from spacelang.ir import expr
from spacelang.ir.space import Context, Hyperparameter, Variable
from spacelang.ir.value import is_number
from spacelang.ir.walk import with_dependencies


class Unknown:
    """The type of `UNKNOWN`, the value of an address about which nothing is known."""


UNKNOWN: Final = Unknown()
KnownValues: TypeAlias = Callable[[str], expr.ExpressionValue | Unknown]


def partially_evaluate(expression: expr.Expr, known: KnownValues, *, naming: bool = False) -> expr.Expr:
    """Return what remains of a condition with known values, `Constant(True)` or `Constant(False)` if decided.

    `known` returns the value of an address, INACTIVE if it is known to be inactive, or UNKNOWN. For `naming` see
    `fold_constants`.
    """
    return fold_constants(_substitute(expression, known), naming=naming)


def assume_inactive(expression: expr.Expr, addresses: Collection[str]) -> expr.Expr:
    """Return what remains of a condition if some hyperparameters are inactive and some decisions not reached."""
    return partially_evaluate(expression, lambda address: expr.INACTIVE if address in addresses else UNKNOWN)


def partially_evaluate_value(expression: expr.Expr, known: KnownValues) -> expr.Expr | None:
    """Return what remains of the expression of a computed value with known values; None if it is undefined."""
    left = _evaluate_known(expression, known)
    return None if isinstance(left, expr.InactiveValue) else left


@frozen
class ConditionCase:
    """A case of a condition, in which some sets of hyperparameters are inactive.

    `active` has for each of these sets the test that it is active. `remaining_condition` is what remains of the
    condition.
    """

    active: tuple[expr.Expr, ...]
    remaining_condition: expr.Expr


def split_condition_by_activity(
    condition: expr.Expr, owners: Context, variables: Mapping[str, Variable]
) -> Iterator[ConditionCase]:
    """Yield the cases of a condition, one for every combination of hyperparameters that may be inactive.

    The first has nothing inactive. Together they express the condition by what is active, because a constraint does not
    apply if it names something inactive. `owners` are branches that are known to be taken. Sets that are always active
    together count once.
    """
    doubtful = _possibly_inactive(condition, owners, variables)
    for places in product((False, True), repeat=len(doubtful)):
        inactive = [*compress(doubtful, places)]
        gone = {address for each in inactive for address in doubtful[each]}
        tests = (tuple(expr.BranchTest(address, (branch,)) for address, branch in further) for further, _ in inactive)
        conditions = (() if test is None else (assume_inactive(test, gone),) for _, test in inactive)
        active = tuple(expr.And((*below, *test)) for below, test in zip(tests, conditions, strict=True))
        yield ConditionCase(active, assume_inactive(condition, gone))


def _possibly_inactive(
    condition: expr.Expr, owners: Context, variables: Mapping[str, Variable]
) -> dict[tuple[Context, expr.Expr | None], set[str]]:
    """Return the possibly inactive hyperparameters that a condition depends on, directly or through other conditions.

    They are grouped by the reasons for which they are active. Each key is a pair: the branches besides `owners` that
    must be taken, and the condition that must be true.
    """
    found: dict[tuple[Context, expr.Expr | None], set[str]] = {}
    for variable in map(variables.__getitem__, with_dependencies(variables, expr.references(condition))):
        missing = tuple(owner for owner in variable.owners if owner not in owners)
        if isinstance(variable.node, Hyperparameter) and (missing or variable.condition is not None):
            found.setdefault((missing, variable.condition), set()).add(variable.address)
    return found


def fold_constants(expression: expr.Expr, *, naming: bool = False) -> expr.Expr:
    """Return an expression without constants in `and`, `or` and `not`, as in `x and true`.

    With `naming`, the result mentions the same hyperparameters: a constant that decides an `and` or `or`, as in `x and
    false`, is then kept together with the other terms.
    """
    match expression:
        case expr.And() | expr.Or():
            neutral = isinstance(expression, expr.And)
            terms = [fold_constants(term, naming=naming) for term in expression.terms]
            if expr.Constant(not neutral) in terms and not (naming and any(map(expr.references, terms))):
                return expr.Constant(not neutral, expression.span)
            left = tuple(term for term in terms if term != expr.Constant(neutral))
            if not left:
                return expr.Constant(neutral, expression.span)
            return left[0] if len(left) == 1 else replace(expression, terms=left)
        case expr.Not():
            term = fold_constants(expression.term, naming=naming)
            if isinstance(term, expr.Constant) and isinstance(term.value, bool):
                return expr.Constant(not term.value, expression.span)
            return expr.Not(term, expression.span)
        case _:
            return expression


def _substitute(expression: expr.Expr, known: KnownValues) -> expr.Expr:
    """Return the condition with known values substituted; an undefined test becomes false."""
    if isinstance(expression, expr.And | expr.Or | expr.Not):
        return expr.map_children(expression, lambda term: _substitute(term, known))
    left = _evaluate_known(expression, known)
    if isinstance(left, expr.InactiveValue):
        return expr.Constant(False, expression.span)
    return (
        left if expr.mentioned_addresses(left) else expr.Constant(expr.is_true(left, _always_inactive), expression.span)
    )


def _evaluate_known(expression: expr.Expr, known: KnownValues) -> expr.Expr | expr.InactiveValue:
    """Return what remains of an expression with known values, or INACTIVE if its value is undefined."""
    match expression:
        case expr.Constant():
            return expression
        case expr.Reference():
            found = known(expression.address)
            if isinstance(found, Unknown | expr.InactiveValue):
                return expression if isinstance(found, Unknown) else expr.INACTIVE
            return expr.Constant(found, expression.span)
        case expr.BranchTest() | expr.ActivityTest():
            found = known(expression.address)
            return (
                expression if isinstance(found, Unknown) else expr.Constant(expr.is_true(expression, lambda _: found))
            )
        case expr.And() | expr.Or() | expr.Not():
            return partially_evaluate(expression, known)
        case expr.Call(function="count"):
            terms = tuple(partially_evaluate(term, known) for term in expression.arguments)
            left = replace(expression, arguments=terms)
            if expr.mentioned_addresses(left):
                return left
            return expr.Constant(sum(expr.is_true(term, _always_inactive) for term in terms), expression.span)
        case expr.Compare() | expr.In() | expr.Arithmetic() | expr.Call():
            return _evaluate_operands(expression, [_evaluate_known(part, known) for part in expr.children(expression)])


def _evaluate_operands(
    expression: expr.Compare | expr.In | expr.Arithmetic | expr.Call, parts: list[expr.Expr | expr.InactiveValue]
) -> expr.Expr | expr.InactiveValue:
    """Return an expression with simplified operands; with an undefined one, a test is false and arithmetic INACTIVE."""
    is_test = isinstance(expression, expr.Compare | expr.In)
    terms = [part for part in parts if not isinstance(part, expr.InactiveValue)]
    words = (term for term in terms if isinstance(term, expr.Constant) and not is_number(term.value))
    if len(terms) < len(parts) or (not is_test and any(words)):
        return expr.Constant(False, expression.span) if is_test else expr.INACTIVE
    remaining = iter(terms)
    left = expr.map_children(expression, lambda _: next(remaining))
    if expr.mentioned_addresses(left):
        return left
    if is_test:
        return expr.Constant(expr.is_true(left, _always_inactive), expression.span)
    return expr.INACTIVE if expr.evaluate(left, _always_inactive) is expr.INACTIVE else left


def _always_inactive(address: str) -> expr.InactiveValue:  # noqa: ARG001
    return expr.INACTIVE
