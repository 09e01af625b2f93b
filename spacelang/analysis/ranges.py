"""Ranges: read bounds, which may depend on the data, and steps, and check them against the parameter."""

import math
from dataclasses import replace
from typing import Final

from spacelang.analysis.arithmetic import (
    INFINITY_NAMES,
    evaluate,
    find_infinite_constant,
    read_arithmetic,
    to_number,
)
from spacelang.analysis.diagnostic_collector import DataSymbols, DiagnosticCollector, extreme_data_sizes
from spacelang.analysis.parameter_checks import ParameterChecker
from spacelang.catalog.value_rules import NumberRange, format_value_as_source
from spacelang.diagnostics.domains import (
    EmptyDomain,
    InvalidRangeBound,
    InvalidRangeStep,
    LogRangeNotPositive,
    UnboundDataSymbol,
)
from spacelang.diagnostics.parameters import ParameterRangeNotAccepted
from spacelang.frozen import frozen
from spacelang.ir.data_binding import DATA_SIZE_NAMES
from spacelang.ir.domain import Grid, Real, grid, literal
from spacelang.ir.expr import Expr
from spacelang.ir.value import to_fraction
from spacelang.syntax import ast
from spacelang.text import Span

REVERSED: Final = "the bounds are reversed"
_BOUNDS: Final = "bounds may use only numbers and symbols of the data"
_NO_STEP: Final = "a step is a number or arithmetic over numbers"
LARGEST: Final = 8e307
"""The largest bound. Beyond it, the width of a range may be infinite, so values could not be drawn."""


def has_named_bounds(domain: ast.Domain) -> bool:
    """Return True if a bound of a range names something other than a symbol of the data."""
    ranges = (part for part in ast.domain_parts(domain) if isinstance(part, ast.Range))
    return any(is_named_bound(bound) for part in ranges for bound in (part.lower, part.upper))


def is_named_bound(bound: ast.Expression) -> bool:
    """Return True if a bound names something other than a symbol of the data."""
    names = (name.text for name in ast.names_in(bound))
    return any(name not in DATA_SIZE_NAMES and name.lower() not in INFINITY_NAMES for name in names)


@frozen
class _End:
    value: int | float
    is_open: bool
    span: Span
    symbols: tuple[str, ...] = ()


class RangeReader:
    """A reader of the ranges of one parameter."""

    def __init__(self, checker: ParameterChecker, report: DiagnosticCollector) -> None:
        self._checker = checker
        self._report = report

    def read(self, written: ast.Range) -> Grid | Real | None:
        """Return the range, or None after reporting why it is invalid."""
        step = self._step(written)
        if step is not written.step:
            if step is None:
                return None
            written = replace(written, step=step)
        lower = self._end(written.lower, written, is_lower=True)
        upper = self._end(written.upper, written, is_lower=False)
        if lower is None or upper is None:
            return None
        if lower.value > upper.value or (lower.value == upper.value and (lower.is_open or upper.is_open)):
            self._report_empty(written, lower, upper)
            return None
        if written.log is not None and lower.value <= 0:
            self._report_log(lower)
            return None
        if step is not None and not self._step_fits(written, step, lower, upper):
            return None
        found = _members(written, lower, upper)
        if found is None:
            self._report_empty(written, lower, upper)
            return None
        return found if self._is_accepted(written, found, lower, upper) else None

    @classmethod
    def read_widest(cls, written: ast.Range) -> Grid | Real | None:
        """Return the range from the least lower to the greatest upper bound over all data, or None if there is none."""
        mentions = DiagnosticCollector()
        for bound in (written.lower, written.upper):
            read_arithmetic(bound, mentions, _BOUNDS, lambda _: None)
        reports = [
            DiagnosticCollector(DataSymbols(sizes)) for sizes in extreme_data_sizes(mentions.symbols.used_symbols)
        ]
        readers = [cls(ParameterChecker(report), report) for report in reports]
        lowers = [end for each in readers if (end := each._end(written.lower, written, is_lower=True)) is not None]
        uppers = [end for each in readers if (end := each._end(written.upper, written, is_lower=False)) is not None]
        if not lowers or not uppers:
            return None
        lower = min(lowers, key=lambda end: (end.value, end.is_open))
        upper = max(uppers, key=lambda end: (end.value, not end.is_open))
        # If the lower bound varies, the members of the grid move with it, so any number may be a member.
        step = readers[0]._step(written) if lower.value == max(end.value for end in lowers) else None
        bare = replace(written, step=step, log=written.log if lower.value > 0 else None)
        return None if lower.value > upper.value else _members(bare, lower, upper)

    # ---- bounds

    def _end(self, bound: ast.Expression, written: ast.Range, *, is_lower: bool) -> _End | None:
        expression = read_arithmetic(bound, self._report, _BOUNDS, self._refuse)
        if expression is None:
            return None
        number, symbols = evaluate(expression), self._report.symbols.symbols_mentioned_in(bound.span)
        value = to_number(number)
        is_open = written.lower_open if is_lower else written.upper_open
        if not _is_finite(value, written.kind):
            self._report_infinite(bound, expression, written, symbols)
            return None
        if abs(value) > LARGEST:
            self._report_bound(bound, written, f"expected a number from -{LARGEST:g} to {LARGEST:g}", symbols)
            return None
        if written.kind == "float":
            return _End(value, is_open, bound.span, symbols)
        whole = math.ceil(number) if is_lower else math.floor(number)
        if whole == number:
            return _End(whole, is_open, bound.span, symbols)
        if not symbols:
            self._report_fraction(bound, value)
            return None
        # Round to the nearest integer inside. The bound itself is not an integer, so the end is closed.
        return _End(whole, False, bound.span, symbols)

    def _report_infinite(
        self, bound: ast.Expression, expression: Expr, written: ast.Range, symbols: tuple[str, ...]
    ) -> None:
        free = self._report.symbols.unbound_symbols_in(bound.span)
        if free:
            place = find_infinite_constant(expression)
            at = (
                place
                if place is not None and place.text in free
                else self._report.symbols.first_mention(bound.span, free)
            )
            function = "max" if evaluate(expression) == -math.inf else "min"
            self._report.add(UnboundDataSymbol(at, symbol=at.text, limit=f"{function}(…, {bound.span.text})"))
            return
        self._report_bound(bound, written, "expected a finite number", symbols)

    def _report_bound(self, bound: ast.Expression, written: ast.Range, expected: str, symbols: tuple[str, ...]) -> None:
        domain, notes = (
            "a range of integers" if written.kind == "int" else "a range",
            self._report.symbols.binding_notes(symbols),
        )
        self._report.add(
            InvalidRangeBound(bound.span, bound=bound.span.text, domain=domain, expected=expected, notes=notes)
        )

    def _report_fraction(self, bound: ast.Expression, value: float) -> None:
        takes_floats = self._checker.range_rejection(Real(value, value)) is None
        remedy = f"write {'`float[…]`, or ' if takes_floats else ''}{math.floor(value)} or {math.ceil(value)}"
        domain, expected = "a range of integers", "expected an integer"
        self._report.add(
            InvalidRangeBound(bound.span, bound=bound.span.text, domain=domain, expected=expected, remedy=remedy)
        )

    def _refuse(self, bound: ast.Expression) -> None:
        expected = "expected a number or arithmetic over numbers"
        self._report.add(InvalidRangeBound(bound.span, bound=bound.span.text, domain="a range", expected=expected))

    # ---- empty ranges, and logarithmic ranges that reach 0 or below

    def _report_empty(self, written: ast.Range, lower: _End, upper: _End) -> None:
        if lower.symbols or upper.symbols:
            self._report_empty_by_data(written, lower, upper)
            return
        reason = _why_empty(written, lower, upper)
        start, end = lower.span.text, upper.span.text
        opening, closing = "(" if written.lower_open else "[", ")" if written.upper_open else "]"
        turned = f"{written.kind}{opening}{end}, {start}{closing}{_modifiers(written)}"
        domain, near = f"`{written.span.text}`", turned if reason == REVERSED else None
        self._report.add(EmptyDomain(written.span, domain=domain, reason=reason, near=near))

    def _report_empty_by_data(self, written: ast.Range, lower: _End, upper: _End) -> None:
        symbols = self._report.symbols
        blamed, name = (upper, "upper") if upper.symbols else (lower, "lower")
        notes = symbols.binding_notes(lower.symbols) if blamed is upper else ()
        other = (f"the lower bound is {literal(lower.value)}",) if notes else ()
        reason = f"{symbols.bindings_phrase(blamed.symbols)}the {name} bound is {literal(blamed.value)}"
        self._report.add(
            EmptyDomain(blamed.span, domain=f"`{written.span.text}`", reason=reason, notes=(*notes, *other))
        )

    def _report_log(self, lower: _End) -> None:
        symbols = self._report.symbols
        if symbols.unbound_symbols_in(lower.span) and not lower.value:
            # The bound tends to 0, but is positive for data of any size.
            self._report.report_unbound_symbol(lower.span, limit=f"max(…, {lower.span.text})")
            return
        notes = symbols.binding_notes(lower.symbols)
        self._report.add(LogRangeNotPositive(lower.span, lower=literal(lower.value), notes=notes))

    # ---- steps

    def _step(self, written: ast.Range) -> ast.Number | None:
        step = written.step
        if step is None or isinstance(step, ast.Number):
            return step
        expression = read_arithmetic(step, self._report, "", lambda part: self._report_step(written, part, _NO_STEP))
        if expression is None:
            return None
        number = evaluate(expression)
        value = to_number(number)
        if self._report.symbols.symbols_mentioned_in(step.span):
            self._report_step(written, step, "a step cannot depend on the data", _NO_STEP)
        elif not math.isfinite(value):
            self._report_step(written, step, "the step is not a finite number")
        elif to_fraction(value) != number:
            self._report_step(
                written, step, f"the step is {value}…, which cannot be written exactly as a decimal number"
            )
        else:
            return ast.Number(value, step.span)
        return None

    def _report_step(
        self, written: ast.Range, step: ast.Expression, reason: str, remedy: str | None = None, value: str | None = None
    ) -> None:
        domain = f"`{written.span.text}`"
        shown = step.span.text if value is None else value
        self._report.add(InvalidRangeStep(step.span, step=shown, domain=domain, reason=reason, remedy=remedy))

    def _step_fits(self, written: ast.Range, step: ast.Number, lower: _End, upper: _End) -> bool:
        reason = remedy = None
        if step.value <= 0 or not math.isfinite(step.value):
            reason = "a step must be greater than 0"
        elif written.kind == "int" and not float(step.value).is_integer():
            reason = "the step of a range of integers must be an integer"
        elif written.log is not None:
            reason, remedy = "a range has either a log scale or a step", "remove `log` or `step`"
        elif not lower.symbols and not upper.symbols:
            steps = (to_fraction(upper.value) - to_fraction(lower.value)) / to_fraction(step.value)
            if steps.denominator != 1:
                last = to_fraction(lower.value) + math.floor(steps) * to_fraction(step.value)
                reached = int(last) if written.kind == "int" else float(last)
                reason = "no number of steps from the lower bound leads exactly to the upper bound"
                remedy = f"write {literal(reached)}, which the last step reaches, as the upper bound"
        if reason is not None:
            self._report_step(written, step, reason, remedy, literal(step.value))
        return reason is None

    # ---- what the parameter takes

    def _is_accepted(self, written: ast.Range, found: Grid | Real, lower: _End, upper: _End) -> bool:
        refusal = self._checker.range_rejection(found)
        if refusal is None:
            return True
        entry, parameter, expected = refusal
        wanted = NumberRange(
            found.lower, found.upper, *(() if isinstance(found, Grid) else (lower.is_open, upper.is_open))
        )
        legal = parameter.longest_legal_range(wanted, integer=isinstance(found, Grid) and found.is_integral)
        symbols = (*lower.symbols, *upper.symbols)
        is_share = written.lower.span == written.span  # of a simplex, where no range is written
        can_rewrite = legal is not None and written.step is None and not symbols and not is_share
        self._report.add(
            ParameterRangeNotAccepted(
                written.span,
                operator=entry.name,
                parameter=parameter.name,
                domain=f"{written.kind}[0, 1]" if is_share else written.span.text,
                expected=expected,
                part="a part of" if legal is not None else "the range",
                near=_rewritten(written, wanted, legal) if can_rewrite and legal is not None else None,
                notes=self._report.symbols.binding_notes(symbols),
            )
        )
        return False


def _members(written: ast.Range, lower: _End, upper: _End) -> Grid | Real | None:
    """Return the range between two ends, or None if it contains nothing."""
    log, ends = written.log is not None, {"lower_open": lower.is_open, "upper_open": upper.is_open}
    if written.step is None and written.kind == "float":
        return Real(float(lower.value), float(upper.value), **ends, log=log)
    step = written.step.value if isinstance(written.step, ast.Number) else 1
    found = grid(lower.value, upper.value, int(step) if written.kind == "int" else float(step), **ends, log=log)
    return found if found.size else None


def _is_finite(value: float, kind: str) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:  # an integer beyond every float
        return kind == "int"


def _why_empty(written: ast.Range, lower: _End, upper: _End) -> str:
    if lower.value > upper.value:
        return REVERSED
    start, end = lower.span.text, upper.span.text
    if lower.value == upper.value:
        return f"the only number, {start}, is excluded"
    if written.step is not None:
        return "the open ends of the range exclude all of its members"
    return f"no {'integer' if written.kind == 'int' else 'number'} lies between {start} and {end}"


def _rewritten(written: ast.Range, wanted: NumberRange, legal: NumberRange) -> str:
    """Return the text of the range with the rejected bounds replaced by accepted ones."""
    opening, closing = "(" if written.lower_open else "[", ")" if written.upper_open else "]"
    start, end = written.lower.span.text, written.upper.span.text
    if (legal.lower, legal.lower_open) != (wanted.lower, wanted.lower_open):
        opening, start = "(" if legal.lower_open else "[", format_value_as_source(legal.lower)
    if (legal.upper, legal.upper_open) != (wanted.upper, wanted.upper_open):
        closing, end = ")" if legal.upper_open else "]", format_value_as_source(legal.upper)
    return f"{written.kind}{opening}{start}, {end}{closing}{_modifiers(written)}"


def _modifiers(written: ast.Range) -> str:
    return written.span.source.text[written.upper.span.end + 1 : written.span.end]
