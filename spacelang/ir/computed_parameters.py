"""Values of computed parameters (`name := expression`) in a configuration."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

from spacelang.ir import expr
from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain, parts
from spacelang.ir.space import Variable
from spacelang.ir.standalone_arithmetic import (
    UNDEFINED,
    binary_logarithm,
    power,
    square_root,
    to_exact_decimal,
    to_value,
)

OPERATIONS: Final[Mapping[str, Callable[[Fraction, Fraction], Fraction]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "**": power,
}
FUNCTIONS: Final[Mapping[str, Callable[..., Fraction]]] = {
    "min": min,
    "max": max,
    "ceil": lambda number: Fraction(math.ceil(number)),
    "floor": lambda number: Fraction(math.floor(number)),
    "sqrt": square_root,
    "log2": binary_logarithm,
}
ROUNDING_FUNCTIONS: Final = frozenset({"ceil", "floor", "count"})
"""The functions whose results are integers, whatever their arguments are."""
FLOAT_OPERATIONS: Final = frozenset({"/", "sqrt", "log2"})
"""The operations whose results are floats as in Python, even if they are whole: `4 / 2` is 2.0."""


def computed_value(
    expression: expr.Expr,
    lookup: expr.Lookup,
    variables: Mapping[str, Variable],
    takes_only_integers: bool = False,
) -> expr.ExpressionValue:
    """Return the value of a computed parameter, or INACTIVE if it is undefined.

    `lookup` returns the values of the variables that the expression mentions. A number is a float if it has a fraction
    or if the arithmetic `gives_float`; else it is an integer. For a parameter that `takes_only_integers`, only a number
    with a fraction is a float.
    """
    match expression:
        case expr.Constant():
            return expression.value
        case expr.Reference():
            return lookup(expression.address)
        case expr.Arithmetic() | expr.Call():
            try:
                is_float = not takes_only_integers and gives_float(expression, variables)
                return to_value(_number(expression, lookup), is_float)
            except UNDEFINED:
                return expr.INACTIVE
        case _:
            return expr.is_true(expression, lookup)


def _number(expression: expr.Expr, lookup: expr.Lookup) -> Fraction:
    match expression:
        case expr.Constant():
            return to_exact_decimal(expression.value)
        case expr.Reference():
            return to_exact_decimal(lookup(expression.address))
        case expr.Arithmetic():
            left, right = _number(expression.left, lookup), _number(expression.right, lookup)
            return OPERATIONS[expression.operation](left, right)
        case expr.Call(function="count"):
            return Fraction(sum(expr.is_true(each, lookup) for each in expression.arguments))
        case expr.Call():
            return FUNCTIONS[expression.function](*(_number(each, lookup) for each in expression.arguments))
        case _:
            raise ValueError("a truth value is not a number")


def gives_float(expression: expr.Expr, variables: Mapping[str, Variable]) -> bool:
    """Return True if arithmetic has `/`, `sqrt`, `log2`, or an operand that is a float, so that all results are floats.

    What is inside `ceil`, `floor` and `count`, whose results are integers, does not count.
    """
    match expression:
        case expr.Constant():
            return isinstance(expression.value, float)
        case expr.Reference():
            return any(map(_has_float, parts(variables[expression.address].hyperparameter.domain)))
        case expr.Call(function=function) if function in ROUNDING_FUNCTIONS:
            return False
        case expr.Arithmetic(operation=name) | expr.Call(function=name) if name in FLOAT_OPERATIONS:
            return True
        case _:
            return any(gives_float(each, variables) for each in expr.children(expression))


def _has_float(part: SimpleDomain) -> bool:
    match part:
        case Real():
            return True
        case Grid():
            return not part.is_integral
        case Categorical():
            return any(isinstance(value, float) for value in part.values)
