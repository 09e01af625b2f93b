"""Values of hyperparameters, and exact arithmetic on decimal numbers.

A float stands for the shortest decimal that it prints as, so that 0.1 + 0.2 is 0.3. An irrational square root or
logarithm is represented by the interval between two floats that contains it. Two numbers whose intervals overlap count
as equal:

    NUMERIC_FUNCTIONS["sqrt"](Fraction(9, 100)) == Fraction(3, 10)
    compare_numbers(NUMERIC_FUNCTIONS["sqrt"](2), to_fraction(1.4142)) == 1

"""

import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeGuard

from spacelang.frozen import frozen

Value: TypeAlias = bool | int | float | str | tuple["Value", ...] | None


def are_same_value(left: Value, right: Value) -> bool:
    """Return True if two values are the same to a user: 1 and 1.0 are, 1 and true are not."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(are_same_value, left, right))
    return left is right if isinstance(left, bool) or isinstance(right, bool) else left == right


def identity_key(value: Value) -> tuple[object, ...]:
    """Return a hashable key that two values share exactly if they are `are_same_value`."""
    if isinstance(value, tuple):
        return ("tuple", *map(identity_key, value))
    return (isinstance(value, bool), value)


def is_number(value: object) -> TypeGuard[int | float]:
    """Return True if a value is a number; booleans are not numbers here."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def to_python_scalar(value: Any) -> Any:
    """Return a NumPy scalar as the Python value, and any other value unchanged."""
    return value.item() if hasattr(value, "item") else value


def to_json(value: Value) -> object:
    """Return a value that the `json` module can serialize: tuples become lists."""
    return [to_json(item) for item in value] if isinstance(value, tuple) else value


class DuplicateKeyError(ValueError):
    """Exception for a JSON object that repeats a key, which `json` would drop; the argument is the key."""

    @property
    def key(self) -> str:
        """The repeated key."""
        return str(self.args[0])

    def __str__(self) -> str:
        return f"duplicate key `{self.key}`"


def object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dictionary; raise DuplicateKeyError if a key appears twice."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise DuplicateKeyError(key)
        found[key] = value
    return found


def from_json(value: object) -> Value:
    """Return the value that parsed JSON stands for; raise TypeError for objects, which no value serializes to."""
    if isinstance(value, list | tuple):
        return tuple(from_json(item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = "an object" if isinstance(value, dict) else f"{type(value).__name__}"
    raise TypeError(f"{kind} is not a value of a configuration")


def canonical_json(values: Mapping[str, Value]) -> str:
    """Return one line of JSON with sorted keys; equal mappings give equal texts on every machine."""
    return json.dumps({key: to_json(value) for key, value in values.items()}, sort_keys=True, ensure_ascii=False)


Rational: TypeAlias = int | Fraction


@frozen
class NumberInterval:
    """A number that is only known to lie in a closed interval."""

    low: Rational
    high: Rational


Number: TypeAlias = int | Fraction | NumberInterval


@lru_cache(maxsize=1 << 16, typed=True)
def to_fraction(number: float | Fraction) -> Fraction:
    """Return a finite number as the exact decimal that it prints as; raise ValueError for infinities and nan."""
    return Fraction(float.__repr__(number)) if isinstance(number, float) else Fraction(number)


def to_rational(value: object) -> Rational | None:
    """Return the exact number that a value is written as, or None if it is not a finite number."""
    if isinstance(value, float):
        return to_fraction(value) if math.isfinite(value) else None
    return value if isinstance(value, int | Fraction) and not isinstance(value, bool) else None


def to_number(value: object) -> Number | None:
    """Return a value or an arithmetic result as an exact number, or None if it is not a number."""
    return value if isinstance(value, NumberInterval) else to_rational(value)


def compare_numbers(left: Number, right: Number) -> int:
    """Return -1 if `left` is less, 1 if it is greater, and 0 if both are equal or cannot be distinguished."""
    low, high = _ends(left)
    other_low, other_high = _ends(right)
    return (low > other_high) - (high < other_low)


def _ends(number: Number) -> tuple[Rational, Rational]:
    return (number.low, number.high) if isinstance(number, NumberInterval) else (number, number)


# ---- arithmetic: ZeroDivisionError, ValueError and OverflowError mean that the result is undefined


def _extend_by_corners(function: Callable[[Rational, Rational], Rational]) -> Callable[[Number, Number], Number]:
    def apply(left: Number, right: Number) -> Number:
        if not isinstance(left, NumberInterval) and not isinstance(right, NumberInterval):
            return function(left, right)
        corners = [function(one, other) for one in _ends(left) for other in _ends(right)]
        return _make_interval(min(corners), max(corners))

    return apply


def _extend_monotone(function: Callable[..., Rational]) -> Callable[..., Number]:
    def apply(*numbers: Number) -> Number:
        lows, highs = zip(*map(_ends, numbers), strict=True)
        return _make_interval(function(*lows), function(*highs))

    return apply


def _make_interval(low: Rational, high: Rational) -> Number:
    return low if low == high else NumberInterval(low, high)


def _divide(left: Number, right: Number) -> Number:
    low, high = _ends(right)
    if low <= 0 <= high:
        raise ZeroDivisionError
    return _divide_nonzero(left, right)


_divide_nonzero: Final = _extend_by_corners(lambda left, right: Fraction(left) / right)


MAX_POWER_BITS: Final = 100_000
"""The maximum size of a power. A larger one counts as undefined, because a file could make it endless."""


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(exponent, NumberInterval) or isinstance(base, NumberInterval):
        (low, high), (least, most) = _ends(base), _ends(exponent)
        if low <= 0:
            raise ValueError("power of a number that is not certainly positive")
        # The power of a positive number rises or falls with each of the two numbers, so its ends lie at their ends.
        corners = [_ends(_power_of_rationals(one, other)) for one in (low, high) for other in (least, most)]
        return _make_interval(min(lower for lower, _ in corners), max(upper for _, upper in corners))
    return _power_of_rationals(base, exponent)


def _power_of_rationals(base: Rational, exponent: Rational) -> Number:
    if exponent.denominator == 1:
        whole = int(exponent)
        if abs(whole) * max(base.numerator.bit_length(), base.denominator.bit_length()) > MAX_POWER_BITS:
            raise OverflowError(f"the power has more than {MAX_POWER_BITS:,} bits")
        return Fraction(base) ** whole
    if base <= 0:
        raise ValueError("fractional power of a number that is not positive")
    near = Fraction(float(base) ** float(exponent))
    spread = Fraction((1 + abs(float(exponent)) * (1 + abs(math.log(base)))) / 2**50)
    return NumberInterval(near * (1 - spread), near * (1 + spread))


def _square_root(number: Number) -> Number:
    low, high = _ends(number)
    if high < 0:
        raise ValueError("square root of a negative number")
    least, greatest = _square_root_of_rational(max(low, 0)), _square_root_of_rational(high)
    return _make_interval(_ends(least)[0], _ends(greatest)[1])


def _square_root_of_rational(number: Rational) -> Number:
    above, below = math.isqrt(number.numerator), math.isqrt(number.denominator)
    if above * above == number.numerator and below * below == number.denominator:
        return Fraction(above, below)
    return _widen(math.sqrt(number), math.sqrt(number))


def _logarithm(number: Number) -> Number:
    low, high = _ends(number)
    if low <= 0:
        raise ValueError("logarithm of a number that is not positive")
    return _make_interval(_ends(_logarithm_of_rational(low))[0], _ends(_logarithm_of_rational(high))[1])


def _logarithm_of_rational(number: Rational) -> Number:
    above, below = number.numerator, number.denominator
    if not above & (above - 1) and not below & (below - 1):
        return above.bit_length() - below.bit_length()
    if isinstance(number, int):
        return _widen(math.log2(number), math.log2(number))
    near = float(number)
    return _widen(math.log2(math.nextafter(near, 0)), math.log2(math.nextafter(near, math.inf)))


def _widen(low: float, high: float) -> NumberInterval:
    """Return [`low`, `high`] widened by one float on each side: it contains the exact limits, each rounded once."""
    return NumberInterval(Fraction(math.nextafter(low, -math.inf)), Fraction(math.nextafter(high, math.inf)))


ARITHMETIC_OPERATIONS: Final[Mapping[str, Callable[[Number, Number], Number]]] = {
    "+": _extend_by_corners(lambda left, right: left + right),
    "-": _extend_by_corners(lambda left, right: left - right),
    "*": _extend_by_corners(lambda left, right: left * right),
    "/": _divide,
    "**": _power,
}
NUMERIC_FUNCTIONS: Final[Mapping[str, Callable[..., Number]]] = {
    "min": _extend_monotone(min), "max": _extend_monotone(max), "ceil": _extend_monotone(math.ceil),
    "floor": _extend_monotone(math.floor), "sqrt": _square_root, "log2": _logarithm,
}  # fmt: skip
