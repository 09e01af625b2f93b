"""Reductions of a simple domain to one that a library supports; `decode(encode(value)) == value`.

If steps are not supported, `reduce_domain(Grid(0.0, 0.3, step=0.1), accepts)` is `MemberIndexReduction`: its domain is
`Grid(0, 3)`, in which 0.2 becomes 2.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Protocol, TypeAlias

from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, exact_integer, literal, parts
from spacelang.ir.value import Value, identity_key

DomainPredicate: TypeAlias = Callable[[SimpleDomain], bool]
"""A function that returns True if a library can represent the domain as it is."""


class Reduction(Protocol):
    """A simple domain, the domain that replaces it, and the mapping between their members."""

    @property
    def part(self) -> SimpleDomain:
        """The original domain."""
        ...

    @property
    def domain(self) -> SimpleDomain:
        """The domain that replaces it."""
        ...

    def encode(self, value: Value) -> Value:
        """Return the member of `domain` that stands for a member of `part`."""
        ...

    def decode(self, value: Value) -> Value:
        """Return the member of `part` that a member of `domain` stands for."""
        ...


@dataclass(frozen=True, slots=True)
class IdentityReduction:
    """The reduction of a domain to itself."""

    part: SimpleDomain

    @property
    def domain(self) -> SimpleDomain:
        """The original domain."""
        return self.part

    def encode(self, value: Value) -> Value:
        """Return the value itself."""
        return value

    def decode(self, value: Value) -> Value:
        """Return the value itself."""
        return value


@dataclass(frozen=True, slots=True)
class ClosedRangeReduction(IdentityReduction):
    """The reduction of a continuous range to a closed one; an excluded end becomes the next float inside."""

    part: Real

    @property
    def domain(self) -> Real:
        """The closed range with the same floats."""
        return Real(self.part.least, self.part.greatest, log=self.part.log)


@dataclass(frozen=True)
class MemberRenamingReduction:
    """The reduction of a finite domain to a set of other names, one for each member, in the order of their indices.

    The set is ordered if the members are.
    """

    part: Categorical | Grid
    domain: Categorical

    @cached_property
    def _names(self) -> dict[tuple[object, ...], Value]:
        return {identity_key(self.part.value_at(place)): name for place, name in enumerate(self.domain.values)}

    def encode(self, value: Value) -> Value:
        """Return the name of a member."""
        return self._names[identity_key(value)]

    def decode(self, value: Value) -> Value:
        """Return the member with a name; raise LookupError if there is none."""
        return self.part.value_at(self.domain.index_of(value))


@dataclass(frozen=True, slots=True)
class MemberIndexReduction:
    """The reduction of a finite domain to the indices of its members: consecutive integers from 0."""

    part: Categorical | Grid

    @property
    def domain(self) -> Grid:
        """The range of the indices."""
        return Grid(0, self.part.last_index)

    def encode(self, value: Value) -> int:
        """Return the index of a member."""
        return self.part.index_of(value)

    def decode(self, value: Value) -> Value:
        """Return the member with an index; raise LookupError if there is none."""
        index = exact_integer(value)
        if index is None or not 0 <= index <= self.part.last_index:
            raise LookupError(value)
        return self.part.value_at(index)


def close_range(part: SimpleDomain) -> ClosedRangeReduction | None:
    """Return the reduction of a continuous range to a closed range; None for other domains."""
    return ClosedRangeReduction(part) if isinstance(part, Real) else None


def name_by_literals(part: SimpleDomain) -> MemberRenamingReduction | None:
    """Return the reduction of a set to the literals of its values, which all differ; None for other domains."""
    if not isinstance(part, Categorical):
        return None
    return MemberRenamingReduction(part, type(part)(tuple(map(literal, part.values))))


def number_by_indices(part: SimpleDomain) -> MemberIndexReduction | None:
    """Return the reduction of a finite domain to indices; None for a continuous range."""
    return None if isinstance(part, Real) else MemberIndexReduction(part)


REDUCTIONS: Final[tuple[Callable[[SimpleDomain], Reduction | None], ...]] = (
    IdentityReduction,
    close_range,
    name_by_literals,
    number_by_indices,
)
"""All reductions, those that change least first."""


def reduce_domain(part: SimpleDomain, accepts: DomainPredicate) -> Reduction:
    """Return the replacement of a domain that changes it least among those that `accepts` allows.

    Raises ValueError if it allows none.
    """
    for made in REDUCTIONS:
        found = made(part)
        if found is not None and accepts(found.domain):
            return found
    raise ValueError(f"no accepted domain can replace the domain `{part}`")


def split_into_simple(domain: Domain) -> tuple[SimpleDomain, ...]:
    """Return the parts of a domain; a range that is wider than the largest float is split at 0."""
    return tuple(piece for part in parts(domain) for piece in _split_wide_range(part))


def _split_wide_range(part: SimpleDomain) -> tuple[SimpleDomain, ...]:
    if not isinstance(part, Real) or math.isfinite(part.upper - part.lower):
        return (part,)
    return replace(part, upper=0.0, upper_open=True), replace(part, lower=0.0, lower_open=False)
