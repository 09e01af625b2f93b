"""Domains as written to domains as meant: bounds, steps, sets and unions, judged by the parameter that takes them."""

import math
from fractions import Fraction
from typing import Final

from spacelang.analysis.overlap import common_value
from spacelang.analysis.report import Report
from spacelang.analysis.values import NoValue, judge, plain
from spacelang.catalog.catalogue import Operator as Entry
from spacelang.catalog.catalogue import Parameter
from spacelang.catalog.rules import Piece
from spacelang.catalog.wording import spell
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.domains import BadBound, EmptyDomain, LogNotPositive, StepDoesNotFit, UnboundSymbol
from spacelang.diagnostics.names import DuplicateValue, UnknownFunction, UnknownName
from spacelang.diagnostics.parameters import RejectedRange
from spacelang.diagnostics.syntax import NotSupportedYet
from spacelang.ir.domain import (
    BOOLEANS,
    Categorical,
    Domain,
    Integer,
    Missing,
    Ordinal,
    Real,
    Simple,
    Union,
    describe,
    literal,
)
from spacelang.ir.expr import FUNCTIONS, VARIADIC, Arithmetic, Call, Constant, Expr, Inactive, worth
from spacelang.ir.value import Value, identity, is_number, same
from spacelang.suggest import nearest
from spacelang.syntax import ast
from spacelang.text import Span

SYMBOLS = ("n_samples", "n_features", "n_classes")
"""What bounds may ask of the data."""

LONGEST: Final = 80
"""Domains are cut to this many characters in messages."""


class DomainReader:
    """Reads the domain of one parameter."""

    def __init__(self, entry: Entry | None, parameter: Parameter | None, report: Report) -> None:
        """`entry` and `parameter` are None where the operator or parameter is unknown: then nothing is judged."""
        self._entry = entry
        self._parameter = parameter
        self._report = report

    def read(self, domain: ast.Domain) -> Domain | None:
        """The domain, or None where it has none; the reasons are reported."""
        if not isinstance(domain, ast.UnionDomain):
            return self._simple(domain)
        parts = [self._simple(part) for part in domain.parts]
        found = [part for part in parts if part is not None]
        if len(found) < len(parts) or not self._disjoint(domain, found):
            return None
        return Union(tuple(found))

    def _simple(self, domain: ast.Domain) -> Simple | None:
        match domain:
            case ast.Booleans():
                # One judgement for the type as a whole: two complaints about one word would be one too many.
                fits = judge(True, domain.span, self._entry, self._parameter, self._report)
                return BOOLEANS if fits else None
            case ast.Values():
                return self._values(domain)
            case ast.Range():
                return self._range(domain)
            case ast.UnionDomain() | ast.Nothing() | ast.Operator() | ast.Group():
                self._report.add(
                    NotSupportedYet(primary=domain.span, construct="a mixture of operators and values in one domain")
                )
                return None

    def _values(self, domain: ast.Values) -> Categorical | None:
        if not domain.values:
            self._report.add(EmptyDomain(primary=domain.span, domain="the set", reason="no value is named"))
            return None
        seen: dict[object, Span] = {}
        values: list[Value] = []
        sound = True
        for written in domain.values:
            value = plain(written, self._report)
            if isinstance(value, NoValue):
                sound = False
            elif identity(value) in seen:
                related = (Related(seen[identity(value)], "first named here"),)
                self._report.add(DuplicateValue(primary=written.span, value=literal(value), related=related))
                sound = False
            else:
                seen[identity(value)] = written.span
                values.append(value)
                sound &= judge(value, written.span, self._entry, self._parameter, self._report)
        if not sound:
            return None
        return Ordinal(tuple(values)) if domain.ordered else Categorical(tuple(values))

    def _range(self, written: ast.Range) -> Real | Integer | None:
        lower, upper = (self._bound(bound, written) for bound in (written.lower, written.upper))
        if lower is None or upper is None:
            return None
        if lower > upper or (lower == upper and (written.lower_open or written.upper_open)):
            self._report_empty(written, _why_empty(written, lower, upper))
            return None
        if written.log is not None and lower <= 0:
            self._report.add(LogNotPositive(primary=written.lower.span, lower=literal(lower)))
            return None
        if written.step is not None and not self._step_fits(written, written.step, lower, upper):
            return None
        found = self._integers(written, lower, upper) if written.kind == "int" else self._reals(written, lower, upper)
        if found is None:
            return None
        expected = self._rejection(found)
        if expected is not None:
            self._report_rejected(written, found, expected)
        return None if expected is not None else found

    def _report_rejected(self, written: ast.Range, found: Real | Integer, expected: str) -> None:
        assert self._entry is not None
        assert self._parameter is not None
        is_integer = isinstance(found, Integer)
        wanted = Piece(found.lower, found.upper, *(() if is_integer else (written.lower_open, written.upper_open)))
        legal = self._parameter.legal_part(wanted, integer=is_integer)
        self._report.add(
            RejectedRange(
                primary=written.span,
                operator=self._entry.name,
                parameter=self._parameter.name,
                domain=written.span.text,
                expected=f"expected {expected}",
                part="a part of" if legal is not None else "the range",
                near=None if legal is None or written.step is not None else _rewritten(written, wanted, legal),
            )
        )

    def _report_empty(self, written: ast.Range, reason: str) -> None:
        start, end = written.lower.span.text, written.upper.span.text
        opening, closing = "(" if written.lower_open else "[", ")" if written.upper_open else "]"
        rest = written.span.source.text[written.upper.span.end + 1 : written.span.end]
        self._report.add(
            EmptyDomain(
                primary=written.span,
                domain=f"`{written.span.text}`",
                reason=reason,
                near=f"{written.kind}{opening}{end}, {start}{closing}{rest}" if reason == REVERSED else None,
            )
        )

    def _integers(self, written: ast.Range, lower: float, upper: float) -> Integer | None:
        step = int(written.step.value) if written.step is not None else 1
        first = int(lower) + (step if written.lower_open else 0)
        last = int(upper) - (step if written.upper_open else 0)
        if first > last:
            self._report_empty(written, _why_empty(written, lower, upper))
            return None
        return Integer(first, last, written.log is not None, step)

    def _reals(self, written: ast.Range, lower: float, upper: float) -> Real | None:
        step = float(written.step.value) if written.step is not None else None
        found = Real(float(lower), float(upper), written.lower_open, written.upper_open, written.log is not None, step)
        if step is not None and not found.size:
            self._report_empty(written, _why_empty(written, lower, upper))
            return None
        return found

    def _step_fits(self, written: ast.Range, step: ast.Number, lower: float, upper: float) -> bool:
        reason = remedy = None
        if step.value <= 0 or not math.isfinite(step.value):
            reason = "a step is above 0"
        elif written.kind == "int" and not float(step.value).is_integer():
            reason = "integers need a whole step"
        elif written.log is not None:
            reason, remedy = "a logarithmic range has no even step", "leave out `log` or `step`"
        else:
            steps = (_exact(upper) - _exact(lower)) / _exact(step.value)
            if steps.denominator != 1:
                last = _exact(lower) + math.floor(steps) * _exact(step.value)
                reached = int(last) if written.kind == "int" else float(last)
                reason = "does not lead from the lower to the upper bound"
                remedy = f"the last member would be {literal(reached)}: write it as the upper bound"
        if reason is not None:
            number = literal(step.value)
            self._report.add(
                StepDoesNotFit(
                    primary=step.span, step=number, domain=f"`{written.span.text}`", reason=reason, remedy=remedy
                )
            )
        return reason is None

    def _bound(self, bound: ast.Expression, written: ast.Range) -> int | float | None:
        expression = self._fold(bound)
        if expression is None:
            return None
        value = worth(expression, lambda _: None)
        domain = "a range of integers" if written.kind == "int" else "a range"
        if isinstance(value, Inactive) or not is_number(value) or not math.isfinite(value):  # type: ignore[arg-type]
            self._report.add(
                BadBound(primary=bound.span, bound=bound.span.text, domain=domain, expected="expected a finite number")
            )
            return None
        assert isinstance(value, int | float)
        if written.kind == "int" and not float(value).is_integer():
            whole = f"{math.floor(value)} or {math.ceil(value)}"
            remedy = f"write `float[…]`, or {whole}" if self._takes_floats(value) else f"write {whole}"
            self._report.add(
                BadBound(
                    primary=bound.span,
                    bound=bound.span.text,
                    domain=domain,
                    expected="expected an integer",
                    remedy=remedy,
                )
            )
            return None
        return int(value) if written.kind == "int" else value

    def _takes_floats(self, value: float) -> bool:
        return self._parameter is None or self._parameter.rejects_range(value, value, integer=False) is None

    def _fold(self, bound: ast.Expression) -> Expr | None:
        """Arithmetic over numbers; a symbol of the data, or anything else, is reported."""
        match bound:
            case ast.Number():
                return Constant(bound.value)
            case ast.Binary(operator="+" | "-" | "*" | "/" as sign):
                left, right = self._fold(bound.left), self._fold(bound.right)
                return None if left is None or right is None else Arithmetic(sign, left, right)
            case ast.Unary(operator="-"):
                term = self._fold(bound.term)
                return None if term is None else Arithmetic("-", Constant(0), term)
            case ast.FunctionCall():
                return self._fold_call(bound)
            case ast.Dotted():
                self._report_symbol(bound)
                return None
            case _:
                expected = "expected a number or arithmetic over numbers"
                self._report.add(
                    BadBound(primary=bound.span, bound=bound.span.text, domain="a range", expected=expected)
                )
                return None

    def _fold_call(self, call: ast.FunctionCall) -> Expr | None:
        arguments = [self._fold(argument) for argument in call.arguments]
        return known_call(call, arguments, self._report)

    def _report_symbol(self, name: ast.Dotted) -> None:
        if name.text in SYMBOLS:
            self._report.add(UnboundSymbol(primary=name.span, symbol=name.text))
        else:
            near = nearest(name.text, SYMBOLS)
            self._report.add(UnknownName(primary=name.span, name=name.text, near=near))

    def _rejection(self, domain: Real | Integer) -> str | None:
        if self._parameter is None or self._entry is None:
            return None
        match domain:
            case Integer():
                return self._parameter.rejects_range(domain.lower, domain.upper, integer=True)
            case Real():
                return self._parameter.rejects_range(
                    domain.lower,
                    domain.upper,
                    integer=False,
                    lower_open=domain.lower_open,
                    upper_open=domain.upper_open,
                )

    def _disjoint(self, written: ast.UnionDomain, found: list[Simple]) -> bool:
        sound = True
        for place, part in enumerate(found):
            for before, earlier in enumerate(found[:place]):
                shared = common_value(earlier, part)
                if not isinstance(shared, Missing):
                    self._report_shared(shared, written.parts[before], written.parts[place])
                    sound = False
        return sound

    def _report_shared(self, shared: Value, first: ast.Domain, second: ast.Domain) -> None:
        """Point at the value where it is named by itself, else at the second of two ranges."""
        for one, other in ((second, first), (first, second)):
            named = [v.span for v in one.values if _means(v, shared)] if isinstance(one, ast.Values) else []
            if named:
                reason, at = f"also lies in `{other.span.text}`", named[0]
                break
        else:
            reason, at, other = f"`{first.span.text}` has it too", second.span, first
        related = () if at.line == other.span.line else (Related(other.span, "the other part"),)
        self._report.add(DuplicateValue(primary=at, value=literal(shared), reason=reason, related=related))


def known_call(call: ast.FunctionCall, arguments: list[Expr | None], report: Report) -> Expr | None:
    """A call of one of the language's functions with the right number of arguments; else that is reported."""
    name = call.function.text
    if name not in FUNCTIONS:
        report.add(UnknownFunction(primary=call.function.span, name=name, near=nearest(name, FUNCTIONS)))
        return None
    fits = len(arguments) >= 2 if name in VARIADIC else len(arguments) == 1
    if not fits:
        expected = "expected two arguments or more" if name in VARIADIC else "expected one argument"
        report.add(BadBound(primary=call.span, bound=call.span.text, domain="an expression", expected=expected))
        return None
    known = tuple(argument for argument in arguments if argument is not None)
    return Call(name, known, call.span) if len(known) == len(arguments) else None  # type: ignore[arg-type]


REVERSED: Final = "the bounds are reversed"


def _why_empty(written: ast.Range, lower: float, upper: float) -> str:
    if lower > upper:
        return REVERSED
    start, end = written.lower.span.text, written.upper.span.text
    if lower == upper:
        return f"the only number, {start}, is excluded"
    if written.step is not None:
        return "the open ends exclude all members"
    return f"no {'integer' if written.kind == 'int' else 'number'} lies between {start} and {end}"


def _rewritten(written: ast.Range, wanted: Piece, legal: Piece) -> str:
    """The range with the bounds drawn in that its parameter rejects, the others as they are written."""
    opening, closing = "(" if written.lower_open else "[", ")" if written.upper_open else "]"
    start, end = written.lower.span.text, written.upper.span.text
    if (legal.lower, legal.lower_open) != (wanted.lower, wanted.lower_open):
        opening, start = "(" if legal.lower_open else "[", spell(legal.lower)
    if (legal.upper, legal.upper_open) != (wanted.upper, wanted.upper_open):
        closing, end = ")" if legal.upper_open else "]", spell(legal.upper)
    rest = written.span.source.text[written.upper.span.end + 1 : written.span.end]
    return f"{written.kind}{opening}{start}, {end}{closing}{rest}"


def _means(written: ast.Value, value: Value) -> bool:
    found = plain(written, Report())
    return not isinstance(found, NoValue) and same(found, value)


def as_written(span: Span, domain: Domain) -> str:
    """The domain for a message: on one line as its author wrote it, cut where it is long."""
    text = describe(domain) if "#" in span.text else " ".join(span.text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "…"


def _exact(number: float) -> Fraction:
    return Fraction(repr(number))
