"""Exact solutions of systems of linear inequalities over rationals and integers.

Fourier-Motzkin elimination solves the rational relaxation, including strict inequalities. Branching on fractional
values makes variables integral. The systems come from a few constraints: a handful of bounded variables.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from spacelang.frozen import frozen

MAX_BRANCHINGS = 2_000
"""The maximum number of branchings on integers before a search gives up."""


class SearchTooLongError(Exception):
    """The search for an integer solution of a system of inequalities exceeded the limit on branchings."""


@frozen
class Inequality:
    """An inequality: sum of `factors[name] * name`, plus `constant`, is <= 0, or < 0 if `strict`."""

    factors: Mapping[str, Fraction]
    constant: Fraction
    strict: bool = False


def solve(rows: Sequence[Inequality], integers: frozenset[str]) -> dict[str, Fraction] | None:
    """Return a solution in which the variables in `integers` are integers, or None if there is none.

    The rows must bound every integer variable. Raise SearchTooLongError.
    """
    waiting = [list(rows)]
    for _ in range(MAX_BRANCHINGS):
        if not waiting:
            return None
        system = waiting.pop()
        found = _solve_relaxation(system, integers)
        if found is None:
            continue
        split = next((name for name in integers if name in found and found[name].denominator != 1), None)
        if split is None:
            return found
        below, one = Fraction(math.floor(found[split])), Fraction(1)
        waiting.append([*system, Inequality({split: -one}, below + 1)])
        waiting.append([*system, Inequality({split: one}, -below)])
    raise SearchTooLongError


def _solve_relaxation(rows: Iterable[Inequality], integers: frozenset[str]) -> dict[str, Fraction] | None:
    """Return a rational solution, with whole values for integer variables where possible, or None."""
    system = _tightest_rows(rows, integers)
    eliminated: list[tuple[str, list[Inequality]]] = []
    while names := {name: None for row in system for name in row.factors}:
        name = min(names, key=lambda name: _cost(name, system))
        touching = [row for row in system if name in row.factors]
        eliminated.append((name, touching))
        rest = [row for row in system if name not in row.factors]
        system = _tightest_rows([*rest, *_eliminate(name, touching)], integers)
    if any(row.constant > 0 or (row.strict and row.constant == 0) for row in system):
        return None
    found: dict[str, Fraction] = {}
    for name, touching in reversed(eliminated):
        found[name] = _choose_value(name, touching, found, whole=name in integers)
    return found


def _cost(name: str, rows: Sequence[Inequality]) -> tuple[int, str]:
    """Return the number of rows that eliminating a variable creates, then its name to make ties deterministic."""
    signs = [row.factors[name] > 0 for row in rows if name in row.factors]
    return signs.count(True) * signs.count(False), name


def _eliminate(name: str, rows: Sequence[Inequality]) -> list[Inequality]:
    """Return the rows without the variable `name`: each of its lower ends is at most each of its upper ends."""
    lower = [row for row in rows if row.factors[name] < 0]
    upper = [row for row in rows if row.factors[name] > 0]
    return [_sum(low, high, name) for low in lower for high in upper]


def _sum(low: Inequality, high: Inequality, name: str) -> Inequality:
    mine, other = high.factors[name], -low.factors[name]
    factors = add_scaled({key: mine * factor for key, factor in low.factors.items()}, high.factors, other)
    return Inequality(factors, mine * low.constant + other * high.constant, low.strict or high.strict)


def add_scaled(
    left: Mapping[str, Fraction], right: Mapping[str, Fraction], weight: Fraction | int
) -> dict[str, Fraction]:
    """Return the factors of `left + weight * right`, without those that are 0."""
    factors = dict(left)
    for key, factor in right.items():
        factors[key] = factors.get(key, Fraction(0)) + weight * factor
    return {key: factor for key, factor in factors.items() if factor}


def _tightest_rows(rows: Iterable[Inequality], integers: frozenset[str]) -> list[Inequality]:
    """Return the rows on a common scale, reduced to the tightest row of each direction."""
    best: dict[tuple[tuple[str, Fraction], ...], Inequality] = {}
    for row in (_normalized(row, integers) for row in rows):
        direction = tuple(sorted(row.factors.items()))
        known = best.get(direction)
        if known is None or (row.constant, row.strict) > (known.constant, known.strict):
            best[direction] = row
    return list(best.values())


def _normalized(row: Inequality, integers: frozenset[str]) -> Inequality:
    """Return the row with coprime integer factors.

    If all its variables are integers, the constant is rounded to the tightest equivalent one.
    """
    if not row.factors:
        return row
    whole = math.lcm(*(factor.denominator for factor in row.factors.values()))
    scale = Fraction(whole, math.gcd(*(int(factor * whole) for factor in row.factors.values())))
    factors, constant = {name: factor * scale for name, factor in row.factors.items()}, row.constant * scale
    if not integers.issuperset(factors):
        return Inequality(factors, constant, row.strict)
    rounded = math.floor(constant) + 1 if row.strict else math.ceil(constant)
    return Inequality(factors, Fraction(rounded))


def _choose_value(name: str, rows: Sequence[Inequality], found: Mapping[str, Fraction], *, whole: bool) -> Fraction:
    """Return a value that the rows allow, given the values in `found`.

    It is the middle of the allowed range, rounded to an allowed integer if `whole` is true and there is one.
    """
    lower, upper, lower_strict, upper_strict = _ends(name, rows, found)
    middle = (lower + upper) / 2
    if whole:
        for near in (Fraction(math.floor(middle)), Fraction(math.ceil(middle))):
            if (lower < near or (lower == near and not lower_strict)) and (
                near < upper or (near == upper and not upper_strict)
            ):
                return near
    return middle


def _ends(
    name: str, rows: Sequence[Inequality], found: Mapping[str, Fraction]
) -> tuple[Fraction, Fraction, bool, bool]:
    """Return the lower and upper end of a variable and whether each is excluded; cells bound every variable."""
    lower: list[tuple[Fraction, bool]] = []
    upper: list[tuple[Fraction, bool]] = []
    for row in rows:
        factor = row.factors[name]
        rest = row.constant + sum(f * found[other] for other, f in row.factors.items() if other != name)
        (upper if factor > 0 else lower).append((-rest / factor, row.strict))
    (low, low_strict), (high, not_high_strict) = max(lower), min((end, not strict) for end, strict in upper)
    return low, high, low_strict, not not_high_strict
