"""Ranges whose bounds vary with the values chosen before, so that relations hold: `hi` in int[lo, 100].

The bounds of a range follow from the comparisons with earlier ranges, and from those that later ranges need
(Fourier-Motzkin elimination). They are exact for floats, for differences of integers such as `a <= b + 2`, and for
limits on one sum of them; other groups have no such bounds.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from spacelang.ir.domain import Grid, Real
from spacelang.ir.domain_properties import subgrid
from spacelang.ir.expr import InactiveValue, Lookup
from spacelang.ir.space import Constraint, Variable
from spacelang.ir.value import to_fraction
from spacelang.reductions.case_splits import (
    CaseSplit,
    IndependentHyperparameter,
    UnfoldedParts,
    ValueSwitch,
    all_parts,
    inner_parts,
)
from spacelang.reductions.relation_groups import RelationGroup, range_of_variable, relation_groups, without_constraints
from spacelang.solver.counting import Structures
from spacelang.solver.fourier_motzkin import Inequality, eliminate_variable
from spacelang.solver.joint_counts import inequality_of_indices


@dataclass(frozen=True, slots=True)
class LinearLimit:
    """A bound of a range: the sum of `factors[address] * value(address)`, plus `constant`.

    The bound itself is excluded if `strict`. It applies where the ranges at all of these addresses are active.
    """

    factors: Mapping[str, Fraction]
    constant: Fraction
    strict: bool

    def evaluate(self, lookup: Lookup) -> Fraction | None:
        """Return the number that the limit is for the values that `lookup` returns; None if one of them is inactive."""
        total = self.constant
        for address, factor in self.factors.items():
            value = lookup(address)
            if isinstance(value, InactiveValue):
                return None
            total += factor * to_fraction(value)
        return total

    @property
    def is_bare_reference(self) -> bool:
        """True if the limit is just another range, as in `a <= b`, without a factor or a constant."""
        return not self.constant and [*self.factors.values()] == [1]


@dataclass(frozen=True, slots=True)
class VaryingRange:
    """A range of a hyperparameter, with lower and upper limits that depend on earlier ones."""

    variable: Variable
    lower: tuple[LinearLimit, ...]
    upper: tuple[LinearLimit, ...]

    @property
    def domain(self) -> Grid | Real:
        """The range of the hyperparameter without the limits."""
        return range_of_variable(self.variable)

    def range_within_limits(self, lookup: Lookup) -> Grid | Real:
        """Return the part of the range within the limits; raise LookupError if it is empty."""
        lower = [(each, end) for each in self.lower if (end := each.evaluate(lookup)) is not None]
        upper = [(each, end) for each in self.upper if (end := each.evaluate(lookup)) is not None]
        if isinstance(self.domain, Grid):
            return _limited_grid(self.domain, lower, upper)
        least = max([self.domain.least, *(least_float_at_least(end, strict=each.strict) for each, end in lower)])
        greatest = min(
            [self.domain.greatest, *(greatest_float_at_most(end, strict=each.strict) for each, end in upper)]
        )
        if least > greatest:
            raise LookupError(f"no value of `{self.variable.key}` satisfies the constraints")
        return replace(self.domain, lower=least, upper=greatest, lower_open=False, upper_open=False)


def _limited_grid(
    grid: Grid, lower: Iterable[tuple[LinearLimit, Fraction]], upper: Iterable[tuple[LinearLimit, Fraction]]
) -> Grid:
    start, step, first, last = to_fraction(grid.lower), to_fraction(grid.step), 0, grid.last_index
    for limit, end in lower:
        place = (end - start) / step
        first = max(first, math.floor(place) + 1 if limit.strict else math.ceil(place))
    for limit, end in upper:
        place = (end - start) / step
        last = min(last, math.ceil(place) - 1 if limit.strict else math.floor(place))
    if first > last:
        raise LookupError("no value satisfies the constraints")
    return subgrid(grid, first, last)


def least_float_at_least(number: Fraction, *, strict: bool = False) -> float:
    """Return the least float whose printed decimal is at least `number`, or greater than it if `strict`."""
    found = math.nextafter(float(number), -math.inf)
    while to_fraction(found) < number or (strict and to_fraction(found) == number):
        found = math.nextafter(found, math.inf)
    return found + 0.0


def greatest_float_at_most(number: Fraction, *, strict: bool = False) -> float:
    """Return the greatest float whose printed decimal is at most `number`, or less than it if `strict`."""
    return -least_float_at_least(-number, strict=strict) + 0.0


def varying_ranges(group: RelationGroup, order: Sequence[str]) -> dict[str, VaryingRange] | None:
    """Return the ranges of a group with their varying bounds, by address; None if bounds cannot express the group.

    `order` has the addresses in the order in which values are chosen. Any choice of values within the bounds satisfies
    the constraints, and all values that satisfy them can be chosen.
    """
    members = {each.address: each for each in group.members}
    waiting = _exact_rows(group)
    if waiting is None:
        return None
    found: dict[str, VaryingRange] = {}
    for address in reversed(order):
        mine = [row for row in waiting if address in row.factors]
        found[address] = _varying_range(members[address], mine)
        needed = eliminate_variable(address, [*mine, *_ends(members[address])])
        derived = [row for row in needed if not _is_always_true(row, members)]
        if not all(_is_active_with(members[address], row, members) for row in derived):
            return None
        waiting = [*(row for row in waiting if address not in row.factors), *derived]
    if waiting or not all(_has_floats(each) and _are_known(each, members) for each in found.values()):
        return None
    return {address: found[address] for address in order}


def _exact_rows(group: RelationGroup) -> list[Inequality] | None:
    """Return the inequalities of a group, or None if eliminating variables from them could be inexact."""
    conditional = any(_is_conditional(each, group.members) for each in group.members)
    if conditional and any({*row.factors} != {*rule.scope} for rule, rows in group.rows.items() for row in rows):
        return None  # a constraint over several comparisons applies only where all of its ranges are active
    domains, rows = group.domains, [*group.inequalities]
    if all(isinstance(each, Real) for each in domains.values()):
        return rows if _are_separate(rows) else None
    grids = {address: each for address, each in domains.items() if isinstance(each, Grid)}
    if len(grids) < len(domains):
        return None
    whole = [inequality_of_indices(row, grids) for row in rows]
    related = [row.factors for row in whole if len(row.factors) > 1]
    are_differences = all(sorted(each.values()) == [-1, 1] for each in related)
    sums = {tuple(sorted(factors.items())) for each in related for factors in (each, _negated(each))}
    is_one_sum = len(sums) <= 2 and all(abs(factor) == 1 for each in related for factor in each.values())
    return [_in_values(row, grids) for row in whole] if are_differences or is_one_sum else None


def _are_separate(rows: Sequence[Inequality]) -> bool:
    """Return True if at most one inequality is strict, and no two of them together are an equation.

    Then the limits always leave floats between them.
    """
    known = {(tuple(sorted(row.factors.items())), row.constant) for row in rows}
    is_equation = any((tuple(sorted(_negated(row.factors).items())), -row.constant) in known for row in rows)
    return not is_equation and sum(row.strict for row in rows) <= 1


def _has_floats(each: VaryingRange) -> bool:
    """Return True if a continuous range has a float between its limits, whatever values the other ranges have."""
    lower, upper = ([limit for limit in side if limit.factors] for side in (each.lower, each.upper))
    return isinstance(each.domain, Grid) or not (lower and upper) or all(x.is_bare_reference for x in (*lower, *upper))


def _are_known(each: VaryingRange, members: Mapping[str, Variable]) -> bool:
    """Return True if each limit of a range can be computed wherever the range is active.

    It is just another range, as in `a <= b`, or mentions only ranges that are active whenever the limited range is.
    """
    own = Inequality({each.variable.address: Fraction(1)}, Fraction(0))
    return all(
        limit.is_bare_reference or all(_is_active_with(members[address], own, members) for address in limit.factors)
        for limit in (*each.lower, *each.upper)
    )


def _is_conditional(variable: Variable, others: Iterable[Variable]) -> bool:
    return variable.condition is not None or any(each.owners != variable.owners for each in others)


def _is_active_with(variable: Variable, row: Inequality, members: Mapping[str, Variable]) -> bool:
    """Return True if a variable is active wherever all ranges of the inequality `row` are."""
    around = variable.owners
    return variable.condition is None and (
        not around or any(members[address].owners[: len(around)] == around for address in row.factors)
    )


def _in_values(row: Inequality, grids: Mapping[str, Grid]) -> Inequality:
    """Return an inequality between indices of grids, rewritten for the numbers; see `inequality_of_indices`."""
    factors = {a: factor / to_fraction(grids[a].step) for a, factor in row.factors.items()}
    constant = row.constant - sum(factor * to_fraction(grids[a].lower) for a, factor in factors.items())
    return Inequality(factors, constant, row.strict)


def _negated(factors: Mapping[str, Fraction]) -> dict[str, Fraction]:
    return {address: -factor for address, factor in factors.items()}


def _varying_range(variable: Variable, rows: Iterable[Inequality]) -> VaryingRange:
    limits: tuple[list[LinearLimit], list[LinearLimit]] = [], []
    for row in rows:
        own = row.factors[variable.address]
        factors = {a: -factor / own for a, factor in row.factors.items() if a != variable.address}
        limit = LinearLimit(factors, -row.constant / own, row.strict)
        if limit not in (mine := limits[own > 0]):
            mine.append(limit)
    return VaryingRange(variable, *map(tuple, limits))


def _ends(variable: Variable) -> tuple[Inequality, Inequality]:
    """Return two inequalities: a variable is at least the least number of its range, and at most the greatest."""
    least, greatest = ends_of_range(variable)
    one = Fraction(1)
    return Inequality({variable.address: -one}, least), Inequality({variable.address: one}, -greatest)


def ends_of_range(variable: Variable) -> tuple[Fraction, Fraction]:
    """Return the least and the greatest number of a range."""
    domain = range_of_variable(variable)
    return to_fraction(domain.least), to_fraction(domain.greatest)


def _is_always_true(row: Inequality, members: Mapping[str, Variable]) -> bool:
    boxes = {address: ends_of_range(members[address]) for address in row.factors}
    greatest = row.constant + sum(factor * boxes[a][factor > 0] for a, factor in row.factors.items())
    return greatest < 0 or (greatest == 0 and not row.strict)


@dataclass(frozen=True)
class PartsWithVaryingBounds:
    """The parts of a space, with varying bounds of some `ranges` (by address) in place of `constraints`."""

    parts: UnfoldedParts
    ranges: Mapping[str, VaryingRange] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()


def unfold_with_varying_bounds(
    structures: Structures,
    unfolded: Callable[[Structures], UnfoldedParts],
    is_supported: Callable[[VaryingRange], bool],
) -> PartsWithVaryingBounds:
    """Return the parts of a space, with varying bounds in place of those relations that bounds can express.

    `unfolded` makes the parts, and its errors are raised. `is_supported` returns True for a range whose bounds the
    library can vary.
    """
    groups = relation_groups(structures.space)
    while True:
        dropped = tuple(rule for group in groups for rule in group.constraints)
        parts = unfolded(without_constraints(structures, dropped))
        found = {id(group): _ranges_in_parts(group, parts, is_supported) for group in groups}
        kept = tuple(group for group in groups if found[id(group)] is not None)
        if len(kept) == len(groups):
            ranges = {address: each for several in found.values() for address, each in (several or {}).items()}
            return PartsWithVaryingBounds(parts, ranges, dropped)
        groups = kept


def _ranges_in_parts(
    group: RelationGroup, parts: UnfoldedParts, is_supported: Callable[[VaryingRange], bool]
) -> dict[str, VaryingRange] | None:
    """Return the varying ranges of a group, in the order in which the parts choose them; None if it has none.

    It has none if the parts split the domain of a member or choose members in different orders, or if a range is not
    supported.
    """
    wanted = {each.address: None for each in group.members}
    every = [*all_parts(parts)]
    frees = [each for each in every if isinstance(each, IndependentHyperparameter) and each.node.address in wanted]
    cases = (each for each in every if isinstance(each, CaseSplit | ValueSwitch) and each.node is not None)
    are_whole = len(frees) == len(wanted) and all(each.domain == each.node.domain for each in frees)
    if not are_whole or any(each.node.address in wanted for each in cases if each.node is not None):
        return None
    order = _order_in_parts(wanted, parts)
    found = None if order is None else varying_ranges(group, order)
    return found if found is not None and all(map(is_supported, found.values())) else None


def _order_in_parts(wanted: Collection[str], parts: UnfoldedParts) -> list[str] | None:
    """Return the addresses in `wanted` in the order in which the parts choose them; None if two orders occur."""
    before: set[tuple[str, str]] = set()
    inside: dict[int, tuple[str, ...]] = {}

    def visit(several: UnfoldedParts) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for part in several:
            if id(part) not in inside:
                own = (part.node.address,) if isinstance(part, IndependentHyperparameter) else ()
                mine = dict.fromkeys(each for each in own if each in wanted)
                inside[id(part)] = (*(mine | dict.fromkeys(a for parts in inner_parts(part) for a in visit(parts))),)
            before.update((first, then) for first in found for then in inside[id(part)])
            found |= dict.fromkeys(inside[id(part)])
        return (*found,)

    visit(parts)
    left, order = {*wanted}, list[str]()
    while left:
        ready = [each for each in wanted if each in left and not any((other, each) in before for other in left)]
        if not ready:
            return None
        order.append(ready[0])
        left.remove(ready[0])
    return order
