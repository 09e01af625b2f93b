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

from spacelang.facts import Computing, fact
from spacelang.ir.rationals import decimal, rational
from spacelang.ir.value import Value, identity, is_number, same


class Missing:
    """The answer of `find` for a value outside a domain (None is a value itself)."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


@fact
class Real:
    """The numbers from `lower` to `upper`."""

    lower: float
    upper: float
    lower_open: bool = False
    upper_open: bool = False
    log: bool = False

    @property
    def size(self) -> int | None:
        """How many values there are: None (infinitely many) but for a point."""
        return 1 if self.lower == self.upper else None

    @property
    def is_open(self) -> bool:
        """Whether an end is excluded."""
        return self.lower_open or self.upper_open

    @property
    def least(self) -> float:
        """The smallest member: the next float inside where the lower end is excluded."""
        return math.nextafter(self.lower, math.inf) if self.lower_open else self.lower + 0.0

    @property
    def greatest(self) -> float:
        """The largest member, likewise."""
        return math.nextafter(self.upper, -math.inf) if self.upper_open else self.upper + 0.0

    @property
    def last_index(self) -> int:
        """The index of the last member of a point."""
        return 0

    def at(self, index: int) -> float:  # noqa: ARG002
        """The only member of a point."""
        return self.lower

    def index_of(self, member: Value) -> int:  # noqa: ARG002
        """The index of the only member of a point."""
        return 0

    def find(self, value: Value) -> Value | Missing:
        """The member equal to `value`, as a float; MISSING where there is none."""
        number = exact_float(value)
        if number is None or not self.lower <= number <= self.upper:
            return MISSING
        is_excluded = (self.lower_open and number == self.lower) or (self.upper_open and number == self.upper)
        return MISSING if is_excluded else number

    @property
    def middle(self) -> Value:
        """The arithmetic middle, the geometric one under `log`."""
        if self.lower == self.upper:
            return self.lower
        middle = math.sqrt(self.lower) * math.sqrt(self.upper) if self.log else self.lower / 2 + self.upper / 2
        if self.lower < middle < self.upper:
            return middle
        # Between near numbers rounding may end on an excluded end, or outside.
        following = math.nextafter(self.lower, self.upper)
        return following if following < self.upper else (self.upper if self.lower_open else self.lower)


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The numbers lower, lower + step, ... up to `upper`, the decimals that are written; open ends are drawn in.

    They are integers where the step is one, else floats: Grid(1, 10) has ten, Grid(0.0, 0.3, step=0.1) four members.
    """

    lower: int | float
    upper: int | float
    log: bool = False
    step: int | float = 1

    def __eq__(self, other: object) -> bool:
        """Whether they are written alike with members of one type: neither 1 and 1.0 are, nor 0..5 and 0..4 by 2."""
        return isinstance(other, Grid) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.is_integral, self.lower, self.upper, self.log, self.step

    @property
    def is_integral(self) -> bool:
        """Whether the members are integers."""
        return isinstance(self.step, int)

    @property
    def is_consecutive(self) -> bool:
        """Whether the members are integers of which none is left out."""
        return self.is_integral and self.step == 1

    @property
    def size(self) -> int:
        """How many members there are."""
        return max(0, self.last_index + 1)

    @property
    def least(self) -> int | float:
        """The smallest member."""
        return self.at(0)

    @property
    def greatest(self) -> int | float:
        """The largest member, which a step may keep from being the upper end."""
        return self.at(self.last_index)

    @property
    def last_index(self) -> int:
        """The index of the largest member; negative where there is none."""
        if self.is_integral:
            return int((self.upper - self.lower) // self.step)
        start, step, below = decimals(self)
        return math.floor((decimal(self.upper) * below - start) / step)

    def at(self, index: int) -> int | float:
        """The member with this index, counted from 0."""
        if self.is_integral:
            return self.lower + index * self.step
        start, step, below = decimals(self)
        # Whole numbers divide to the nearest float, which sums of floats do not give.
        return (start + step * index) / below

    def index_of(self, member: Value) -> int:
        """The index of a member: `at(index_of(member)) == member`."""
        assert is_number(member)
        if self.is_integral:
            return int((int(member) - self.lower) // self.step)  # type: ignore[arg-type]
        start, step, below = decimals(self)
        number, divisor = member.as_integer_ratio()  # type: ignore[union-attr]
        return round(Fraction(number * below - start * divisor, step * divisor))

    def position(self, number: float | Fraction) -> Fraction:
        """Where a number lies among the members, exactly: 2 at the one with index 2, 2.5 half-way to the next one."""
        return (decimal(number) - decimal(self.lower)) / decimal(self.step)

    def find(self, value: Value) -> Value | Missing:
        """The member equal to `value`, as an int or a float; MISSING where there is none."""
        number = exact_integer(value) if self.is_integral else exact_float(value)
        if number is None or not self.lower <= number <= self.upper:
            return MISSING
        if self.is_integral:
            return MISSING if (number - self.lower) % self.step else number
        index = self.index_of(number)
        return number if 0 <= index <= self.last_index and self.at(index) == number else MISSING

    @property
    def middle(self) -> Value:
        """The member nearest to the arithmetic middle, to the geometric one under `log`."""
        if self.log and self.is_integral:
            return self.at(self.index_of(math.isqrt(int(self.lower) * int(self.upper))))
        return self.at(self.last_index // 2)


@dataclass(frozen=True)
class Categorical(Computing):
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

    parts: tuple[Grid | Real | Categorical | Ordinal, ...]

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


def exact_integer(value: Value) -> int | None:
    """The integer that is the same number; None where there is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(decimal(value))
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


Simple: TypeAlias = Grid | Real | Categorical | Ordinal
Domain: TypeAlias = Simple | Union

BOOLEANS: Final = Categorical((True, False))


@lru_cache(maxsize=4096)
def decimals(grid: Grid) -> tuple[int, int, int]:
    """Whole numbers a, b and c of a grid: its member with index i is (a + b i) / c, rounded once."""
    lower, step = decimal(grid.lower), decimal(grid.step)
    below = math.lcm(lower.denominator, step.denominator)
    return int(lower * below), int(step * below), below


def members(part: Simple) -> Iterator[Value]:
    """All members of a finite domain, in their order."""
    return map(part.at, range(part.last_index + 1))


@lru_cache(maxsize=4096, typed=True)
def grid(
    lower: float, upper: float, step: float, *, lower_open: bool = False, upper_open: bool = False, log: bool = False
) -> Grid:
    """The numbers lower, lower + step, ... up to an upper end, without excluded ends; it may have no members.

    They are integers where the step is one.
    """
    start, distance = decimal(lower), decimal(step)
    steps, left = divmod(decimal(upper) - start, distance)
    last = int(steps) - (upper_open and not left)
    ends = start + lower_open * distance, start + last * distance
    if isinstance(step, int):
        return Grid(int(ends[0]), int(ends[1]), log, step)
    return Grid(float(ends[0]), float(ends[1]), log, step)


def run(part: Grid, first: int, last: int) -> Grid:
    """The members of a grid from one index to another, both included."""
    return replace(part, lower=part.at(first), upper=part.at(last))


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


def has_numbers(domain: Domain) -> bool:
    """Whether a number is among the values of a domain."""
    return any(not isinstance(part, Categorical) or any(map(is_number, part.values)) for part in parts(domain))


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
        case Grid():
            step = "" if domain.is_consecutive else f" step {literal(domain.step)}"
            bounds = f"{literal(domain.lower)}, {literal(domain.upper)}"
            return f"{'int' if domain.is_integral else 'float'}[{bounds}]{' log' if domain.log else ''}{step}"
        case Real():
            opening, closing = "(" if domain.lower_open else "[", ")" if domain.upper_open else "]"
            bounds = f"{literal(domain.lower)}, {literal(domain.upper)}"
            return f"float{opening}{bounds}{closing}{' log' if domain.log else ''}"


def literal(value: Value) -> str:
    """A value as the language writes it: bare where a word can stand alone, quoted otherwise."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case str():
            return value if is_word(value) else quoted(value)
        case tuple():
            inner = ", ".join(map(literal, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case int() | float():
            return repr(value)


def is_word(text: str) -> bool:
    """Whether a name or a string stands for itself as it is."""
    return text.isascii() and text.isidentifier() and text not in RESERVED | _CAPITALS


def parameter_name(name: str) -> str:
    """The name of a hyperparameter or nested decision as the language writes it: in backticks where it is no word."""
    return name if is_word(name) else f"`{name}`"


RESERVED: Final = frozenset({"none", "true", "false", "and", "or", "not", "in", "is", "when", "as"})
"""Words that never stand for themselves where a value may stand."""

_CAPITALS: Final = frozenset({"True", "False", "None"})
"""Python's words for three of them, which stand for nothing."""

SYMBOLS: Final = ("n_classes", "n_features", "n_samples")
"""Words that stand for the size of the data in expressions, wherever nothing else is called like them."""


def quoted(text: str) -> str:
    """A text as a string of the language."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'
