"""A range or a set as another one that a tool can say, value by value: `decode(encode(value)) == value`.

Where steps are not accepted, `reduction(Grid(0.0, 0.3, step=0.1), accepts)` is `Indices`: its domain is `Grid(0, 3)`,
and 0.2 is 2 there.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Protocol, TypeAlias

from spacelang.ir.domain import Categorical, Domain, Grid, Real, Simple, exact_integer, literal, parts
from spacelang.ir.value import Value, identity

Accepts: TypeAlias = Callable[[Simple], bool]
"""Whether a tool can say a range or a set as it stands."""


class Reduction(Protocol):
    """A range or set, and the one that takes its place."""

    @property
    def part(self) -> Simple:
        """What is reduced."""
        ...

    @property
    def domain(self) -> Simple:
        """What takes its place."""
        ...

    def encode(self, value: Value) -> Value:
        """The member of `domain` that stands for a member of `part`."""
        ...

    def decode(self, value: Value) -> Value:
        """The member of `part` that a member of `domain` stands for."""
        ...


@dataclass(frozen=True, slots=True)
class Identity:
    """What is accepted as it stands."""

    part: Simple

    @property
    def domain(self) -> Simple:
        """The same."""
        return self.part

    def encode(self, value: Value) -> Value:
        """The same."""
        return value

    def decode(self, value: Value) -> Value:
        """The same."""
        return value


@dataclass(frozen=True, slots=True)
class Closed(Identity):
    """A continuous range without its excluded ends: they are the next floats inside."""

    part: Real

    @property
    def domain(self) -> Real:
        """The closed range of the same floats."""
        return Real(self.part.least, self.part.greatest, log=self.part.log)


@dataclass(frozen=True)
class Renamed:
    """Members one by one under other names, in the order of their indices: a set, ordered where they are."""

    part: Categorical | Grid
    domain: Categorical

    @cached_property
    def _names(self) -> dict[tuple[object, ...], Value]:
        return {identity(self.part.at(place)): name for place, name in enumerate(self.domain.values)}

    def encode(self, value: Value) -> Value:
        """Its name."""
        return self._names[identity(value)]

    def decode(self, value: Value) -> Value:
        """The member with a name; raises LookupError where none has it."""
        return self.part.at(self.domain.index_of(value))


@dataclass(frozen=True, slots=True)
class Indices:
    """Members by their indices, which are the integers from 0 on."""

    part: Categorical | Grid

    @property
    def domain(self) -> Grid:
        """The indices."""
        return Grid(0, self.part.last_index)

    def encode(self, value: Value) -> int:
        """The index of a member."""
        return self.part.index_of(value)

    def decode(self, value: Value) -> Value:
        """The member with an index; raises LookupError where none has it."""
        index = exact_integer(value)
        if index is None or not 0 <= index <= self.part.last_index:
            raise LookupError(value)
        return self.part.at(index)


def closed(part: Simple) -> Closed | None:
    """What is said of a continuous range by its members alone."""
    return Closed(part) if isinstance(part, Real) else None


def worded(part: Simple) -> Renamed | None:
    """Values of a set as the language writes them, all differently."""
    if not isinstance(part, Categorical):
        return None
    return Renamed(part, type(part)(tuple(map(literal, part.values))))


def indexed(part: Simple) -> Indices | None:
    """What is finite by its indices."""
    return None if isinstance(part, Real) else Indices(part)


REDUCTIONS: Final[tuple[Callable[[Simple], Reduction | None], ...]] = (Identity, closed, worded, indexed)
"""What there is, the gentlest first."""


def reduction(part: Simple, accepts: Accepts) -> Reduction:
    """The first reduction of a range or set to what a tool accepts; raises ValueError where there is none."""
    for made in REDUCTIONS:
        found = made(part)
        if found is not None and accepts(found.domain):
            return found
    raise ValueError(f"nothing makes `{part}` what is accepted")


def simple_pieces(domain: Domain) -> tuple[Simple, ...]:
    """The parts of a domain, a range that is wider than the largest float cut at 0."""
    return tuple(piece for part in parts(domain) for piece in _cut(part))


def _cut(part: Simple) -> tuple[Simple, ...]:
    if not isinstance(part, Real) or math.isfinite(part.upper - part.lower):
        return (part,)
    return replace(part, upper=0.0, upper_open=True), replace(part, lower=0.0, lower_open=False)
