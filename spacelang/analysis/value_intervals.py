"""Intervals of the numbers that an expression can be, and ranges between bounds that name hyperparameters."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Final

from spacelang.analysis.arithmetic import evaluate, read_arithmetic
from spacelang.analysis.diagnostic_collector import DataSymbols, DiagnosticCollector
from spacelang.frozen import frozen
from spacelang.ir import expr
from spacelang.ir.computed import FUNCTIONS, OPERATIONS
from spacelang.ir.computed_numbers import UNDEFINED, exact
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, SimpleDomain, parts
from spacelang.ir.domain_properties import subgrid
from spacelang.ir.space import Variable
from spacelang.ir.value import Value, is_number, to_fraction
from spacelang.syntax import ast


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
            return _point(exact(value)) if is_number(value) and math.isfinite(value) else None  # type: ignore[arg-type]
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
            return [_point(exact(value)) for value in part.values if is_number(value)]
        case Grid():
            return [
                ValueInterval(
                    IntervalEnd(exact(part.lower)), IntervalEnd(exact(part.greatest)), is_integral=part.is_integral
                )
            ]
        case Real():
            lower, upper = (
                IntervalEnd(exact(part.lower), part.lower_open),
                IntervalEnd(exact(part.upper), part.upper_open),
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
    """Return True if an operation is defined everywhere between the ends, and has its extremes there."""
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


def evaluate_bound(written: ast.Expression) -> Fraction | None:
    """Return the number that the bound of a range stands for.

    None if it depends on the data or names a hyperparameter.
    """
    found = read_arithmetic(written, DiagnosticCollector(DataSymbols()), "", lambda _: None)
    number = None if found is None else evaluate(found)
    return number if isinstance(number, Fraction) else None


def to_plain_number(number: Fraction) -> int | float:
    """Return an integer if the number is whole, else the nearest float."""
    return int(number) if number.denominator == 1 else float(number)


def with_fitting_upper_end(written: ast.Range) -> ast.Range:
    """Return a range whose upper end is lowered to the last number that its step reaches; unchanged without a step."""
    if written.step is None:
        return written
    lower, upper, step = evaluate_bound(written.lower), evaluate_bound(written.upper), evaluate_bound(written.step)
    if lower is None or upper is None or step is None or step <= 0 or upper < lower:
        return written
    reached = lower + (upper - lower) // step * step
    number = int(reached) if written.kind == "int" and reached.denominator == 1 else float(reached)
    is_open = written.upper_open and reached == upper
    return replace(written, upper=ast.Number(number, written.upper.span), upper_open=is_open)


def tests_of_other_parts(domain: Domain, place: int, name: ast.DottedName) -> Iterator[ast.Expression | None]:
    """Yield, for each part of a union other than the one at `place`, the test that `name` is a number in that part.

    Yield None for a part that cannot be told apart, such as an overlapping range.

    A set without numbers has no test.
    """
    several = parts(domain)
    own = several[place]
    assert not isinstance(own, Categorical)
    for other in (*several[:place], *several[place + 1 :]):
        match other:
            case Categorical():
                numbers = tuple(
                    ast.Number(value, name.span)  # type: ignore[arg-type]
                    for value in other.values
                    if is_number(value)
                )
                if numbers:
                    yield ast.Membership(name, numbers, name.span)
            case Grid() | Real() if other.lower > own.upper or other.upper < own.lower:
                ends = (ast.Number(other.lower, name.span), ast.Number(other.greatest, name.span))
                least = ast.Binary(">=", name, ends[0], name.span)
                yield ast.Logical("and", (least, ast.Binary("<=", name, ends[1], name.span)), name.span)
            case _:
                yield None


def default_between(domain: Domain, usual: Value, ends: Sequence[tuple[int, bool, bool, Fraction]]) -> Value:
    """Return the default `usual` if it lies between the ends of its part, else the middle of the range between them.

    Each end is a tuple: the index of its part, True for a lower end, True for an open end, and its number. `usual` is
    also returned if the range between the ends is empty.
    """
    for place, part in enumerate(parts(domain)):
        own = [end[1:] for end in ends if end[0] == place]
        if isinstance(part, Categorical) or not own or part.find(usual) != usual:
            continue
        left = _between(part, own)
        return usual if left is None or left.find(usual) == usual else left.representative
    return usual


def _between(part: Grid | Real, ends: Sequence[tuple[bool, bool, Fraction]]) -> Grid | Real | None:
    """Return the part of a range that lies between the given ends, or None if it is empty."""
    for is_lower, is_open, number in ends:
        cut = (number, is_lower, is_open)
        found = _cut_grid(part, *cut) if isinstance(part, Grid) else _cut_interval(part, *cut)
        if found is None:
            return None
        part = found
    return part


def _cut_grid(part: Grid, number: Fraction, is_lower: bool, is_open: bool) -> Grid | None:
    place = part.position(number)
    if is_lower:
        first = max(0, floor(place) + 1 if is_open else ceil(place))
        return subgrid(part, first, part.last_index) if first <= part.last_index else None
    last = min(part.last_index, ceil(place) - 1 if is_open else floor(place))
    return subgrid(part, 0, last) if last >= 0 else None


def _cut_interval(part: Real, number: Fraction, is_lower: bool, is_open: bool) -> Real | None:
    if is_lower and number >= to_fraction(part.lower):
        part = replace(part, lower=float(number), lower_open=is_open or (part.lower_open and number == part.lower))
    elif not is_lower and number <= to_fraction(part.upper):
        part = replace(part, upper=float(number), upper_open=is_open or (part.upper_open and number == part.upper))
    is_empty = part.lower > part.upper or (part.lower == part.upper and part.is_open)
    return None if is_empty else part
