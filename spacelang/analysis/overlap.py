"""Overlap of domains: find a value that two parts of a union share, exactly and for domains of any size."""

import math
from fractions import Fraction

from spacelang.frozen import frozen
from spacelang.ir.domain import NOT_FOUND, Categorical, Grid, NotFound, Real, SimpleDomain
from spacelang.ir.rationals import to_fraction
from spacelang.ir.value import Value


@frozen
class _Grid:
    """The numbers `first`, `first + step`, ... up to `last`."""

    first: Fraction
    step: Fraction
    last: Fraction


def common_value(left: SimpleDomain, right: SimpleDomain) -> Value | NotFound:
    """Return a value that two domains share, or `NOT_FOUND` if there is none."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Categorical):
            found = (other.find(value) for value in one.values)
            return next((value for value in found if not isinstance(value, NotFound)), NOT_FOUND)
    assert not isinstance(left, Categorical)
    assert not isinstance(right, Categorical)
    mine, its = _grid(left), _grid(right)
    if mine is not None and its is not None:
        number = _common_member(mine, its)
        return NOT_FOUND if number is None else left.find(_value(number))
    if mine is None and its is None:
        return _common_point(left, right)
    return _member_inside(mine, right) if mine is not None else _member_inside(its, left)


def _grid(domain: Grid | Real) -> _Grid | None:
    """Return the grid that a domain is, or None for an interval."""
    if domain.size is None:
        return None
    start, step = to_fraction(domain.lower), to_fraction(domain.step) if isinstance(domain, Grid) else Fraction(1)
    return _Grid(start, step, start + domain.last_index * step)


def _common_member(left: _Grid, right: _Grid) -> Fraction | None:
    """Return the smallest number on both grids, found with the Chinese remainder theorem, or None."""
    fractions = (left.first, left.step, right.first, right.step)
    scale = math.lcm(*(number.denominator for number in fractions))
    start, step, other_start, other_step = (int(number * scale) for number in fractions)
    shared = math.gcd(step, other_step)
    if (other_start - start) % shared:
        return None
    rhythm = other_step // shared
    steps = (other_start - start) // shared * pow(step // shared, -1, rhythm) % rhythm
    period, number = step * rhythm, start + steps * step
    number += -((number - max(start, other_start)) // period) * period
    found = Fraction(number, scale)
    return found if found <= min(left.last, right.last) else None


def _member_inside(grid: _Grid | None, interval: Real | Grid) -> Value | NotFound:
    """Return the smallest member of a grid inside an interval, whose lower end may be open, or `NOT_FOUND`."""
    assert grid is not None
    index = max(0, math.ceil((to_fraction(interval.lower) - grid.first) / grid.step))
    for place in (index, index + 1):
        number = grid.first + place * grid.step
        if number <= grid.last and not isinstance(found := interval.find(_value(number)), NotFound):
            return found
    return NOT_FOUND


def _common_point(left: Grid | Real, right: Grid | Real) -> Value | NotFound:
    lower, upper = max(left.lower, right.lower), min(left.upper, right.upper)
    if lower > upper:
        return NOT_FOUND
    between = Real(float(lower), float(upper)).middle
    for value in (between, lower, upper):
        if not isinstance(left.find(value), NotFound) and not isinstance(right.find(value), NotFound):
            return value
    return NOT_FOUND


def _value(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)
