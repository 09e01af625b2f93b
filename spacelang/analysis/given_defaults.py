"""The defaults of hyperparameters and nested decisions: the written value, else the default of the library."""

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
    """Return the default of a hyperparameter.

    It is the value after `=`, else the default of the library if the domain contains it, else the middle of the domain.
    A written default outside the domain is reported. `parameter` is None if no catalogue knows the parameter.
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
        # The default of the library is moved into the domain only if the domain for very large data contains it.
        domains = largest(written.domain)
        is_known = not domains or any(contains(each, value) for each in domains)
        found = drawn_in(value, domain) if is_known else found
    return domain.middle if isinstance(found, Missing) else found


def _value(written: ast.Value | ast.Expression, domain: Domain, report: Report) -> Value | NoValue:
    """Return the written value or the result of arithmetic. Report anything else."""
    value = given(written, report, what="default", words=domain)
    return value if isinstance(value, NoValue) else plain(value, report)


def _moved(written: ast.Parameter, value: Value, domain: Domain, report: Report) -> Value | Missing:
    """Return the member of the domain nearest to a default that only the data puts outside the domain.

    The result is `MISSING` if the default is outside the domain for any data.
    """
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
    """Return the default of a range that is one of several alternatives.

    It is the value after `=` if it lies in the range. Otherwise the default is found as for any other range.
    """
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
    """Return the index of the alternative after `=`, or 0 if there is no such alternative.

    The mistake is reported only if all operators among the alternatives are known (`is_known`).
    """
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
    """Return the index of the alternative that is a plain value, or of the range that contains the value, or None."""
    for place, branch in enumerate(branches):
        if isinstance(branch.node, Hyperparameter) and _lies_in(default, branch.node.domain, report):
            return place
    return valued(branches, value)


def _lies_in(default: ast.Value | ast.Expression, domain: Domain, report: Report) -> bool:
    """Return True if a domain contains a default. Mistakes are not reported here, but where the default is read."""
    value = _value(default, domain, Report(report.symbols))
    return not isinstance(value, NoValue) and contains(domain, value)


def _is_of_data(written: ast.Parameter, report: Report) -> bool:
    return report.symbols.domain(written.name.span) is not None


def _report_outside(
    written: ast.Parameter, default: ast.Value | ast.Expression, value: Value, domain: Domain, report: Report
) -> None:
    at, symbols = written.domain.span, report.symbols
    # On the same line the label is enough.
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
    """Return the value that was probably meant: `(value,)` if the domain contains this tuple, else a similar value."""
    if contains(domain, (value,)):
        return literal((value,))
    return near_value(value, [v for part in parts(domain) for v in getattr(part, "values", ())])


def _worked_out(written: ast.Value | ast.Expression, value: Value) -> tuple[str, ...]:
    """Return a note with the value of a default that is written as arithmetic."""
    match written:
        case ast.Binary() | ast.Unary() | ast.FunctionCall():
            shown = literal(value) if value == value else "no number"  # noqa: PLR0124 - nan differs from itself
            return () if value in (math.inf, -math.inf) else (f"`{written.span.text}` is {shown}",)
        case _:
            return ()
