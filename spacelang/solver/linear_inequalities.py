"""Linear comparisons of hyperparameters, and whether several of them can hold at once.

All arithmetic uses rational numbers, so the answers are exact.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

from spacelang.frozen import frozen
from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain, contains
from spacelang.ir.expr import (
    COMPARISON_FUNCTIONS,
    NEGATED_SIGNS,
    Arithmetic,
    Call,
    Compare,
    ComparisonSign,
    Constant,
    Expr,
    ExpressionValue,
    Reference,
    is_true,
)
from spacelang.ir.value import ARITHMETIC_OPERATIONS, NumberInterval, Value, to_fraction, to_rational
from spacelang.solver.fourier_motzkin import Inequality, add_multiple, solve_inequalities


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


def linear_difference(atom: Compare) -> LinearSum | None:
    """Return the left side of a comparison minus its right side as a linear form, or None if it is not linear."""
    left, right = linear_form(atom.left), linear_form(atom.right)
    return None if left is None or right is None else _sum(left, right, -1)


@frozen
class IntegerComparison:
    """A comparison with 0, in integers: one entry of each tuple of `summands`, plus `constant`."""

    summands: tuple[tuple[int, ...], ...]
    constant: int


def to_integer_comparison(atom: Compare, worths: Mapping[str, Sequence[object]]) -> IntegerComparison | None:
    """Return the integer form of a comparison for the given values, or None if it is not linear in numbers."""
    form = linear_difference(atom)
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


def evaluate_combinations(expression: Expr, options: Mapping[str, Sequence[ExpressionValue]]) -> Iterator[bool]:
    """Return the truths of an expression for all combinations of `options` of its variables, the last one fastest."""
    whole = to_integer_comparison(expression, options) if isinstance(expression, Compare) else None
    if isinstance(expression, Compare) and whole is not None:
        relation, constant = COMPARISON_FUNCTIONS[expression.relation], whole.constant
        *before, last = whole.summands or ((0,),)
        for summands in product(*before):
            start = sum(summands, constant)
            yield from [relation(start + summand, 0) for summand in last]
        return
    for worths in product(*options.values()):
        yield is_true(expression, dict(zip(options, worths, strict=True)).__getitem__)


MAX_TOTALS = 1_000_000  # The maximum number of totals of a sum that are told apart


def possible_truths_of_sum(expression: Expr, options: Mapping[str, Sequence[object]]) -> set[bool] | None:
    """Return the possible truths of a comparison of a linear sum for the given values, or None if that takes too long.

    The totals that the first summands can reach are a bit set: bit k is 1 if they reach the least total plus k.
    """
    whole = to_integer_comparison(expression, options) if isinstance(expression, Compare) else None
    if not isinstance(expression, Compare) or whole is None:
        return None
    least = sum(map(min, whole.summands), whole.constant)
    greatest = sum(map(max, whole.summands), whole.constant)
    compared = COMPARISON_FUNCTIONS[expression.relation]
    if expression.relation not in ("==", "!=") or not least <= 0 <= greatest:
        return {compared(least, 0), compared(greatest, 0)}
    if greatest - least > MAX_TOTALS:
        return None
    reached = 1
    for summands in whole.summands:
        start, before, reached = min(summands), reached, 0
        for summand in set(summands):
            reached |= before << summand - start
    has_zero = bool(reached >> -least & 1)
    return {has_zero == (expression.relation == "==")} | ({expression.relation == "!="} if least < greatest else set())


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
        case "**" if not left.factors and not right.factors:
            return _power(left.constant, right.constant)
        case _:
            return None


def _power(base: Fraction, exponent: Fraction) -> LinearSum | None:
    try:
        found = ARITHMETIC_OPERATIONS["**"](base, exponent)
    except (ZeroDivisionError, ValueError, OverflowError):
        return None
    return None if isinstance(found, NumberInterval) else LinearSum({}, Fraction(found))


def _sum(left: LinearSum, right: LinearSum, sign: int) -> LinearSum:
    return LinearSum(add_multiple(left.factors, right.factors, sign), left.constant + sign * right.constant)


def _scale(form: LinearSum, factor: Fraction) -> LinearSum:
    return LinearSum({a: f * factor for a, f in form.factors.items() if f * factor}, form.constant * factor)


InequalitySystem = tuple[Inequality, ...]  # A system of inequalities that must all hold


def inequalities_for(relation: ComparisonSign, form: LinearSum, truth: bool) -> tuple[InequalitySystem, ...]:
    """Return systems of inequalities, one of which must hold so that `form RELATION 0` has the truth `truth`.

    There are two of them if the form must differ from 0, otherwise one.
    """
    if not truth:
        relation = NEGATED_SIGNS[relation]
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
    """Return True if values in the cells satisfy, for each entry of `alternatives`, one of its systems.

    The cells must contain numbers only. Raise SearchTooLongError.
    """
    return find_feasible_values(cells, alternatives) is not None


def find_feasible_values(
    cells: Mapping[str, SimpleDomain], alternatives: Sequence[tuple[InequalitySystem, ...]]
) -> dict[str, Value] | None:
    """Return values in the cells that satisfy, for each entry of `alternatives`, one of its systems; None if none do.

    Values inside of a cell are preferred to its ends. Raise SearchTooLongError.
    """
    variables = {name: _Variable.from_cell(cell) for name, cell in cells.items()}
    bounds = [row for name, variable in variables.items() for row in variable.bounds(name)]
    integers = frozenset(name for name, variable in variables.items() if variable.grid)
    for chosen in product(*alternatives):
        mine = [_substituted(row, variables) for together in chosen for row in together]
        found = solve_inequalities([*bounds, *mine], integers)
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
        lower = Inequality({name: -one}, self.lower, self.lower_open)
        return lower, Inequality({name: one}, -self.upper, self.upper_open)


def _substituted(row: Inequality, variables: Mapping[str, _Variable]) -> Inequality:
    constant = row.constant + sum(factor * variables[name].offset for name, factor in row.factors.items())
    factors = {name: factor * variables[name].unit for name, factor in row.factors.items()}
    return Inequality({name: factor for name, factor in factors.items() if factor}, constant, row.strict)


def _member_at(cell: SimpleDomain, place: Fraction | None) -> Value:
    if place is None:
        return cell.representative
    if not isinstance(cell, Real):
        return cell.value_at(int(place))
    near = float(place)
    nearby = (near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf))
    return next((number for number in nearby if contains(cell, number)), cell.representative)
