"""What is left of an expression once some of what it speaks of is known: partial evaluation."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import compress, product
from typing import Final, TypeAlias

from spacelang.facts import fact
from spacelang.ir.expr import (
    INACTIVE,
    Active,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Inactive,
    Is,
    Not,
    Or,
    Reference,
    Worth,
    children,
    holds,
    references,
    scope,
    with_children,
    worth,
)
from spacelang.ir.space import Context, Hyperparameter, Variable
from spacelang.ir.value import is_number
from spacelang.ir.walk import depended


class Open:
    """What an address is worth of which nothing is known yet."""


OPEN: Final = Open()
Known: TypeAlias = Callable[[str], Worth | Open]
"""What is known of an address; OPEN where nothing is."""


def given(expression: Expr, known: Known) -> Expr:
    """What is left of a condition: `Constant(True)` or `Constant(False)` where that is settled.

    `n < 3 or s is A` leaves `n < 3` given that `s` takes B, and true given that it takes A.
    """
    return folded(_told(expression, known))


def without(expression: Expr, addresses: Collection[str]) -> Expr:
    """What is left of a condition where some hyperparameters are not active, some decisions not reached."""
    return given(expression, lambda address: INACTIVE if address in addresses else OPEN)


@fact
class ConditionCase:
    """What is left of a condition in the cases in which none of the expressions holds that say what is active."""

    active: tuple[Expr, ...]
    left: Expr


def cases(condition: Expr, owners: Context, variables: Mapping[str, Variable]) -> Iterator[ConditionCase]:
    """The cases of a condition, by what is inactive of what it depends on; the first is that nothing is.

    Together they say the condition in terms of what is active: constraints say nothing where something is inactive that
    they name. `owners` are branches that are taken. Hyperparameters that are active together are inactive together:
    there are 2^n cases with n sets of them.
    """
    doubtful = _doubtful(condition, owners, variables)
    for places in product((False, True), repeat=len(doubtful)):
        inactive = [*compress(doubtful, places)]
        gone = {address for each in inactive for address in doubtful[each]}
        tests = (tuple(Is(address, (branch,)) for address, branch in further) for further, _ in inactive)
        conditions = (() if test is None else (without(test, gone),) for _, test in inactive)
        active = tuple(And((*below, *test)) for below, test in zip(tests, conditions, strict=True))
        yield ConditionCase(active, without(condition, gone))


def _doubtful(
    condition: Expr, owners: Context, variables: Mapping[str, Variable]
) -> dict[tuple[Context, Expr | None], set[str]]:
    """What a condition names, directly or by conditions, and may be inactive, by what it takes to be active."""
    found: dict[tuple[Context, Expr | None], set[str]] = {}
    for variable in map(variables.__getitem__, depended(variables, references(condition))):
        further = tuple(owner for owner in variable.owners if owner not in owners)
        if isinstance(variable.node, Hyperparameter) and (further or variable.condition is not None):
            found.setdefault((further, variable.condition), set()).add(variable.address)
    return found


def folded(expression: Expr, *, naming: bool = False) -> Expr:
    """The expression without terms that are always or never true; if `naming`, it names all that it named before."""
    match expression:
        case And() | Or():
            neutral = isinstance(expression, And)
            terms = [folded(term, naming=naming) for term in expression.terms]
            if Constant(not neutral) in terms and not (naming and any(map(references, terms))):
                return Constant(not neutral, expression.span)
            left = tuple(term for term in terms if term != Constant(neutral))
            if not left:
                return Constant(neutral, expression.span)
            return left[0] if len(left) == 1 else replace(expression, terms=left)
        case Not():
            term = folded(expression.term, naming=naming)
            if isinstance(term, Constant) and isinstance(term.value, bool):
                return Constant(not term.value, expression.span)
            return Not(term, expression.span)
        case _:
            return expression


def _told(expression: Expr, known: Known) -> Expr:
    """The condition with the worth of what is known in place of it; what has no worth is false."""
    if isinstance(expression, And | Or | Not):
        return with_children(expression, lambda term: _told(term, known))
    left = _left(expression, known)
    if isinstance(left, Inactive):
        return Constant(False, expression.span)
    return left if scope(left) else Constant(holds(left, _nowhere), expression.span)


def _left(expression: Expr, known: Known) -> Expr | Inactive:
    """What is left of an expression as a value, INACTIVE where it has none."""
    match expression:
        case Constant():
            return expression
        case Reference():
            found = known(expression.address)
            if isinstance(found, Open | Inactive):
                return expression if isinstance(found, Open) else INACTIVE
            return Constant(found, expression.span)
        case Is() | Active():
            found = known(expression.address)
            return expression if isinstance(found, Open) else Constant(holds(expression, lambda _: found))
        case And() | Or() | Not():
            return given(expression, known)
        case Compare() | In() | Arithmetic() | Call():
            return _combined(expression, [_left(part, known) for part in children(expression)])


def _combined(expression: Compare | In | Arithmetic | Call, parts: list[Expr | Inactive]) -> Expr | Inactive:
    """What is left, by its parts: where one has no worth, a test is false, and arithmetic has none either."""
    is_test = isinstance(expression, Compare | In)
    terms = [part for part in parts if not isinstance(part, Inactive)]
    words = (term for term in terms if isinstance(term, Constant) and not is_number(term.value))
    if len(terms) < len(parts) or (not is_test and any(words)):
        return Constant(False, expression.span) if is_test else INACTIVE
    remaining = iter(terms)
    left = with_children(expression, lambda _: next(remaining))
    if scope(left):
        return left
    if is_test:
        return Constant(holds(left, _nowhere), expression.span)
    return INACTIVE if worth(left, _nowhere) is INACTIVE else left


def _nowhere(address: str) -> Inactive:  # noqa: ARG001
    return INACTIVE
