"""Cells: the parts into which a domain is cut where an atom of a constraint may change its truth.

A cell is itself a domain. All its values agree on every atom that uses only this hyperparameter, so one value
represents all of them. A range of a million integers needs only about as many cells as the constants it is compared
with.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from spacelang.grouping import group_by_key
from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, contains, members, parts, subgrid
from spacelang.ir.rationals import Rational, to_fraction
from spacelang.ir.value import Value

Signature = Callable[[Value], tuple[object, ...]]
"""A function that returns a key of a value; an expression cannot distinguish values with equal keys."""

MAX_ENUMERATED = 10_000
"""The maximum size of a domain that is enumerated because an atom relates several hyperparameters."""


def cut_into_cells(domain: Domain, cuts: Sequence[Rational], signature: Signature) -> tuple[SimpleDomain, ...]:
    """Return the cells of a domain: disjoint, non-empty, and together the whole domain.

    `cuts` are the numbers at which an atom may change its truth. Values of categorical sets with the same `signature`
    share a cell.
    """
    return tuple(cell for part in parts(domain) for cell in _cells_of(part, sorted(set(cuts)), signature))


def singleton_cells(domain: Domain) -> tuple[SimpleDomain, ...]:
    """Return one cell for each value of a finite domain."""
    return tuple(Categorical((value,)) for part in parts(domain) for value in members(part))


def probability_of_cell(cell: SimpleDomain, domain: Domain) -> float:
    """Return the probability of a cell if a value of `domain` is drawn at random.

    Each part of a union is equally likely; within a part the distribution is uniform or log-uniform. Raise ValueError
    if the cell does not belong to the domain.
    """
    for part in parts(domain):
        share = _share_of_length(cell, part) if part.size is None else _share_of_members(cell, part)
        if share is not None:
            return share / len(parts(domain))
    raise ValueError("the given piece of a domain does not lie in this domain")


def _cells_of(part: SimpleDomain, cuts: Sequence[Rational], signature: Signature) -> list[SimpleDomain]:
    match part:
        case Categorical():
            alike = group_by_key((signature(value), value) for value in part.values)
            return [Categorical(tuple(values)) for values in alike.values()]
        case Grid():
            return list(_cut_grid(part, cuts))
        case Real():
            return list(_cut_interval(part, cuts))


def _cut_grid(part: Grid, cuts: Sequence[Rational]) -> list[SimpleDomain]:
    """Return runs of members between the cuts; a member at a cut is a run of its own."""
    size = part.size
    bounds = {0, size}
    for cut in cuts:
        above = _first_index_from(part, cut)
        bounds.add(above)
        if above < size and to_fraction(part.value_at(above)) == cut:
            bounds.add(above + 1)
    return [subgrid(part, start, end - 1) for start, end in pairwise(sorted(bounds))]


def _first_index_from(part: Grid, cut: Rational) -> int:
    """Return the index of the first member that is at least `cut`, or the size of the grid if there is none.

    This is a binary search with Python integers; `bisect` is limited to machine words.
    """
    first, end = 0, part.size
    while first < end:
        middle = (first + end) // 2
        if to_fraction(part.value_at(middle)) < cut:
            first = middle + 1
        else:
            end = middle
    return first


def _cut_interval(part: Real, cuts: Sequence[Rational]) -> list[SimpleDomain]:
    """Return the open intervals between the cuts and each cut as a point, without empty intervals.

    A cut between two floats is rounded to one of them, which gets a cell of its own.
    """
    inner = sorted({float(cut) + 0.0 for cut in cuts if to_fraction(part.lower) <= cut <= to_fraction(part.upper)})
    result: list[SimpleDomain] = []
    lower, lower_open = part.lower, part.lower_open
    for cut in inner:
        before = replace(part, lower=lower, lower_open=lower_open, upper=cut, upper_open=True)
        if contains(before, before.middle):
            result.append(before)
        inside = (cut > part.lower or not part.lower_open) and (cut < part.upper or not part.upper_open)
        if inside:
            result.append(replace(part, lower=cut, upper=cut, lower_open=False, upper_open=False))
        lower, lower_open = cut, True
    after = replace(part, lower=lower, lower_open=lower_open)
    return [*result, after] if contains(after, after.middle) else result


def _share_of_members(cell: SimpleDomain, part: SimpleDomain) -> float | None:
    if cell.size is None or not contains(part, cell.middle):
        return None
    if isinstance(part, Grid) and part.log:
        lower, upper = (cell.lower, cell.upper) if isinstance(cell, Grid) else (cell.middle, cell.middle)
        return log_share(lower, upper, part)  # type: ignore[arg-type]
    assert part.size is not None
    return cell.size / part.size


def log_share(lower: float, upper: float, part: Grid) -> float:
    """Return the probability of the members from `lower` to `upper` under a log-uniform draw from an integer grid.

    Both `lower` and `upper` are members and included.
    """
    start = 2 * part.lower - min(part.step, part.lower) if lower == part.lower else 2 * lower - part.step
    return log_ratio(start, 2 * upper + part.step) / log_length(part)


def log_length(part: Grid) -> float:
    """Return the difference of the two `log_ends`, accurate even if they are almost equal."""
    doubled = 2 * part.lower - min(part.step, part.lower), 2 * part.upper + part.step  # integers, so nothing is rounded
    return log_ratio(*doubled)


def log_ratio(lower: float, upper: float) -> float:
    """Return log(upper / lower) for positive numbers; it is nonzero for different numbers, however close."""
    if upper > 2 * lower:
        return math.log(upper) - math.log(lower)
    return math.log1p((upper - lower) / lower)


def log_ends(part: Grid) -> tuple[float, float]:
    """Return the logarithms of the ends of the interval of a log-uniform draw.

    Each member is represented by the interval of half a step around it, so that the smallest one is not drawn too
    often. Below the smallest member the interval extends by at most half of that member, so that its end stays
    positive.
    """
    return math.log(part.lower - min(part.step, part.lower) / 2), math.log(part.upper + part.step / 2)


def _share_of_length(cell: SimpleDomain, part: SimpleDomain) -> float | None:
    if not isinstance(cell, Real) or not isinstance(part, Real) or cell.lower < part.lower or cell.upper > part.upper:
        return None
    if part.log:
        return log_ratio(cell.lower, cell.upper) / log_ratio(part.lower, part.upper)
    return (cell.upper - cell.lower) / (part.upper - part.lower)
