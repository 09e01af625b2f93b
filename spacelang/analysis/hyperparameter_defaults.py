"""The defaults of hyperparameters and nested decisions: the written value, else the default of the library."""

import math
from dataclasses import replace

from spacelang.analysis.constant_expressions import read_value
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.domains import domain_text, domains_for_vast_data, nearest_value, widest_domain
from spacelang.analysis.symbols import EXTREMES, DataSymbols
from spacelang.analysis.values import InvalidValue, literal_value, suggest_value
from spacelang.catalog.catalogue import NamedObjectDefault, NoDefault, OpaqueDefault, Parameter
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.domains import DefaultOutside
from spacelang.ir.domain import NOT_FOUND, Domain, NotFound, contains, literal, parts
from spacelang.ir.space import Branch, Hyperparameter, index_of_value_branch, is_value_branch
from spacelang.ir.value import Value, is_number
from spacelang.suggest import nearest_name
from spacelang.syntax import ast


def read_default(
    written: ast.Parameter, domain: Domain, parameter: Parameter | None, report: DiagnosticCollector
) -> Value:
    """Return the default of a hyperparameter.

    It is the value after `=`, else the default of the library if the domain contains it, else the middle of the domain.
    A written default outside the domain is reported. `parameter` is None if no catalogue knows the parameter.
    """
    if written.default is not None:
        value = _value(written.default, domain, report)
        report.symbols.record_default(written.name.span, written.default.span)
        found = NOT_FOUND if isinstance(value, InvalidValue) else domain.find(value)
        if isinstance(found, NotFound) and not isinstance(value, InvalidValue):
            found = _moved_default(written, value, domain, report)
            if isinstance(found, NotFound):
                _report_outside(written, written.default, value, domain, report)
        return domain.middle if isinstance(found, NotFound) else found
    default = parameter.default if parameter is not None else None
    if parameter is None or isinstance(default, OpaqueDefault | NoDefault):
        return domain.middle
    value = default.name if isinstance(default, NamedObjectDefault) else default
    found = domain.find(value)
    if isinstance(found, NotFound) and _depends_on_data(written, report):
        # The default of the library is moved into the domain only if the domain for very large data contains it.
        domains = domains_for_vast_data(written.domain)
        is_known = not domains or any(contains(each, value) for each in domains)
        found = nearest_value(value, domain) if is_known else found
    return domain.middle if isinstance(found, NotFound) else found


def _value(written: ast.Value | ast.Expression, domain: Domain, report: DiagnosticCollector) -> Value | InvalidValue:
    """Return the written value or the result of arithmetic. Report anything else."""
    value = read_value(written, report, what="default", words=domain)
    return value if isinstance(value, InvalidValue) else literal_value(value, report)


def _moved_default(
    written: ast.Parameter, value: Value, domain: Domain, report: DiagnosticCollector
) -> Value | NotFound:
    """Return the member of the domain nearest to a default that only the data puts outside the domain.

    The result is `NOT_FOUND` if the default is outside the domain for any data.
    """
    assert written.default is not None
    if _depends_on_data(written, report):
        wide = widest_domain(written.domain)
        if wide is not None and contains(wide, value):
            return nearest_value(value, domain)
    if not report.symbols.mentioned_in(written.default.span):
        return NOT_FOUND
    wide = widest_domain(written.domain) or domain
    values = [_value(written.default, domain, DiagnosticCollector(DataSymbols(sizes))) for sizes in EXTREMES]
    least, greatest = nearest_value(-math.inf, wide), nearest_value(math.inf, wide)
    numbers = [each for each in values if not isinstance(each, InvalidValue | NotFound) and is_number(each)]
    if isinstance(least, NotFound) or isinstance(greatest, NotFound):
        return NOT_FOUND
    is_reached = any(each <= greatest for each in numbers) and any(each >= least for each in numbers)  # type: ignore[operator]
    return nearest_value(value, domain) if is_reached else NOT_FOUND


def read_range_default(
    written: ast.Parameter, part: ast.Domain, domain: Domain, parameter: Parameter | None, report: DiagnosticCollector
) -> Value:
    """Return the default of a range that is one of several alternatives.

    It is the value after `=` if it lies in the range. Otherwise the default is found as for any other range.
    """
    is_own = written.default is not None and _lies_in(written.default, domain, report)
    return read_default(
        replace(written, domain=part, default=written.default if is_own else None), domain, parameter, report
    )


def read_decision_default(
    written: ast.Parameter,
    default: ast.Value | ast.Expression,
    branches: tuple[Branch, ...],
    report: DiagnosticCollector,
    *,
    is_known: bool,
) -> int:
    """Return the index of the alternative after `=`, or 0 if there is no such alternative.

    The mistake is reported only if all operators among the alternatives are known (`is_known`).
    """
    value = literal_value(default, report) if isinstance(default, ast.Value) else default.span.text
    names = [branch.name for branch in branches]
    place = None if isinstance(value, InvalidValue) else _index_of(default, value, branches, report)
    if place is not None:
        return place
    word = "none" if value is None else value
    is_string = isinstance(default, ast.Text) and is_value_branch(branches, default.value)
    if word in names and not is_string:
        return names.index(word)
    if is_known and branches and not isinstance(value, InvalidValue):
        report.add(
            DefaultOutside(
                primary=default.span,
                value=default.span.text,
                parameter=written.name.text,
                domain=" | ".join(names),
                near=nearest_name(word, names) if isinstance(word, str) else None,
            )
        )
    return 0


def _index_of(
    default: ast.Value | ast.Expression, value: Value, branches: tuple[Branch, ...], report: DiagnosticCollector
) -> int | None:
    """Return the index of the alternative that is a plain value, or of the range that contains the value, or None."""
    for place, branch in enumerate(branches):
        if isinstance(branch.node, Hyperparameter) and _lies_in(default, branch.node.domain, report):
            return place
    return index_of_value_branch(branches, value)


def _lies_in(default: ast.Value | ast.Expression, domain: Domain, report: DiagnosticCollector) -> bool:
    """Return True if a domain contains a default. Mistakes are not reported here, but where the default is read."""
    value = _value(default, domain, DiagnosticCollector(report.symbols))
    return not isinstance(value, InvalidValue) and contains(domain, value)


def _depends_on_data(written: ast.Parameter, report: DiagnosticCollector) -> bool:
    return report.symbols.data_dependent_domain(written.name.span) is not None


def _report_outside(
    written: ast.Parameter,
    default: ast.Value | ast.Expression,
    value: Value,
    domain: Domain,
    report: DiagnosticCollector,
) -> None:
    at, symbols = written.domain.span, report.symbols
    # On the same line the label is enough.
    related = () if at.line == default.span.line else (Related(at, "the domain"),)
    report.add(
        DefaultOutside(
            primary=default.span,
            value=default.span.text,
            parameter=written.name.text,
            domain=domain_text(at, domain),
            near=_near(value, domain),
            related=related,
            notes=(
                *_result_note(default, value),
                *symbols.notes((*symbols.mentioned_in(at), *symbols.mentioned_in(default.span))),
            ),
        )
    )


def _near(value: Value, domain: Domain) -> str | None:
    """Return the value that was probably meant: `(value,)` if the domain contains this tuple, else a similar value."""
    if contains(domain, (value,)):
        return literal((value,))
    return suggest_value(value, [v for part in parts(domain) for v in getattr(part, "values", ())])


def _result_note(written: ast.Value | ast.Expression, value: Value) -> tuple[str, ...]:
    """Return a note with the value of a default that is written as arithmetic."""
    match written:
        case ast.Binary() | ast.Unary() | ast.FunctionCall():
            shown = literal(value) if value == value else "no number"  # noqa: PLR0124 - nan differs from itself
            return () if value in (math.inf, -math.inf) else (f"`{written.span.text}` is {shown}",)
        case _:
            return ()
