"""Values that may be written as arithmetic over numbers and what the data is: defaults, and what is fixed."""

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
    """The value that is written, with the number that arithmetic comes to in its place; what is neither is reported.

    An infinite number is what grows beyond all with data that is not known. A word is a string where `words` has it,
    whatever else it may mean. `what` is what the value is for, as messages call it.
    """
    match written:
        case ast.Dotted() if not all(is_word(word.text) for word in written.words):
            return _refused(written, report, 'names stand in backticks; write strings in double quotes: `"…"`')
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
    """What a parameter is fixed to, as `given` has it; what is no finite number is reported.

    A whole number is a float where one of the numbers that it is made of is written as one: `2 * 0.5` is 1.0.
    """
    found = given(written, report, what=_FIXED)
    if not isinstance(found, ast.Number) or isinstance(written, ast.Number):
        return found
    if abs(found.value) <= LARGEST:
        return ast.Number(float(found.value), found.span) if _is_float(written) else found
    if not report.symbols.free(written.span):
        return _refused(written, report, "this comes to no number")
    report.unbound(written.span)
    return NO_VALUE


def _computed(written: ast.Expression, report: Report, what: str) -> ast.Number | NoValue:
    reason = f"{what}s are made of numbers and of what the data is"
    expression = folded(written, report, reason, lambda part: _refuse(part, report, what))
    if expression is None:
        return NO_VALUE
    number = outcome(expression)
    if isinstance(number, float) and math.isnan(number) and report.symbols.free(written.span):
        report.unbound(written.span)
        return NO_VALUE
    return ast.Number(plain_number(number), written.span)


def _refuse(written: ast.Expression, report: Report, what: str) -> NoValue:
    return _refused(written, report, f"a {what} is a value, or arithmetic over numbers and what the data is")


def _refused(written: ast.Value | ast.Expression, report: Report, hint: str) -> NoValue:
    found = f"`{written.span.text}`"
    report.add(UnexpectedText(primary=written.span, found=found, expected="a value", hint=hint))
    return NO_VALUE


def _is_float(written: ast.Value | ast.Expression) -> bool:
    """Whether one of the numbers that arithmetic is made of is written as a float, and is not rounded."""
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
