"""Arithmetic of computed values on exact decimals, in functions that need nothing but the standard library.

Modules that `spacelang compile` writes contain a copy of their source.
"""

import math
from fractions import Fraction
from typing import Any

MAX_BITS = 5_000  # The largest exact power in bits; larger ones count as undefined, because they could be endless


def exact(value: Any) -> Fraction:
    """Return a number as the decimal that it prints as; raise ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is not a number")
    return Fraction(repr(value))


def power(base: Fraction, exponent: Fraction) -> Fraction:
    """Return a power, exactly if the exponent is whole, else as the nearest float."""
    if exponent.denominator > 1:
        return exact(float(base) ** float(exponent))
    if abs(exponent) * max(base.numerator.bit_length(), base.denominator.bit_length()) > MAX_BITS:
        raise OverflowError("the power is too large")
    return Fraction(base ** int(exponent))


def square_root(number: Fraction) -> Fraction:
    """Return a square root, exactly if it is rational, else as the nearest float."""
    if number < 0:
        raise ValueError("square root of a negative number")
    above, below = math.isqrt(number.numerator), math.isqrt(number.denominator)
    if above**2 == number.numerator and below**2 == number.denominator:
        return Fraction(above, below)
    return exact(math.sqrt(number))


def binary_logarithm(number: Fraction) -> Fraction:
    """Return a logarithm to the base 2, exactly if it is whole, else as the nearest float."""
    above, below = number.numerator, number.denominator
    if above > 0 and not above & (above - 1) and not below & (below - 1):
        return Fraction(above.bit_length() - below.bit_length())
    return exact(math.log2(number))


def to_value(number: Fraction, is_float: bool) -> int | float:
    """Return an integer if the number is whole, unless `is_float`; else the nearest float."""
    return float(number) if is_float or number.denominator > 1 else int(number)
