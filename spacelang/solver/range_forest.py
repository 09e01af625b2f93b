"""Large ranges that comparisons of two connect like a tree: exact counts and draws by sums along the ranges.

A comparison such as `lo <= hi` leaves an interval of `lo` for each value of `hi`. The number of values in it is a
difference of two partial sums, so that a comparison of a million values with a million others needs two million steps,
and no table of pairs. A chain `x1 <= x2 <= x3` is summed from one end: the sums for `x1` are the weights of `x2`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from math import lcm
from typing import Final, TypeAlias

from spacelang.frozen import frozen
from spacelang.grouping import group_by_key
from spacelang.ir.domain import Grid, Real, SimpleDomain
from spacelang.ir.expr import implied_atom_truths
from spacelang.ir.space import Hyperparameter
from spacelang.ir.value import to_fraction
from spacelang.solver.bucket_elimination import UnionFind
from spacelang.solver.constraint_network import UNREACHED, ConstraintNetwork, inequality_systems_for_truth
from spacelang.solver.fourier_motzkin import Inequality
from spacelang.solver.linear_inequalities import linear_difference

Pair: TypeAlias = tuple[str, str]
MAX_MEMBERS: Final = 5_000_000  # The maximum number of values of one range


@frozen
class IndexComparison:
    """The comparison `own * i + other * j + constant <= 0` of the indices i and j of two ranges, in integers."""

    own: int
    other: int
    constant: int

    def bounds(self, count: int) -> list[int]:
        """Return for each j below `count` the greatest i that satisfies the comparison.

        If `own` is negative, it is the least i instead. It may lie outside of the range.
        """
        start, step, divisor = -self.constant, -self.other, abs(self.own)
        if self.own < 0:
            return [-(rest // divisor) for rest in range(start, start + step * count, step)]
        return [rest // divisor for rest in range(start, start + step * count, step)]


@frozen
class RangeInForest:
    """A range in a tree: `comparisons` relate it to its `parent`, whose address is empty for the root."""

    address: str
    grid: Grid
    parent: str
    comparisons: tuple[IndexComparison, ...]

    def intervals(self, count: int) -> tuple[list[int] | None, list[int] | None]:
        """Return the first index and the index after the last one for each of `count` indices of the parent.

        None instead of a list means that no comparison limits this end. No interval ends before it starts.
        """
        size = self.grid.size
        first: list[int] | None = None
        end: list[int] | None = None
        for comparison in self.comparisons:
            found = comparison.bounds(count)
            if comparison.own > 0:
                found = [0 if each < 0 else min(each + 1, size) for each in found]
                end = found if end is None else list(map(min, end, found))
            else:
                found = [0 if each < 0 else min(each, size) for each in found]
                first = found if first is None else list(map(max, first, found))
        if first is not None and end is not None:
            end = list(map(max, first, end))
        return first, end


@frozen
class RangeForest:
    """The ranges of a network, each before its parent, and by address the cells in which their values must lie."""

    ranges: tuple[RangeInForest, ...]
    cells: Mapping[str, tuple[SimpleDomain, ...]]

    @property
    def size(self) -> int:
        """The number of values of all ranges. The time of `count` is proportional to it."""
        return sum(each.grid.size for each in self.ranges)

    @property
    def is_satisfiable(self) -> bool:
        """True if at least one joint value satisfies all comparisons."""
        return bool(self._total(lambda weight: 1 if weight else 0))

    def count(self) -> int:
        """Return the number of joint values that satisfy all comparisons."""
        return self._total(lambda weight: weight)

    def _total(self, simplify: Callable[[int], int]) -> int:
        total, weights = 1, {each.address: self.allowed_member_flags(each) for each in self.ranges}
        for each in self.ranges:
            mine = weights.pop(each.address)
            if not each.parent:
                total *= sum(mine)
                continue
            sums, above = [0, *accumulate(mine)], weights[each.parent]
            first, end = each.intervals(len(above))
            below = [sums[-1]] * len(above) if end is None else [sums[place] for place in end]
            if first is not None:
                below = [whole - sums[place] for whole, place in zip(below, first, strict=True)]
            weights[each.parent] = [
                simplify(one * other) if one else 0 for one, other in zip(above, below, strict=True)
            ]
        return total

    def allowed_member_flags(self, each: RangeInForest) -> list[int]:
        """Return 1 for each member of a range that lies in one of the cells, else 0."""
        found = [0] * each.grid.size
        for cell in self.cells[each.address]:
            start, last = (each.grid.index_of(cell.value_at(place)) for place in (0, (cell.size or 1) - 1))
            found[start : last + 1] = [1] * (last + 1 - start)
        return found


def make_range_forest(
    grids: Mapping[str, Grid], rows: Iterable[Inequality], cells: Mapping[str, tuple[SimpleDomain, ...]]
) -> RangeForest | None:
    """Return the forest of ranges whose values lie in the given cells, or None if the inequalities form no trees."""
    found = list(rows)
    if any(len(row.factors) != 2 for row in found) or any(grid.size > MAX_MEMBERS for grid in grids.values()):
        return None
    pairs = group_by_key((_pair(row), row) for row in found)
    order = ordered_forest(grids, pairs)
    if order is None:
        return None
    ranges = (_range_in_forest(address, parent, grids, pairs) for address, parent in order)
    return RangeForest(tuple(ranges), cells)


def ordered_forest(addresses: Iterable[str], pairs: Iterable[Pair]) -> list[Pair] | None:
    """Return each address and its parent (empty: none), before the parent; None if the pairs have a cycle.

    The roots are the last addresses of their trees.
    """
    beside: dict[str, list[str]] = {address: [] for address in addresses}
    ties = UnionFind(beside)
    for one, other in pairs:
        if ties.find(one) == ties.find(other):
            return None
        ties.union((one, other))
        beside[one].append(other)
        beside[other].append(one)
    found: list[Pair] = []
    seen: set[str] = set()
    for root in reversed([*beside]):
        waiting = [(root, "")] if root not in seen else []
        while waiting:
            address, parent = waiting.pop()
            seen.add(address)
            found.append((address, parent))
            waiting += [(each, address) for each in beside[address] if each != parent]
    return found[::-1]


MAX_CONTINUOUS: Final = 200  # The maximum number of continuous ranges that are known to be a forest without computation


def is_continuous_forest(network: ConstraintNetwork, names: Sequence[str]) -> bool:
    """Return True if comparisons of two continuous ranges are known to connect them like a forest.

    They must be inequalities that are linear in the ranges or, without a constant, in their logarithms. The ranges must
    have no priors, and a single joint state of cells and truths. Random draws of such ranges are exact.
    """
    if any(isinstance(member.node, Hyperparameter) and member.node.prior is not None for member in network.members):
        return False
    atoms = [network.ranges[name] for name in names]
    pairs: list[Pair] = []
    for atom in atoms:
        form = linear_difference(atom)
        if form is None or len(form.factors) != 2 or atom.relation in ("==", "!="):
            return False
        one, other = sorted(form.factors)
        pairs.append((one, other))
        cells = [cell for address in (one, other) for cell in network.cells[address] if isinstance(cell, Real)]
        scales = [cell.log for cell in cells if cell.size is None]
        is_ratio = not form.constant and form.factors[one] * form.factors[other] < 0
        if scales != [False, False] and not (scales == [True, True] and is_ratio):
            return False
    addresses = {address for pair in pairs for address in pair}
    factor = next((each for each in network.factors if {*each.scope} == {*names, *addresses}), None)
    if factor is None or len(factor.table) != 1 or len(addresses) > MAX_CONTINUOUS:
        return False
    return len({*pairs}) == len(pairs) and ordered_forest(addresses, pairs) is not None


def _pair(row: Inequality) -> Pair:
    one, other = sorted(row.factors)
    return one, other


def required_inequalities(network: ConstraintNetwork) -> list[Inequality] | None:
    """Return the inequalities that the comparisons of a network require, or None if they are no plain inequalities.

    That is so if a comparison is not required or not always active, or if it requires unequal values. It is None also
    if another constraint excludes the required truths together.
    """
    if any(UNREACHED in states for states in network.states.values()):
        return None
    required = {
        atom: truth
        for constraint in network.constraints
        for atom, truth in implied_atom_truths(constraint.expression, is_true=not constraint.forbidden)
    }
    truths = {name: int(required[atom]) for name, atom in network.ranges.items() if atom in required}
    related = (factor for factor in network.factors if factor.scope and truths.keys() >= set(factor.scope))
    if not all(factor.table.get(tuple(truths[name] for name in factor.scope)) for factor in related):
        return None
    found: list[Inequality] = []
    for atom in network.ranges.values():
        systems = inequality_systems_for_truth(atom, required[atom]) if atom in required else ()
        if len(systems) != 1:
            return None
        found += systems[0]
    return found


def allowed_cells(network: ConstraintNetwork) -> dict[str, tuple[SimpleDomain, ...]] | None:
    """Return, by address, the cells of each range that the constraints other than comparisons of ranges allow.

    Return None if one of these constraints relates several hyperparameters.
    """
    left = {address: set(network.states[address]) for address in network.cells}
    for factor in network.factors:
        own = [name for name in factor.scope if name in left]
        if any(name in network.ranges for name in factor.scope):
            if own:
                return None
            continue
        if len(own) > 1:
            return None
        if own:
            left[own[0]] &= {states[0] for states, weight in factor.table.items() if weight}
    return {address: tuple(network.cells[address][state] for state in sorted(left[address])) for address in left}


def _range_in_forest(
    address: str, parent: str, grids: Mapping[str, Grid], pairs: Mapping[Pair, Sequence[Inequality]]
) -> RangeInForest:
    rows = pairs.get((address, parent)) or pairs.get((parent, address)) or []
    comparisons = tuple(_index_comparison(row, grids[address], address, grids[parent], parent) for row in rows)
    return RangeInForest(address, grids[address], parent, comparisons)


def _index_comparison(
    row: Inequality,
    own: Grid,
    name: str,
    other: Grid,
    parent: str,
) -> IndexComparison:
    factors = row.factors
    start = row.constant + factors[name] * to_fraction(own.lower) + factors[parent] * to_fraction(other.lower)
    mine, theirs = (
        factors[name] * to_fraction(own.step),
        factors[parent] * to_fraction(other.step),
    )
    whole = lcm(start.denominator, mine.denominator, theirs.denominator)
    return IndexComparison(int(mine * whole), int(theirs * whole), int(start * whole) + row.strict)
