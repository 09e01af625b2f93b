"""Numbers on the unit interval: how surrogates and neighbourhoods see a hyperparameter (ALGORITHMS.md 2.3)."""

import math
from collections.abc import Callable

from spacelang.ir.cells import log_ratio
from spacelang.ir.codes import EXACT
from spacelang.ir.domain import Categorical, Integer, Real, Simple
from spacelang.ir.value import Value, identity


def measure(part: Simple) -> Callable[[Value], float]:
    """Where members of a domain lie in [0, 1]: (x - lower) / (upper - lower), a set's by their index.

    Under `log` these are logarithms. What does not depend on the value is settled beforehand.
    """
    if isinstance(part, Categorical):
        steps = max(1, len(part.values) - 1)
        return lambda value: part.index[identity(value)] / steps
    lower, upper = part.lower, part.upper
    if lower == upper:
        return lambda _: 0.0
    if part.log and upper <= 2 * lower:  # logarithms of near numbers are too coarse
        length = log_ratio(lower, upper)
        return lambda value: math.log1p((value - lower) / lower) / length  # type: ignore[operator]
    if part.log:
        start, length = math.log(lower), math.log(upper) - math.log(lower)
        return lambda value: (math.log(value) - start) / length  # type: ignore[arg-type]
    span = upper - lower
    return lambda value: (value - lower) / span  # type: ignore[operator]


def from_unit(part: Simple, place: float) -> Value:
    """The member nearest to a place in [0, 1]."""
    return placer(part)(place)


def placer(part: Simple) -> Callable[[float], Value]:
    """`from_unit` for one domain, with what does not depend on the place settled beforehand."""
    if isinstance(part, Categorical):
        return lambda place: part.values[round(place * (len(part.values) - 1))]
    lower, upper = part.lower, part.upper
    span = upper - lower
    if not part.log:
        if isinstance(part, Integer):
            return _counter(part)
        nearest = _nearest(part)
        return lambda place: nearest(lower + place * span)
    if isinstance(part, Integer) and upper <= 2 * lower:  # logarithms of near numbers are too coarse
        ratio, at = log_ratio(lower, upper), _counter(part)
        return lambda place: at(lower * math.expm1(place * ratio) / span) if span else lower
    clipped = _nearest(part)
    start, length = math.log(lower), math.log(upper) - math.log(lower)
    return lambda place: clipped(math.exp(start + place * length))


def _counter(part: Integer) -> Callable[[float], int]:
    """The member nearest to a place in [0, 1], by its index: floats need not hold the members themselves."""
    first, step, last = part.lower, part.step, part.size - 1
    length = (part.upper - part.lower) / step
    if step == 1 and last < EXACT:
        return lambda place: first + round(place * length)
    return lambda place: first + step * min(max(round(place * length), 0), last)


def _nearest(part: Real | Integer) -> Callable[[float], Value]:
    """The member nearest to a number, which rounding may have moved just out of the range."""
    if isinstance(part, Real) and part.step is None:
        least, greatest = part.least, part.greatest
        return lambda number: (least if number < least else greatest if number > greatest else number) + 0.0
    lower, step, first, last = part.lower, part.step or 1, part.first_index, part.last_index
    return lambda number: part.at(min(max(round((number - lower) / step), first), last))
