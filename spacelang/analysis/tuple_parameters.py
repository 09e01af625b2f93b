"""Tuples of variable length: read their domains and defaults, and make hyperparameters of their length and elements."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.domains import DomainReader, domain_text, is_literal_of, widest_domain
from spacelang.analysis.hyperparameter_defaults import read_value
from spacelang.analysis.literal_values import AnnotationValues, InvalidValue, literal_value, read_annotations
from spacelang.analysis.parameter_checks import ParameterChecker
from spacelang.analysis.space_drafts import AddressPrefix, PendingCondition, Scope, SpaceDraft
from spacelang.diagnostics.diagnostic import Diagnostic, RelatedPlace
from spacelang.diagnostics.domains import DefaultOutsideDomain, EmptyDomain, InvalidRangeBound
from spacelang.diagnostics.names import DuplicateValueInDomain
from spacelang.diagnostics.reading import TextTooLarge, UnexpectedText
from spacelang.frozen import frozen
from spacelang.ir import space as ir
from spacelang.ir.domain import (
    NOT_FOUND,
    Categorical,
    Domain,
    Grid,
    NotFound,
    SimpleDomain,
    Union,
    contains,
    describe,
    literal,
    parts,
)
from spacelang.ir.domain_properties import nearest_value
from spacelang.ir.tuple_parameters import element_name, length_name
from spacelang.ir.value import Value
from spacelang.syntax import ast
from spacelang.text import Span

MAX_LENGTH: Final = 64
"""The maximum length of a tuple: each element is a hyperparameter."""


@frozen
class TupleParameterDomain:
    """The domain of a tuple parameter: tuples of `least` to `greatest` elements, and domains of other values."""

    least: int
    greatest: int
    element: SimpleDomain
    others: tuple[SimpleDomain, ...] = ()
    begins_with_tuple: bool = True

    def find(self, value: Value) -> Value | NotFound:
        """Return the member of the domain that equals a value, with the domain's number types.

        NOT_FOUND if there is none.
        """
        if isinstance(value, tuple) and self.least <= len(value) <= self.greatest:
            found = [self.element.find(each) for each in value]
            if not any(isinstance(each, NotFound) for each in found):
                return tuple(found)  # type: ignore[arg-type]
        return Union(self.others).find(value)

    @property
    def middle_tuple(self) -> tuple[Value, ...]:
        """The tuple of middle length with middle elements."""
        return (self.element.representative,) * ((self.least + self.greatest) // 2)

    @property
    def representative(self) -> Value:
        """The value in the middle of the domain: of its first part, if it is a union."""
        return self.middle_tuple if self.begins_with_tuple else self.others[0].representative

    @property
    def without_other_values(self) -> "TupleParameterDomain":
        """The domain of the tuples alone."""
        return replace(self, others=(), begins_with_tuple=True)

    def problem(self, value: Value) -> str | None:
        """Return, for a message, why a tuple is not in the domain; None for a value that is no tuple."""
        if not isinstance(value, tuple):
            return None
        if not self.least <= len(value) <= self.greatest:
            return f"`{literal(value)}` has {len(value)} element{'' if len(value) == 1 else 's'}"
        wrong = next(each for each in value if not contains(self.element, each))
        return f"the element `{literal(wrong)}` is outside the domain of elements"


def tuple_parts(domain: ast.Domain) -> list[ast.TupleDomain]:
    """Return the tuples of a domain: itself, or parts of a union."""
    return [part for part in ast.domain_parts(domain) if isinstance(part, ast.TupleDomain)]


def misplaced_tuple_diagnostic(part: ast.TupleDomain) -> UnexpectedText:
    """Return the diagnostic that a tuple is an alternative of operators."""
    hint = "tuples and operators cannot be alternatives of each other: use one of the two"
    return UnexpectedText(part.span, found=f"`{_text(part)}`", expected="an operator or plain values", hint=hint)


class TupleReader:
    """A reader of the parameters of one body whose values are tuples."""

    def __init__(self, place: AddressPrefix, scope: Scope, draft: SpaceDraft, report: DiagnosticCollector) -> None:
        self._place = place
        self._scope = scope
        self._draft = draft
        self._report = report

    def read(
        self, written: ast.Parameter, checker: ParameterChecker
    ) -> tuple[ir.TupleParameter, list[ir.Hyperparameter]] | None:
        """Return the parameter with the hyperparameters that its value is made of; None after reporting a mistake."""
        name, place = written.name.text, self._place.child(written.name.text)
        before = len(self._report.found)
        domain = self._domain(written.domain, checker)
        self._mark_data_dependent(written, before)
        advice = read_annotations(written.annotations, "hyperparameters", self._report)
        if domain is None:
            self._scope.dubious.add(name)
            self._draft.dubious.add(place.address)
            return None
        default = self._default(written, domain, checker)
        self._mark_data_dependent(written, before)
        choice = None if not domain.others else place.address
        length = self._place.child(length_name(name))
        elements = [self._place.child(element_name(name, 1 + k)) for k in range(domain.greatest)]
        addresses = tuple(each.address for each in elements)
        parameter = ir.TupleParameter(name, place.address, length.address, addresses, choice, written.name.span)
        if written.condition is not None:
            self._draft.conditions.append(PendingCondition(parameter.members[0], written.condition, self._scope))
        element = tuple_parts(written.domain)[0].element
        self._report.symbols.record_domain(element.span, element)
        members = [*self._members(written, domain, default, checker, advice)]
        for member in members:
            self._scope.addresses[member.name] = member.address
        return parameter, members

    def _mark_data_dependent(self, written: ast.Parameter, before: int) -> None:
        symbols = self._report.symbols
        if symbols.unbound_symbols_in(written.domain.span):
            self._report.mark_data_dependent(before)
        elif symbols.symbols_mentioned_in(written.span):
            self._report.mark_possibly_caused_by_bindings(before)

    # ---- the domain

    def _domain(self, written: ast.Domain, checker: ParameterChecker) -> TupleParameterDomain | None:
        several = ast.domain_parts(written)
        first, *further = tuple_parts(written)
        for part in further:
            hint = "write one tuple that contains both, and narrow it with `require`"
            expected = "at most one tuple in a union"
            self._report.add(UnexpectedText(part.span, found=f"`{_text(part)}`", expected=expected, hint=hint))
        found_tuple = self._tuple(first, checker)
        rest = tuple(part for part in several if not isinstance(part, ast.TupleDomain))
        others = DomainReader(checker, self._report).read(_union(rest, written.span)) if rest else Union(())
        if found_tuple is None or others is None or further:
            return None
        domain = replace(found_tuple, others=parts(others), begins_with_tuple=several[0] is first)
        return domain if self._are_disjoint(domain, first, rest) else None

    def _tuple(self, written: ast.TupleDomain, checker: ParameterChecker) -> TupleParameterDomain | None:
        least, greatest = self._length(written.least, 0), self._length(written.greatest, 1)
        element = self._element(written.element, checker.element_checker)
        if least is None or greatest is None or element is None:
            return None
        if least > greatest:
            near = f"tuple[{greatest}, {least}]"
            reason = f"the least length {least} is above the greatest, {greatest}"
            self._report.add(EmptyDomain(_ends(written), domain="the tuple", reason=reason, near=near))
            return None
        if greatest > MAX_LENGTH:
            self._report.add(
                TextTooLarge(written.greatest.span, quantity="the length of a tuple", limit=str(MAX_LENGTH))
            )
            return None
        found = TupleParameterDomain(least, greatest, element)
        return found if checker.check_tuple(least, greatest, _ends(written)) else None

    def _length(self, bound: ast.Expression, smallest: int) -> int | None:
        if isinstance(bound, ast.Number) and isinstance(bound.value, int) and bound.value >= smallest:
            return bound.value
        remedy = None
        if not isinstance(bound, ast.Number):
            remedy = (
                "lengths are fixed: give the greatest one that is worth trying, "
                "and relate it to others with `require length(…) <= …`"
            )
        self._report.add(
            InvalidRangeBound(
                bound.span,
                bound=bound.span.text,
                domain="the length of a tuple",
                expected=f"expected a whole number from {smallest}",
                remedy=remedy,
            )
        )
        return None

    def _element(self, written: ast.Domain, checker: ParameterChecker) -> SimpleDomain | None:
        match written:
            case ast.Range() | ast.BooleanDomain() | ast.ValueSet() | ast.NoneStep():
                found: Domain | None = DomainReader(checker, self._report).read_part(written)
                if found is None and self._draft.columns == ():
                    # The operator is in a part that receives no column, so only the kind of the domain matters.
                    found = widest_domain(written)
                return None if isinstance(found, Union) else found
            case ast.TupleDomain():
                hint = "a tuple cannot contain tuples; list a few of them as values: `{((1, 2), (3, 4)), …}`"
            case _:
                hint = "the elements of a tuple are plain values, such as `int[1, 10]` or `{a, b}`"
        expected = "the domain of the elements"
        self._report.add(UnexpectedText(written.span, found=f"`{_text(written)}`", expected=expected, hint=hint))
        return None

    def _are_disjoint(self, domain: TupleParameterDomain, written: ast.TupleDomain, rest: Sequence[ast.Domain]) -> bool:
        """Return True if no other part of the union contains a tuple of the domain or the reserved word `tuple`.

        Otherwise report these values.
        """
        sound = True
        for part, place in zip(domain.others, rest, strict=True):
            for value in part.values if isinstance(part, Categorical) else ():
                if isinstance(domain.without_other_values.find(value), NotFound) and value != ir.TUPLE_NAME:
                    continue
                shown = place.values if isinstance(place, ast.ValueSet) else ()
                span = next((each.span for each in shown if is_literal_of(each, value)), place.span)
                self._report.add(_shared_value_diagnostic(span, value, written))
                sound = False
        return sound

    # ---- the default

    def _default(self, written: ast.Parameter, domain: TupleParameterDomain, checker: ParameterChecker) -> Value:
        """Return the value after `=`, else the library's default, else the middle of the first part."""
        if written.default is None:
            found = _library_default(domain, checker)
            return domain.representative if isinstance(found, NotFound) else found
        others = Union(domain.others)
        given = read_value(written.default, self._report, what="default", words=others)
        value = given if isinstance(given, InvalidValue) else literal_value(given, self._report)
        if isinstance(value, InvalidValue):
            return domain.representative
        found = domain.find(value)
        if isinstance(found, NotFound):
            found = self._clipped_default(written, value, domain)
        if isinstance(found, NotFound):
            self._report_outside(written, value, domain)
            return domain.representative
        return found

    def _clipped_default(self, written: ast.Parameter, value: Value, domain: TupleParameterDomain) -> Value | NotFound:
        """Return the default with elements that only the present data excludes replaced by the nearest values.

        NOT_FOUND if data of every size excludes the default, or if the domain does not depend on the data.
        """
        (part,) = tuple_parts(written.domain)
        wide = widest_domain(part.element) if self._report.symbols.symbols_mentioned_in(part.element.span) else None
        if wide is None or not isinstance(value, tuple) or not all(contains(wide, each) for each in value):
            return NOT_FOUND
        moved = (each if contains(domain.element, each) else nearest_value(each, domain.element) for each in value)
        return domain.find(tuple(moved))  # type: ignore[arg-type]

    def _report_outside(self, written: ast.Parameter, value: Value, domain: TupleParameterDomain) -> None:
        default, at, symbols = written.default, written.domain.span, self._report.symbols
        assert default is not None
        is_one = not isinstance(value, tuple) and not isinstance(domain.find((value,)), NotFound)
        problem = domain.problem(value)
        self._report.add(
            DefaultOutsideDomain(
                default.span,
                value=default.span.text,
                parameter=written.name.text,
                domain=_text(written.domain),
                near=literal((value,)) if is_one else None,
                related=() if at.line == default.span.line else (RelatedPlace(at, "the domain"),),
                notes=(
                    *(() if problem is None else (problem,)),
                    *symbols.binding_notes(symbols.symbols_mentioned_in(at)),
                ),
            )
        )

    # ---- the hyperparameters

    def _members(
        self,
        written: ast.Parameter,
        domain: TupleParameterDomain,
        default: Value,
        checker: ParameterChecker,
        advice: AnnotationValues,
    ) -> Iterator[ir.Hyperparameter]:
        name, (part,) = written.name.text, tuple_parts(written.domain)
        found = domain.without_other_values.find(default)
        is_tuple = not isinstance(found, NotFound)
        own = found if is_tuple else _library_default(domain.without_other_values, checker)
        own = own if isinstance(own, tuple) else domain.middle_tuple
        if domain.others:
            several = Union((*domain.others, Categorical((ir.TUPLE_NAME,))))
            usual = ir.TUPLE_NAME if is_tuple else default
            yield self._member(name, several, usual, written, domain_text(written.domain.span, several))
        lengths = Grid(domain.least, domain.greatest)
        yield self._member(length_name(name), lengths, len(own), written, describe(lengths))
        # Longer tuples than the default one repeat its last element.
        last = own[-1] if own else domain.element.representative
        shown = domain_text(part.element.span, domain.element)
        for place in range(domain.greatest):
            usual = own[place] if place < len(own) else last
            member = self._member(element_name(name, place + 1), domain.element, usual, written, shown)
            yield replace(member, prior=advice.prior, split=advice.split, span=part.element.span)

    def _member(
        self, name: str, domain: Domain, default: Value, written: ast.Parameter, text: str
    ) -> ir.Hyperparameter:
        place = self._place.child(name)
        self._draft.written_domains[place.address] = text
        span = written.name.span
        return ir.Hyperparameter(name, place.address, place.key, domain, default, span=span, is_var=True)


def _shared_value_diagnostic(span: Span, value: Value, written: ast.TupleDomain) -> Diagnostic:
    """Return the diagnostic for a listed value that the tuple domain also contains, or that is the reserved `tuple`."""
    if value != ir.TUPLE_NAME:
        return DuplicateValueInDomain(span, value=literal(value), reason=f"this value also lies in `{_text(written)}`")
    hint = f"in configurations, `{ir.TUPLE_NAME}` stands for a value of `tuple[…]`"
    return UnexpectedText(span, found=f"`{span.text}`", expected="another word", hint=hint)


def _union(rest: tuple[ast.Domain, ...], span: Span) -> ast.Domain:
    return rest[0] if len(rest) == 1 else ast.UnionDomain(rest, span)


def _ends(written: ast.TupleDomain) -> Span:
    """Return the span of `tuple[least, greatest]`."""
    span, source = written.span, written.span.source
    end = source.text.find("]", written.greatest.span.end, written.element.span.start)
    return Span(source, span.start, end + 1 if end >= 0 else written.greatest.span.end)


def _text(written: ast.Domain) -> str:
    """Return the text of a domain on one line, without comments."""
    return " ".join(re.sub(r"#[^\r\n]*", "", written.span.text).split())


def _library_default(domain: TupleParameterDomain, checker: ParameterChecker) -> Value | NotFound:
    """Return the library's default of the parameter if the domain has it, or NOT_FOUND."""
    default = NOT_FOUND if checker.parameter is None else checker.parameter.default_value
    return default if isinstance(default, NotFound) else domain.find(default)
