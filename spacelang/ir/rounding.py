"""Where a comparison of large numbers changes its truth: arithmetic on floats rounds, and so moves it.

Beyond 2**53 floats are further apart than integers, so that `x + 0.5 <= c` no longer changes where algebra says. There
each side of a linear comparison is still monotone in its only hyperparameter, and so the place is found by halving.
"""

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from spacelang.ir.expr import Arithmetic, Call, Compare, Constant, Expr, Reference, holds, nodes
from spacelang.ir.linear import Number, difference, exact, linear

PRECISION: Final = Fraction(1, 2**50)
"""More than what one operation on floats may round away, as a part of its result."""
SAFE: Final = Fraction(1, 4)
"""Where all rounding together moves a change by less, a member can be moved over it, but not several."""
LARGEST: Final = Fraction(2**1023)
"""Beyond this no range of numbers ends."""


def changes(atom: Compare, root: Fraction) -> tuple[Number, ...] | None:
    """Where else but at its root a linear comparison with one hyperparameter may change its truth, because of rounding.

    Empty where rounding moves the change past one member at most (see `cells`), None where it is not known.
    """
    shift = _shift(atom, root)
    if shift < SAFE or abs(root) + 8 * shift > LARGEST:
        return ()
    is_whole = all(_is_whole(node) for node in nodes(atom))
    if sum(isinstance(node, Reference) for node in nodes(atom)) > 1:
        return () if is_whole else None
    lower, upper = math.floor(root - 4 * shift) - 1, math.ceil(root + 4 * shift) + 1
    # The order may change twice: it is equality in between.
    orders = [Compare("<", atom.left, atom.right), Compare("<=", atom.left, atom.right)]
    found: list[Number | None] = []
    for order in orders:
        if not is_whole:
            found.append(_first_change(order, lower, upper, int))
        found.append(_first_change(order, _ordinal(float(lower)), _ordinal(float(upper)), _float_at))
    return tuple(number for number in found if number is not None)


def _is_whole(node: Expr) -> bool:
    """Whether a part of a comparison stays an integer, of which nothing is rounded, where the hyperparameter is one."""
    if isinstance(node, Constant):
        return isinstance(node.value, int)
    return not isinstance(node, Arithmetic) or node.operation != "/"


def _first_change(order: Compare, lower: int, upper: int, number_at: Callable[[int], float]) -> float | None:
    """The first of some numbers, given by their places, at which an order is not what it is at the lowest one."""

    def truth(place: int) -> bool:
        number = number_at(place)
        return holds(order, lambda _: number)

    before = truth(lower)
    if truth(upper) == before:
        return None
    while lower + 1 < upper:
        middle = (lower + upper) // 2
        lower, upper = (middle, upper) if truth(middle) == before else (lower, middle)
    return number_at(upper)


def _ordinal(number: float) -> int:
    """The place of a float among all floats: 0 for 0.0, and one more for the next."""
    (bits,) = struct.unpack("<q", struct.pack("<d", abs(number)))
    return int(math.copysign(1, number)) * int(bits)


def _float_at(ordinal: int) -> float:
    (number,) = struct.unpack("<d", struct.pack("<q", abs(ordinal)))
    return float(math.copysign(number, ordinal))


def _shift(atom: Compare, root: Fraction) -> Fraction:
    """How far rounding may move the change of a comparison at most."""
    form = difference(atom)
    assert form is not None
    (factor,) = form.factors.values()
    operations = sum(isinstance(node, Arithmetic) for node in nodes(atom))
    size = sum(_size(side, abs(root)) for side in (atom.left, atom.right))
    return (operations + 1) * PRECISION * size / abs(factor) if operations else Fraction(0)


def _size(expression: Expr, root: Fraction) -> Fraction:
    """How large an expression becomes, and all that it is computed from, where the hyperparameter is at the root."""
    match expression:
        case Reference():
            return root
        case Constant():
            return abs(exact(expression.value) or Fraction(0))
        case Arithmetic(operation="*"):
            return _size(expression.left, root) * _size(expression.right, root)
        case Arithmetic(operation="/"):
            divisor = linear(expression.right)
            assert divisor is not None
            return _size(expression.left, root) / abs(divisor.constant)
        case Arithmetic():
            return _size(expression.left, root) + _size(expression.right, root)
        case Call(arguments=(argument,)):
            return _size(argument, root)
        case _:
            raise ValueError("not a linear expression")
