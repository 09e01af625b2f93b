"""Systems of linear inequalities over rationals and integers, solved exactly.

Fourier-Motzkin elimination decides the rational part, strict inequalities included; integers are branched on. The
systems are those of a few constraints: a handful of variables, each between two ends.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from spacelang.facts import fact

BRANCHES = 2_000
"""After how many branchings on integers a search is given up."""


class SearchTooLongError(Exception):
    """Whether integers satisfy a system of inequalities was not decided in reasonable time."""


@fact
class Inequality:
    """`sum of factors[name] * name + constant <= 0`, `< 0` where strict."""

    factors: Mapping[str, Fraction]
    constant: Fraction
    strict: bool = False


def solve(rows: Sequence[Inequality], integers: frozenset[str]) -> dict[str, Fraction] | None:
    """A solution in which the named variables are integers; None where there is none.

    Every integer must be bounded by the rows. Raises SearchTooLongError.
    """
    waiting = [list(rows)]
    for _ in range(BRANCHES):
        if not waiting:
            return None
        system = waiting.pop()
        found = _relaxed(system, integers)
        if found is None:
            continue
        split = next((name for name in integers if name in found and found[name].denominator != 1), None)
        if split is None:
            return found
        below, one = Fraction(math.floor(found[split])), Fraction(1)
        waiting.append([*system, Inequality({split: -one}, below + 1)])
        waiting.append([*system, Inequality({split: one}, -below)])
    raise SearchTooLongError


def _relaxed(rows: Iterable[Inequality], integers: frozenset[str]) -> dict[str, Fraction] | None:
    """A solution in which integers are whole where the others leave them that choice."""
    system = _tightest(rows, integers)
    eliminated: list[tuple[str, list[Inequality]]] = []
    while names := {name: None for row in system for name in row.factors}:
        name = min(names, key=lambda name: _cost(name, system))
        touching = [row for row in system if name in row.factors]
        eliminated.append((name, touching))
        rest = [row for row in system if name not in row.factors]
        system = _tightest([*rest, *_combined(name, touching)], integers)
    if any(row.constant > 0 or (row.strict and row.constant == 0) for row in system):
        return None
    found: dict[str, Fraction] = {}
    for name, touching in reversed(eliminated):
        found[name] = _between(name, touching, found, whole=name in integers)
    return found


def _cost(name: str, rows: Sequence[Inequality]) -> tuple[int, str]:
    """How many rows eliminating a variable makes; ties by name, so that runs are alike."""
    signs = [row.factors[name] > 0 for row in rows if name in row.factors]
    return signs.count(True) * signs.count(False), name


def _combined(name: str, rows: Sequence[Inequality]) -> list[Inequality]:
    """What the rows say about the other variables: each lower end is at most each upper end."""
    lower = [row for row in rows if row.factors[name] < 0]
    upper = [row for row in rows if row.factors[name] > 0]
    return [_sum(low, high, name) for low in lower for high in upper]


def _sum(low: Inequality, high: Inequality, name: str) -> Inequality:
    mine, other = high.factors[name], -low.factors[name]
    factors = added({key: mine * factor for key, factor in low.factors.items()}, high.factors, other)
    return Inequality(factors, mine * low.constant + other * high.constant, low.strict or high.strict)


def added(left: Mapping[str, Fraction], right: Mapping[str, Fraction], weight: Fraction | int) -> dict[str, Fraction]:
    """The factors of a sum of two, the right one so many times; those of 0 are left out."""
    factors = dict(left)
    for key, factor in right.items():
        factors[key] = factors.get(key, Fraction(0)) + weight * factor
    return {key: factor for key, factor in factors.items() if factor}


def _tightest(rows: Iterable[Inequality], integers: frozenset[str]) -> list[Inequality]:
    """The rows brought to a common scale, of each direction only the tightest."""
    best: dict[tuple[tuple[str, Fraction], ...], Inequality] = {}
    for row in (_scaled(row, integers) for row in rows):
        direction = tuple(sorted(row.factors.items()))
        known = best.get(direction)
        if known is None or (row.constant, row.strict) > (known.constant, known.strict):
            best[direction] = row
    return list(best.values())


def _scaled(row: Inequality, integers: frozenset[str]) -> Inequality:
    """The row with coprime whole factors; over integers alone its constant is rounded to what they can reach."""
    if not row.factors:
        return row
    whole = math.lcm(*(factor.denominator for factor in row.factors.values()))
    scale = Fraction(whole, math.gcd(*(int(factor * whole) for factor in row.factors.values())))
    factors, constant = {name: factor * scale for name, factor in row.factors.items()}, row.constant * scale
    if not integers.issuperset(factors):
        return Inequality(factors, constant, row.strict)
    rounded = math.floor(constant) + 1 if row.strict else math.ceil(constant)
    return Inequality(factors, Fraction(rounded))


def _between(name: str, rows: Sequence[Inequality], found: Mapping[str, Fraction], *, whole: bool) -> Fraction:
    """A value that the rows allow, given the variables that come after it: the middle, whole where one is."""
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
    """The ends of a variable and whether they are excluded; the ends of the cells make sure that both exist."""
    lower: list[tuple[Fraction, bool]] = []
    upper: list[tuple[Fraction, bool]] = []
    for row in rows:
        factor = row.factors[name]
        rest = row.constant + sum(f * found[other] for other, f in row.factors.items() if other != name)
        (upper if factor > 0 else lower).append((-rest / factor, row.strict))
    (low, low_strict), (high, not_high_strict) = max(lower), min((end, not strict) for end, strict in upper)
    return low, high, low_strict, not not_high_strict
