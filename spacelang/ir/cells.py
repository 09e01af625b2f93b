"""Cells: a domain cut at the places where some atom of a constraint changes its truth.

A cell is itself a domain. All of its values agree on every atom that names only that hyperparameter, so one value
speaks for all of them, and a range of a million integers costs as many cells as constants it is compared with.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from spacelang.ir.domain import Categorical, Domain, Integer, Real, Simple, contains, parts
from spacelang.ir.value import Value

Signature = Callable[[Value], tuple[object, ...]]
"""What an expression can tell about a value: the truth of every atom, and more where values are compared."""

ROUNDING = 1e-9
ENUMERABLE = 10_000
"""The largest finite domain that is looked at value by value where an atom relates several hyperparameters."""


def cells(domain: Domain, cuts: Sequence[float], signature: Signature) -> tuple[Simple, ...]:
    """The cells of a domain: disjoint, covering, none of them empty.

    `cuts` are the numbers at which an atom may change its truth; `signature` decides among the values of sets.
    """
    return tuple(cell for part in parts(domain) for cell in _cells_of(part, sorted(set(cuts)), signature))


def singletons(domain: Domain) -> tuple[Simple, ...]:
    """A finite domain value by value."""
    return tuple(
        Categorical((part.at(place),))
        for part in parts(domain)
        for place in range(_first(part), _first(part) + _size(part))
    )


def representative(cell: Simple) -> Value:
    """A value of the cell, away from its ends where it can be."""
    return cell.middle


def mass(cell: Simple, domain: Domain) -> float:
    """The probability of a cell when a value of the domain is drawn: parts alike, uniform or log-uniform within."""
    for part in parts(domain):
        share = _share_of_length(cell, part) if part.size is None else _share_of_members(cell, part)
        if share is not None:
            return share / len(parts(domain))
    raise ValueError("the cell does not belong to the domain")


def _cells_of(part: Simple, cuts: list[float], signature: Signature) -> list[Simple]:
    match part:
        case Categorical():
            groups: dict[tuple[object, ...], list[Value]] = {}
            for value in part.values:
                groups.setdefault(signature(value), []).append(value)
            return [Categorical(tuple(values)) for values in groups.values()]
        case Integer():
            return list(_cut_grid(part, cuts))
        case Real(step=None):
            return list(_cut_interval(part, cuts))
        case Real():
            return list(_cut_grid(part, cuts))


def _cut_grid(part: Integer | Real, cuts: list[float]) -> list[Simple]:
    """Runs of members between the cuts; a member at a cut is a run of its own.

    So is one so near that rounding in the atom's arithmetic may move it to the other side.
    """
    first, last = _first(part), _first(part) + _size(part) - 1
    bounds = {first, last + 1}
    for cut in filter(math.isfinite, cuts):
        above = bisect_left(range(first, last + 1), Fraction(cut), key=lambda place: Fraction(part.at(place))) + first
        bounds.add(above)
        for place in (above - 1, above):
            if first <= place <= last and math.isclose(part.at(place), cut, rel_tol=ROUNDING, abs_tol=ROUNDING):
                bounds.update((place, place + 1))
    ordered = sorted(bounds)
    return [_run(part, start, end - 1) for start, end in pairwise(ordered)]


def _run(part: Integer | Real, first: int, last: int) -> Simple:
    if isinstance(part, Integer):
        return replace(part, lower=part.at(first), upper=part.at(last))
    return replace(part, lower=part.at(first), upper=part.at(last), lower_open=False, upper_open=False)


def _cut_interval(part: Real, cuts: list[float]) -> list[Simple]:
    """Open intervals between the cuts, and each cut as a point; no interval without a number inside."""
    inner = [cut for cut in cuts if part.lower <= cut <= part.upper and math.isfinite(cut)]
    result: list[Simple] = []
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


def _first(part: Simple) -> int:
    return part.first_index if isinstance(part, Real) else 0


def _size(part: Simple) -> int:
    assert part.size is not None
    return part.size


def _share_of_members(cell: Simple, part: Simple) -> float | None:
    if cell.size is None or not contains(part, cell.middle):
        return None
    if isinstance(part, Integer) and part.log:
        lower, upper = (cell.lower, cell.upper) if isinstance(cell, Integer) else (cell.middle, cell.middle)
        return log_share(lower, upper, part)  # type: ignore[arg-type]
    return cell.size / _size(part)


def log_share(lower: int, upper: int, part: Integer) -> float:
    """The probability of the members between two members, both included, when an integer is drawn log-uniformly."""
    start, end = log_ends(part)
    from_here = start if lower == part.lower else math.log(lower - part.step / 2)
    return (math.log(upper + part.step / 2) - from_here) / (end - start)


def log_ends(part: Integer) -> tuple[float, float]:
    """The logarithms between which a log-uniform draw falls.

    Each member stands for the interval of half a step around it, so that the smallest one is not drawn too often;
    below the smallest one half of it at most, so that the interval stays positive.
    """
    return math.log(part.lower - min(part.step, part.lower) / 2), math.log(part.upper + part.step / 2)


def _share_of_length(cell: Simple, part: Simple) -> float | None:
    if not isinstance(cell, Real) or not isinstance(part, Real) or cell.lower < part.lower or cell.upper > part.upper:
        return None
    if part.log:
        return (math.log(cell.upper) - math.log(cell.lower)) / (math.log(part.upper) - math.log(part.lower))
    return (cell.upper - cell.lower) / (part.upper - part.lower)
