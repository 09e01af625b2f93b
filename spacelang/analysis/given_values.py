"""Constant expressions: the values of defaults and of fixed parameters.

They may be written as arithmetic over numbers and symbols of the data.
"""

import math
from typing import Final, assert_never

from spacelang.analysis.arithmetic import folded, outcome
from spacelang.analysis.arithmetic import plain as plain_number
from spacelang.analysis.ranges import LARGEST
from spacelang.analysis.report import Report
from spacelang.analysis.values import NO_VALUE, NoValue
from spacelang.diagnostics.syntax import UnexpectedText
from spacelang.ir.domain import SYMBOLS, Domain, contains, is_word
from spacelang.syntax import ast

_FIXED: Final = "fixed value"


def given(
    written: ast.Value | ast.Expression, report: Report, *, what: str, words: Domain | None = None
) -> ast.Value | NoValue:
    """Return the written value, with arithmetic replaced by its result. Report anything else and return `NO_VALUE`.

    The result is infinite if it grows without limit with data of unknown size. A word that `words` contains is a
    string, even if it is also a symbol of the data. `what` names the purpose of the value in messages, such as
    "default".
    """
    match written:
        case ast.Dotted() if not all(is_word(word.text) for word in written.words):
            return _refused(written, report, 'backticks enclose names; write strings in double quotes: `"…"`')
        case ast.Dotted() if written.text in SYMBOLS and not (words is not None and contains(words, written.text)):
            return _computed(written, report, what)
        case ast.Binary() | ast.Unary() | ast.FunctionCall():
            return _computed(written, report, what)
        case ast.Number() | ast.Text() | ast.Keyword() | ast.Dotted() | ast.Tuple() | ast.OperatorValue():
            return written
        case ast.Logical() | ast.Membership() | ast.IsTest() | ast.Quantity():
            return _refuse(written, report, what)
        case _:
            assert_never(written)


def fixed(written: ast.Value | ast.Expression, report: Report) -> ast.Value | NoValue:
    """Return the value that a parameter is fixed to, or `NO_VALUE` after reporting a mistake.

    The value is read as by `given`, but it must be finite. A whole result is a float if one of its operands is written
    as a float: `2 * 0.5` is 1.0.
    """
    found = given(written, report, what=_FIXED)
    if not isinstance(found, ast.Number) or isinstance(written, ast.Number):
        return found
    if abs(found.value) <= LARGEST:
        return ast.Number(float(found.value), found.span) if _is_float(written) else found
    if not report.symbols.free(written.span):
        return _refused(written, report, "the result is not a finite number")
    report.unbound(written.span)
    return NO_VALUE


def _computed(written: ast.Expression, report: Report, what: str) -> ast.Number | NoValue:
    reason = f"{what}s may use only numbers and symbols of the data"
    expression = folded(written, report, reason, lambda part: _refuse(part, report, what))
    if expression is None:
        return NO_VALUE
    number = outcome(expression)
    if isinstance(number, float) and math.isnan(number) and report.symbols.free(written.span):
        report.unbound(written.span)
        return NO_VALUE
    return ast.Number(plain_number(number), written.span)


def _refuse(written: ast.Expression, report: Report, what: str) -> NoValue:
    return _refused(written, report, f"a {what} is a value, or arithmetic over numbers and symbols of the data")


def _refused(written: ast.Value | ast.Expression, report: Report, hint: str) -> NoValue:
    found = f"`{written.span.text}`"
    report.add(UnexpectedText(primary=written.span, found=found, expected="a value", hint=hint))
    return NO_VALUE


def _is_float(written: ast.Value | ast.Expression) -> bool:
    """Return True if a number in the arithmetic is written as a float and is not rounded by `ceil` or `floor`."""
    match written:
        case ast.Number(value=value):
            return isinstance(value, float)
        case ast.Binary(left=left, right=right):
            return _is_float(left) or _is_float(right)
        case ast.Unary(term=term):
            return _is_float(term)
        case ast.FunctionCall(function=function, arguments=arguments):
            return function.text not in ("ceil", "floor") and any(map(_is_float, arguments))
        case _:
            return False
