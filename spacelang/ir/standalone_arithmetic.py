"""Values of expressions on exact decimals, in functions that need nothing but the standard library.

Modules that `spacelang compile` writes contain a copy of their source.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

MAX_BITS = 5_000  # The largest exact power in bits; larger ones count as undefined, because they could be endless


def to_exact_decimal(value: Any) -> Fraction:
    """Return a number as the decimal that it prints as; raise TypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise TypeError(f"{value!r} is not a number")
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def power(base: Fraction, exponent: Fraction) -> Fraction:
    """Return a power, exactly if the exponent is whole, else as the nearest float."""
    if exponent.denominator > 1:
        return to_exact_decimal(math.pow(base, exponent))
    whole = int(exponent)
    if abs(whole) * max(base.numerator.bit_length(), base.denominator.bit_length()) > MAX_BITS:
        raise OverflowError(f"the power has more than {MAX_BITS:,} bits")
    return Fraction(base**whole)


def square_root(number: Fraction) -> Fraction:
    """Return a square root, exactly if it is rational, else as the nearest float."""
    if number < 0:
        raise ValueError("square root of a negative number")
    above, below = math.isqrt(number.numerator), math.isqrt(number.denominator)
    if above**2 == number.numerator and below**2 == number.denominator:
        return Fraction(above, below)
    return to_exact_decimal(math.sqrt(number))


def binary_logarithm(number: Fraction) -> Fraction:
    """Return a logarithm to the base 2, exactly if it is whole, else as the nearest float."""
    above, below = number.numerator, number.denominator
    if above > 0 and not above & (above - 1) and not below & (below - 1):
        return Fraction(above.bit_length() - below.bit_length())
    return to_exact_decimal(math.log2(number))


def to_value(number: Fraction, is_float: bool) -> int | float:
    """Return an integer if the number is whole, unless `is_float`; else the nearest float."""
    return float(number) if is_float or number.denominator > 1 else int(number)


UNDEFINED = (KeyError, TypeError, ValueError, OverflowError, ZeroDivisionError)
"""The errors of a value that does not exist: of something that is not active, or of arithmetic without a result."""


def active_value(given: Mapping[str, Any], key: str, taken: Mapping[str, str]) -> Any:
    """Return the value of a hyperparameter; raise KeyError unless it is active and all decisions are `taken` so."""
    if any(given.get(decision) != branch for decision, branch in taken.items()):
        raise KeyError(key)
    return given[key]


def is_branch_taken(given: Mapping[str, Any], key: str, branches: tuple[str, ...], taken: Mapping[str, str]) -> bool:
    """Return True if a decision takes one of the branches, and the decisions around it are `taken` so."""
    return given.get(key) in branches and all(given.get(each) == branch for each, branch in taken.items())


def comparison_key(value: Any) -> Any:
    """Return a key that is equal for values that count as equal: for 1 and 1.0, but not for 1 and true."""
    if isinstance(value, tuple | list):
        return tuple(map(comparison_key, value))
    return (
        to_exact_decimal(value)
        if isinstance(value, int | float | Fraction) and not isinstance(value, bool)
        else (value,)
    )


def is_true_if_defined(test: Callable[[], bool]) -> bool:
    """Return the result of a test, which is false if one of its values does not exist."""
    try:
        return test()
    except UNDEFINED:
        return False


def defined_arguments(values: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the arguments that `values` computes, or an empty dictionary if one of them does not exist."""
    try:
        return values()
    except UNDEFINED:
        return {}
