"""Checks of computed parameters: all values that they can have are accepted by the catalogue, and some value exists."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import ceil, floor, prod
from typing import Final

from spacelang.analysis.arithmetic import VERY_LARGE
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.parameter_checks import ParameterChecker
from spacelang.analysis.value_intervals import ValueInterval, interval_of
from spacelang.catalog.value_rules import NumberRange
from spacelang.diagnostics.conditions import ComputedValueNeverDefined
from spacelang.diagnostics.parameters import ParameterRangeNotAccepted
from spacelang.ir.computed_parameters import computed_value, gives_float
from spacelang.ir.domain import Grid, Real, literal, members, parts
from spacelang.ir.domain_properties import is_finite
from spacelang.ir.expr import (
    INACTIVE,
    ActivityTest,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expr,
    ExpressionValue,
    In,
    InactiveValue,
    Or,
    decisions_in_tests,
    references,
)
from spacelang.ir.space import ComputedParameter, Constraint, Context, Space, Variable
from spacelang.ir.standalone_arithmetic import to_value
from spacelang.ir.value import Value, identity_key
from spacelang.ir.walk import computed_parameters
from spacelang.solver.constraint_network import TooManyConnectedVariablesError
from spacelang.solver.satisfiability import is_unsatisfiable
from spacelang.text import Span

MAX_COMBINATIONS: Final = 4_096  # The maximum number of combinations of values that are all computed
MAX_SHOWN: Final = 4  # The maximum number of hyperparameters whose values are shown beside a rejected one


def check_computed_parameters(
    space: Space, written: Mapping[str, tuple[ParameterChecker, Span]], report: DiagnosticCollector
) -> None:
    """Report each computed parameter that can have a value which its operator rejects, or that never has a value.

    `written` has the checker of the parameter and the span of the expression by address.
    """
    for computed, owners in computed_parameters(space.root):
        before = len(report.found)
        if computed.address in written:
            _Check(space, computed, owners, *written[computed.address], report).run()
        if report.symbols.unbound_symbols_in(computed.expression.span):
            report.mark_data_dependent(before)
        else:
            report.mark_possibly_caused_by_bindings(before)


class _Check:
    """The check of one computed parameter of the operator below the branches `owners`."""

    def __init__(
        self,
        space: Space,
        computed: ComputedParameter,
        owners: Context,
        checker: ParameterChecker,
        span: Span,
        report: DiagnosticCollector,
    ) -> None:
        self._space = space
        self._name = computed.name
        self._expression = computed.expression
        self._owners = owners
        self._checker = checker
        self._span = span
        self._report = report

    def run(self) -> None:
        named = [self._space.variables[address] for address in references(self._expression)]
        apart = next((each for each in named if not _can_be_together(each.owners, self._owners)), None)
        if apart is not None:
            name = apart.address
            self._report.add(
                ComputedValueNeverDefined(self._span, name=self._name, reason=f"`{name}` is never active here")
            )
            return
        if self._accepts_interval():
            return
        options = self._options(named)
        if options is None:
            self._check_interval()
        else:
            self._check_values(options)

    def _accepts_interval(self) -> bool:
        """Return True if the operator accepts every number in the interval of the values.

        Return False if the interval cannot decide: if a value may not be a number, or a whole number may be a float.
        """
        found = interval_of(self._expression, self._space.variables)
        if found is None or not isinstance(self._expression, Arithmetic | Call):
            return False
        if found.is_integral and not self._takes_only_integers and gives_float(self._expression, self._space.variables):
            return False
        return not any(map(self._is_vast, _ends(found))) and self._checker.range_rejection(_domain(found)) is None

    # ---- all values

    def _options(self, named: Sequence[Variable]) -> dict[str, Sequence[ExpressionValue]] | None:
        """Return the possible values by address: of the hyperparameters in `named`, and of decisions that are tested.

        None if the values have too many combinations.
        """
        found: dict[str, Sequence[ExpressionValue]] = {}
        for variable in named:
            domain = variable.hyperparameter.domain
            size = domain.size if is_finite(domain) else None
            if size is None or size > MAX_COMBINATIONS:
                return None
            found[variable.address] = [value for part in parts(domain) for value in members(part)]
        for address in decisions_in_tests(self._expression):
            found[address] = [*self._space.variables[address].choice.branch_indices, INACTIVE]
        return found if prod(map(len, found.values())) <= MAX_COMBINATIONS else None

    def _check_values(self, options: Mapping[str, Sequence[ExpressionValue]]) -> None:
        rejected: dict[object, tuple[Value, Mapping[str, ExpressionValue]]] = {}
        is_defined = False
        for taken in _combinations(options):
            value = computed_value(
                self._expression, taken.__getitem__, self._space.variables, self._takes_only_integers
            )
            if isinstance(value, InactiveValue):
                continue
            is_defined = True
            if self._is_vast(value):
                self._report.report_unbound_symbol(self._span)
                return
            if self._rejects(value):
                rejected.setdefault(identity_key(value), (value, taken))
        if not is_defined:
            reason = "the arithmetic has no result for any values"
            self._report.add(ComputedValueNeverDefined(self._span, name=self._name, reason=reason))
        elif rejected and self._is_possible(In(self._expression, tuple(value for value, _ in rejected.values()))):
            found = iter(rejected.values())
            if len(rejected) > 1:
                found = (each for each in found if self._is_possible(In(self._expression, (each[0],))))
            self._report_value(*next(found))

    @property
    def _takes_only_integers(self) -> bool:
        return self._checker.parameter is not None and self._checker.parameter.takes_only_integers

    def _rejects(self, value: Value) -> bool:
        parameter = self._checker.parameter
        return parameter is not None and parameter.check_value(value) is not None

    def _report_value(self, value: Value, taken: Mapping[str, ExpressionValue]) -> None:
        silent = DiagnosticCollector(self._report.symbols)
        self._checker.with_collector(silent).check_value(value, self._span, self._rounding(value))
        shown = [
            f"`{address.rpartition('.')[2]}` is {literal(each)}"
            for address, each in taken.items()
            if not isinstance(each, InactiveValue)
        ][:MAX_SHOWN]
        note = f"`{self._name}` is {literal(value)}" + (f" where {' and '.join(shown)}" if shown else "")
        for problem in silent.found:
            self._report.add(problem.with_note(note))

    def _rounding(self, value: Value) -> str | None:
        """Return the advice to round a float, if the parameter takes the nearest whole numbers."""
        if not isinstance(value, float) or any(map(self._rejects, (floor(value), ceil(value)))):
            return None
        return f"round it: `floor({self._span.text})` or `ceil({self._span.text})`"

    # ---- intervals

    def _check_interval(self) -> None:
        found = interval_of(self._expression, self._space.variables)
        if found is None:
            return
        ends = _ends(found)
        if any(map(self._is_vast, ends)):
            self._report.report_unbound_symbol(self._span)
            return
        refusal = self._checker.range_rejection(_domain(found))
        if refusal is None:
            return
        entry, parameter, expected = refusal
        wanted = NumberRange(ends[0], ends[1], found.lower.is_open, found.upper.is_open)
        legal = parameter.longest_legal_range(wanted, integer=found.is_integral)
        if legal is not None and not self._is_possible(self._outside(legal)):
            return
        lower, upper = self._narrowed(ends, legal)
        note = f"`{self._name}` lies between {literal(lower)} and {literal(upper)}"
        self._report.add(
            ParameterRangeNotAccepted(
                self._span,
                operator=entry.name,
                parameter=parameter.name,
                domain=self._span.text,
                expected=expected,
                part="some values of",
                notes=(
                    note,
                    *self._report.symbols.binding_notes(self._report.symbols.symbols_mentioned_in(self._span)),
                ),
            )
        )

    def _narrowed(self, ends: tuple[float, float], legal: NumberRange | None) -> tuple[float, float]:
        """Return the ends of an interval, each moved to that of `legal` if constraints exclude all values beyond."""
        if legal is None:
            return ends
        below = Compare("<", self._expression, Constant(legal.lower))
        above = Compare(">", self._expression, Constant(legal.upper))
        return (
            ends[0] if self._is_possible(below) else max(ends[0], legal.lower),
            ends[1] if self._is_possible(above) else min(ends[1], legal.upper),
        )

    def _outside(self, legal: NumberRange) -> Expr:
        below = Compare("<=" if legal.lower_open else "<", self._expression, Constant(legal.lower))
        above = Compare(">=" if legal.upper_open else ">", self._expression, Constant(legal.upper))
        return Or((below, above))

    def _is_vast(self, value: object) -> bool:
        """Return True if a value is as large as an unbound symbol of the data."""
        is_large = isinstance(value, int | float) and abs(value) >= VERY_LARGE**0.5
        return is_large and bool(self._report.symbols.unbound_symbols_in(self._span))

    def _is_possible(self, test: Expr) -> bool:
        """Return False if a test is true in no configuration with the operator; True if that cannot be decided."""
        active = And(tuple(map(ActivityTest, references(self._expression))))
        constraints = (*self._space.constraints, Constraint(active, False), Constraint(test, False))
        try:
            return not is_unsatisfiable(self._space, constraints, self._owners[-1] if self._owners else None)
        except TooManyConnectedVariablesError:
            return True


def _can_be_together(one: Context, other: Context) -> bool:
    taken = dict(one)
    return all(taken.get(decision, branch) == branch for decision, branch in other)


def _combinations(options: Mapping[str, Sequence[ExpressionValue]]) -> Iterator[dict[str, ExpressionValue]]:
    return (dict(zip(options, each, strict=True)) for each in product(*options.values()))


def _ends(found: ValueInterval) -> tuple[int | float, int | float]:
    return to_value(found.lower.number, is_float=False), to_value(found.upper.number, is_float=False)


def _domain(found: ValueInterval) -> Grid | Real:
    if found.is_integral:
        return Grid(int(found.lower.number), int(found.upper.number))
    return Real(float(found.lower.number), float(found.upper.number), found.lower.is_open, found.upper.is_open)
