"""The defaults of hyperparameters and nested decisions in bodies: what is written, else what the library has."""

import math
from dataclasses import replace

from spacelang.analysis.domains import as_written, drawn_in, largest, widest
from spacelang.analysis.given_values import given
from spacelang.analysis.report import Report
from spacelang.analysis.symbols import EXTREMES, Symbols
from spacelang.analysis.values import NoValue, near_value, plain
from spacelang.catalog.catalogue import Named, Opaque, Parameter, Required
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.domains import DefaultOutside
from spacelang.ir.domain import MISSING, Domain, Missing, contains, literal, parts
from spacelang.ir.space import Branch, Hyperparameter, named_value, valued
from spacelang.ir.value import Value, is_number
from spacelang.suggest import nearest
from spacelang.syntax import ast


def read(written: ast.Parameter, domain: Domain, parameter: Parameter | None, report: Report) -> Value:
    """What follows `=`, else the library's own default where the domain has it, else the domain's middle.

    `parameter` is None where no catalogue knows it. A default outside the domain is reported.
    """
    if written.default is not None:
        value = _value(written.default, domain, report)
        report.symbols.record_default(written.name.span, written.default.span)
        found = MISSING if isinstance(value, NoValue) else domain.find(value)
        if isinstance(found, Missing) and not isinstance(value, NoValue):
            found = _moved(written, value, domain, report)
            if isinstance(found, Missing):
                _report_outside(written, written.default, value, domain, report)
        return domain.middle if isinstance(found, Missing) else found
    default = parameter.default if parameter is not None else None
    if parameter is None or isinstance(default, Opaque | Required):
        return domain.middle
    value = default.name if isinstance(default, Named) else default
    found = domain.find(value)
    if isinstance(found, Missing) and _is_of_data(written, report):
        # Nobody wrote it: what large data has no room for either is no default of this domain.
        domains = largest(written.domain)
        is_known = not domains or any(contains(each, value) for each in domains)
        found = drawn_in(value, domain) if is_known else found
    return domain.middle if isinstance(found, Missing) else found


def _value(written: ast.Value | ast.Expression, domain: Domain, report: Report) -> Value | NoValue:
    """The value that is written, or the number that arithmetic comes to; what is neither is reported."""
    value = given(written, report, what="default", words=domain)
    return value if isinstance(value, NoValue) else plain(value, report)


def _moved(written: ast.Parameter, value: Value, domain: Domain, report: Report) -> Value | Missing:
    """The nearest member where only the data keeps a default out; MISSING where it lies outside for any data."""
    assert written.default is not None
    if _is_of_data(written, report):
        wide = widest(written.domain)
        if wide is not None and contains(wide, value):
            return drawn_in(value, domain)
    if not report.symbols.within(written.default.span):
        return MISSING
    wide = widest(written.domain) or domain
    values = [_value(written.default, domain, Report(Symbols(sizes))) for sizes in EXTREMES]
    least, greatest = drawn_in(-math.inf, wide), drawn_in(math.inf, wide)
    numbers = [each for each in values if not isinstance(each, NoValue | Missing) and is_number(each)]
    if isinstance(least, Missing) or isinstance(greatest, Missing):
        return MISSING
    is_reached = any(each <= greatest for each in numbers) and any(each >= least for each in numbers)  # type: ignore[operator]
    return drawn_in(value, domain) if is_reached else MISSING


def read_range(
    written: ast.Parameter, part: ast.Domain, domain: Domain, parameter: Parameter | None, report: Report
) -> Value:
    """The default of a range among operators: what follows `=` where it is one of its values, else as for any range."""
    is_own = written.default is not None and _lies_in(written.default, domain, report)
    return read(replace(written, domain=part, default=written.default if is_own else None), domain, parameter, report)


def read_nested(
    written: ast.Parameter,
    default: ast.Value | ast.Expression,
    branches: tuple[Branch, ...],
    report: Report,
    *,
    is_known: bool,
) -> int:
    """The place of the alternative that follows `=`; 0 where there is none such, reported if all others are known."""
    value = plain(default, report) if isinstance(default, ast.Value) else default.span.text
    names = [branch.name for branch in branches]
    place = None if isinstance(value, NoValue) else _place_of(default, value, branches, report)
    if place is not None:
        return place
    word = "none" if value is None else value
    is_string = isinstance(default, ast.Text) and named_value(branches, default.value)
    if word in names and not is_string:
        return names.index(word)
    if is_known and branches and not isinstance(value, NoValue):
        report.add(
            DefaultOutside(
                primary=default.span,
                value=default.span.text,
                parameter=written.name.text,
                domain=" | ".join(names),
                near=nearest(word, names) if isinstance(word, str) else None,
            )
        )
    return 0


def _place_of(
    default: ast.Value | ast.Expression, value: Value, branches: tuple[Branch, ...], report: Report
) -> int | None:
    """The place of the alternative that is a plain value, or the range that it lies in."""
    for place, branch in enumerate(branches):
        if isinstance(branch.node, Hyperparameter) and _lies_in(default, branch.node.domain, report):
            return place
    return valued(branches, value)


def _lies_in(default: ast.Value | ast.Expression, domain: Domain, report: Report) -> bool:
    """Whether a default is one of a domain; what is wrong with it is reported where it is read."""
    value = _value(default, domain, Report(report.symbols))
    return not isinstance(value, NoValue) and contains(domain, value)


def _is_of_data(written: ast.Parameter, report: Report) -> bool:
    return report.symbols.domain(written.name.span) is not None


def _report_outside(
    written: ast.Parameter, default: ast.Value | ast.Expression, value: Value, domain: Domain, report: Report
) -> None:
    at, symbols = written.domain.span, report.symbols
    # On the same line the label says as much.
    related = () if at.line == default.span.line else (Related(at, "the domain"),)
    report.add(
        DefaultOutside(
            primary=default.span,
            value=default.span.text,
            parameter=written.name.text,
            domain=as_written(at, domain),
            near=_near(value, domain),
            related=related,
            notes=(*_worked_out(default, value), *symbols.notes((*symbols.within(at), *symbols.within(default.span)))),
        )
    )


def _near(value: Value, domain: Domain) -> str | None:
    """The value that was probably meant; one in parentheses may have been to be a tuple."""
    if contains(domain, (value,)):
        return literal((value,))
    return near_value(value, [v for part in parts(domain) for v in getattr(part, "values", ())])


def _worked_out(written: ast.Value | ast.Expression, value: Value) -> tuple[str, ...]:
    """What arithmetic came to, as a note."""
    match written:
        case ast.Binary() | ast.Unary() | ast.FunctionCall():
            shown = literal(value) if value == value else "no number"  # noqa: PLR0124 - nan differs from itself
            return () if value in (math.inf, -math.inf) else (f"`{written.span.text}` is {shown}",)
        case _:
            return ()
