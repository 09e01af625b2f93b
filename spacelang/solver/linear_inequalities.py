"""Linear comparisons of hyperparameters, and whether several of them can hold at once.

All arithmetic uses rational numbers, so the answers are exact. Fourier-Motzkin elimination solves the rational
relaxation of a system, and branching on fractional values makes variables integral. Systems have few variables.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


@frozen
class Inequality:
    """An inequality: sum of `factors[name] * name`, plus `constant`, is <= 0, or < 0 if `strict`."""

    factors: Mapping[str, Fraction]
    constant: Fraction
    strict: bool = False


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


MAX_BRANCHINGS = 2_000  # The maximum number of branchings on integers before a search gives up


class SearchTooLongError(Exception):
    """The search for an integer solution of a system of inequalities exceeded the limit on branchings."""


def solve_inequalities(rows: Sequence[Inequality], integers: frozenset[str]) -> dict[str, Fraction] | None:
    """Return values that satisfy all rows, whole numbers for the variables in `integers`; None if there are none.

    The rows must bound every variable from below and from above. Raise SearchTooLongError.
    """
    waiting = [list(rows)]
    for _ in range(MAX_BRANCHINGS):
        if not waiting:
            return None
        system = waiting.pop()
        found = _solve_relaxation(system, integers)
        if found is None:
            continue
        split = next((name for name in integers if name in found and found[name].denominator != 1), None)
        if split is None:
            return found
        below, one = Fraction(math.floor(found[split])), Fraction(1)
        waiting.append([*system, Inequality({split: -one}, below + 1)])
        waiting.append([*system, Inequality({split: one}, -below)])
    raise SearchTooLongError


def _solve_relaxation(rows: Iterable[Inequality], integers: frozenset[str]) -> dict[str, Fraction] | None:
    system = tightest_rows(rows, integers)
    eliminated: list[tuple[str, list[Inequality]]] = []
    while names := {name: None for row in system for name in row.factors}:
        name = min(names, key=lambda name: _cost(name, system))
        touching = [row for row in system if name in row.factors]
        eliminated.append((name, touching))
        rest = [row for row in system if name not in row.factors]
        system = tightest_rows([*rest, *eliminate_variable(name, touching)], integers)
    if any(row.constant > 0 or (row.strict and row.constant == 0) for row in system):
        return None
    found: dict[str, Fraction] = {}
    for name, touching in reversed(eliminated):
        found[name] = _choose_value(name, touching, found, whole=name in integers)
    return found


def _cost(name: str, rows: Sequence[Inequality]) -> tuple[int, str]:
    """Return the number of rows that eliminating a variable creates, then its name, so that the order is unique."""
    signs = [row.factors[name] > 0 for row in rows if name in row.factors]
    return signs.count(True) * signs.count(False), name


def eliminate_variable(name: str, rows: Sequence[Inequality]) -> list[Inequality]:
    """Return inequalities that hold for the other variables exactly if some value of the variable satisfies all rows.

    All rows must contain the variable. Each of its lower bounds is combined with each of its upper bounds.
    """
    lower = [row for row in rows if row.factors[name] < 0]
    upper = [row for row in rows if row.factors[name] > 0]
    return [_combined_row(low, high, name) for low in lower for high in upper]


def _combined_row(low: Inequality, high: Inequality, name: str) -> Inequality:
    mine, other = high.factors[name], -low.factors[name]
    factors = add_multiple({key: mine * factor for key, factor in low.factors.items()}, high.factors, other)
    return Inequality(factors, mine * low.constant + other * high.constant, low.strict or high.strict)


def add_multiple(
    left: Mapping[str, Fraction], right: Mapping[str, Fraction], weight: Fraction | int
) -> dict[str, Fraction]:
    """Return the factors of `left + weight * right`, without those that are 0."""
    factors = dict(left)
    for key, factor in right.items():
        factors[key] = factors.get(key, Fraction(0)) + weight * factor
    return {key: factor for key, factor in factors.items() if factor}


def tightest_rows(rows: Iterable[Inequality], integers: frozenset[str]) -> list[Inequality]:
    """Return the rows on a common scale, reduced to the tightest row of each direction."""
    best: dict[tuple[tuple[str, Fraction], ...], Inequality] = {}
    for row in (normalize_inequality(row, integers) for row in rows):
        direction = tuple(sorted(row.factors.items()))
        known = best.get(direction)
        if known is None or (row.constant, row.strict) > (known.constant, known.strict):
            best[direction] = row
    return list(best.values())


def normalize_inequality(row: Inequality, integers: frozenset[str]) -> Inequality:
    """Return the row with coprime integer factors, and the tightest constant if all its variables are integers."""
    if not row.factors:
        return row
    whole = math.lcm(*(factor.denominator for factor in row.factors.values()))
    scale = Fraction(whole, math.gcd(*(int(factor * whole) for factor in row.factors.values())))
    factors, constant = {name: factor * scale for name, factor in row.factors.items()}, row.constant * scale
    if not integers.issuperset(factors):
        return Inequality(factors, constant, row.strict)
    rounded = math.floor(constant) + 1 if row.strict else math.ceil(constant)
    return Inequality(factors, Fraction(rounded))


def _choose_value(name: str, rows: Sequence[Inequality], found: Mapping[str, Fraction], *, whole: bool) -> Fraction:
    """Return the middle of what the rows allow, given `found`; an allowed integer, if any, if `whole` is true."""
    lower, upper, lower_strict, upper_strict = _ends(name, rows, found)
    middle = (lower + upper) / 2
    if whole:
        for near in (Fraction(math.floor(middle)), Fraction(math.ceil(middle))):
            if (lower < near or (lower == near and not lower_strict)) and (
                near < upper or (near == upper and not upper_strict)
            ):
                return near
    return middle


def _ends(
    name: str, rows: Sequence[Inequality], found: Mapping[str, Fraction]
) -> tuple[Fraction, Fraction, bool, bool]:
    """Return the lower and upper end of a variable and whether each is excluded; cells bound every variable."""
    lower: list[tuple[Fraction, bool]] = []
    upper: list[tuple[Fraction, bool]] = []
    for row in rows:
        factor = row.factors[name]
        rest = row.constant + sum(f * found[other] for other, f in row.factors.items() if other != name)
        (upper if factor > 0 else lower).append((-rest / factor, row.strict))
    (low, low_strict), (high, not_high_strict) = max(lower), min((end, not strict) for end, strict in upper)
    return low, high, low_strict, not not_high_strict
