"""Linear atoms: comparisons of sums of hyperparameters with constant factors, and whether several can hold together.

Everything is rational arithmetic, so that the answers are exact.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

from spacelang.facts import fact
from spacelang.ir.domain import Categorical, Grid, Real, Simple, contains
from spacelang.ir.expr import Arithmetic, Call, Compare, Constant, Expr, Reference, Sign
from spacelang.ir.rationals import decimal, rational
from spacelang.ir.value import Value
from spacelang.solver.inequalities import Inequality, added, solve


@fact
class Linear:
    """The sum of `factors[address] * value(address)` and `constant`."""

    factors: Mapping[str, Fraction]
    constant: Fraction

    @property
    def roots(self) -> tuple[Fraction, ...] | None:
        """Where a form of at most one hyperparameter changes its sign, exactly; None for a form of several."""
        if len(self.factors) > 1:
            return None
        return tuple(-self.constant / factor for factor in self.factors.values())


def difference(atom: Compare) -> Linear | None:
    """Left minus right as a linear form; None where it is not one."""
    left, right = linear(atom.left), linear(atom.right)
    return None if left is None or right is None else _sum(left, right, -1)


@fact
class WholeSum:
    """A linear comparison brought to whole numbers: a sum of one of each of `summands`, and `constant`, beside 0."""

    summands: tuple[tuple[int, ...], ...]
    constant: int


def whole_sum(atom: Compare, worths: Mapping[str, Sequence[object]]) -> WholeSum | None:
    """A comparison for some values of each hyperparameter, in their order: what each of them adds to the sum.

    None where it is not linear, or where some of the values are no numbers.
    """
    form = difference(atom)
    if form is None:
        return None
    columns: list[list[Fraction]] = []
    for address, values in worths.items():
        numbers = [rational(value) for value in values]
        columns.append([form.factors.get(address, Fraction(0)) * number for number in numbers if number is not None])
        if len(columns[-1]) < len(numbers):
            return None
    whole = math.lcm(form.constant.denominator, *(term.denominator for column in columns for term in column))
    return WholeSum(
        tuple(tuple([int(term * whole) for term in column]) for column in columns), int(form.constant * whole)
    )


def linear(expression: Expr) -> Linear | None:
    """The linear form of an arithmetic expression; None where it has none."""
    match expression:
        case Constant():
            number = rational(expression.value)
            return None if number is None else Linear({}, Fraction(number))
        case Reference():
            return Linear({expression.address: Fraction(1)}, Fraction(0))
        case Arithmetic():
            left, right = linear(expression.left), linear(expression.right)
            return None if left is None or right is None else _combine(expression.operation, left, right)
        case Call(function="min" | "max", arguments=(argument,)):
            return linear(argument)
        case _:
            return None


def _combine(operation: str, left: Linear, right: Linear) -> Linear | None:
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


def _sum(left: Linear, right: Linear, sign: int) -> Linear:
    return Linear(added(left.factors, right.factors, sign), left.constant + sign * right.constant)


def _scale(form: Linear, factor: Fraction) -> Linear:
    return Linear({a: f * factor for a, f in form.factors.items() if f * factor}, form.constant * factor)


Rows = tuple[Inequality, ...]
"""Inequalities that must hold together."""


def rows(relation: Sign, form: Linear, truth: bool) -> tuple[Rows, ...]:
    """The alternatives of which one must hold for `form relation 0` to have the given truth."""
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


def _row(form: Linear, *, strict: bool) -> Inequality:
    return Inequality(form.factors, form.constant, strict)


def feasible(cells: Mapping[str, Simple], alternatives: Sequence[tuple[Rows, ...]]) -> bool:
    """Whether some values in the cells satisfy one alternative of every entry.

    Every cell must hold numbers alone, a set just one. Raises SearchTooLongError (see `inequalities`).
    """
    return witness(cells, alternatives) is not None


def witness(cells: Mapping[str, Simple], alternatives: Sequence[tuple[Rows, ...]]) -> dict[str, Value] | None:
    """Values in the cells that satisfy one alternative of every entry, away from the ends where they can be."""
    variables = {name: _Variable.of(cell) for name, cell in cells.items()}
    bounds = [row for name, variable in variables.items() for row in variable.bounds(name)]
    integers = frozenset(name for name, variable in variables.items() if variable.grid)
    for chosen in product(*alternatives):
        mine = [_substituted(row, variables) for together in chosen for row in together]
        found = solve([*bounds, *mine], integers)
        if found is not None:
            return {name: _member(cell, found.get(name)) for name, cell in cells.items()}
    return None


@fact
class _Variable:
    """A cell as `offset + unit * x`, x between two ends; on a grid x is an integer, the index of the member."""

    offset: Fraction
    unit: Fraction
    lower: Fraction
    upper: Fraction
    lower_open: bool = False
    upper_open: bool = False
    grid: bool = False

    @classmethod
    def of(cls, cell: Simple) -> "_Variable":
        match cell:
            case Real():
                ends = decimal(cell.lower), decimal(cell.upper)
                return cls(Fraction(0), Fraction(1), *ends, cell.lower_open, cell.upper_open)
            case Grid():
                last = Fraction(cell.last_index)
                return cls(decimal(cell.lower), decimal(cell.step), Fraction(0), last, grid=True)
            case Categorical():
                number = rational(cell.values[0])
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


def _member(cell: Simple, place: Fraction | None) -> Value:
    if place is None:
        return cell.middle
    if not isinstance(cell, Real):
        return cell.at(int(place))
    near = float(place)
    nearby = (near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf))
    return next((number for number in nearby if contains(cell, number)), cell.middle)
