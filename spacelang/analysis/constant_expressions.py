"""Constant expressions: the values of defaults and of fixed parameters.

They may be written as arithmetic over numbers and symbols of the data.
"""

import math
from typing import Final, assert_never

from spacelang.analysis.arithmetic import evaluate, fold_arithmetic
from spacelang.analysis.arithmetic import to_number as plain_number
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.ranges import LARGEST
from spacelang.analysis.values import NO_VALUE, InvalidValue
from spacelang.diagnostics.syntax import UnexpectedText
from spacelang.ir.domain import DATA_SIZE_NAMES, Domain, contains, is_bare_word
from spacelang.syntax import ast

_FIXED: Final = "fixed value"


def read_value(
    written: ast.Value | ast.Expression, report: DiagnosticCollector, *, what: str, words: Domain | None = None
) -> ast.Value | InvalidValue:
    """Return the written value, with arithmetic replaced by its result. Report anything else and return `NO_VALUE`.

    The result is infinite if it grows without limit with data of unknown size. A word that `words` contains is a
    string, even if it is also a symbol of the data. `what` names the purpose of the value in messages, such as
    "default".
    """
    match written:
        case ast.DottedName() if not all(is_bare_word(word.text) for word in written.words):
            return _report_unexpected(written, report, 'backticks enclose names; write strings in double quotes: `"…"`')
        case ast.DottedName() if written.text in DATA_SIZE_NAMES and not (
            words is not None and contains(words, written.text)
        ):
            return _read_arithmetic(written, report, what)
        case ast.Binary() | ast.Unary() | ast.FunctionCall():
            return _read_arithmetic(written, report, what)
        case ast.Number() | ast.Text() | ast.NamedConstant() | ast.DottedName() | ast.Tuple() | ast.OperatorValue():
            return written
        case ast.Logical() | ast.Membership() | ast.IsTest() | ast.Quantity():
            return _report_no_value(written, report, what)
        case _:
            assert_never(written)


def read_fixed_value(written: ast.Value | ast.Expression, report: DiagnosticCollector) -> ast.Value | InvalidValue:
    """Return the constant that a parameter is fixed to, or `NO_VALUE` after reporting a mistake.

    The constant is read as by `read_value`, but it must be finite. A result without a fractional part is a float if one
    of its operands is written as a float: `2 * 0.5` is 1.0.
    """
    found = read_value(written, report, what=_FIXED)
    if not isinstance(found, ast.Number) or isinstance(written, ast.Number):
        return found
    if abs(found.value) <= LARGEST:
        return ast.Number(float(found.value), found.span) if _is_float(written) else found
    if not report.symbols.unbound_in(written.span):
        return _report_unexpected(written, report, "the result is not a finite number")
    report.report_unbound(written.span)
    return NO_VALUE


def _read_arithmetic(written: ast.Expression, report: DiagnosticCollector, what: str) -> ast.Number | InvalidValue:
    reason = f"{what}s may use only numbers and symbols of the data"
    expression = fold_arithmetic(written, report, reason, lambda part: _report_no_value(part, report, what))
    if expression is None:
        return NO_VALUE
    number = evaluate(expression)
    if isinstance(number, float) and math.isnan(number) and report.symbols.unbound_in(written.span):
        report.report_unbound(written.span)
        return NO_VALUE
    return ast.Number(plain_number(number), written.span)


def _report_no_value(written: ast.Expression, report: DiagnosticCollector, what: str) -> InvalidValue:
    return _report_unexpected(
        written, report, f"a {what} is a value, or arithmetic over numbers and symbols of the data"
    )


def _report_unexpected(written: ast.Value | ast.Expression, report: DiagnosticCollector, hint: str) -> InvalidValue:
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
