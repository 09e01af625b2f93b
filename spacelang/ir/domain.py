"""Domains: the sets of values of hyperparameters, with `find` for values and an exact `size` (None: infinite)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

from spacelang.deprecation import renamed_attributes
from spacelang.frozen import CachedPropertyMixin, frozen
from spacelang.ir.value import Value, are_same_value, identity_key, is_number, to_fraction, to_rational


class NotFound:
    """The type of `NOT_FOUND`, which `find` returns for a value outside a domain (None is a possible value)."""

    def __repr__(self) -> str:
        return "MISSING"


NOT_FOUND: Final = NotFound()


@renamed_attributes(at="value_at", middle="representative")
@frozen
class Real:
    """A continuous range from `lower` to `upper`; either end may be excluded, and the scale may be logarithmic."""

    lower: float
    upper: float
    lower_open: bool = False
    upper_open: bool = False
    log: bool = False

    @property
    def size(self) -> int | None:
        """The number of values: 1 for a single point, otherwise None (infinitely many)."""
        return 1 if self.lower == self.upper else None

    @property
    def is_open(self) -> bool:
        """True if an end is excluded."""
        return self.lower_open or self.upper_open

    @property
    def least(self) -> float:
        """The smallest member: `lower`, or the next larger float if the lower end is excluded."""
        return math.nextafter(self.lower, math.inf) if self.lower_open else self.lower + 0.0

    @property
    def greatest(self) -> float:
        """The largest member: `upper`, or the next smaller float if the upper end is excluded."""
        return math.nextafter(self.upper, -math.inf) if self.upper_open else self.upper + 0.0

    @property
    def last_index(self) -> int:
        """The index of the last member; only valid for a range that is a single point."""
        return 0

    def value_at(self, index: int) -> float:  # noqa: ARG002
        """Return the only member; only valid for a range that is a single point."""
        return self.lower

    def index_of(self, member: Value) -> int:  # noqa: ARG002
        """Return 0, the index of the only member; only valid for a range that is a single point."""
        return 0

    def find(self, value: Value) -> Value | NotFound:
        """Return the member equal to `value` as a float, or NOT_FOUND if there is none."""
        number = exact_float(value)
        if number is None or not self.lower <= number <= self.upper:
            return NOT_FOUND
        is_excluded = (self.lower_open and number == self.lower) or (self.upper_open and number == self.upper)
        return NOT_FOUND if is_excluded else number

    @property
    def representative(self) -> Value:
        """A member in the middle of the range: the geometric mean of the ends under `log`, else the arithmetic mean."""
        if self.lower == self.upper:
            return self.lower
        middle = math.sqrt(self.lower) * math.sqrt(self.upper) if self.log else self.lower / 2 + self.upper / 2
        if self.lower < middle < self.upper:
            return middle
        # Between adjacent floats the middle may be rounded to an excluded end, or beyond an end.
        following = math.nextafter(self.lower, self.upper)
        return following if following < self.upper else (self.upper if self.lower_open else self.lower)


@renamed_attributes(at="value_at", middle="representative")
@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A finite sequence of evenly spaced numbers: lower, lower + step, ... up to `upper`.

    The members are integers if `step` is an integer, otherwise floats; floats stand for the decimals that they print
    as. Excluded ends have already been removed. For example, `Grid(1, 10)` has ten members, and `Grid(0.0, 0.3,
    step=0.1)` has four.
    """

    lower: int | float
    upper: int | float
    log: bool = False
    step: int | float = 1

    def __eq__(self, other: object) -> bool:
        """Return True if the fields and the member type are equal: 0..5 by 2 differs from 0..4 by 2."""
        return isinstance(other, Grid) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.is_integral, self.lower, self.upper, self.log, self.step

    @property
    def is_integral(self) -> bool:
        """True if the members are integers."""
        return isinstance(self.step, int)

    @property
    def is_consecutive(self) -> bool:
        """True if the members are consecutive integers."""
        return self.is_integral and self.step == 1

    @property
    def size(self) -> int:
        """The number of members."""
        return max(0, self.last_index + 1)

    @property
    def least(self) -> int | float:
        """The smallest member."""
        return self.value_at(0)

    @property
    def greatest(self) -> int | float:
        """The largest member; it may be below `upper` if the steps do not end there."""
        return self.value_at(self.last_index)

    @property
    def last_index(self) -> int:
        """The index of the largest member; negative for an empty grid."""
        if self.is_integral:
            return int((self.upper - self.lower) // self.step)
        start, step, below = affine_integer_coefficients(self)
        return math.floor((to_fraction(self.upper) * below - start) / step)

    def value_at(self, index: int) -> int | float:
        """Return the member at `index`, counted from 0."""
        if self.is_integral:
            return self.lower + index * self.step
        start, step, below = affine_integer_coefficients(self)
        # Dividing integers gives the nearest float; sums of floats would accumulate rounding errors.
        return (start + step * index) / below

    def index_of(self, member: Value) -> int:
        """Return the index of a member, so that `value_at(index_of(member)) == member`."""
        assert is_number(member)
        if self.is_integral:
            return int((int(member) - self.lower) // self.step)
        start, step, below = affine_integer_coefficients(self)
        number, divisor = member.as_integer_ratio()
        return round(Fraction(number * below - start * divisor, step * divisor))

    def position(self, number: float | Fraction) -> Fraction:
        """Return the exact index of a number: 2 at the member with index 2, 2.5 half-way to the next."""
        return (to_fraction(number) - to_fraction(self.lower)) / to_fraction(self.step)

    def find(self, value: Value) -> Value | NotFound:
        """Return the member equal to `value` as an int or a float, or NOT_FOUND if there is none."""
        number = exact_integer(value) if self.is_integral else exact_float(value)
        if number is None or not self.lower <= number <= self.upper:
            return NOT_FOUND
        if self.is_integral:
            return NOT_FOUND if (number - self.lower) % self.step else number
        index = self.index_of(number)
        return number if 0 <= index <= self.last_index and self.value_at(index) == number else NOT_FOUND

    @property
    def representative(self) -> Value:
        """A middle member: at the geometric mean for integers under `log`, else the one with the middle index."""
        if self.log and self.is_integral:
            return self.value_at(self.index_of(math.isqrt(int(self.lower) * int(self.upper))))
        return self.value_at(self.last_index // 2)


@renamed_attributes(at="value_at", middle="representative")
@dataclass(frozen=True)
class Categorical(CachedPropertyMixin):
    """A finite set of values without an order."""

    values: tuple[Value, ...]

    def __eq__(self, other: object) -> bool:
        """Return True if the values are the same in the same order; `{1, 0}` is not equal to `bool`."""
        return type(other) is type(self) and identity_key(self.values) == identity_key(other.values)

    def __hash__(self) -> int:
        return hash(identity_key(self.values))

    @cached_property
    def index(self) -> dict[tuple[object, ...], int]:
        """The index of each value, by the `identity_key` of the value."""
        return {identity_key(value): place for place, value in enumerate(self.values)}

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)

    @property
    def last_index(self) -> int:
        """The index of the last value."""
        return self.size - 1

    def value_at(self, index: int) -> Value:
        """Return the value at `index`, counted from 0 in the order of the text."""
        return self.values[index]

    def index_of(self, member: Value) -> int:
        """Return the index of a member, so that `value_at(index_of(member))` is the same value."""
        return self.index[identity_key(member)]

    def find(self, value: Value) -> Value | NotFound:
        """Return the member that is the same as `value`, as the space writes it, or NOT_FOUND if there is none."""
        place = self.index.get(identity_key(value))
        return NOT_FOUND if place is None else self.values[place]

    @property
    def representative(self) -> Value:
        """The first value, because an unordered set has no middle."""
        return self.values[0]


@dataclass(frozen=True, eq=False)
class Ordinal(Categorical):
    """A finite set of values with an order; equality is inherited, because a generated one equates `true` and 1."""

    @property
    def representative(self) -> Value:
        """The middle value of the order; the lower of the two middle values if their number is even."""
        return self.values[(len(self.values) - 1) // 2]


@dataclass(frozen=True)
class Union:
    """A union of several disjoint domains."""

    parts: tuple[Grid | Real | Categorical | Ordinal, ...]

    @property
    def size(self) -> int | None:
        """The number of values; None if a part is infinite."""
        total = 0
        for part in self.parts:
            if part.size is None:
                return None
            total += part.size
        return total

    def find(self, value: Value) -> Value | NotFound:
        """Return the member equal to `value`, or NOT_FOUND if there is none."""
        for part in self.parts:
            found = part.find(value)
            if not isinstance(found, NotFound):
                return found
        return NOT_FOUND

    @property
    def representative(self) -> Value:
        """The representative of the first part."""
        return self.parts[0].representative


def exact_float(value: Value) -> float | None:
    """Return the float that equals a number (0.0 for -0.0), or None if no float does or `value` is not a number."""
    if not is_number(value):
        return None
    try:
        number = float(value) + 0.0
    except OverflowError:
        return None
    return number if number == value or to_rational(number) == value else None


def exact_integer(value: Value) -> int | None:
    """Return the integer that equals a number, or None if there is none; booleans are not numbers here."""
    if isinstance(value, float) and value.is_integer():
        value = int(to_fraction(value))
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


SimpleDomain: TypeAlias = Grid | Real | Categorical | Ordinal
Domain: TypeAlias = SimpleDomain | Union
BOOLEANS: Final = Categorical((True, False))


@lru_cache(maxsize=4096)
def affine_integer_coefficients(grid: Grid) -> tuple[int, int, int]:
    """Return integers (a, b, c) with member i = (a + b i) / c, where only the division rounds."""
    lower, step = to_fraction(grid.lower), to_fraction(grid.step)
    below = math.lcm(lower.denominator, step.denominator)
    return int(lower * below), int(step * below), below


def members(part: SimpleDomain) -> Iterator[Value]:
    """Return an iterator over all members of a finite domain in their order."""
    return map(part.value_at, range(part.last_index + 1))


@lru_cache(maxsize=4096, typed=True)
def grid(
    lower: float, upper: float, step: float, *, lower_open: bool = False, upper_open: bool = False, log: bool = False
) -> Grid:
    """Return the grid lower, lower + step, ... up to `upper`, without excluded ends; it may be empty.

    Its members are integers if `step` is an integer, and otherwise floats.
    """
    start, distance = to_fraction(lower), to_fraction(step)
    steps, left = divmod(to_fraction(upper) - start, distance)
    last = int(steps) - (upper_open and not left)
    ends = start + lower_open * distance, start + last * distance
    if isinstance(step, int):
        return Grid(int(ends[0]), int(ends[1]), log, step)
    return Grid(float(ends[0]), float(ends[1]), log, step)


def parts(domain: Domain) -> tuple[SimpleDomain, ...]:
    """Return the simple domains that a domain consists of: the parts of a union, else the domain itself."""
    return domain.parts if isinstance(domain, Union) else (domain,)


def contains(domain: Domain, value: Value) -> bool:
    """Return True if `value` lies in `domain`."""
    return not isinstance(domain.find(value), NotFound)


def describe(domain: Domain) -> str:
    """Return the domain in the syntax of the language, e.g. `int[1, 10] log`."""
    match domain:
        case Union():
            return " | ".join(describe(part) for part in domain.parts)
        case Ordinal():
            return "ordered {" + ", ".join(map(literal, domain.values)) + "}"
        case Categorical():
            if are_same_value(domain.values, BOOLEANS.values):
                return "bool"
            return "{" + ", ".join(map(literal, domain.values)) + "}"
        case Grid():
            return describe_range(domain, (literal(domain.lower), False), (literal(domain.upper), False))
        case Real():
            ends = (literal(domain.lower), domain.lower_open), (literal(domain.upper), domain.upper_open)
            return describe_range(domain, *ends)


def describe_range(part: Grid | Real, lower: tuple[str, bool], upper: tuple[str, bool]) -> str:
    """Return a range in the syntax of the language; each end has its text, and whether it is excluded."""
    kind = "int" if isinstance(part, Grid) and part.is_integral else "float"
    step = "" if isinstance(part, Real) or part.is_consecutive else f" step {literal(part.step)}"
    opening, closing = "(" if lower[1] else "[", ")" if upper[1] else "]"
    return f"{kind}{opening}{lower[0]}, {upper[0]}{closing}{' log' if part.log else ''}{step}"


def literal(value: Value) -> str:
    """Return a value in the syntax of the language: a string is quoted only if it is not a bare word."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case str():
            return value if is_bare_word(value) else quoted(value)
        case tuple():
            inner = ", ".join(map(literal, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case int() | float():
            return repr(value)


def is_bare_word(text: str) -> bool:
    """Return True if a name or string can be written without quotes."""
    return text.isascii() and text.isidentifier() and text not in KEYWORDS | _PYTHON_KEYWORDS


def spell_parameter_name(name: str) -> str:
    """Return the name of a hyperparameter or nested decision, in backticks if it is not a bare word."""
    return name if is_bare_word(name) else f"`{name}`"


KEYWORDS: Final = frozenset({"none", "true", "false", "and", "or", "not", "in", "is", "when", "as"})
_PYTHON_KEYWORDS: Final = frozenset({"True", "False", "None"})
"""Python's spellings of three keywords; they have no meaning in the language."""


def quoted(text: str) -> str:
    """Return a text as a quoted string of the language, with escapes."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'
