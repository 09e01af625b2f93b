"""Numbers on the unit interval: how surrogates and neighbourhoods see a hyperparameter.

See spacelang/optimizers/README.md, section "Unit interval".
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spacelang.draws.codes import EXACT
from spacelang.ir.domain import Categorical, Grid, Real, Simple
from spacelang.ir.value import Value
from spacelang.solver.cells import log_ratio


@dataclass(frozen=True, slots=True)
class UnitScale:
    """A range of numbers on [0, 1]: `share` says where a number lies, `number` is the one at a share, not rounded."""

    share: Callable[[Any], Any]
    number: Callable[[Any], Any]


def scale(lower: float, upper: float, *, log: bool, functions: Any = math) -> UnitScale:
    """The scale (x - lower) / (upper - lower), of logarithms under `log`.

    It takes single numbers, integers of any size among them; with `functions` of NumPy, arrays of floats.
    """
    if lower == upper:
        return UnitScale(lambda number: 0.0 * number, lambda share: lower + 0.0 * share)
    if log and upper <= 2 * lower:  # logarithms of near numbers are too coarse
        ratio, log1p, expm1 = log_ratio(lower, upper), functions.log1p, functions.expm1
        return UnitScale(
            lambda number: log1p((number - lower) / lower) / ratio, lambda share: lower + lower * expm1(share * ratio)
        )
    if log:
        start, logarithm, exp = math.log(lower), functions.log, functions.exp
        length = math.log(upper) - start
        return UnitScale(lambda number: (logarithm(number) - start) / length, lambda share: exp(start + share * length))
    if isinstance(lower, int):
        span = upper - lower
        return UnitScale(lambda number: (number - lower) / span, lambda share: lower + share * span)
    # In halves, since the width of a range may be more than any float.
    first, half = lower / 2, upper / 2 - lower / 2
    return UnitScale(lambda number: (number / 2 - first) / half, lambda share: (first + share * half) * 2)


def measure(part: Simple) -> Callable[[Value], float]:
    """Where members of a domain lie in [0, 1]: (x - lower) / (upper - lower), a set's by their index.

    Under `log` these are logarithms. What does not depend on the value is settled beforehand.
    """
    if isinstance(part, Categorical):
        steps = max(1, part.last_index)
        return lambda value: part.index_of(value) / steps
    if part.lower == part.upper:
        return lambda _: 0.0
    return scale(part.lower, part.upper, log=part.log).share


def placer(part: Simple) -> Callable[[float], Value]:
    """The member nearest to a place in [0, 1]; what does not depend on the place is settled beforehand."""
    if isinstance(part, Categorical):
        return lambda place: part.values[round(place * (len(part.values) - 1))]
    if isinstance(part, Grid) and part.is_integral:
        return _integer_placer(part)
    number, nearest = scale(part.lower, part.upper, log=part.log).number, _nearest(part)
    return lambda place: nearest(number(place))


def _integer_placer(part: Grid) -> Callable[[float], Value]:
    """By indices where floats need not hold the members themselves."""
    lower, upper = part.lower, part.upper
    if lower == upper:
        return lambda _: lower
    if not part.log:
        return _counter(part)
    if upper <= 2 * lower:
        ratio, at, span = log_ratio(lower, upper), _counter(part), upper - lower
        return lambda place: at(lower * math.expm1(place * ratio) / span)
    number, nearest = scale(lower, upper, log=True).number, _nearest(part)
    return lambda place: nearest(number(place))


def _counter(part: Grid) -> Callable[[float], Value]:
    """The member nearest to a place in [0, 1], by its index."""
    first, step, last = part.lower, part.step, part.size - 1
    length = (part.upper - part.lower) / step
    if step == 1 and last < EXACT:
        return lambda place: first + round(place * length)
    return lambda place: first + step * min(max(round(place * length), 0), last)


def _nearest(part: Grid | Real) -> Callable[[float], Value]:
    """The member nearest to a number, which rounding may have moved just out of the range."""
    if isinstance(part, Real):
        least, greatest = part.least, part.greatest
        return lambda number: (least if number < least else greatest if number > greatest else number) + 0.0
    lower, step, last = part.lower, part.step, part.last_index
    return lambda number: part.at(min(max(round((number - lower) / step), 0), last))
