"""Questions about domains: numbers in them, their parts, and which of them floats represent exactly."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from spacelang.ir.domain import (
    NOT_FOUND,
    Categorical,
    Domain,
    Grid,
    NotFound,
    Real,
    SimpleDomain,
    contains,
    parts,
)
from spacelang.ir.space import Hyperparameter, Space
from spacelang.ir.value import Value, is_number

EXACT_INTEGER_LIMIT: Final = 2**53  # Floats represent all integers below this exactly
FLOAT_LIMIT_REASON: Final = "values are encoded as floats, which are exact for integers only up to 2^53"


def is_exact_as_floats(part: Grid) -> bool:
    """Return True if floats represent all members of the grid exactly."""
    return not part.is_integral or (part.lower > -EXACT_INTEGER_LIMIT and part.upper < EXACT_INTEGER_LIMIT)


def is_encodable(part: SimpleDomain) -> bool:
    """Return True if floats distinguish all members of a domain and all of their indices."""
    if isinstance(part, Grid) and not is_exact_as_floats(part):
        return False
    return part.size is None or part.last_index < EXACT_INTEGER_LIMIT


def unencodable_domains(space: Space) -> Iterator[tuple[Hyperparameter, SimpleDomain]]:
    """Yield the hyperparameters of a space that cannot be encoded as floats, each with the responsible domain part."""
    for node in space.hyperparameters:
        yield from ((node, part) for part in parts(node.domain) if not is_encodable(part))


def subgrid(part: Grid, first: int, last: int) -> Grid:
    """Return the members of a grid from index `first` to index `last`, both included, as a grid."""
    return replace(part, lower=part.value_at(first), upper=part.value_at(last))


def index_of_containing_domain(several: Sequence[SimpleDomain], value: Value) -> int:
    """Return the index of the first domain that contains `value`; raise ValueError if none does."""
    for place, part in enumerate(several):
        if contains(part, value):
            return place
    raise ValueError("the value does not belong to the domain")


def has_distinct_scalars(part: Categorical) -> bool:
    """Return True for a set without tuples whose values differ in Python, where `true` equals 1."""
    return len(set(part.values)) == len(part.values) and not any(isinstance(value, tuple) for value in part.values)


def contains_numbers(domain: Domain) -> bool:
    """Return True if at least one value of a domain is a number."""
    return any(not isinstance(part, Categorical) or any(map(is_number, part.values)) for part in parts(domain))


def nearest_value(value: Value, domain: Domain) -> Value | NotFound:
    """Return the member nearest to a number outside of the domain, among the ranges of the domain.

    Return `NOT_FOUND` if the value is not a number, or if the domain has no range. The caller must make sure that the
    domain does not contain the value.
    """
    if not is_number(value):
        return NOT_FOUND
    ends = [end for part in parts(domain) if isinstance(part, Grid | Real) for end in _adjacent_members(part, value)]
    if ends and math.isinf(value):
        return max(ends) if value > 0 else min(ends)
    return min(ends, key=lambda end: abs(end - value), default=NOT_FOUND)


def _adjacent_members(part: Grid | Real, value: float) -> tuple[int | float, ...]:
    """Return the members of a grid or an interval next to a number outside it: the one below and the one above."""
    if isinstance(part, Real):
        return (part.least if value < part.least else part.greatest,)
    places = range(part.size)
    place = bisect_left(places, value, key=part.value_at)
    return tuple(part.value_at(index) for index in (place - 1, place) if index in places)


def is_finite(domain: Domain) -> bool:
    """Return True if a domain has a finite number of values."""
    return domain.size is not None
