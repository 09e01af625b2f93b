"""Reductions of a simple domain to one that a library supports; `decode(encode(value)) == value`.

If steps are not supported, `reduce_domain(Grid(0.0, 0.3, step=0.1), accepts)` is `MemberIndexReduction`: its domain is
`Grid(0, 3)`, in which 0.2 becomes 2.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final, Protocol, TypeAlias

from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, describe, exact_integer, literal, parts
from spacelang.ir.value import Value, identity_key
from spacelang.sampling.unit_scale import from_unit_function, to_unit_function
from spacelang.solver.domain_cells import log_uniform_ends

GRID_POINTS: Final = 101  # The default number of values to which `GridReduction` cuts a range

DomainPredicate: TypeAlias = Callable[[SimpleDomain], bool]
"""A function that returns True if a library can represent the domain as it is."""


class DomainReduction(Protocol):
    """A simple domain, the domain that replaces it, and the mapping between their members."""

    @property
    def part(self) -> SimpleDomain:
        """The original domain."""

    @property
    def domain(self) -> SimpleDomain:
        """The domain that replaces `part`."""

    def encode(self, value: Value) -> Value:
        """Return the member of `domain` that stands for a member of `part`."""

    def decode(self, value: Value) -> Value:
        """Return the member of `part` that a member of `domain` stands for."""


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
    """The reduction of a finite domain to a set of names, one for each member; an ordered domain stays ordered."""

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


@dataclass(frozen=True)
class LogarithmReduction:
    """The reduction of a range with a log scale to the linear range of the natural logarithms of its numbers.

    Every number of the linear range stands for a member: in a grid, for the nearest one. Encoding and decoding changes
    a member of a continuous range only after the 12th digit, and only because there are fewer logarithms than members.
    """

    part: Grid | Real

    @cached_property
    def domain(self) -> Real:
        """The range of the logarithms; its uniform draws give members of a grid as often as the grid's own draws."""
        part = self.part
        return Real(*(log_uniform_ends(part) if isinstance(part, Grid) else map(math.log, (part.least, part.greatest))))

    def encode(self, value: Value) -> float:
        """Return the logarithm that stands for a member, or, if there is none, the one of a number next to it."""
        assert isinstance(value, int | float)
        exponent = math.log(value)
        step = max(math.ulp(exponent), 2.0**-54)  # less would not change the number
        found = next((e for e in (exponent + k * step for k in (0, 1, -1, 2, -2)) if self.decode(e) == value), exponent)
        return min(max(found, self.domain.lower), self.domain.upper)

    def decode(self, value: Value) -> Value:
        """Return the member that a logarithm stands for; beyond the range it is the end of the range."""
        assert isinstance(value, int | float)
        if value <= self.domain.lower or value >= self.domain.upper:
            return self.part.least if value <= self.domain.lower else self.part.greatest
        number = math.exp(value)
        if isinstance(self.part, Real):
            return min(max(number, self.part.least), self.part.greatest)
        index = round((number - self.part.lower) / self.part.step)
        return self.part.value_at(min(max(index, 0), self.part.last_index))


@dataclass(frozen=True)
class GridReduction:
    """A replacement of a range by `points` of its members, evenly spaced on its scale, which are drawn by index."""

    part: Real
    points: int = GRID_POINTS

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The members of the grid, in ascending order."""
        return tuple(map(float, evenly_spaced_members(self.part, self.points)))  # type: ignore[arg-type]

    @property
    def domain(self) -> Grid:
        """The range of the indices."""
        return Grid(0, len(self.values) - 1)

    def encode(self, value: Value) -> int:
        """Return the index of the nearest value on the scale of the range, the upper one in a tie."""
        assert isinstance(value, int | float)
        above, to_unit = bisect_left(self.values, value, 0, len(self.values) - 1), to_unit_function(self.part)
        below = max(above - 1, 0)
        return below if to_unit(value) * 2 < to_unit(self.values[below]) + to_unit(self.values[above]) else above

    def decode(self, value: Value) -> float:
        """Return the value with an index; raise LookupError if there is none."""
        index = exact_integer(value)
        if index is None or not 0 <= index < len(self.values):
            raise LookupError(value)
        return self.values[index]


@dataclass(frozen=True, slots=True)
class ScaledRangeReduction:
    """A replacement of a range of floats by the range times `2 ** exponent`; decoded numbers are clipped to it."""

    part: Real
    exponent: int = 0

    @property
    def domain(self) -> Real:
        """The scaled range."""
        lower, upper = (math.ldexp(end, self.exponent) for end in (self.part.lower, self.part.upper))
        return Real(lower, upper, log=self.part.log)

    def encode(self, value: Value) -> float:
        """Return the scaled number."""
        assert isinstance(value, int | float)
        return math.ldexp(float(value), self.exponent)

    def decode(self, value: Value) -> float:
        """Return the member nearest to a scaled number."""
        assert isinstance(value, int | float)
        return min(max(math.ldexp(float(value), -self.exponent), self.part.least), self.part.greatest) + 0.0


def scaling_exponent(part: Real) -> int:
    """Return the exponent for a range whose numbers need no more than 13 decimals after scaling; 0 without scaling."""
    largest = max(abs(part.lower), abs(part.upper))
    smallest = part.lower if part.log else largest
    if (1e-8 if part.log else 1e-3) <= smallest and largest <= 1e15:
        return 0
    return min(1 - math.frexp(smallest)[1], 900 - math.frexp(largest)[1])


def evenly_spaced_members(part: Grid | Real, points: int) -> list[Value]:
    """Return `points` members of a range, evenly spaced on its scale, with both ends; fewer if some are equal."""
    at = from_unit_function(part)
    inner = (at(place / (points - 1)) for place in range(1, points - 1))
    return list({identity_key(value): value for value in (part.least, *inner, part.greatest)}.values())


def possible_reductions_of(
    part: SimpleDomain, *, has_logs: bool = True, points: int = GRID_POINTS
) -> Iterator[DomainReduction]:
    """Yield the reductions of a domain, least changes first; grids keep log scales if the library `has_logs`."""
    yield IdentityReduction(part)
    if isinstance(part, Real):
        yield ClosedRangeReduction(part)
    if isinstance(part, Categorical):
        yield MemberRenamingReduction(part, type(part)(tuple(map(literal, part.values))))
    elif part.log and (isinstance(part, Real) or not has_logs):
        yield LogarithmReduction(part)
    yield GridReduction(part, points) if isinstance(part, Real) else MemberIndexReduction(part)


def reduce_domain(part: SimpleDomain, accepts: DomainPredicate, points: int = GRID_POINTS) -> DomainReduction:
    """Return the reduction that changes a domain least among those to a domain that `accepts` allows.

    Raises ValueError, which lists what `accepts` could allow, if it allows none. If only a grid can replace a range,
    the grid has `points` values.
    """
    if accepts(part):
        return IdentityReduction(part)
    made = partial(possible_reductions_of, part, has_logs=accepts(Real(1.0, 2.0, log=True)), points=points)
    for found in made():
        if accepts(found.domain):
            return found
    wanted = ", ".join(dict.fromkeys(f"`{describe(each.domain)}` ({type(each).__name__})" for each in made()))
    raise ValueError(
        f"no accepted domain can replace the domain `{describe(part)}`: let `accepts` return True for one of {wanted}"
    )


def split_into_simple(domain: Domain) -> tuple[SimpleDomain, ...]:
    """Return the parts of a domain; a range that is wider than the largest float is split at 0."""
    found: list[SimpleDomain] = []
    for part in parts(domain):
        if isinstance(part, Real) and not math.isfinite(part.upper - part.lower):
            found += (replace(part, upper=0.0, upper_open=True), replace(part, lower=0.0, lower_open=False))
        else:
            found.append(part)
    return tuple(found)
