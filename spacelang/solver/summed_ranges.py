"""Ranges that are related only by limits on one sum: exact counts by partial sums.

The shares `a`, `b`, `c` with `sum(a, b, c) == 1` are written as whole steps above their least values, so that a limit
on the sum becomes an interval of whole totals. The number of ways to reach each total with the first k ranges follows
from the numbers for k - 1 by differences of running sums: n ranges and totals up to R need n * R steps, and no table.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Final, TypeAlias

from spacelang.frozen import frozen
from spacelang.ir.domain import Grid, Real, SimpleDomain
from spacelang.ir.expr import Compare, implied_atom_truths, references
from spacelang.ir.space import Constraint, Hyperparameter, Variable
from spacelang.ir.value import to_fraction
from spacelang.solver.constraint_network import ConstraintNetwork
from spacelang.solver.fourier_motzkin import Inequality, add_multiple
from spacelang.solver.linear_inequalities import linear_difference
from spacelang.solver.range_forest import (
    RangeForest,
    allowed_cells,
    make_range_forest,
    required_inequalities,
)


def equations_with_continuous_members(
    variables: Mapping[str, Variable], constraint: Constraint
) -> Iterator[tuple[Compare, tuple[str, ...]]]:
    """Yield the linear equations that a constraint requires wherever it applies, each with its continuous members.

    Equations of a single hyperparameter, or without a continuous one, are left out.
    """
    for atom, truth in implied_atom_truths(constraint.expression, is_true=not constraint.forbidden):
        if not isinstance(atom, Compare) or atom.relation != ("==" if truth else "!="):
            continue
        addresses = references(atom)
        continuous = tuple(each for each in addresses if variables[each].hyperparameter.domain.size is None)
        if len(addresses) > 1 and continuous and linear_difference(atom) is not None:
            yield atom, continuous


def names_of_simplex_shares(variables: Mapping[str, Variable], equation: Compare) -> str | None:
    """Return the names of hyperparameters, with commas, if an equation requires their sum to be 1; else None.

    All of them must be continuous, without `log` and at least 0.
    """
    form = linear_difference(equation)
    nodes = [variables[address].hyperparameter for address in references(equation)]
    if form is None or {*form.factors.values()} != {-form.constant}:
        return None
    is_share = all(isinstance(n.domain, Real) and n.domain.lower >= 0 and not n.domain.log for n in nodes)
    return ", ".join(node.name for node in nodes) if is_share and len(nodes) > 1 else None


def simplex_remedy(variables: Mapping[str, Variable], constraints: Iterable[Constraint]) -> str | None:
    """Return the advice to declare a simplex if a constraint makes the sum of continuous ranges 1, else None."""
    for constraint in constraints:
        for equation, _ in equations_with_continuous_members(variables, constraint):
            if shares := names_of_simplex_shares(variables, equation):
                return f"declare shares of a whole as a simplex: `simplex {shares}`"
    return None


MAX_TOTALS: Final = 2_000_000  # The maximum number of totals in the tables of all ranges of one sum
MAX_PRODUCTS: Final = 1_000_000_000  # The maximum number of products of weights for draws from one sum
Runs = tuple[tuple[int, int], ...]  # Pairs of a first index and the index after the last one


@frozen
class SummedRange:
    """A range in a sum: its value at index i adds `unit * i`, or `unit * (last - i)` if it is `reversed`."""

    address: str
    grid: Grid
    unit: int
    reversed: bool
    allowed: Runs

    @property
    def allowed_intervals(self) -> Iterator[tuple[int, int]]:
        """Return the intervals of allowed numbers of units, as pairs of a first number and the one after the last."""
        size = self.grid.size
        return ((size - end, size - start) if self.reversed else (start, end) for start, end in self.allowed)


@frozen
class SummedRanges:
    """The ranges of a network, and the `least` and `greatest` total that the comparisons allow."""

    ranges: tuple[SummedRange, ...]
    least: int
    greatest: int

    @property
    def size(self) -> int:
        """The number of totals in all tables. The time of `count` is proportional to it."""
        return len(self.ranges) * max(self.greatest + 1, 0)

    @property
    def can_be_drawn(self) -> bool:
        """True if the tables of weights, which take a product for each pair of a total and a value, are small."""
        totals = self.greatest + 1
        return totals > 0 and sum(totals * min(totals, each.grid.size) for each in self.ranges) <= MAX_PRODUCTS

    @property
    def is_satisfiable(self) -> bool:
        """True if at least one joint value has an allowed total.

        The totals that the first ranges can reach are a bit set: bit k is 1 if they reach k.
        """
        reached, mask = 1, (1 << max(self.greatest + 1, 0)) - 1
        for each in self.ranges:
            reached = mask & _union_of_bits(
                _reached_with(reached, each.unit, *run, mask) for run in each.allowed_intervals
            )
        return bool(reached >> max(self.least, 0))

    def count(self) -> int:
        """Return the number of joint values whose total is allowed."""
        if self.greatest < 0:
            return 0
        ways = [1, *[0] * self.greatest]
        for each in self.ranges:
            ways = _ways_with(ways, each)
        return sum(ways[max(self.least, 0) :])


def _union_of_bits(numbers: Iterable[int]) -> int:
    found = 0
    for number in numbers:
        found |= number
    return found


def _reached_with(reached: int, unit: int, start: int, end: int, mask: int) -> int:
    """Return the bit set of totals after adding from `start` to `end - 1` times `unit` to the totals in `reached`."""
    found, known = reached << unit * start & mask, 1
    while known < end - start:
        more = min(known, end - start - known)
        found |= found << unit * more & mask
        known += more
    return found


def _ways_with(ways: list[int], each: SummedRange) -> list[int]:
    """Return in how many ways each total can be reached with one more range.

    They are differences of running sums over every `unit`-th total.
    """
    count, unit = len(ways), each.unit
    sums = ways[:unit]
    for place in range(unit, count):
        sums.append(sums[place - unit] + ways[place])
    found = [0] * count
    for start, end in each.allowed_intervals:
        for place in range(unit * start, count):
            found[place] += sums[place - unit * start]
        for place in range(unit * end, count):
            found[place] -= sums[place - unit * end]
    return found


def make_summed_ranges(
    grids: Mapping[str, Grid], rows: list[Inequality], cells: Mapping[str, Iterable[SimpleDomain]]
) -> SummedRanges | None:
    """Return ranges with values in the given cells whose sum rows limit; None if rows limit different sums.

    Also return None if the tables of the sum would be too long.
    """
    units = _units(rows, grids)
    if units is None:
        return None
    least, greatest = _limits(rows, grids, units)
    found = _normalized(grids, {address: _runs(grids[address], cells[address]) for address in grids}, units)
    top = sum(each.unit * each.grid.last_index for each in found)
    if least > top - greatest:  # the tables are shorter if all ranges are counted from their other ends
        found = tuple(SummedRange(r.address, r.grid, r.unit, not r.reversed, r.allowed) for r in found)
        least, greatest = top - greatest, top - least
    summed = SummedRanges(found, least, min(greatest, top))
    return summed if summed.size <= MAX_TOTALS else None


def _units(rows: list[Inequality], grids: Mapping[str, Grid]) -> dict[str, Fraction] | None:
    """Return what one step of each range adds to the sum of the first row, or None if the rows have different sums."""
    first = rows[0].factors
    if set(first) != set(grids):
        return None
    for row in rows:
        if set(row.factors) != set(first) or add_multiple(row.factors, first, -_ratio(row, first)):
            return None
    return {address: factor * to_fraction(grids[address].step) for address, factor in first.items()}


def _ratio(row: Inequality, first: Mapping[str, Fraction]) -> Fraction:
    name = next(iter(first))
    return row.factors[name] / first[name]


def _limits(rows: list[Inequality], grids: Mapping[str, Grid], units: Mapping[str, Fraction]) -> tuple[int, int]:
    """Return the least and greatest allowed total, counted in common steps of all units from the smallest total."""
    step = _common_step(units)
    first = rows[0].factors
    start = sum(min(f * to_fraction(end) for end in (grids[a].lower, grids[a].greatest)) for a, f in first.items())
    top = sum(abs(unit) * grids[address].last_index for address, unit in units.items())
    least, greatest = 0, int(top / step)
    for row in rows:
        ratio = _ratio(row, first)
        # The total is at most this limit if the ratio is positive, else at least.
        limit = (-row.constant / ratio - start) / step
        if ratio > 0:
            greatest = min(greatest, -(-limit // 1) - 1 if row.strict else limit // 1)
        else:
            least = max(least, limit // 1 + 1 if row.strict else -(-limit // 1))
    return least, greatest


def _common_step(units: Mapping[str, Fraction]) -> Fraction:
    whole = lcm(*(unit.denominator for unit in units.values()))
    return Fraction(gcd(*(int(unit * whole) for unit in units.values())), whole)


def _normalized(
    grids: Mapping[str, Grid], allowed: Mapping[str, Runs], units: Mapping[str, Fraction]
) -> tuple[SummedRange, ...]:
    step = _common_step(units)
    return tuple(
        SummedRange(address, grids[address], int(abs(unit) / step), unit < 0, allowed[address])
        for address, unit in units.items()
    )


def _runs(grid: Grid, cells: Iterable[SimpleDomain]) -> Runs:
    """Return intervals of the indices of the members that lie in the cells; adjacent intervals are joined."""
    found: list[tuple[int, int]] = []
    for cell in cells:
        start, last = (grid.index_of(cell.value_at(place)) for place in (0, (cell.size or 1) - 1))
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], last + 1)
        else:
            found.append((start, last + 1))
    return tuple(found)


CountableRelations: TypeAlias = RangeForest | SummedRanges


@lru_cache(maxsize=256)
def countable_relations(network: ConstraintNetwork) -> CountableRelations | None:
    """Return the `RangeForest` or the `SummedRanges` of a network, or None if it has other relations or none."""
    grids = {
        node.address: node.domain
        for node in (member.node for member in network.members)
        if isinstance(node, Hyperparameter) and isinstance(node.domain, Grid) and node.condition is None
    }
    if not network.ranges or {*network.truths} != {*network.ranges} or len(grids) < len(network.members):
        return None
    rows, cells = required_inequalities(network), allowed_cells(network)
    return None if rows is None or cells is None else relations_of_ranges(grids, rows, cells)


def relations_of_ranges(
    grids: Mapping[str, Grid], rows: list[Inequality], cells: Mapping[str, tuple[SimpleDomain, ...]]
) -> CountableRelations | None:
    """Return what the inequalities make of ranges with values in the given cells; None if they cannot be counted."""
    return make_range_forest(grids, rows, cells) or make_summed_ranges(grids, rows, cells)


def exactly_drawable_relations(network: ConstraintNetwork) -> CountableRelations | None:
    """Return the relations of a network like `countable_relations`, but None if its tables are too large for draws."""
    found = countable_relations(network)
    return None if isinstance(found, SummedRanges) and not found.can_be_drawn else found
