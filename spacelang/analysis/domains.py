"""Domains of hyperparameters: read sets, ranges and unions and check them against the parameter."""

import math
from bisect import bisect_left
from typing import Final

from spacelang.analysis import annotations
from spacelang.analysis.judge import ParameterJudge
from spacelang.analysis.overlap import common_value
from spacelang.analysis.ranges import RangeReader
from spacelang.analysis.report import Report
from spacelang.analysis.symbols import VAST, Symbols
from spacelang.analysis.values import NO_VALUE, NoValue, plain
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.domains import EmptyDomain
from spacelang.diagnostics.names import DuplicateValue
from spacelang.diagnostics.syntax import NotSupportedYet
from spacelang.ir.domain import (
    BOOLEANS,
    MISSING,
    Categorical,
    Domain,
    Grid,
    Missing,
    Ordinal,
    Real,
    Simple,
    Union,
    describe,
    literal,
    parts,
)
from spacelang.ir.value import Value, identity, is_number, same
from spacelang.syntax import ast
from spacelang.text import Span

LONGEST: Final = 80
"""The maximum length of a domain in messages, in characters."""


class DomainReader:
    """A reader of the domain of one parameter."""

    def __init__(self, judge: ParameterJudge, report: Report) -> None:
        self._judge = judge
        self._report = report

    def read(self, domain: ast.Domain) -> Domain | None:
        """Return the domain, or None after reporting why it is invalid."""
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
                # One check for the type as a whole: two diagnostics about one word would be one too many.
                return BOOLEANS if self._judge.takes(True, domain.span) else None
            case ast.Values():
                return self._values(domain)
            case ast.Range():
                return RangeReader(self._judge, self._report).read(domain)
            case ast.Nothing():
                annotations.read(domain.annotations, "values", self._report)
                return self._values(ast.Values((ast.Keyword(None, domain.span),), False, domain.span))
            case ast.UnionDomain() | ast.Operator() | ast.Parenthesised():
                raise AssertionError("a domain with structures is a decision")

    def _values(self, domain: ast.Values) -> Categorical | None:
        if not domain.values:
            self._report.add(EmptyDomain(primary=domain.span, domain="the set", reason="it lists no values"))
            return None
        seen: dict[object, Span] = {}
        values: list[Value] = []
        sound = True
        for written in domain.values:
            value = self._member(written, domain)
            if isinstance(value, NoValue):
                sound = False
            elif identity(value) in seen:
                related = (Related(seen[identity(value)], "first listed here"),)
                self._report.add(DuplicateValue(primary=written.span, value=literal(value), related=related))
                sound = False
            else:
                seen[identity(value)] = written.span
                values.append(value)
                sound &= self._judge.takes(value, written.span)
        if not sound:
            return None
        return Ordinal(tuple(values)) if domain.ordered else Categorical(tuple(values))

    def _member(self, written: ast.Value, domain: ast.Values) -> Value | NoValue:
        if not isinstance(written, ast.OperatorValue) or not domain.ordered:
            return plain(written, self._report)
        instead = "write operators as alternatives, which have no order: `estimator : A { … } | B`"
        construct = "an operator with a body in an `ordered` set"
        self._report.add(NotSupportedYet(primary=written.span, construct=construct, instead=instead))
        return NO_VALUE

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
        """Report a value that two parts of a union share.

        Point at the value if it is listed, else at the second of the two ranges.
        """
        for one, other in ((second, first), (first, second)):
            named = [v.span for v in one.values if _means(v, shared)] if isinstance(one, ast.Values) else []
            if named:
                reason, at = f"also lies in `{other.span.text}`", named[0]
                break
        else:
            reason, at, other = f"`{first.span.text}` contains it too", second.span, first
        related = () if at.line == other.span.line else (Related(other.span, "the other part"),)
        symbols = self._report.symbols
        notes = symbols.notes((*symbols.within(first.span), *symbols.within(second.span)))
        self._report.add(DuplicateValue(primary=at, value=literal(shared), reason=reason, related=related, notes=notes))


def _means(written: ast.Value, value: Value) -> bool:
    found = plain(written, Report())
    return not isinstance(found, NoValue) and same(found, value)


def as_written(span: Span, domain: Domain) -> str:
    """Return the domain for a message: on one line, as its author wrote it, truncated if it is long."""
    text = describe(domain) if "#" in span.text else " ".join(span.text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "…"


def widest(written: ast.Domain) -> Domain | None:
    """Return the domain with every range as wide as any data allows.

    The result is None if a part of the domain has no value for any data.
    """
    match written:
        case ast.UnionDomain():
            found = [widest(part) for part in written.parts]
            simple = tuple(part for part in found if part is not None and not isinstance(part, Union))
            return Union(simple) if len(simple) == len(found) else None
        case ast.Range():
            return RangeReader.widest(written)
        case _:
            return _unjudged(Report()).read(written)


def largest(written: ast.Domain) -> tuple[Domain, ...]:
    """Return the domains for very tall and for very wide data (see `VAST`).

    Sizes for which the domain has no value are left out.
    """
    found = (_unjudged(Report(Symbols(sizes))).read(written) for sizes in VAST)
    return tuple(domain for domain in found if domain is not None)


def _unjudged(report: Report) -> DomainReader:
    return DomainReader(ParameterJudge(report), report)


def drawn_in(value: Value, domain: Domain) -> Value | Missing:
    """Return the member of a domain that is nearest to a number.

    The result is `MISSING` if the value is not a number, or if the domain has no range of numbers.
    """
    if not is_number(value):
        return MISSING
    assert isinstance(value, int | float)
    ends = [end for part in parts(domain) if isinstance(part, Grid | Real) for end in _nearest(part, value)]
    if ends and math.isinf(value):
        return max(ends) if value > 0 else min(ends)
    return min(ends, key=lambda end: abs(end - value), default=MISSING)


def _nearest(part: Grid | Real, value: float) -> tuple[int | float, ...]:
    """Return the members of a grid or an interval next to a number outside it: the one below and the one above."""
    if isinstance(part, Real):
        return (part.least if value < part.least else part.greatest,)
    places = range(part.size)
    place = bisect_left(places, value, key=part.at)
    return tuple(part.at(index) for index in (place - 1, place) if index in places)
