"""Intervals of the numbers that an expression can be."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from typing import Final

from spacelang.frozen import frozen
from spacelang.ir import expr
from spacelang.ir.computed_parameters import FUNCTIONS, OPERATIONS
from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, SimpleDomain, parts
from spacelang.ir.space import Variable
from spacelang.ir.standalone_arithmetic import UNDEFINED, to_exact_decimal
from spacelang.ir.value import is_number


@frozen
class IntervalEnd:
    """An end of an interval; it is `is_open` if the number itself cannot be reached."""

    number: Fraction
    is_open: bool = False


@frozen
class ValueInterval:
    """The numbers between two ends, only the whole ones if `is_integral`."""

    lower: IntervalEnd
    upper: IntervalEnd
    is_integral: bool


def interval_of(expression: expr.Expr, variables: Mapping[str, Variable]) -> ValueInterval | None:
    """Return an interval that contains every number that an expression can be; None if it has no finite one.

    The interval is exact for arithmetic that rises or falls with each hyperparameter and names each once.
    """
    match expression:
        case expr.Constant(value=value):
            return _point(to_exact_decimal(value)) if is_number(value) and math.isfinite(value) else None
        case expr.Reference(address=address):
            return _of_domain([*parts(variables[address].hyperparameter.domain)])
        case expr.Call(function="count", arguments=terms):
            return ValueInterval(IntervalEnd(Fraction(0)), IntervalEnd(Fraction(len(terms))), is_integral=True)
        case expr.Arithmetic() | expr.Call():
            found = [interval_of(each, variables) for each in expr.children(expression)]
            known = [each for each in found if each is not None]
            return _combined(expression, known) if len(known) == len(found) else None
        case _:
            return None


def _point(number: Fraction) -> ValueInterval:
    return ValueInterval(IntervalEnd(number), IntervalEnd(number), is_integral=number.denominator == 1)


def _of_domain(several: list[SimpleDomain]) -> ValueInterval | None:
    found = [interval for part in several for interval in _of_part(part)]
    return _hull(found) if found else None


def _of_part(part: SimpleDomain) -> list[ValueInterval]:
    match part:
        case Categorical() | Ordinal():
            return [_point(to_exact_decimal(value)) for value in part.values if is_number(value)]
        case Grid():
            return [
                ValueInterval(
                    IntervalEnd(to_exact_decimal(part.lower)),
                    IntervalEnd(to_exact_decimal(part.greatest)),
                    is_integral=part.is_integral,
                )
            ]
        case Real():
            lower, upper = (
                IntervalEnd(to_exact_decimal(part.lower), part.lower_open),
                IntervalEnd(to_exact_decimal(part.upper), part.upper_open),
            )
            return [ValueInterval(lower, upper, is_integral=False)]


def _hull(found: list[ValueInterval]) -> ValueInterval:
    return ValueInterval(
        _least([each.lower for each in found]),
        _greatest([each.upper for each in found]),
        all(each.is_integral for each in found),
    )


def _least(ends: list[IntervalEnd]) -> IntervalEnd:
    return min(ends, key=lambda end: (end.number, end.is_open))


def _greatest(ends: list[IntervalEnd]) -> IntervalEnd:
    return max(ends, key=lambda end: (end.number, not end.is_open))


_WHOLE: Final = {"+", "-", "*", "min", "max"}
"""The operations whose result is whole if the operands are."""


def _combined(expression: expr.Arithmetic | expr.Call, sides: list[ValueInterval]) -> ValueInterval | None:
    is_operation = isinstance(expression, expr.Arithmetic)
    name = expression.operation if isinstance(expression, expr.Arithmetic) else expression.function
    function: Callable[..., Fraction] = OPERATIONS[name] if is_operation else FUNCTIONS[name]
    if not _is_continuous(name, sides):
        return None
    corners = []
    choices = [[side.lower, side.upper] for side in sides]
    if name == "**" and sides[0].lower.number < 0 < sides[0].upper.number:
        choices[0].append(IntervalEnd(Fraction(0)))
    for ends in product(*choices):
        try:
            number = function(*(end.number for end in ends))
        except UNDEFINED:
            return None
        corners.append(IntervalEnd(number, _is_unreachable(name, ends, number)))
    is_integral = name in {"ceil", "floor"} or (name in _WHOLE and all(side.is_integral for side in sides))
    if name == "**":
        is_integral = all(side.is_integral for side in sides) and sides[1].lower.number >= 0
    return ValueInterval(_least(corners), _greatest(corners), is_integral)


def _is_continuous(name: str, sides: list[ValueInterval]) -> bool:
    """Return True if the result is defined and continuous between the ends of the operands, so that it has no gaps.

    Its extremes then are at ends, or where the base of a power is 0.
    """
    if name == "/":
        return not sides[1].lower.number <= 0 <= sides[1].upper.number
    if name == "**" and sides[0].lower.number <= 0:
        exponent = sides[1]
        return exponent.lower == exponent.upper and exponent.is_integral and exponent.lower.number >= 0
    return True


def _is_unreachable(name: str, ends: tuple[IntervalEnd, ...], number: Fraction) -> bool:
    """Return True if `number`, the result of operation `name` on `ends`, needs an open end and so is not a result."""
    match name:
        case "*" if number == 0:
            return not any(end.number == 0 and not end.is_open for end in ends)
        case "min" | "max":
            return all(end.is_open for end in ends if end.number == number)
        case "ceil" | "floor":
            return False
        case _:
            return any(end.is_open for end in ends)
