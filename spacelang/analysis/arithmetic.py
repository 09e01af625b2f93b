"""Exact arithmetic over numbers and symbols of the data. Symbols without a number are infinite."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Final, TypeAlias

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.diagnostics.names import UnknownFunction, UnknownName, WrongArgumentCount
from spacelang.ir import expr
from spacelang.ir.computed_parameters import FUNCTIONS, OPERATIONS
from spacelang.ir.data_binding import DATA_SIZE_NAMES, data_size_for_array_shape
from spacelang.ir.value import ARITHMETIC_OPERATIONS, NUMERIC_FUNCTIONS, NumberInterval, is_number, to_fraction
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast
from spacelang.text import Span, count_with_noun

Number: TypeAlias = Fraction | float
"""A float is an infinity, or nan if the value is undefined. All other numbers are exact decimals, as written."""
VERY_LARGE: Final = 1e200
"""The number that replaces an infinity where arithmetic must be exact.

It is larger than any number that comes from data, and its products with most other numbers are still finite.
"""
MAX_BITS: Final = 5_000
"""The maximum size of exact numbers. Longer results count as undefined, because a file could make them endless."""
INFINITY_NAMES: Final = frozenset({"inf", "infinity", "infinite", "nan"})
FIXED_VALUE_REASON: Final = "fixed values may use only numbers and symbols of the data"
Refuse: TypeAlias = Callable[[ast.Expression], object]


def read_arithmetic(
    written: ast.Expression, report: DiagnosticCollector, reason: str, refuse: Refuse
) -> expr.Expr | None:
    """Return arithmetic over numbers and symbols of the data, or None after reporting anything else.

    Any other name is reported with the label `reason`. If `reason` is empty, `refuse` is called with the name; it is
    always called with any other expression that is not arithmetic, and has to report it.
    """
    match written:
        case ast.Number():
            return expr.Constant(written.value, written.span)
        case ast.BinaryOperation(operator="+" | "-" | "*" | "/" | "**" as sign):
            left, right = (read_arithmetic(side, report, reason, refuse) for side in (written.left, written.right))
            return None if left is None or right is None else expr.Arithmetic(sign, left, right, written.span)
        case ast.UnaryOperation(operator="-"):
            term = read_arithmetic(written.term, report, reason, refuse)
            return None if term is None else expr.Arithmetic("-", expr.Constant(0), term, written.span)
        case ast.FunctionCall(arguments=arguments) if written.function.text not in ("count", "length"):
            return read_call(written, [read_arithmetic(each, report, reason, refuse) for each in arguments], report)
        case ast.DottedName() if written.text in DATA_SIZE_NAMES:
            return expr.Constant(report.symbols.record_mention(written.text, written.span), written.span)
        case ast.DottedName() if reason:
            _report_name(written, report, reason)
            return None
        case _:
            refuse(written)
            return None


def _report_name(written: ast.DottedName, report: DiagnosticCollector, reason: str) -> None:
    near = data_size_for_array_shape(written.text) or nearest_name(written.text, DATA_SIZE_NAMES)
    listed = ", ".join(f"`{name}`" for name in DATA_SIZE_NAMES)
    others = "relate hyperparameters with `require`"
    if reason == FIXED_VALUE_REASON:
        others = "a value that is computed from hyperparameters follows `:=` instead of `=`"
    remedy = f"the symbols of the data are {listed}; {others}"
    if written.text.lower() in INFINITY_NAMES:
        near, remedy = None, "ranges are finite: write the largest value worth trying, such as `1e6`"
    report.add(UnknownName(written.span, name=written.text, reason=reason, near=near, remedy=remedy))


def read_call(
    call: ast.FunctionCall, arguments: list[expr.Expr | None], report: DiagnosticCollector
) -> expr.Expr | None:
    """Return the call of a built-in function, or None after reporting a mistake, or if an argument is None."""
    name = call.function.text
    if name == "sum":
        terms = [argument for argument in arguments if argument is not None]
        whole = reduce(lambda left, right: expr.Arithmetic("+", left, right, call.span), terms) if terms else None
        return whole if len(terms) == len(arguments) else None
    if name not in NUMERIC_FUNCTIONS:
        hint = _equivalent_hint(call)
        near = None if hint else nearest_name(name, (*NUMERIC_FUNCTIONS, "sum", "count", "length"))
        report.add(UnknownFunction(call.function.span, name=name, near=near, hint=hint))
        return None
    is_variadic, number = name in expr.VARIADIC_FUNCTIONS, len(arguments)
    if number < 2 if is_variadic else number != 1:
        expected, given = "at least 2 arguments" if is_variadic else "1 argument", count_with_noun(number, "argument")
        remedy = "write only one of the arguments" if number > 1 else "add an argument"
        report.add(WrongArgumentCount(call.span, name=name, expected=expected, given=given, remedy=remedy))
        return None
    known = tuple(argument for argument in arguments if argument is not None)
    return expr.Call(name, known, call.span) if len(known) == len(arguments) else None  # type: ignore[arg-type]


def _equivalent_hint(call: ast.FunctionCall) -> str | None:
    first, *others = (argument.span.text for argument in call.arguments)
    match call.function.text, others:
        case "abs", []:
            return f"write `max({first}, -{first})`"
        case "pow", [exponent]:
            return f"write `{first} ** {exponent}`"
        case "square", []:
            return f"write `{first} ** 2`"
        case "int" | "trunc", []:
            return f"write `floor({first})`"
        case "round", []:
            return f"write `floor({first} + 0.5)`"
        case _:
            return None


def evaluate(expression: expr.Expr) -> Number:
    """Return the value of an expression over constants by IEEE 754: infinite, or nan where it is undefined."""
    match expression:
        case expr.Constant(value=value):
            return _exact(value) if is_number(value) else math.nan
        case expr.Arithmetic():
            left, right = evaluate(expression.left), evaluate(expression.right)
            return _apply_within_limit(_OPERATIONS[expression.operation], left, right)
        case expr.Call():
            return _apply_within_limit(_FUNCTIONS[expression.function], *map(evaluate, expression.arguments))
        case _:
            return math.nan


def replace_infinities(expression: expr.Expr) -> expr.Expr | None:
    """Return the expression with `VERY_LARGE` in place of infinite parts.

    None if a part is undefined, as inf - inf is.
    """
    if not any(
        isinstance(node, expr.Constant) and node.value in (math.inf, -math.inf) for node in expr.nodes(expression)
    ):
        return expression
    if not expr.references(expression):
        number = evaluate(expression)
        if math.isnan(number):
            return None
        return expr.Constant(max(-VERY_LARGE, min(VERY_LARGE, to_number(number))), expression.span)
    parts = tuple(part for part in map(replace_infinities, expr.children(expression)) if part is not None)
    if len(parts) < len(expr.children(expression)):
        return None
    remaining = iter(parts)
    return expr.map_children(expression, lambda _: next(remaining))


def replace_infinities_by_integers(expression: expr.Expr) -> expr.Expr | None:
    """Return the expression with very large integers in place of infinite parts; None if a part is undefined.

    Unlike the floats of `replace_infinities`, they do not make the value of the expression a float.
    """
    found = replace_infinities(expression)
    return found if found is None or found is expression else _with_large_integers(found)


def _with_large_integers(expression: expr.Expr) -> expr.Expr:
    if isinstance(expression, expr.Constant) and is_infinity_placeholder(expression):
        return expr.Constant(int(to_fraction(float(expression.value))), expression.span)  # type: ignore[arg-type]
    return expr.map_children(expression, _with_large_integers)


def is_infinity_placeholder(expression: expr.Expr) -> bool:
    """Return True if an expression is one of the very large numbers that replace infinities."""
    return isinstance(expression, expr.Constant) and expression.value in (VERY_LARGE, -VERY_LARGE)


def to_number(number: Number) -> int | float:
    """Return an integer if the number is whole, else the nearest float, which may be an infinity."""
    if isinstance(number, float):
        return number
    if number.denominator == 1:
        return number.numerator
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def find_infinite_constant(expression: expr.Expr) -> Span | None:
    """Return the span of a constant that makes an expression infinite or undefined.

    None if every part alone is finite, as in `1 / 0`.
    """
    if isinstance(expression, expr.Constant):
        return expression.span
    for child in expr.children(expression):
        if not math.isfinite(evaluate(child)):
            return find_infinite_constant(child)
    return None


def _exact(value: int | Number) -> Number:
    return value if isinstance(value, float) and not math.isfinite(value) else to_fraction(value)


def _apply_within_limit(function: Callable[..., Number], *arguments: Number) -> Number:
    if any(isinstance(argument, float) and math.isnan(argument) for argument in arguments):
        return math.nan
    try:
        found = _exact(function(*arguments)) if arguments else math.nan
    except (ZeroDivisionError, ValueError, OverflowError):
        return math.nan
    if isinstance(found, Fraction) and found.numerator.bit_length() + found.denominator.bit_length() > MAX_BITS:
        return math.nan
    return found


def _power(left: Number, right: Number) -> Number:
    if not isinstance(left, float) and not isinstance(right, float):
        found = ARITHMETIC_OPERATIONS["**"](left, right)
        if not isinstance(found, NumberInterval):
            return Fraction(found)
    return math.pow(left, right)


def _extend_to_infinities(name: str, infinite: Callable[[float], float]) -> Callable[[Number], Number]:
    """Return a function of computed parameters that, for infinities, has the results of `infinite`."""
    finite = FUNCTIONS[name]
    return lambda number: infinite(number) if isinstance(number, float) else finite(number)


_OPERATIONS: Final[dict[str, Callable[..., Number]]] = {**OPERATIONS, "**": _power}
_FUNCTIONS: Final[dict[str, Callable[..., Number]]] = {
    "min": min,
    "max": max,
    "ceil": _extend_to_infinities("ceil", float),
    "floor": _extend_to_infinities("floor", float),
    "sqrt": _extend_to_infinities("sqrt", math.sqrt),
    "log2": _extend_to_infinities("log2", math.log2),
}
