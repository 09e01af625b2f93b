"""The defaults of hyperparameters and nested decisions in bodies: what is written, else what the library has."""

from spacelang.analysis.domains import as_written, drawn_in, largest, widest
from spacelang.analysis.report import Report
from spacelang.analysis.values import NoValue, near_value, plain
from spacelang.catalog.catalogue import Named, Opaque, Parameter, Required
from spacelang.catalog.catalogue import Operator as Entry
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.domains import DefaultOutside
from spacelang.diagnostics.parameters import RejectedValue
from spacelang.ir.domain import Domain, Missing, contains, parts
from spacelang.ir.space import Branch
from spacelang.ir.value import Value
from spacelang.suggest import nearest
from spacelang.syntax import ast
from spacelang.text import Span


def read(written: ast.Parameter, domain: Domain, parameter: Parameter | None, report: Report) -> Value:
    """What follows `=`, else the library's own default where the domain has it, else the domain's middle.

    `parameter` is None where no catalogue knows it. A default outside the domain is reported.
    """
    if written.default is not None:
        value = plain(written.default, report)
        found = Missing() if isinstance(value, NoValue) else domain.find(value)
        if isinstance(found, Missing) and not isinstance(value, NoValue):
            wide = widest(written.domain) if _is_of_data(written, report) else None
            if wide is not None and contains(wide, value):
                found = drawn_in(value, domain)
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


def read_nested(
    written: ast.Parameter, default: ast.Value, branches: tuple[Branch, ...], report: Report, *, is_known: bool
) -> int:
    """The place of the alternative that follows `=`; 0 where there is none such, reported if all others are known."""
    value = plain(default, report)
    names = [branch.name for branch in branches]
    word = "none" if value is None else value
    if word in names:
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


def report_needed(condition: Span, operator: Entry, parameter: Parameter, report: Report) -> None:
    """Report the condition of an operator that cannot be left out: elsewhere its parameter would be `none`."""
    expected = f"expected {parameter.expected}" if not parameter.several else "expected operators"
    hint = f"`{parameter.name}` would be `none` where the condition does not hold: leave the condition out"
    report.add(
        RejectedValue(
            primary=condition,
            operator=operator.name,
            parameter=parameter.name,
            value="none",
            expected=expected,
            hint=hint,
        )
    )


def _is_of_data(written: ast.Parameter, report: Report) -> bool:
    return report.symbols.domain(written.name.span) is not None


def _report_outside(written: ast.Parameter, default: ast.Value, value: Value, domain: Domain, report: Report) -> None:
    at = written.domain.span
    # On the same line the label says as much.
    related = () if at.line == default.span.line else (Related(at, "the domain"),)
    report.add(
        DefaultOutside(
            primary=default.span,
            value=default.span.text,
            parameter=written.name.text,
            domain=as_written(at, domain),
            near=near_value(value, [v for part in parts(domain) for v in getattr(part, "values", ())]),
            related=related,
            notes=report.symbols.notes(report.symbols.within(at)),
        )
    )
