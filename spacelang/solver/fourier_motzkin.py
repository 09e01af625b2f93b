"""Solutions of systems of linear inequalities, over rational numbers and integers.

Fourier-Motzkin elimination solves the rational relaxation of a system, and branching on fractional values makes
variables integral. All arithmetic uses rational numbers, so the answers are exact.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from spacelang.frozen import frozen


@frozen
class Inequality:
    """An inequality: sum of `factors[name] * name`, plus `constant`, is <= 0, or < 0 if `strict`."""

    factors: Mapping[str, Fraction]
    constant: Fraction
    strict: bool = False


_Direction: TypeAlias = tuple[tuple[str, int], ...]

MAX_BRANCHINGS: Final = 2_000  # The maximum number of branchings on integers before a search gives up


class SearchTooLongError(Exception):
    """The search for an integer solution of a system of inequalities exceeded the limit on branchings."""


def solve_inequalities(rows: Sequence[Inequality], integers: frozenset[str]) -> dict[str, Fraction] | None:
    """Return values that satisfy all rows, whole numbers for the variables in `integers`; None if there are none.

    The rows must bound every variable from below and from above. Raise SearchTooLongError.
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
    system = _TightestRows(rows, integers)
    costs = {name: system.cost(name) for name in system.by_name}
    eliminated: list[tuple[str, list[Inequality]]] = []
    while costs:
        name = min(costs, key=lambda name: (costs[name], name))  # equal costs are ordered by name, for determinism
        del costs[name]
        touching = system.pop_rows_of(name)
        if not touching:
            continue
        eliminated.append((name, touching))
        system.add(eliminate_variable(name, touching))
        costs |= {other: system.cost(other) for row in touching for other in row.factors if other != name}
    if any(row.constant > 0 or (row.strict and row.constant == 0) for row in system.rows):
        return None
    found: dict[str, Fraction] = {}
    for name, touching in reversed(eliminated):
        found[name] = _choose_value(name, touching, found, whole=name in integers)
    return found


class _TightestRows:
    """Inequalities on a common scale, of which only the tightest of each direction are kept."""

    def __init__(self, rows: Iterable[Inequality], integers: frozenset[str]) -> None:
        self._integers = integers
        self._by_direction: dict[_Direction, Inequality] = {}
        self.by_name: dict[str, dict[_Direction, None]] = {}
        self.add(rows)

    @property
    def rows(self) -> list[Inequality]:
        """The kept rows."""
        return [*self._by_direction.values()]

    def add(self, rows: Iterable[Inequality]) -> None:
        for row in (normalize_inequality(row, self._integers) for row in rows):
            direction = tuple(sorted([(name, factor.numerator) for name, factor in row.factors.items()]))
            known = self._by_direction.get(direction)
            if known is None or (row.constant, row.strict) > (known.constant, known.strict):
                self._by_direction[direction] = row
            for name in row.factors if known is None else ():
                self.by_name.setdefault(name, {})[direction] = None

    def pop_rows_of(self, name: str) -> list[Inequality]:
        """Remove and return the rows that contain a variable."""
        found = {direction: self._by_direction.pop(direction) for direction in self.by_name.pop(name)}
        for direction, row in found.items():
            for other in row.factors.keys() - {name}:
                del self.by_name[other][direction]
        return [*found.values()]

    def cost(self, name: str) -> int:
        """Return the number of rows that the elimination of a variable creates."""
        signs = [self._by_direction[direction].factors[name] > 0 for direction in self.by_name[name]]
        return signs.count(True) * signs.count(False)


def eliminate_variable(name: str, rows: Sequence[Inequality]) -> list[Inequality]:
    """Return inequalities that hold for the other variables exactly if some value of the variable satisfies all rows.

    All rows must contain the variable. Each of its lower bounds is combined with each of its upper bounds.
    """
    lower = [row for row in rows if row.factors[name] < 0]
    upper = [row for row in rows if row.factors[name] > 0]
    return [_combined_row(low, high, name) for low in lower for high in upper]


def _combined_row(low: Inequality, high: Inequality, name: str) -> Inequality:
    mine, other = high.factors[name], -low.factors[name]
    factors = add_multiple({key: mine * factor for key, factor in low.factors.items()}, high.factors, other)
    return Inequality(factors, mine * low.constant + other * high.constant, low.strict or high.strict)


def add_multiple(
    left: Mapping[str, Fraction], right: Mapping[str, Fraction], weight: Fraction | int
) -> dict[str, Fraction]:
    """Return the factors of `left + weight * right`, without those that are 0."""
    factors = dict(left)
    for key, factor in right.items():
        factors[key] = factors.get(key, Fraction(0)) + weight * factor
    return {key: factor for key, factor in factors.items() if factor}


def tightest_rows(rows: Iterable[Inequality], integers: frozenset[str]) -> list[Inequality]:
    """Return the rows on a common scale, reduced to the tightest row of each direction."""
    return _TightestRows(rows, integers).rows


def normalize_inequality(row: Inequality, integers: frozenset[str]) -> Inequality:
    """Return the row with coprime integer factors, and the tightest constant if all its variables are integers."""
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
    """Return the middle of what the rows allow, given `found`; an allowed integer, if any, if `whole` is true."""
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
