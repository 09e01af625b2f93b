"""Fixed values, and defaults: the written value, which may be arithmetic, else the default of the library."""

import math
from dataclasses import replace
from typing import Final, assert_never

from spacelang.analysis.arithmetic import FIXED_VALUE_REASON, evaluate, read_arithmetic, to_number
from spacelang.analysis.diagnostic_collector import DataSymbols, DiagnosticCollector, extreme_data_sizes
from spacelang.analysis.domains import domain_text, domains_for_vast_data, widest_domain
from spacelang.analysis.literal_values import NO_VALUE, InvalidValue, literal_value, suggest_value
from spacelang.analysis.ranges import LARGEST
from spacelang.catalog.catalogue import Parameter
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.domains import DefaultOutsideDomain
from spacelang.diagnostics.reading import UnexpectedText
from spacelang.ir.computed_parameters import FLOAT_OPERATIONS, ROUNDING_FUNCTIONS
from spacelang.ir.data_binding import DATA_SIZE_NAMES
from spacelang.ir.domain import NOT_FOUND, Domain, NotFound, contains, is_bare_word, literal, parts
from spacelang.ir.domain_properties import nearest_value
from spacelang.ir.space import Branch, Hyperparameter
from spacelang.ir.value import Value, is_number
from spacelang.ir.walk import index_of_value_branch, is_value_branch
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast


def read_default(
    written: ast.Parameter, domain: Domain, parameter: Parameter | None, report: DiagnosticCollector
) -> Value:
    """Return the value after `=`; without one, the library's default; if the domain lacks it, the middle of the domain.

    A value after `=` that is not in the domain is reported. If only the size of the present data excludes a default,
    the nearest value of the domain takes its place.
    """
    if written.default is not None:
        value = _value(written.default, domain, report)
        report.symbols.record_default(written.name.span, written.default.span)
        found = NOT_FOUND if isinstance(value, InvalidValue) else domain.find(value)
        if isinstance(found, NotFound) and not isinstance(value, InvalidValue):
            found = _moved_default(written, value, domain, report)
            if isinstance(found, NotFound):
                _report_outside(written, written.default, value, domain, report)
        return domain.representative if isinstance(found, NotFound) else found
    usual = NOT_FOUND if parameter is None else parameter.default_value
    if isinstance(usual, NotFound):
        return domain.representative
    found = domain.find(usual)
    if isinstance(found, NotFound) and _depends_on_data(written, report):
        # The default of the library is moved into the domain only if the domain for very large data contains it.
        domains = domains_for_vast_data(written.domain)
        is_known = not domains or any(contains(each, usual) for each in domains)
        found = nearest_value(usual, domain) if is_known else found
    return domain.representative if isinstance(found, NotFound) else found


def _value(written: ast.Value | ast.Expression, domain: Domain, report: DiagnosticCollector) -> Value | InvalidValue:
    value = read_value(written, report, what="default", words=domain)
    return value if isinstance(value, InvalidValue) else literal_value(value, report)


def _moved_default(
    written: ast.Parameter, value: Value, domain: Domain, report: DiagnosticCollector
) -> Value | NotFound:
    """Return the nearest value of the domain to a default that only the size of the present data excludes.

    `NOT_FOUND` if data of every size excludes the default.
    """
    assert written.default is not None
    if _depends_on_data(written, report):
        wide = widest_domain(written.domain)
        if wide is not None and contains(wide, value):
            return nearest_value(value, domain)
    mentioned = report.symbols.symbols_mentioned_in(written.default.span)
    if not mentioned:
        return NOT_FOUND
    wide = widest_domain(written.domain) or domain
    reports = (DiagnosticCollector(DataSymbols(sizes)) for sizes in extreme_data_sizes(mentioned))
    values = [_value(written.default, domain, each) for each in reports]
    least, greatest = nearest_value(-math.inf, wide), nearest_value(math.inf, wide)
    numbers = [each for each in values if not isinstance(each, InvalidValue | NotFound) and is_number(each)]
    if isinstance(least, NotFound) or isinstance(greatest, NotFound):
        return NOT_FOUND
    is_reached = any(each <= greatest for each in numbers) and any(each >= least for each in numbers)  # type: ignore[operator]
    return nearest_value(value, domain) if is_reached else NOT_FOUND


def read_default_of_range(
    written: ast.Parameter, part: ast.Domain, domain: Domain, parameter: Parameter | None, report: DiagnosticCollector
) -> Value:
    """Return the default of the range that is one alternative of a decision.

    It is the value after `=` if this lies in the range, else the library's default if this
    lies in the range, else the middle of the range.
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
    """Return the index of the alternative after `=`; 0 if there is no such alternative.

    That mistake is reported only if `is_known`, that is, if all alternatives could be read.
    """
    value = literal_value(default, report) if isinstance(default, ast.Value) else default.span.text
    names = [branch.name for branch in branches]
    place = None if isinstance(value, InvalidValue) else _index_of(default, value, branches, report)
    if place is not None:
        return place
    word = "none" if value is None else value
    is_string = isinstance(default, ast.QuotedString) and is_value_branch(branches, default.value)
    if word in names and not is_string:
        return names.index(word)
    if is_known and branches and not isinstance(value, InvalidValue):
        near = nearest_name(word, names) if isinstance(word, str) else None
        parameter, shown, domain = written.name.text, default.span.text, " | ".join(names)
        report.add(DefaultOutsideDomain(default.span, value=shown, parameter=parameter, domain=domain, near=near))
    return 0


def _index_of(
    default: ast.Value | ast.Expression, value: Value, branches: tuple[Branch, ...], report: DiagnosticCollector
) -> int | None:
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
    related = () if at.line == default.span.line else (RelatedPlace(at, "the domain"),)
    report.add(
        DefaultOutsideDomain(
            default.span,
            value=default.span.text,
            parameter=written.name.text,
            domain=domain_text(at, domain),
            near=_near(value, domain),
            related=related,
            notes=(
                *_result_note(default, value),
                *symbols.binding_notes(
                    (*symbols.symbols_mentioned_in(at), *symbols.symbols_mentioned_in(default.span))
                ),
            ),
        )
    )


def _near(value: Value, domain: Domain) -> str | None:
    """Return the text of the value that was probably meant, or None if no value of the domain is similar.

    It is `(value,)` if the domain contains this tuple, else a similar listed value.
    """
    if contains(domain, (value,)):
        return literal((value,))
    return suggest_value(value, [v for part in parts(domain) for v in getattr(part, "values", ())])


def _result_note(written: ast.Value | ast.Expression, value: Value) -> tuple[str, ...]:
    """Return a note with the value of a default that is written as arithmetic."""
    match written:
        case ast.BinaryOperation() | ast.UnaryOperation() | ast.FunctionCall():
            shown = literal(value) if value == value else "no number"  # noqa: PLR0124 - nan differs from itself
            return () if value in (math.inf, -math.inf) else (f"`{written.span.text}` is {shown}",)
        case _:
            return ()


_FIXED: Final = "fixed value"


def read_value(
    written: ast.Value | ast.Expression, report: DiagnosticCollector, *, what: str, words: Domain | None = None
) -> ast.Value | InvalidValue:
    """Return the written value, or the result of arithmetic (maybe infinite); `NO_VALUE` after reporting a mistake.

    A word in `words` is a string, even if it is also a symbol of the data. `what` names the value in messages.
    """
    match written:
        case ast.DottedName() if not all(is_bare_word(word.text) for word in written.words):
            return _report_unexpected(written, report, 'backticks enclose names; write strings in double quotes: `"…"`')
        case ast.DottedName() if written.text in DATA_SIZE_NAMES and not (
            words is not None and contains(words, written.text)
        ):
            return _read_arithmetic(written, report, what)
        case ast.BinaryOperation() | ast.UnaryOperation() | ast.FunctionCall():
            return _read_arithmetic(written, report, what)
        case (
            ast.Number()
            | ast.QuotedString()
            | ast.NamedConstant()
            | ast.DottedName()
            | ast.TupleLiteral()
            | ast.OperatorValue()
        ):
            return written
        case ast.LogicalOperation() | ast.Membership() | ast.IsTest() | ast.NumberWithUnit():
            return _report_no_value(written, report, what)
        case _:
            assert_never(written)


def read_fixed_value(
    written: ast.Value | ast.Expression, parameter: Parameter | None, report: DiagnosticCollector
) -> ast.Value | InvalidValue:
    """Return the finite constant after `=`; the result of arithmetic has the type that the `parameter` takes.

    As in computed values, `4 / 2` and `4 * 0.5` are 2.0, but 2 for a parameter that takes only integers.
    Return `NO_VALUE` after reporting anything else.
    """
    found = read_value(written, report, what=_FIXED)
    if not isinstance(found, ast.Number) or isinstance(written, ast.Number):
        return found
    if abs(found.value) <= LARGEST:
        is_float = _gives_float(written) and not (parameter is not None and parameter.takes_only_integers)
        return ast.Number(float(found.value), found.span) if is_float else found
    if not report.symbols.unbound_symbols_in(written.span):
        return _report_unexpected(written, report, "the result is not a finite number")
    report.report_unbound_symbol(written.span)
    return NO_VALUE


def _read_arithmetic(written: ast.Expression, report: DiagnosticCollector, what: str) -> ast.Number | InvalidValue:
    reason = FIXED_VALUE_REASON if what == _FIXED else f"{what}s may use only numbers and symbols of the data"
    expression = read_arithmetic(written, report, reason, lambda part: _report_no_value(part, report, what))
    if expression is None:
        return NO_VALUE
    number = evaluate(expression)
    if isinstance(number, float) and math.isnan(number) and report.symbols.unbound_symbols_in(written.span):
        report.report_unbound_symbol(written.span)
        return NO_VALUE
    return ast.Number(to_number(number), written.span)


def _report_no_value(written: ast.Expression, report: DiagnosticCollector, what: str) -> InvalidValue:
    hint = f"a {what} is a value, or arithmetic over numbers and symbols of the data"
    if what == _FIXED and isinstance(written, ast.FunctionCall):
        hint = "a value that is computed from hyperparameters and decisions follows `:=` instead of `=`"
    return _report_unexpected(written, report, hint)


def _report_unexpected(written: ast.Value | ast.Expression, report: DiagnosticCollector, hint: str) -> InvalidValue:
    found = f"`{written.span.text}`"
    report.add(UnexpectedText(written.span, found=found, expected="a value", hint=hint))
    return NO_VALUE


def _gives_float(written: ast.Value | ast.Expression) -> bool:
    """Return True if arithmetic has an operand or operation that gives a float and is not rounded."""
    match written:
        case ast.Number(value=value):
            return isinstance(value, float)
        case ast.BinaryOperation(operator=operator, left=left, right=right):
            return operator in FLOAT_OPERATIONS or _gives_float(left) or _gives_float(right)
        case ast.UnaryOperation(term=term):
            return _gives_float(term)
        case ast.FunctionCall(function=ast.Word(text=name), arguments=arguments):
            is_rounded = name in ROUNDING_FUNCTIONS
            return not is_rounded and (name in FLOAT_OPERATIONS or any(map(_gives_float, arguments)))
        case _:
            return False
