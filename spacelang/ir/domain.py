"""Domains: the values that a hyperparameter may take.

A domain is a set and nothing else: two domains are equal when their fields are, `find` says whether a value
lies inside, `size` counts exactly (None where the set is infinite).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

from spacelang.ir.rationals import decimal, rational
from spacelang.ir.value import Value, identity, is_number, same


class Missing:
    """The answer of `find` for a value outside a domain (None is a value itself)."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


@dataclass(frozen=True, slots=True)
class Real:
    """The numbers from `lower` to `upper`, spaced evenly by `step` from `lower` where there is one."""

    lower: float
    upper: float
    lower_open: bool = False
    upper_open: bool = False
    log: bool = False
    step: float | None = None

    @property
    def size(self) -> int | None:
        """How many values there are: None (infinitely many) without a step."""
        if self.step is None:
            return 1 if self.lower == self.upper else None
        return self.last_index - self.first_index + 1

    @property
    def least(self) -> float:
        """The smallest member: of a range the next float inside where its lower end is excluded."""
        if self.step is not None:
            return self.at(self.first_index)
        return math.nextafter(self.lower, math.inf) if self.lower_open else self.lower + 0.0

    @property
    def greatest(self) -> float:
        """The largest member, likewise."""
        if self.step is not None:
            return self.at(self.last_index)
        return math.nextafter(self.upper, -math.inf) if self.upper_open else self.upper + 0.0

    @property
    def first_index(self) -> int:
        """The index of the smallest member among lower, lower + step, ..."""
        return 1 if self.lower_open else 0

    @property
    def last_index(self) -> int:
        """The index of the largest member among lower, lower + step, ...; -1 where there is none.

        The literals are taken as the decimals that the author wrote: [0, 0.3] by 0.1 has four members.
        """
        if self.step is None:
            return 0  # a point
        start, step, below = decimals(self)
        steps, left = divmod(decimal(self.upper) * below - start, step)
        return int(steps) - (self.upper_open and left == 0)

    def at(self, index: int) -> float:
        """The member of the grid with this index; a point is a grid of one."""
        if self.step is None:
            return self.lower
        start, step, below = decimals(self)
        # Whole numbers divide to the nearest float, which sums of floats do not give.
        return (start + step * index) / below

    def index_of(self, member: Value) -> int:
        """The index of a member of the grid: `at(index_of(member)) == member`."""
        assert is_number(member)
        if self.step is None:
            return 0
        start, step, below = decimals(self)
        number, divisor = member.as_integer_ratio()  # type: ignore[union-attr]
        return round(Fraction(number * below - start * divisor, step * divisor))

    def find(self, value: Value) -> Value | Missing:
        """The member equal to `value`, as a float; MISSING where there is none."""
        number = exact_float(value)
        if number is None or not self.lower <= number <= self.upper:
            return MISSING
        if (self.lower_open and number == self.lower) or (self.upper_open and number == self.upper):
            return MISSING
        if self.step is not None:
            index = self.index_of(number)
            if not self.first_index <= index <= self.last_index or self.at(index) != number:
                return MISSING
        return number

    @property
    def middle(self) -> Value:
        """The arithmetic middle, the geometric one under `log`."""
        if self.step is not None:
            return self.at((self.first_index + self.last_index) // 2)
        if self.lower == self.upper:
            return self.lower
        middle = math.sqrt(self.lower) * math.sqrt(self.upper) if self.log else self.lower / 2 + self.upper / 2
        if self.lower < middle < self.upper:
            return middle
        # Between near numbers rounding may end on an excluded end, or outside.
        following = math.nextafter(self.lower, self.upper)
        return following if following < self.upper else (self.upper if self.lower_open else self.lower)


@dataclass(frozen=True, slots=True)
class Integer:
    """The integers lower, lower + step, ... up to `upper`; open ends are already drawn in."""

    lower: int
    upper: int
    log: bool = False
    step: int = 1

    @property
    def size(self) -> int:
        """How many members there are."""
        return max(0, (self.upper - self.lower) // self.step + 1)

    @property
    def least(self) -> int:
        """The smallest member."""
        return self.lower

    @property
    def greatest(self) -> int:
        """The largest member, which a step may keep from being the upper end."""
        return self.at(self.last_index)

    @property
    def first_index(self) -> int:
        """The index of the smallest member."""
        return 0

    @property
    def last_index(self) -> int:
        """The index of the largest member."""
        return self.size - 1

    def at(self, index: int) -> int:
        """The member with this index, counted from 0."""
        return self.lower + index * self.step

    def index_of(self, member: Value) -> int:
        """The index of a member: `at(index_of(member)) == member`."""
        assert is_number(member)
        return (int(member) - self.lower) // self.step  # type: ignore[arg-type]

    def find(self, value: Value) -> Value | Missing:
        """The member equal to `value`, as an int; MISSING where there is none."""
        if isinstance(value, float) and value.is_integer():
            value = int(decimal(value))
        if not isinstance(value, int) or isinstance(value, bool):
            return MISSING
        inside = self.lower <= value <= self.upper and (value - self.lower) % self.step == 0
        return int(value) if inside else MISSING

    @property
    def middle(self) -> Value:
        """The member nearest to the arithmetic middle, to the geometric one under `log`."""
        middle = math.isqrt(self.lower * self.upper) if self.log else (self.lower + self.upper) // 2
        return self.at(self.index_of(middle))


@dataclass(frozen=True)
class Categorical:
    """A finite set of values without an order."""

    values: tuple[Value, ...]

    def __eq__(self, other: object) -> bool:
        """Whether the values are the same in the same order: {1, 0} is not `bool`."""
        return type(other) is type(self) and identity(self.values) == identity(other.values)

    def __hash__(self) -> int:
        return hash(identity(self.values))

    @cached_property
    def index(self) -> dict[tuple[object, ...], int]:
        """The place of each value, by its identity."""
        return {identity(value): place for place, value in enumerate(self.values)}

    @property
    def size(self) -> int:
        """How many members there are."""
        return len(self.values)

    @property
    def first_index(self) -> int:
        """The index of the first member."""
        return 0

    @property
    def last_index(self) -> int:
        """The index of the last member."""
        return self.size - 1

    def at(self, index: int) -> Value:
        """The member with this index, counted from 0 as written."""
        return self.values[index]

    def index_of(self, member: Value) -> int:
        """The index of a member: `at(index_of(member))` is the same value."""
        return self.index[identity(member)]

    def find(self, value: Value) -> Value | Missing:
        """The member that is the same value, as the space writes it; MISSING where there is none."""
        place = self.index.get(identity(value))
        return MISSING if place is None else self.values[place]

    @property
    def middle(self) -> Value:
        """The first value: a set has no middle."""
        return self.values[0]


@dataclass(frozen=True, eq=False)
class Ordinal(Categorical):
    """A finite set of values in an order; equal as sets are: a generated equality would take `true` for 1."""

    @property
    def middle(self) -> Value:
        """The value in the middle of the order, the lower one of two."""
        return self.values[(len(self.values) - 1) // 2]


@dataclass(frozen=True)
class Union:
    """Several domains side by side, without a value in common."""

    parts: tuple[Real | Integer | Categorical | Ordinal, ...]

    @property
    def size(self) -> int | None:
        """How many members there are: None where a part is infinite."""
        total = 0
        for part in self.parts:
            if part.size is None:
                return None
            total += part.size
        return total

    def find(self, value: Value) -> Value | Missing:
        """The member equal to `value`; MISSING where there is none."""
        for part in self.parts:
            found = part.find(value)
            if not isinstance(found, Missing):
                return found
        return MISSING

    @property
    def middle(self) -> Value:
        """The middle of the first part."""
        return self.parts[0].middle


def exact_float(value: Value) -> float | None:
    """The float that is the same number (0.0 for -0.0); None where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value) + 0.0
    except OverflowError:
        return None
    return number if number == value or rational(number) == value else None


Simple: TypeAlias = Real | Integer | Categorical | Ordinal
Domain: TypeAlias = Simple | Union

BOOLEANS: Final = Categorical((True, False))


@lru_cache(maxsize=4096)
def decimals(grid: Real) -> tuple[int, int, int]:
    """Whole numbers a, b and c of a range with a step: its member with index i is (a + b i) / c, rounded once."""
    assert grid.step is not None
    lower, step = decimal(grid.lower), decimal(grid.step)
    below = math.lcm(lower.denominator, step.denominator)
    return int(lower * below), int(step * below), below


def members(part: Simple) -> Iterator[Value]:
    """All members of a finite domain, in their order."""
    return map(part.at, range(part.first_index, part.last_index + 1))


def run(part: Integer | Real, first: int, last: int) -> Integer | Real:
    """The members of a grid from one index to another, both included, as a range with closed ends."""
    if isinstance(part, Integer):
        return replace(part, lower=part.at(first), upper=part.at(last))
    return replace(part, lower=part.at(first), upper=part.at(last), lower_open=False, upper_open=False)


def parts(domain: Domain) -> tuple[Simple, ...]:
    """The simple domains that a domain consists of."""
    return domain.parts if isinstance(domain, Union) else (domain,)


def part_of(several: Sequence[Simple], value: Value) -> int:
    """The place of the domain that has a value among several; raises ValueError where none has it."""
    for place, part in enumerate(several):
        if contains(part, value):
            return place
    raise ValueError("the value does not belong to the domain")


def is_finite(domain: Domain) -> bool:
    """Whether a domain has a finite number of values."""
    return domain.size is not None


def contains(domain: Domain, value: Value) -> bool:
    """Whether a value lies in a domain."""
    return not isinstance(domain.find(value), Missing)


def describe(domain: Domain) -> str:
    """The domain as the language writes it."""
    match domain:
        case Union():
            return " | ".join(describe(part) for part in domain.parts)
        case Ordinal():
            return "ordered {" + ", ".join(map(literal, domain.values)) + "}"
        case Categorical():
            if same(domain.values, BOOLEANS.values):
                return "bool"
            return "{" + ", ".join(map(literal, domain.values)) + "}"
        case Integer():
            step = f" step {domain.step}" if domain.step != 1 else ""
            return f"int[{domain.lower}, {domain.upper}]{' log' if domain.log else ''}{step}"
        case Real():
            opening, closing = "(" if domain.lower_open else "[", ")" if domain.upper_open else "]"
            step = f" step {literal(domain.step)}" if domain.step is not None else ""
            bounds = f"{literal(domain.lower)}, {literal(domain.upper)}"
            return f"float{opening}{bounds}{closing}{' log' if domain.log else ''}{step}"


def literal(value: Value) -> str:
    """A value as the language writes it: bare where a word can stand alone, quoted otherwise."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case str():
            return value if _is_word(value) else _quoted(value)
        case tuple():
            inner = ", ".join(map(literal, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case int() | float():
            return repr(value)


def _is_word(text: str) -> bool:
    return text.isascii() and text.isidentifier() and text not in RESERVED


RESERVED: Final = frozenset({"none", "true", "false", "and", "or", "not", "in", "is", "when", "as"})
"""Words that never stand for themselves where a value may stand."""


def _quoted(text: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'
