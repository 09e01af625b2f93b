"""Code that asks a trial of optuna for a value, also within bounds that depend on earlier values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Final

from spacelang.ir import domain as domains
from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain
from spacelang.ir.expr import INACTIVE
from spacelang.ir.space import Space
from spacelang.ir.value import to_fraction
from spacelang.reductions.space_questions import DrawnPiece, Question
from spacelang.reductions.varying_bounds import LinearLimit, VaryingRange, ends_of_range
from spacelang.targets._exports import python_expression_tree as py
from spacelang.targets._exports.python_conditions import FOUND
from spacelang.targets._exports.question_functions import case_labels

EXACT_SOURCE: Final = '''\
from fractions import Fraction
from math import inf, nextafter


def _exactly(number):
    """Return the decimal that a float is printed as."""
    return Fraction(repr(number))


def _at_most(number):
    """Return the greatest float that is at most a number."""
    found = float(number)
    return found if _exactly(found) <= number else nextafter(found, -inf)


def _at_least(number):
    """Return the least float that is at least a number."""
    return -_at_most(-number)'''


def suggest_call_code(name: str, question: Question) -> py.Code:
    """Return the code that calls a `trial.suggest_...` method for a question with this name."""
    if isinstance(question, DrawnPiece):
        return _suggest_code(name, question.domain)
    return py.call("trial.suggest_categorical", name, py.literal_list(case_labels(question)))


def _suggest_code(name: str, domain: SimpleDomain) -> py.Code:
    match domain:
        case Categorical(values=values):
            return py.call("trial.suggest_categorical", name, py.literal_list(values))
        case Grid(is_integral=True):
            return _integer_code(name, domain)
        case Grid():
            # Optuna adds up steps as floats, which may miss the intended decimal.
            number = py.call("trial.suggest_float", name, domain.least, domain.greatest, step=domain.step)
            return py.call("round", number, decimals_of(domain))
        case Real():
            scale = {"log": True} if domain.log else {}
            return py.call("trial.suggest_float", name, domain.lower, domain.upper, **scale)


def decimals_of(grid: Grid) -> int:
    """Return the number of decimals that the members of a grid of floats have."""
    _, _, below = domains.affine_integer_coefficients(grid)
    return next(count for count in range(below.bit_length() + 1) if 10**count % below == 0)


def _integer_code(name: str, part: Grid) -> py.Code:
    last = part.greatest
    if not part.log:
        steps = {} if part.step == 1 else {"step": part.step}
        return py.call("trial.suggest_int", name, part.lower, last, **steps)
    number = py.call("trial.suggest_int", name, part.lower, last, log=True)
    if part.step == 1:
        return number
    # Optuna has no steps on a log scale: round to the nearest step.
    return py.grid_member_code(part, py.call("round", py.infix(py.infix(number, "-", part.lower), "/", part.step)))


def describe_suggest_call(code: py.Code) -> str:
    """Return the name of the method that a piece of code calls, followed by its flags, like `suggest_float log`."""
    match code:
        case py.CallNode(function="round"):
            return describe_suggest_call(code.arguments[0])
        case py.CallNode():
            flags = [name if name == "log" else f"{name}={py.expression_source(value)}" for name, value in code.named]
            return " ".join([code.function.removeprefix("trial."), *flags])
        case _:
            return "suggest_int"


@dataclass(frozen=True, slots=True)
class BoundedSuggestion:
    """A call that asks a trial for a value of a range whose limits depend on earlier values.

    `known` has the addresses of hyperparameters that always have a value in the dictionary `found` at this point.
    """

    name: str
    varying: VaryingRange
    space: Space
    known: frozenset[str]

    @property
    def code(self) -> py.Code:
        """The code that asks a trial for the value."""
        domain = self.varying.domain
        ends = self._end(is_upper=False), self._end(is_upper=True)
        flags: dict[str, object] = {"log": True} if domain.log else {}
        if isinstance(domain, Real):
            return py.call("trial.suggest_float", self.name, *ends, **flags)
        if domain.is_integral:
            steps = {} if domain.step == 1 else {"step": domain.step}
            return py.call("trial.suggest_int", self.name, *ends, **steps, **flags)
        number = py.call("trial.suggest_float", self.name, *ends, step=domain.step)
        return py.call("round", number, decimals_of(domain))

    def _end(self, *, is_upper: bool) -> py.Code:
        """Return the code of the upper or lower end: the tightest of the fixed end of the range and its limits."""
        limits = self.varying.upper if is_upper else self.varying.lower
        whole = self.varying.range_within_limits(lambda _: INACTIVE)
        fixed = whole.greatest if is_upper else whole.least
        codes: list[py.Code] = []
        is_needed = True
        for limit in (each for each in limits if each.factors):
            codes.append(self._limit(limit, fixed, is_upper=is_upper))
            is_needed = is_needed and self._may_exceed(limit, fixed, is_upper=is_upper)
        if is_needed:
            codes.insert(0, py.LiteralNode(fixed))
        return codes[0] if len(codes) == 1 else py.CallNode("min" if is_upper else "max", tuple(codes))

    def _may_exceed(self, limit: LinearLimit, fixed: float, *, is_upper: bool) -> bool:
        """Return True if a limit may lie beyond the fixed end of the range for some values of the other ranges."""
        boxes = {address: ends_of_range(self.space.variables[address]) for address in limit.factors}
        extreme = limit.constant + sum(f * boxes[a][(f > 0) is is_upper] for a, f in limit.factors.items())
        return extreme > to_fraction(fixed) if is_upper else extreme < to_fraction(fixed)

    def _limit(self, limit: LinearLimit, fixed: float, *, is_upper: bool) -> py.Code:
        if isinstance(self.varying.domain, Grid):
            return self._limit_of_grid(limit, fixed)
        if limit.is_bare_reference:
            found = self._value(next(iter(limit.factors)), fixed)
        else:
            terms: list[tuple[py.Code, Fraction]] = [
                (exact_decimal_code(self._value(a, fixed)), factor) for a, factor in limit.factors.items()
            ]
            total = sum_code(terms, limit.constant, exact_number_code)
            found = py.call("_at_most" if is_upper else "_at_least", total)
        direction = py.NameNode("-inf" if is_upper else "inf")
        return py.call("nextafter", found, direction) if limit.strict else found

    def _limit_of_grid(self, limit: LinearLimit, fixed: float) -> py.Code:
        if limit.is_bare_reference:
            return self._value(next(iter(limit.factors)), fixed)
        grid = self.varying.domain
        assert isinstance(grid, Grid)
        if not grid.is_integral:
            terms = [(self._value(a, fixed), factor) for a, factor in limit.factors.items()]
            return py.call("round", sum_code(terms, limit.constant, plain_number_code), decimals_of(grid))
        below = lcm(*(each.denominator for each in (*limit.factors.values(), limit.constant)))
        terms = [(self._value(a, fixed), factor * below) for a, factor in limit.factors.items()]
        total = sum_code(terms, limit.constant * below, plain_number_code)
        return total if below == 1 else py.infix(total, "//", below)

    def _value(self, address: str, otherwise: float) -> py.Code:
        key = self.space.variables[address].key
        return (
            py.SubscriptNode(FOUND, py.LiteralNode(key))
            if address in self.known
            else py.call("found.get", key, otherwise)
        )


def sum_code(
    terms: Sequence[tuple[py.Code, Fraction]], constant: Fraction, number: Callable[[Fraction], py.Code]
) -> py.Code:
    """Return the code of a sum of factors times terms, plus a constant; positive terms come first.

    `number` makes the code of a number.
    """
    signed = sorted(terms, key=lambda each: each[1] < 0)
    starts_with_constant = signed[0][1] < 0
    total: py.Code | None = number(constant) if starts_with_constant else None
    for code, factor in signed:
        term = code if abs(factor) == 1 else py.infix(number(abs(factor)), "*", code)
        total = term if total is None else py.InfixNode(total, "+" if factor > 0 else "-", term)
    assert total is not None
    if starts_with_constant or not constant:
        return total
    return py.infix(total, "+" if constant > 0 else "-", number(abs(constant)))


def exact_decimal_code(number: py.Code) -> py.Code:
    """Return code that converts a number exactly; a float stands for the decimal that it is printed as."""
    return py.call("_exactly", number)


def plain_number_code(number: Fraction) -> py.Code:
    """Return the code of a number as an integer or float."""
    return py.LiteralNode(int(number) if number.denominator == 1 else float(number))


def exact_number_code(number: Fraction) -> py.Code:
    """Return the code of a number as an integer or fraction."""
    return py.LiteralNode(int(number)) if number.denominator == 1 else py.call("Fraction", str(number))
