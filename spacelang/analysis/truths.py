"""Tests that tell truth values from other expressions, and advice where a truth value is expected."""

from typing import Final

from spacelang.ir.expr import Arithmetic, Call, Constant, Expr, Reference
from spacelang.syntax import ast

ORDER_OPERATORS: Final = ("<", "<=", ">", ">=")


def is_truth_value(expression: Expr) -> bool:
    """Return True if an expression is a test, not a value."""
    return not isinstance(expression, Constant | Reference | Arithmetic | Call)


def is_test(written: ast.Expression) -> bool:
    """Return True if an expression is true or false whatever its names stand for."""
    match written:
        case ast.Logical() | ast.Membership() | ast.IsTest():
            return True
        case ast.Unary(operator=operator):
            return operator == "not"
        case ast.Binary(operator=operator):
            return operator in ("==", "!=", "implies", *ORDER_OPERATORS)
        case _:
            return False


def comparison_remedy(written: ast.Expression) -> str:
    """Return advice for an expression without truth; a tuple was probably meant to list alternatives."""
    if not isinstance(written, ast.Tuple):
        return "compare this value with another one, for example by `==`"
    tests = " and ".join(f"… is {item.span.text}" for item in written.items)
    return f"write `{tests}`, with stages in place of the dots"
