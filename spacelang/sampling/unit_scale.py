"""Numbers on the unit interval and back, without NumPy.

The maps are those of spacelang/optimizers/README.md, section "Unit interval".
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain
from spacelang.ir.domain_properties import EXACT_INTEGER_LIMIT
from spacelang.ir.value import Value
from spacelang.solver.domain_cells import log_ratio


@dataclass(frozen=True, slots=True)
class UnitScale:
    """A mapping of numbers to [0, 1] (`to_unit`) and back, without rounding to members (`from_unit`)."""

    to_unit: Callable[[Any], Any]
    from_unit: Callable[[Any], Any]


def unit_scale(lower: float, upper: float, *, log: bool, functions: Any = math) -> UnitScale:
    """Return the scale (x - lower) / (upper - lower), on logarithms if `log`; `functions=numpy` takes arrays."""
    if lower == upper:
        return UnitScale(lambda number: 0.0 * number, lambda share: lower + 0.0 * share)
    if log and is_narrow_on_logarithms(lower, upper):
        ratio, log1p, expm1 = log_ratio(lower, upper), functions.log1p, functions.expm1
        return UnitScale(
            lambda number: log1p((number - lower) / lower) / ratio, lambda share: lower + lower * expm1(share * ratio)
        )
    if log:
        return log_unit_scale(*log_parameters(lower, upper), functions)
    if isinstance(lower, int):
        span = upper - lower
        return UnitScale(lambda number: (number - lower) / span, lambda share: lower + share * span)
    return linear_unit_scale(*linear_parameters(lower, upper))


def is_narrow_on_logarithms(lower: float, upper: float) -> bool:
    """Return True if the difference of the logarithms of two numbers would lose precision."""
    return upper <= 2 * lower


def log_parameters(lower: float, upper: float) -> tuple[float, float]:
    """Return the parameters of `log_unit_scale` for a range: the logarithm of its lower end, and its length."""
    start = math.log(lower)
    return start, math.log(upper) - start


def log_unit_scale(start: Any, length: Any, functions: Any) -> UnitScale:
    """Return the scale on logarithms; with NumPy's functions, the parameters can be arrays for several ranges."""
    logarithm, exp = functions.log, functions.exp
    return UnitScale(lambda number: (logarithm(number) - start) / length, lambda share: exp(start + share * length))


def linear_parameters(lower: float, upper: float) -> tuple[float, float]:
    """Return the parameters of `linear_unit_scale`: halves of the lower end and of the width.

    The width itself may exceed the largest float.
    """
    return lower / 2, upper / 2 - lower / 2


def linear_unit_scale(first: Any, half: Any) -> UnitScale:
    """Return the linear scale of a range of floats; the parameters can be arrays for several ranges."""
    return UnitScale(lambda number: (number / 2 - first) / half, lambda share: (first + share * half) * 2)


def to_unit_function(part: SimpleDomain) -> Callable[[Value], float]:
    """Return a function from members to [0, 1]: by index for sets, on logarithms for ranges with `log`."""
    if isinstance(part, Categorical):
        steps = max(1, part.last_index)
        return lambda value: part.index_of(value) / steps
    if part.lower == part.upper:
        return lambda _: 0.0
    return unit_scale(part.lower, part.upper, log=part.log).to_unit


def from_unit_function(part: SimpleDomain) -> Callable[[float], Value]:
    """Return a function that maps a position in [0, 1] to the nearest member of a domain."""
    if isinstance(part, Categorical):
        return lambda place: part.values[round(place * (len(part.values) - 1))]
    if isinstance(part, Grid) and part.is_integral:
        return _integer_from_unit(part)
    number, nearest = unit_scale(part.lower, part.upper, log=part.log).from_unit, _nearest_member_function(part)
    return lambda place: nearest(number(place))


def _integer_from_unit(part: Grid) -> Callable[[float], Value]:
    """Return the function of `from_unit_function` for an integer grid, by index where floats may be too coarse."""
    lower, upper = part.lower, part.upper
    if lower == upper:
        return lambda _: lower
    if not part.log:
        return _from_unit_by_index(part)
    if upper <= 2 * lower:
        ratio, at, span = log_ratio(lower, upper), _from_unit_by_index(part), upper - lower
        return lambda place: at(lower * math.expm1(place * ratio) / span)
    number, nearest = unit_scale(lower, upper, log=True).from_unit, _nearest_member_function(part)
    return lambda place: nearest(number(place))


def _from_unit_by_index(part: Grid) -> Callable[[float], Value]:
    """Return a function that maps a position in [0, 1] to the nearest member by its index."""
    first, step, last = part.lower, part.step, part.size - 1
    length = (part.upper - part.lower) / step
    if step == 1 and last < EXACT_INTEGER_LIMIT:
        return lambda place: first + round(place * length)
    return lambda place: first + step * min(max(round(place * length), 0), last)


def _nearest_member_function(part: Grid | Real) -> Callable[[float], Value]:
    """Return a function that maps a number to the nearest member; rounding may have moved it just out of the range."""
    if isinstance(part, Real):
        least, greatest = part.least, part.greatest
        return lambda number: (least if number < least else greatest if number > greatest else number) + 0.0
    lower, step, last = part.lower, part.step, part.last_index
    return lambda number: part.value_at(min(max(round((number - lower) / step), 0), last))
