"""Checks of the parameters of an operator by their names: unknown, deprecated, missing or not settable."""

from collections.abc import Mapping
from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.catalog.catalogue import CatalogueEntry, Catalogues, Deprecation, NoDefault, Parameter, Role
from spacelang.catalog.parameter_restrictions import ANOTHER_NAME_OF
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.parameters import (
    DeprecatedOperator,
    DeprecatedParameter,
    MissingParameter,
    RefusedParameter,
    RemovedParameter,
    TupleAndElement,
    UnknownParameter,
)
from spacelang.suggest import nearest_name
from spacelang.syntax import ast

_EXAMPLES: Final = (("LogisticRegression", Role.CLASSIFIER), ("Ridge", Role.REGRESSOR))
"""Operators for examples, with the role that the operator around them must have (or no role of an estimator)."""


_RANGE_HINTS: Final = {
    "log": "write `log` directly after its range: `float[0.1, 10] log`",
    "step": "write the step directly after its range: `int[10, 100] step 10`",
    "default": "write the default after its domain: `int[1, 10] = 5`",
}
"""Hints for the modifiers of a range, which other languages write as separate members."""


def check_operator_deprecation(name: ast.DottedName, entry: CatalogueEntry, report: DiagnosticCollector) -> None:
    """Report an operator that its library has deprecated."""
    old = entry.deprecated
    if old is not None:
        report.add(
            DeprecatedOperator(
                primary=name.span,
                operator=entry.name,
                since=old.since,
                replacement=old.replacement,
                note=old.note,
                notes=_notes(old),
            )
        )


def find(name: ast.Word, entry: CatalogueEntry, report: DiagnosticCollector) -> Parameter | None:
    """Return the parameter of a name, or None after reporting that it is unknown or that a space cannot set it.

    A deprecated parameter is reported as well, but returned.
    """
    parameter = entry.parameters.get(name.text)
    if parameter is None:
        _report_unknown(name, entry, report)
    elif parameter.refused is not None:
        reason = parameter.refused
        near = reason.removeprefix(ANOTHER_NAME_OF).strip("`") if reason.startswith(ANOTHER_NAME_OF) else None
        operator = entry.name
        report.add(
            RefusedParameter(primary=name.span, operator=operator, parameter=name.text, reason=reason, near=near)
        )
        return None
    elif parameter.deprecated is not None:
        old = parameter.deprecated
        report.add(
            DeprecatedParameter(
                primary=name.span,
                operator=entry.name,
                parameter=name.text,
                since=old.since,
                replacement=old.replacement,
                note=old.note,
                notes=_notes(old),
            )
        )
    return parameter


def check_tuple_and_elements(entry: CatalogueEntry, given: Mapping[str, ast.Word], report: DiagnosticCollector) -> None:
    """Report each parameter that is given both as a whole and by one of its parts."""
    for whole in entry.tuple_parameters:
        part = next((part.name for part in entry.elements_of(whole) if part.name in given), None)
        if whole in given and part is not None:
            related = (Related(given[part].span, "its part"),)
            primary, operator = given[whole].span, entry.name
            report.add(TupleAndElement(primary=primary, operator=operator, whole=whole, part=part, related=related))


def check_required(
    name: ast.DottedName,
    entry: CatalogueEntry,
    given: Mapping[str, ast.Word],
    catalogue: Catalogues,
    report: DiagnosticCollector,
) -> None:
    """Report each required parameter of the operator that is not given."""
    for parameter in entry.parameters.values():
        if isinstance(parameter.default, NoDefault) and parameter.name not in given:
            example = _example(entry, parameter, catalogue)
            report.add(
                MissingParameter(primary=name.span, operator=entry.name, parameter=parameter.name, example=example)
            )


def _example(entry: CatalogueEntry, parameter: Parameter, catalogue: Catalogues) -> str | None:
    """Return the name of a well-known operator that a parameter accepts and that suits its operator, or None."""
    for name, role in _EXAMPLES:
        found = catalogue.get(name)
        suits = role in entry.roles or not entry.roles & {Role.CLASSIFIER, Role.REGRESSOR}
        if suits and found is not None and parameter.check_operator(found) is None:
            return name
    return None


def _report_unknown(name: ast.Word, entry: CatalogueEntry, report: DiagnosticCollector) -> None:
    if name.text in entry.removed:
        instead = entry.removed[name.text]
        report.add(RemovedParameter(primary=name.span, operator=entry.name, parameter=name.text, instead=instead))
        return
    offered = [parameter.name for parameter in entry.parameters.values() if parameter.refused is None]
    hint = _inner_parameter_hint(name.text, entry) or _RANGE_HINTS.get(name.text)
    near = None if hint else nearest_name(name.text, offered)
    report.add(UnknownParameter(primary=name.span, parameter=name.text, operator=entry.name, near=near, hint=hint))


def _inner_parameter_hint(name: str, entry: CatalogueEntry) -> str | None:
    """Return a hint that a parameter of an inner operator is set in the body of that operator, or None.

    It is given for names such as `estimator__max_depth`, as scikit-learn writes nested parameters.
    """
    outer, sign, inner = name.partition("__")
    parameter = entry.parameters.get(outer)
    if not sign or not inner or parameter is None or not parameter.takes_operators:
        return None
    return f"set it in the body of the operator: `{outer} : Operator {{ {inner} : … }}`"


def _notes(old: Deprecation) -> tuple[str, ...]:
    """Return the note of the library about the replacement, if it says more than the name of the replacement."""
    says_more = old.replacement is not None and old.note not in ("", f"use `{old.replacement}`")
    return (old.note,) if says_more else ()
