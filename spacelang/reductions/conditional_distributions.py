"""Conditional distributions of related ranges: numbers in [0, 1] to values and back (Rosenblatt 1952).

The ranges get their values one after the other. Each value is a quantile of the distribution of its range, given the
values before and the comparisons that relate the ranges. Independent uniform numbers in [0, 1] give draws that follow
the distribution of the space. Modules for other tools contain this source, so it imports nothing but the standard
library. Sums over integers are exact, integrals over floats are sums of some hundred terms.
"""

from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil, floor, gcd
from typing import Any

from spacelang.reductions.range_distributions import (
    FloatDensityTable,
    FloatRange,
    GridRange,
    GridWeightTable,
    exact_value,
)

NODES = 1000  # The number of parts of a range of floats in a table
MAX_PRODUCTS = 5_000_000  # The maximum number of totals of a sum, times the values of a range with a log scale
SUM_NODES = 200  # The number of parts of the totals of a sum of floats


class RangeTreeDistribution:
    """The joint distribution of ranges that are connected as a tree by comparisons of two ranges each.

    `ranges` are in the order in which they are chosen. `limits` has for each range its parent, which is chosen before
    it (empty: none), and comparisons (own, other, constant, strict), which mean `own * value + other * parent +
    constant <= 0` (`< 0` if strict); without a parent, `other` is 0.
    """

    def __init__(self, ranges: "dict[str, Range]", limits: "dict[str, tuple[str, list[PairRow]]]") -> None:
        """Compute the table of each range: its own weights times what they leave to the ranges that depend on it."""
        self.ranges, self.limits, self.tables = dict(ranges), limits, dict[str, Any]()
        for name in reversed([*ranges]):
            below = [child for child, (parent, _) in limits.items() if parent == name]
            mine: Any = ranges[name]
            if isinstance(mine, GridRange):
                values, weights = [mine.value(place) for place in range(mine.last + 1)], mine.masses
            else:
                mine = self.ranges[name] = self._tight(mine, below)
                values, weights = [mine.quantile_at(place / NODES) for place in range(NODES + 1)], [1.0] * (NODES + 1)
            for child in below:
                sums = (self.tables[child].mass(*self._ends(child, value)) for value in values)
                weights = [one * other for one, other in zip(weights, sums, strict=True)]
            self.tables[name] = (
                GridWeightTable(weights) if isinstance(mine, GridRange) else FloatDensityTable(mine, weights)
            )

    def _tight(self, mine: FloatRange, below: list[str]) -> FloatRange:
        """Return the part of a range of floats for which each range in `below`, its children, has values."""
        rows: list[tuple[Any, Any, bool]] = []  # factor * value + constant <= 0
        for child in below:
            inner: Any = self.ranges[child]
            box = [exact_value(inner.value(end)) for end in (inner.first, inner.last)]
            limits = self.limits[child][1]
            rows += [(other, constant + own * box[own < 0], strict) for own, other, constant, strict in limits]
            rows += [
                (own * b - a * other, own * c - a * constant, strict or s)
                for own, other, constant, strict in limits
                for a, b, c, s in limits
                if own > 0 > a
            ]
        lower, upper = mine.lower, mine.upper
        for factor, constant, strict in rows:
            if factor > 0:
                upper = min(upper, mine.last_at_most(-Fraction(constant) / factor, strict=strict))
            elif factor < 0:
                lower = max(lower, mine.first_at_least(-Fraction(constant) / factor, strict=strict))
        return FloatRange(lower, max(lower, upper), is_log=mine.is_log)

    @property
    def is_possible(self) -> bool:
        """True if there are values that satisfy all comparisons, and no weight of a root is lost to rounding."""
        tables = (self.tables[name] for name in self.ranges if self.limits.get(name, ("",))[0] == "")
        return all(table.is_possible for table in tables)

    def _ends(self, name: str, parent: Any) -> tuple[Any, Any]:
        """Return the first and the last place of a range, given the value of its parent."""
        mine = self.ranges[name]
        first, last = mine.first, mine.last
        for own, other, constant, strict in self.limits[name][1] if name in self.limits else ():
            # Fractions take most of the time of long chains, and `a <= b` needs none.
            is_parent = own == -other and not constant and isinstance(parent, float) and isinstance(mine, FloatRange)
            limit = parent if is_parent else -Fraction(other * exact_value(parent) + constant) / own
            if own > 0:
                last = min(last, mine.last_at_most(limit, strict=strict))
            else:
                first = max(first, mine.first_at_least(limit, strict=strict))
        return first, last

    def ends(self, name: str, known: dict[str, Any]) -> tuple[Any, Any]:
        """Return the first and the last place of a range, given the values of the ranges before it."""
        return self._ends(name, known.get(self.limits[name][0], 0) if name in self.limits else 0)

    def table(self, name: str, known: dict[str, Any]) -> Any:  # noqa: ARG002 - as in the other distributions
        """Return the weights of a range, which are the same for all values before it."""
        return self.tables[name]


class GridSumDistribution:
    """The joint distribution of grids with a limited sum: the sum of `units[name] * index` is in [least, greatest].

    The index of a range with a negative unit is counted from its end, and multiplied by the absolute value of the unit.
    """

    def __init__(self, ranges: dict[str, GridRange], units: dict[str, int], least: int, greatest: int) -> None:
        """Compute, for each range, the cumulative weights of all totals of the ranges that come after it."""
        self.ranges, self.units, self.least, self.greatest = ranges, units, least, greatest
        ways: list[Any] = [1, *[0] * greatest]
        self.after: dict[str, list[Any]] = {}
        for name in reversed([*ranges]):
            self.after[name] = [0, *accumulate(ways)]
            ways = self._with_one_more(ways, self._masses(name), abs(units[name]))

    def _masses(self, name: str) -> list[Any]:
        masses = self.ranges[name].masses
        return masses if self.units[name] > 0 else masses[::-1]

    def _with_one_more(self, ways: list[Any], masses: list[Any], unit: int) -> list[Any]:
        found: list[Any] = [0] * len(ways)
        if not self._is_even(masses):
            for place, mass in enumerate(masses[: self.greatest // unit + 1]):
                start = unit * place
                found[start:] = [one + mass * other for one, other in zip(found[start:], ways, strict=False)]
            return found
        for place in range(len(ways)):
            found[place] = ways[place] + (found[place - unit] if place >= unit else 0)
            dropped = place - unit * len(masses)
            found[place] -= ways[dropped] if dropped >= 0 else 0
        return found

    @staticmethod
    def _is_even(masses: list[Any]) -> bool:
        return isinstance(masses[0], int)

    @property
    def is_possible(self) -> bool:
        """True if there are values within the limits, and no weight of the first range is lost to rounding."""
        return self.table(next(iter(self.ranges)), {}).is_possible

    def ends(self, name: str, known: dict[str, Any]) -> tuple[int, int]:  # noqa: ARG002 - as in the other distributions
        """Return 0 and the last index of a range; those that the limits exclude have the weight 0 in `table`."""
        return 0, self.ranges[name].last

    def table(self, name: str, known: dict[str, Any]) -> GridWeightTable:
        """Return the weights of the indices of a range, given the values of the ranges before it."""
        used = 0
        for other in self.ranges:
            if other == name:
                break
            used += self._total(other, known[other])
        unit, after = abs(self.units[name]), self.after[name]
        least, greatest = self.least - used, self.greatest - used
        weights = []
        for place, mass in enumerate(self._masses(name)):
            high, low = greatest - unit * place + 1, max(least - unit * place, 0)
            weights.append(mass * (after[high] - after[low]) if high > low else 0)
        return GridWeightTable(weights if self.units[name] > 0 else weights[::-1])

    def _total(self, name: str, value: Any) -> int:
        place = self.ranges[name].place(value)
        return abs(self.units[name]) * (place if self.units[name] > 0 else self.ranges[name].last - place)


class FloatSumDistribution:
    """The joint distribution of ranges of floats whose sum of `factors[name] * value` is in [least, greatest]."""

    def __init__(self, ranges: dict[str, FloatRange], factors: dict[str, Any], least: Any, greatest: Any) -> None:
        """Compute, for each range, the probability that the terms after it exceed their least sum by at most x.

        This is a table over `SUM_NODES` equal steps of x, up to the greatest sum.
        """
        self.ranges, self.factors, self.least, self.greatest = ranges, factors, least, greatest
        ends = {name: (exact_value(each.lower), exact_value(each.upper)) for name, each in ranges.items()}
        self.boxes = {name: sorted(factor * end for end in ends[name]) for name, factor in factors.items()}
        self.width = float(greatest - sum(low for low, _ in self.boxes.values())) / SUM_NODES
        below = [1.0] * (SUM_NODES + 1)
        self.after: dict[str, list[float]] = {}
        for name in reversed([*ranges]):
            self.after[name] = below
            shares = self._shares(name)
            masses = [upper - lower for lower, upper in pairwise(shares)]
            below = [self._mean(masses, below, place) for place in range(SUM_NODES + 1)]

    @staticmethod
    def _mean(masses: list[float], below: list[float], place: int) -> float:
        pairs = zip(masses[:place], below[place:0:-1], below[place - 1 :: -1], strict=False) if place else ()
        return sum(mass * (one + other) / 2 for mass, one, other in pairs)

    def _shares(self, name: str) -> list[float]:
        """Return the probabilities that the term of a range exceeds its least value by at most each table step."""
        mine, factor, low = self.ranges[name], float(self.factors[name]), float(self.boxes[name][0])
        numbers = ((low + place * self.width) / factor for place in range(SUM_NODES + 1))
        shares = [mine.share(min(max(number, mine.lower), mine.upper)) for number in numbers]
        return shares if factor > 0 else [1 - share for share in shares]

    @property
    def is_possible(self) -> bool:
        """True if there are values within the limits."""
        low, high = (sum(box[side] for box in self.boxes.values()) for side in (0, 1))
        return bool(max(low, self.least) < min(high, self.greatest))

    def _left(self, name: str, known: dict[str, Any]) -> tuple[Any, Any, list[Any]]:
        """Return three values: the limits on the sum of a range and those after it, and the ends of the sum after it.

        `known` has the values of the ranges before it. The limits are the least and the greatest sum that is left, and
        the ends are a list of the least and the greatest sum of the terms after it.
        """
        names = [*self.ranges]
        place = names.index(name)
        used = sum(self.factors[other] * exact_value(known[other]) for other in names[:place])
        rest = [sum(self.boxes[other][side] for other in names[place + 1 :]) for side in (0, 1)]
        return self.least - used, self.greatest - used, rest

    def ends(self, name: str, known: dict[str, Any]) -> tuple[float, float]:
        """Return the first and the last value of a range, given the values of the ranges before it."""
        mine, factor, (least, greatest, rest) = self.ranges[name], self.factors[name], self._left(name, known)
        ends = sorted((Fraction(least - rest[1]) / factor, Fraction(greatest - rest[0]) / factor))
        first = max(mine.lower, mine.first_at_least(ends[0], strict=False))
        return first, max(first, min(mine.upper, mine.last_at_most(ends[1], strict=False)))

    def table(self, name: str, known: dict[str, Any]) -> FloatDensityTable:
        """Return the density of a range between its `ends`, given the values of the ranges before it."""
        least, greatest, rest = self._left(name, known)
        first, last = self.ends(name, known)
        piece = FloatRange(first, last, is_log=self.ranges[name].is_log)
        low, high, factor = float(least - rest[0]), float(greatest - rest[0]), float(self.factors[name])
        terms = (factor * piece.quantile_at(number / SUM_NODES) for number in range(SUM_NODES + 1))
        density = [max(self._up_to(name, high - term) - self._up_to(name, low - term), 0.0) for term in terms]
        return FloatDensityTable(piece, density)

    def _up_to(self, name: str, total: float) -> float:
        """Return the probability that the terms after a range exceed their least sum by at most `total`."""
        place = total / self.width
        if place < 0:
            return 0.0
        after, part = self.after[name], min(int(place), SUM_NODES - 1)
        return after[part] + min(place - part, 1.0) * (after[part + 1] - after[part])


class RelatedRanges:
    """Ranges, some of which may be inactive, and linear comparisons between them.

    Each row is a comparison: factors by range, a constant, the ranges that must be active for it to apply, and
    `strict`. It means `sum(factors * values) + constant <= 0`, or `< 0` if `strict` is True.
    """

    def __init__(self, ranges: "dict[str, Range]", rows: "list[Row]") -> None:
        """Store the ranges, which must be in the order of the text, and the comparisons between them."""
        self.ranges, self.rows = ranges, rows
        self._distributions: dict[frozenset[str], list[Any]] = {}

    def values(self, shares: dict[str, float]) -> dict[str, Any]:
        """Return values for numbers in [0, 1], one for each active range; `shares` is the inverse function."""
        found: dict[str, Any] = {}
        for joint in self.distributions(frozenset(shares)):
            for name, mine in joint.ranges.items():
                first, last = joint.ends(name, found)
                found[name] = mine.value(joint.table(name, found).quantile(first, last, shares[name]))
        return found

    def shares(self, values: dict[str, Any]) -> dict[str, float]:
        """Return numbers in [0, 1] from which `values` makes the given values, up to the rounding of floats.

        There must be a value for each active range.
        """
        found: dict[str, float] = {}
        known: dict[str, Any] = {}
        for joint in self.distributions(frozenset(values)):
            for name, mine in joint.ranges.items():
                (first, last), table = joint.ends(name, known), joint.table(name, known)
                found[name] = table.share(first, last, min(max(mine.place(values[name]), first), last))
                known[name] = mine.value(table.quantile(first, last, found[name]))
        return found

    def distributions(self, active: frozenset[str]) -> list[Any]:
        """Return the joint distribution of each connected group of the active ranges, as one of the classes above.

        Raise ValueError for comparisons that are neither a tree nor limits on one sum.
        """
        if active not in self._distributions:
            rows = [row for row in self.rows if active.issuperset(row[2])]
            left, found = [name for name in self.ranges if name in active], list[Any]()
            while left:
                names = {left[0]}
                while more := {n for row in rows if not names.isdisjoint(row[0]) for n in row[0]} - names:
                    names |= more
                own = {name: self.ranges[name] for name in left if name in names}
                found.append(_make_distribution(own, [row for row in rows if not names.isdisjoint(row[0])]))
                left = [name for name in left if name not in names]
            self._distributions[active] = found
        return self._distributions[active]


Range = GridRange | FloatRange
Distribution = RangeTreeDistribution | GridSumDistribution | FloatSumDistribution
Row = tuple[dict[str, int], int, tuple[str, ...], bool]
PairRow = tuple[int, int, int, bool]


def _make_distribution(ranges: dict[str, Range], rows: list[Row]) -> Distribution:
    pairs = {frozenset(row[0]) for row in rows if len(row[0]) == 2}
    if all(len(row[0]) < 3 for row in rows) and len(pairs) == len(ranges) - 1:
        return _make_tree_distribution(ranges, rows)
    first = rows[0][0]
    lead = next(iter(first))
    # Each row as a multiple of the first one.
    scales = [Fraction(row[0].get(lead, 0), first[lead]) for row in rows]
    if any({n: scale * f for n, f in first.items()} != row[0] for scale, row in zip(scales, rows, strict=True)):
        raise ValueError("comparisons of ranges must form a tree, or be limits on one sum of ranges")
    ends = [(scale > 0, -row[1] / scale, row[3]) for scale, row in zip(scales, rows, strict=True)]
    grids = {name: each for name, each in ranges.items() if isinstance(each, GridRange)}
    if not grids:
        return _make_float_sum_distribution(ranges, first, ends)  # type: ignore[arg-type]
    if len(grids) < len(ranges):
        raise ValueError("a sum of ranges has both ranges of floats and ranges with steps")
    return _make_grid_sum_distribution(grids, first, ends)


def _make_tree_distribution(ranges: dict[str, Range], rows: list[Row]) -> RangeTreeDistribution:
    """Return the joint distribution of ranges in a tree; its root is a grid if any range is one."""
    waiting = [next((name for name, each in ranges.items() if isinstance(each, GridRange)), next(iter(ranges)))]
    ordered: dict[str, Range] = {}
    limits: dict[str, tuple[str, list[PairRow]]] = {}
    pairs = {frozenset(row[0]) for row in rows}
    while waiting:
        name = waiting.pop()
        parent = next((each for each in ordered if frozenset((name, each)) in pairs), "")
        ordered[name] = ranges[name]
        mine = [row for row in rows if {*row[0]} in ({name}, {name, parent})]
        limits[name] = parent, [(row[0][name], row[0].get(parent, 0), row[1], row[3]) for row in mine]
        beside = {n for row in rows if name in row[0] for n in row[0]} - ordered.keys() - {*waiting}
        waiting += [each for each in reversed([*ranges]) if each in beside]
    if any(isinstance(ranges[parent], FloatRange) for n, (parent, _) in limits.items() if parent and _is_mixed(ranges)):
        raise ValueError("comparisons connect ranges with steps through a range of floats")
    return RangeTreeDistribution(ordered, limits)


def _is_mixed(ranges: dict[str, Range]) -> bool:
    return any(isinstance(each, GridRange) for each in ranges.values())


def _make_grid_sum_distribution(
    ranges: dict[str, GridRange], factors: dict[str, int], ends: list[tuple[bool, Any, bool]]
) -> GridSumDistribution:
    """Return the joint distribution of grids, with each term counted in whole units above its least value.

    `ends` has the limits on the sum of `factors * values`, each as (is it an upper limit, number, is it strict).
    """
    units = {name: Fraction(factors[name] * each.step, each.below) for name, each in ranges.items()}
    size = 1
    for unit in units.values():
        size = size * unit.denominator // gcd(size, unit.denominator)
    common = 0
    for unit in units.values():
        common = gcd(common, int(unit * size))
    scale = Fraction(size, common)
    base = sum(factors[n] * exact_value(each.value(0 if factors[n] > 0 else each.last)) for n, each in ranges.items())
    whole = {name: int(unit * scale) for name, unit in units.items()}
    least, greatest = 0, sum(abs(unit) * ranges[name].last for name, unit in whole.items())
    for is_upper, end, strict in ends:
        place = (end - base) * scale
        if is_upper:
            greatest = min(greatest, ceil(place) - 1 if strict else floor(place))
        else:
            least = max(least, floor(place) + 1 if strict else ceil(place))
    if greatest < least:
        raise ValueError("no values satisfy the comparisons")
    widest = max((each.last + 1 for each in ranges.values() if each.is_log), default=1)
    if greatest * len(ranges) * widest > MAX_PRODUCTS:
        raise ValueError("the sum of ranges has too many possible totals")
    return GridSumDistribution(ranges, whole, least, greatest)


def _make_float_sum_distribution(
    ranges: dict[str, FloatRange], factors: dict[str, int], ends: list[tuple[bool, Any, bool]]
) -> FloatSumDistribution:
    """Return the joint distribution of ranges of floats with a limited sum.

    `ends` has the limits on the sum of `factors * values`, each as (is it an upper limit, number, is it strict). Raise
    ValueError for strict limits and for a sum that can only have one value.
    """
    boxes = [sorted(factors[n] * exact_value(end) for end in (each.lower, each.upper)) for n, each in ranges.items()]
    least = max([sum(low for low, _ in boxes), *(end for is_upper, end, _ in ends if not is_upper)])
    greatest = min([sum(high for _, high in boxes), *(end for is_upper, end, _ in ends if is_upper)])
    if any(strict for _, _, strict in ends) or least >= greatest:
        raise ValueError("the sum of ranges of floats has a strict limit or a fixed value")
    return FloatSumDistribution(ranges, factors, least, greatest)
