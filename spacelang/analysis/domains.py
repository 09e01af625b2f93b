"""Domains of hyperparameters: read sets, ranges and unions, check them, and find values that parts share."""

import math
from fractions import Fraction
from typing import Final

from spacelang.analysis.diagnostic_collector import VAST, DataSymbols, DiagnosticCollector
from spacelang.analysis.literal_values import NO_VALUE, InvalidValue, literal_value, read_annotations
from spacelang.analysis.parameter_checks import ParameterChecker
from spacelang.analysis.ranges import RangeReader
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.domains import EmptyDomain
from spacelang.diagnostics.names import DuplicateValueInDomain
from spacelang.diagnostics.reading import ConstructNotSupportedYet
from spacelang.frozen import frozen
from spacelang.ir.domain import (
    BOOLEANS,
    NOT_FOUND,
    Categorical,
    Domain,
    Grid,
    NotFound,
    Ordinal,
    Real,
    SimpleDomain,
    Union,
    describe,
    literal,
)
from spacelang.ir.value import Value, are_same_value, identity_key, to_fraction
from spacelang.syntax import ast
from spacelang.text import Span

MAX_LENGTH: Final = 80


class DomainReader:
    """A reader of the domain of one parameter."""

    def __init__(self, checker: ParameterChecker, report: DiagnosticCollector) -> None:
        self._checker = checker
        self._report = report

    def read(self, domain: ast.Domain) -> Domain | None:
        """Return the domain, or None after reporting why it is invalid."""
        if not isinstance(domain, ast.UnionDomain):
            return self.read_part(domain)
        parts = [self.read_part(part) for part in domain.parts]
        found = [part for part in parts if part is not None]
        return None if len(found) < len(parts) or not self._disjoint(domain, found) else Union(tuple(found))

    def read_part(self, domain: ast.Domain) -> SimpleDomain | None:
        """Return a domain that is no union, or None after reporting why it is invalid."""
        match domain:
            case ast.BooleanDomain():
                # One check for the type as a whole: two diagnostics about one word would be one too many.
                return BOOLEANS if self._checker.check_value(True, domain.span) else None
            case ast.ValueSet():
                return self._values(domain)
            case ast.Range():
                return RangeReader(self._checker, self._report).read(domain)
            case ast.NoneStep():
                read_annotations(domain.annotations, "values", self._report)
                return self._values(ast.ValueSet((ast.NamedConstant(None, domain.span),), False, domain.span))
            case ast.UnionDomain() | ast.TupleDomain() | ast.OperatorReference() | ast.Parenthesised():
                raise AssertionError("unions, tuples and operators are not read as simple domains")

    def _values(self, domain: ast.ValueSet) -> Categorical | None:
        if not domain.values:
            self._report.add(EmptyDomain(domain.span, domain="the set", reason="no value is listed"))
            return None
        seen: dict[object, Span] = {}
        values: list[Value] = []
        sound = True
        for written in domain.values:
            value = self._member(written, domain)
            if isinstance(value, InvalidValue):
                sound = False
            elif identity_key(value) in seen:
                related = (RelatedPlace(seen[identity_key(value)], "first listed here"),)
                self._report.add(DuplicateValueInDomain(written.span, value=literal(value), related=related))
                sound = False
            else:
                seen[identity_key(value)] = written.span
                values.append(value)
                sound &= self._checker.check_value(value, written.span)
        if not sound:
            return None
        return Ordinal(tuple(values)) if domain.ordered else Categorical(tuple(values))

    def _member(self, written: ast.Value, domain: ast.ValueSet) -> Value | InvalidValue:
        if not isinstance(written, ast.OperatorValue) or not domain.ordered:
            return literal_value(written, self._report)
        instead = "write operators as alternatives, which have no order: `estimator : A { … } | B`"
        construct = "an operator with a body in an `ordered` set"
        self._report.add(ConstructNotSupportedYet(written.span, construct=construct, instead=instead))
        return NO_VALUE

    def _disjoint(self, written: ast.UnionDomain, found: list[SimpleDomain]) -> bool:
        sound = True
        for place, part in enumerate(found):
            for before, earlier in enumerate(found[:place]):
                shared = value_in_both_domains(earlier, part)
                if not isinstance(shared, NotFound):
                    self._report_shared(shared, written.parts[before], written.parts[place])
                    sound = False
        return sound

    def _report_shared(self, shared: Value, first: ast.Domain, second: ast.Domain) -> None:
        """Report a value that two parts of a union share: at the value if it is listed, else at the second range."""
        for one, other in ((second, first), (first, second)):
            named = [v.span for v in one.values if is_literal_of(v, shared)] if isinstance(one, ast.ValueSet) else []
            if named:
                reason, at = f"this value also lies in `{other.span.text}`", named[0]
                break
        else:
            reason, at, other = f"`{first.span.text}` contains this value too", second.span, first
        related = () if at.line == other.span.line else (RelatedPlace(other.span, "the other part"),)
        symbols = self._report.symbols
        notes = symbols.binding_notes(
            (*symbols.symbols_mentioned_in(first.span), *symbols.symbols_mentioned_in(second.span))
        )
        self._report.add(DuplicateValueInDomain(at, value=literal(shared), reason=reason, related=related, notes=notes))


def is_literal_of(written: ast.Value, value: Value) -> bool:
    """Return True if a literal stands for a value."""
    found = literal_value(written, DiagnosticCollector())
    return not isinstance(found, InvalidValue) and are_same_value(found, value)


def domain_text(span: Span, domain: Domain) -> str:
    """Return the domain for a message: on one line, as its author wrote it, truncated if it is long."""
    text = describe(domain) if "#" in span.text else " ".join(span.text.split())
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 3] + "…"


def widest_domain(written: ast.Domain) -> Domain | None:
    """Return the domain with each range as wide as it can be for data of any size; None if a part never has a value."""
    match written:
        case ast.UnionDomain():
            found = [widest_domain(part) for part in written.parts]
            simple = tuple(part for part in found if part is not None and not isinstance(part, Union))
            return Union(simple) if len(simple) == len(found) else None
        case ast.Range():
            return RangeReader.read_widest(written)
        case _:
            return _unchecked_reader(DiagnosticCollector()).read(written)


def domains_for_vast_data(written: ast.Domain) -> tuple[Domain, ...]:
    """Return the domains for very tall and for very wide data (see `VAST`), without a domain that has no value."""
    found = (_unchecked_reader(DiagnosticCollector(DataSymbols(sizes))).read(written) for sizes in VAST)
    return tuple(domain for domain in found if domain is not None)


def _unchecked_reader(report: DiagnosticCollector) -> DomainReader:
    return DomainReader(ParameterChecker(report), report)


@frozen
class _Grid:
    """The numbers `first`, `first + step`, ... up to `last`."""

    first: Fraction
    step: Fraction
    last: Fraction


def value_in_both_domains(left: SimpleDomain, right: SimpleDomain) -> Value | NotFound:
    """Return a value that two domains share, or `NOT_FOUND` if there is none."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Categorical):
            found = (other.find(value) for value in one.values)
            return next((value for value in found if not isinstance(value, NotFound)), NOT_FOUND)
    assert not isinstance(left, Categorical)
    assert not isinstance(right, Categorical)
    mine, its = _grid(left), _grid(right)
    if mine is not None and its is not None:
        number = _common_member(mine, its)
        return NOT_FOUND if number is None else left.find(_value(number))
    if mine is None and its is None:
        return _common_point(left, right)
    return _member_inside(mine, right) if mine is not None else _member_inside(its, left)


def _grid(domain: Grid | Real) -> _Grid | None:
    if domain.size is None:
        return None
    start, step = to_fraction(domain.lower), to_fraction(domain.step) if isinstance(domain, Grid) else Fraction(1)
    return _Grid(start, step, start + domain.last_index * step)


def _common_member(left: _Grid, right: _Grid) -> Fraction | None:
    """Return the smallest number on both grids, found with the Chinese remainder theorem, or None."""
    fractions = (left.first, left.step, right.first, right.step)
    scale = math.lcm(*(number.denominator for number in fractions))
    start, step, other_start, other_step = (int(number * scale) for number in fractions)
    shared = math.gcd(step, other_step)
    if (other_start - start) % shared:
        return None
    rhythm = other_step // shared
    steps = (other_start - start) // shared * pow(step // shared, -1, rhythm) % rhythm
    period, number = step * rhythm, start + steps * step
    number += -((number - max(start, other_start)) // period) * period
    found = Fraction(number, scale)
    return found if found <= min(left.last, right.last) else None


def _member_inside(grid: _Grid | None, interval: Real | Grid) -> Value | NotFound:
    """Return the smallest member of a grid that lies in an interval, or `NOT_FOUND` if none does."""
    assert grid is not None
    index = max(0, math.ceil((to_fraction(interval.lower) - grid.first) / grid.step))
    for place in (index, index + 1):
        number = grid.first + place * grid.step
        if number <= grid.last and not isinstance(found := interval.find(_value(number)), NotFound):
            return found
    return NOT_FOUND


def _common_point(left: Grid | Real, right: Grid | Real) -> Value | NotFound:
    lower, upper = max(left.lower, right.lower), min(left.upper, right.upper)
    if lower > upper:
        return NOT_FOUND
    between = Real(float(lower), float(upper)).representative
    for value in (between, lower, upper):
        if not isinstance(left.find(value), NotFound) and not isinstance(right.find(value), NotFound):
            return value
    return NOT_FOUND


def _value(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)
