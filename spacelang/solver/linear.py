"""Linear comparisons of hyperparameters, and whether several of them can hold at once.

All arithmetic uses rational numbers, so the answers are exact.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

from spacelang.frozen import frozen
from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain, contains
from spacelang.ir.expr import Arithmetic, Call, Compare, ComparisonSign, Constant, Expr, Reference
from spacelang.ir.rationals import to_fraction, to_rational
from spacelang.ir.value import Value
from spacelang.solver.inequalities import Inequality, add_scaled, solve


@frozen
class LinearSum:
    """A linear form: the sum of `factors[address] * value(address)`, plus `constant`."""

    factors: Mapping[str, Fraction]
    constant: Fraction

    @property
    def roots(self) -> tuple[Fraction, ...] | None:
        """The exact roots of a form in at most one hyperparameter; None for a form in several."""
        if len(self.factors) > 1:
            return None
        return tuple(-self.constant / factor for factor in self.factors.values())


def difference(atom: Compare) -> LinearSum | None:
    """Return the left side of a comparison minus its right side as a linear form, or None if it is not linear."""
    left, right = linear_form(atom.left), linear_form(atom.right)
    return None if left is None or right is None else _sum(left, right, -1)


@frozen
class IntegerComparison:
    """A linear comparison scaled to integers, to be evaluated for many values at once.

    It compares a sum with 0: one entry of each tuple of `summands`, plus `constant`.
    """

    summands: tuple[tuple[int, ...], ...]
    constant: int


def to_integer_comparison(atom: Compare, worths: Mapping[str, Sequence[object]]) -> IntegerComparison | None:
    """Return the integer form of a comparison for the given values of each hyperparameter.

    The summands of a hyperparameter are in the order of its values. The result is None if the comparison is not linear
    or some value is not a number.
    """
    form = difference(atom)
    if form is None:
        return None
    columns: list[list[Fraction]] = []
    for address, values in worths.items():
        numbers = [to_rational(value) for value in values]
        columns.append([form.factors.get(address, Fraction(0)) * number for number in numbers if number is not None])
        if len(columns[-1]) < len(numbers):
            return None
    whole = math.lcm(form.constant.denominator, *(term.denominator for column in columns for term in column))
    return IntegerComparison(
        tuple(tuple([int(term * whole) for term in column]) for column in columns), int(form.constant * whole)
    )


def linear_form(expression: Expr) -> LinearSum | None:
    """Return the linear form of an arithmetic expression, or None if it is not linear."""
    match expression:
        case Constant():
            number = to_rational(expression.value)
            return None if number is None else LinearSum({}, Fraction(number))
        case Reference():
            return LinearSum({expression.address: Fraction(1)}, Fraction(0))
        case Arithmetic():
            left, right = linear_form(expression.left), linear_form(expression.right)
            return None if left is None or right is None else _combine(expression.operation, left, right)
        case Call(function="min" | "max", arguments=(argument,)):
            return linear_form(argument)
        case _:
            return None


def _combine(operation: str, left: LinearSum, right: LinearSum) -> LinearSum | None:
    match operation:
        case "+":
            return _sum(left, right, 1)
        case "-":
            return _sum(left, right, -1)
        case "*" if not left.factors:
            return _scale(right, left.constant)
        case "*" if not right.factors:
            return _scale(left, right.constant)
        case "/" if not right.factors and right.constant:
            return _scale(left, 1 / right.constant)
        case _:
            return None


def _sum(left: LinearSum, right: LinearSum, sign: int) -> LinearSum:
    return LinearSum(add_scaled(left.factors, right.factors, sign), left.constant + sign * right.constant)


def _scale(form: LinearSum, factor: Fraction) -> LinearSum:
    return LinearSum({a: f * factor for a, f in form.factors.items() if f * factor}, form.constant * factor)


InequalitySystem = tuple[Inequality, ...]
"""A system of inequalities that must all hold."""


def inequalities_for(relation: ComparisonSign, form: LinearSum, truth: bool) -> tuple[InequalitySystem, ...]:
    """Return alternative systems of inequalities of which one must hold for `form relation 0` to have a truth value.

    There are two alternatives only if the values must differ.
    """
    if not truth:
        relation = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}[relation]  # type: ignore[assignment]
    opposite = _scale(form, Fraction(-1))
    match relation:
        case "==":
            return ((_row(form, strict=False), _row(opposite, strict=False)),)
        case "!=":
            return (_row(form, strict=True),), (_row(opposite, strict=True),)
        case "<" | "<=":
            return ((_row(form, strict=relation == "<"),),)
        case ">" | ">=":
            return ((_row(opposite, strict=relation == ">"),),)


def _row(form: LinearSum, *, strict: bool) -> Inequality:
    return Inequality(form.factors, form.constant, strict)


def is_feasible_system(cells: Mapping[str, SimpleDomain], alternatives: Sequence[tuple[InequalitySystem, ...]]) -> bool:
    """Return True if some values in the cells satisfy one alternative of every entry.

    Cells must contain numbers only, and a categorical cell exactly one. Raise SearchTooLongError.
    """
    return witness(cells, alternatives) is not None


def witness(
    cells: Mapping[str, SimpleDomain], alternatives: Sequence[tuple[InequalitySystem, ...]]
) -> dict[str, Value] | None:
    """Return values in the cells that satisfy one alternative of every entry, or None if there are none.

    Values away from the ends of the cells are preferred. Raise SearchTooLongError.
    """
    variables = {name: _Variable.from_cell(cell) for name, cell in cells.items()}
    bounds = [row for name, variable in variables.items() for row in variable.bounds(name)]
    integers = frozenset(name for name, variable in variables.items() if variable.grid)
    for chosen in product(*alternatives):
        mine = [_substituted(row, variables) for together in chosen for row in together]
        found = solve([*bounds, *mine], integers)
        if found is not None:
            return {name: _member_at(cell, found.get(name)) for name, cell in cells.items()}
    return None


@frozen
class _Variable:
    """A numeric domain written as `offset + unit * x`, where x lies between `lower` and `upper`.

    The domain is a cell, a part of a domain on which all conditions have the same truth. On a grid, x is an integer,
    the index of the member.
    """

    offset: Fraction
    unit: Fraction
    lower: Fraction
    upper: Fraction
    lower_open: bool = False
    upper_open: bool = False
    grid: bool = False

    @classmethod
    def from_cell(cls, cell: SimpleDomain) -> "_Variable":
        match cell:
            case Real():
                ends = to_fraction(cell.lower), to_fraction(cell.upper)
                return cls(Fraction(0), Fraction(1), *ends, cell.lower_open, cell.upper_open)
            case Grid():
                last = Fraction(cell.last_index)
                return cls(to_fraction(cell.lower), to_fraction(cell.step), Fraction(0), last, grid=True)
            case Categorical():
                number = to_rational(cell.values[0])
                assert len(cell.values) == 1
                assert number is not None
                return cls(Fraction(number), Fraction(0), Fraction(0), Fraction(0), grid=True)

    def bounds(self, name: str) -> tuple[Inequality, Inequality]:
        one = Fraction(1)
        return Inequality({name: -one}, self.lower, self.lower_open), Inequality(
            {name: one}, -self.upper, self.upper_open
        )


def _substituted(row: Inequality, variables: Mapping[str, _Variable]) -> Inequality:
    constant = row.constant + sum(factor * variables[name].offset for name, factor in row.factors.items())
    factors = {name: factor * variables[name].unit for name, factor in row.factors.items()}
    return Inequality({name: factor for name, factor in factors.items() if factor}, constant, row.strict)


def _member_at(cell: SimpleDomain, place: Fraction | None) -> Value:
    if place is None:
        return cell.middle
    if not isinstance(cell, Real):
        return cell.value_at(int(place))
    near = float(place)
    nearby = (near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf))
    return next((number for number in nearby if contains(cell, number)), cell.middle)
