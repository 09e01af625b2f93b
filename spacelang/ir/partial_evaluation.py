"""Partial evaluation: simplify an expression when some of its variables are known."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import compress, product
from typing import Final, TypeAlias

from spacelang.frozen import frozen
from spacelang.ir.expr import (
    INACTIVE,
    Active,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expr,
    ExpressionValue,
    In,
    InactiveValue,
    Is,
    Not,
    Or,
    Reference,
    children,
    evaluate,
    is_true,
    references,
    scope,
    with_children,
)
from spacelang.ir.space import Context, Hyperparameter, Variable
from spacelang.ir.value import is_number
from spacelang.ir.walk import with_dependencies


class Unknown:
    """The type of `UNKNOWN`, the value of an address about which nothing is known."""


UNKNOWN: Final = Unknown()
KnownValues: TypeAlias = Callable[[str], ExpressionValue | Unknown]


def partially_evaluate(expression: Expr, known: KnownValues) -> Expr:
    """Return what remains of a condition with known values, `Constant(True)` or `Constant(False)` if decided."""
    return fold_constants(_substitute(expression, known))


def assume_inactive(expression: Expr, addresses: Collection[str]) -> Expr:
    """Return what remains of a condition if some hyperparameters are inactive and some decisions not reached."""
    return partially_evaluate(expression, lambda address: INACTIVE if address in addresses else UNKNOWN)


@frozen
class ConditionCase:
    """A case of a condition: what remains if all of the sets of hyperparameters in `active` are inactive."""

    active: tuple[Expr, ...]
    left: Expr


def activity_cases(condition: Expr, owners: Context, variables: Mapping[str, Variable]) -> Iterator[ConditionCase]:
    """Yield the cases of a condition, one for every combination of hyperparameters that may be inactive.

    The first has nothing inactive. Together they express the condition by what is active, because a constraint does not
    apply if it names something inactive. `owners` are taken. Sets that are always active together count once.
    """
    doubtful = _possibly_inactive(condition, owners, variables)
    for places in product((False, True), repeat=len(doubtful)):
        inactive = [*compress(doubtful, places)]
        gone = {address for each in inactive for address in doubtful[each]}
        tests = (tuple(Is(address, (branch,)) for address, branch in further) for further, _ in inactive)
        conditions = (() if test is None else (assume_inactive(test, gone),) for _, test in inactive)
        active = tuple(And((*below, *test)) for below, test in zip(tests, conditions, strict=True))
        yield ConditionCase(active, assume_inactive(condition, gone))


def _possibly_inactive(
    condition: Expr, owners: Context, variables: Mapping[str, Variable]
) -> dict[tuple[Context, Expr | None], set[str]]:
    """Return the possibly inactive hyperparameters that a condition depends on, grouped by what activates them.

    The dependence may be direct or through conditions. Each key holds the further branches that must be taken and the
    condition that must hold.
    """
    found: dict[tuple[Context, Expr | None], set[str]] = {}
    for variable in map(variables.__getitem__, with_dependencies(variables, references(condition))):
        further = tuple(owner for owner in variable.owners if owner not in owners)
        if isinstance(variable.node, Hyperparameter) and (further or variable.condition is not None):
            found.setdefault((further, variable.condition), set()).add(variable.address)
    return found


def fold_constants(expression: Expr, *, naming: bool = False) -> Expr:
    """Return `and`, `or`, `not` folded; with `naming`, all hyperparameters stay mentioned."""
    match expression:
        case And() | Or():
            neutral = isinstance(expression, And)
            terms = [fold_constants(term, naming=naming) for term in expression.terms]
            if Constant(not neutral) in terms and not (naming and any(map(references, terms))):
                return Constant(not neutral, expression.span)
            left = tuple(term for term in terms if term != Constant(neutral))
            if not left:
                return Constant(neutral, expression.span)
            return left[0] if len(left) == 1 else replace(expression, terms=left)
        case Not():
            term = fold_constants(expression.term, naming=naming)
            if isinstance(term, Constant) and isinstance(term.value, bool):
                return Constant(not term.value, expression.span)
            return Not(term, expression.span)
        case _:
            return expression


def _substitute(expression: Expr, known: KnownValues) -> Expr:
    """Return the condition with known values substituted; an undefined test becomes false."""
    if isinstance(expression, And | Or | Not):
        return with_children(expression, lambda term: _substitute(term, known))
    left = _evaluate_known(expression, known)
    if isinstance(left, InactiveValue):
        return Constant(False, expression.span)
    return left if scope(left) else Constant(is_true(left, _always_inactive), expression.span)


def _evaluate_known(expression: Expr, known: KnownValues) -> Expr | InactiveValue:
    """Return the remainder of an expression as a value, or INACTIVE if it is undefined."""
    match expression:
        case Constant():
            return expression
        case Reference():
            found = known(expression.address)
            if isinstance(found, Unknown | InactiveValue):
                return expression if isinstance(found, Unknown) else INACTIVE
            return Constant(found, expression.span)
        case Is() | Active():
            found = known(expression.address)
            return expression if isinstance(found, Unknown) else Constant(is_true(expression, lambda _: found))
        case And() | Or() | Not():
            return partially_evaluate(expression, known)
        case Compare() | In() | Arithmetic() | Call():
            return _evaluate_operands(expression, [_evaluate_known(part, known) for part in children(expression)])


def _evaluate_operands(
    expression: Compare | In | Arithmetic | Call, parts: list[Expr | InactiveValue]
) -> Expr | InactiveValue:
    """Return an expression with simplified operands; with an undefined one, a test is false and arithmetic INACTIVE."""
    is_test = isinstance(expression, Compare | In)
    terms = [part for part in parts if not isinstance(part, InactiveValue)]
    words = (term for term in terms if isinstance(term, Constant) and not is_number(term.value))
    if len(terms) < len(parts) or (not is_test and any(words)):
        return Constant(False, expression.span) if is_test else INACTIVE
    remaining = iter(terms)
    left = with_children(expression, lambda _: next(remaining))
    if scope(left):
        return left
    if is_test:
        return Constant(is_true(left, _always_inactive), expression.span)
    return INACTIVE if evaluate(left, _always_inactive) is INACTIVE else left


def _always_inactive(address: str) -> InactiveValue:  # noqa: ARG001
    return INACTIVE
