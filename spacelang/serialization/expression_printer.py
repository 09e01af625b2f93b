"""Print expressions with addresses as names, for display only: the result is not text of the language."""

from typing import Final, assert_never

from spacelang.ir.domain import literal
from spacelang.ir.expr import Active, And, Arithmetic, Call, Compare, Constant, Expr, In, Is, Not, Or, Reference

_OR, _AND, _NOT, _TEST, _SUM, _PRODUCT = range(1, 7)
_PRECEDENCES: Final = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT}


def show_expression(expression: Expr) -> str:
    """Return an expression as text, with addresses as names and only the necessary parentheses."""
    return _parenthesized(expression, 0)


def _parenthesized(expression: Expr, around: int) -> str:
    """Return an expression as text, in parentheses if it binds less tightly than `around`."""
    text, strength = _text_and_precedence(expression)
    return f"({text})" if strength is not None and strength < around else text


def _text_and_precedence(expression: Expr) -> tuple[str, int | None]:
    """Return the text of an expression and its precedence; None for an expression that never needs parentheses."""
    match expression:
        case Or() | And() | Not():
            return _logical(expression)
        case Is():
            is_one = len(expression.branches) == 1
            tested = f"is {expression.branches[0]}" if is_one else f"in {_set(expression.branches)}"
            return f"{expression.address} {tested}", _TEST
        case In():
            values = _set(tuple(map(literal, expression.values)))
            return f"{_parenthesized(expression.item, _SUM)} in {values}", _TEST
        case Compare():
            sides = (_parenthesized(side, _SUM) for side in (expression.left, expression.right))
            return f" {expression.relation} ".join(sides), _TEST
        case Arithmetic():
            strength = _PRECEDENCES[expression.operation]
            left, right = _parenthesized(expression.left, strength), _parenthesized(expression.right, strength + 1)
            return f"{left} {expression.operation} {right}", strength
        case Call() | Active() | Reference() | Constant():
            return _atom(expression), None
        case _:
            assert_never(expression)


def _atom(expression: Call | Active | Reference | Constant) -> str:
    match expression:
        case Call():
            return f"{expression.function}({', '.join(map(show_expression, expression.arguments))})"
        case Active():
            return f"active({expression.address})"
        case Reference():
            return expression.address
        case Constant():
            return literal(expression.value)
        case _:
            assert_never(expression)


def _logical(expression: Or | And | Not) -> tuple[str, int]:
    if isinstance(expression, Not):
        return f"not {_parenthesized(expression.term, _NOT)}", _NOT
    word, strength = (" and ", _AND) if isinstance(expression, And) else (" or ", _OR)
    return word.join(_parenthesized(term, strength + 1) for term in expression.terms), strength


def _set(items: tuple[str, ...]) -> str:
    return "{" + ", ".join(items) + "}"
