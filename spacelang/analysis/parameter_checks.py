"""Checks of parameters by the catalogue: their names, and the values, ranges and operators that they are given."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.literal_values import suggest_value
from spacelang.analysis.operator_lists import decision_of_optional_member, members_of_list
from spacelang.catalog.catalogue import CatalogueEntry, Deprecation, FileCatalogues, NoDefault, OperatorRole, Parameter
from spacelang.catalog.value_rules import ANOTHER_NAME_OF, format_value_as_source
from spacelang.diagnostics import parameters as problems
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.structure import SingleEstimatorInsteadOfList
from spacelang.ir.domain import Grid, Real, literal
from spacelang.ir.space import SKIPPED_STEP, Branch, Choice, Hyperparameter, Node, Operator, Product, ProductKind
from spacelang.ir.value import Value
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast
from spacelang.text import Span

EntryOf = Callable[[Operator], CatalogueEntry | None]
"""A function that returns the catalogue entry of an operator, or None if it is unknown."""
_CONSTANTS: Final[Mapping[str, Value]] = {
    "yes": True, "on": True, "True": True, "no": False, "off": False, "False": False, "null": None, "nil": None,
    "None": None, "nothing": None,
}  # fmt: skip


_FLOAT: Final = re.compile(r"-?[\d_]*\.?[\d_]*(e[+-]?\d+)?", re.IGNORECASE)
"""A float as it is written, in contrast to arithmetic."""


class ParameterChecker:
    """A checker of what one parameter is given; everything is accepted if no catalogue knows the parameter."""

    def __init__(
        self, report: DiagnosticCollector, entry: CatalogueEntry | None = None, parameter: Parameter | None = None
    ) -> None:
        self.parameter = parameter
        self._known = None if entry is None or parameter is None else (entry, parameter)
        self._report = report

    def with_collector(self, report: DiagnosticCollector) -> "ParameterChecker":
        """Return the checker of the same parameter that reports to another collector."""
        entry, parameter = self._known or (None, None)
        return ParameterChecker(report, entry, parameter)

    def check_value(self, value: Value, span: Span, hint: str | None = None) -> bool:
        """Return True if the parameter accepts a value. Otherwise report why not, with `hint` as the remedy."""
        if self._known is None:
            return True
        entry, parameter = self._known
        refusal = parameter.refusal_reason(value)
        if refusal is not None:
            self._report.add(
                problems.ParameterForbiddenInSpaces(span, operator=entry.name, parameter=parameter.name, reason=refusal)
            )
            return False
        expected = parameter.check_value(value)
        if expected is None:
            return self._check_elements(value, span)
        self._report.add(
            problems.ParameterValueNotAccepted(
                span,
                operator=entry.name,
                parameter=parameter.name,
                value=literal(value),
                expected=f"expected {expected}",
                near=suggest_value(value, parameter.accepted_values) or _meant_value(value, span.text, parameter),
                hint=_list_hint(value, parameter) if parameter.takes_operator_list else hint,
                instead=f"{parameter.name} : A | B" if parameter.takes_operators and _looks_like_class(value) else None,
                notes=self._report.symbols.binding_notes(self._report.symbols.symbols_mentioned_in(span)),
            )
        )
        return False

    def _check_elements(self, value: Value, span: Span) -> bool:
        """Return True if the parameter accepts each element of a tuple. Otherwise report the tuple."""
        if self._known is None or not isinstance(value, tuple):
            return True
        entry, parameter = self._known
        element = entry.generic_tuple_element(parameter)
        expected = next((found for each in value if (found := element.check_value(each)) is not None), None)
        if expected is not None:
            self._report_rejected(span, literal(value), f"expected elements: {expected}")
        return expected is None

    @property
    def element_checker(self) -> "ParameterChecker":
        """The checker of the elements of a tuple."""
        if self._known is None:
            return ParameterChecker(self._report)
        entry, parameter = self._known
        return ParameterChecker(self._report, entry, entry.generic_tuple_element(parameter))

    def check_tuple(self, least: int, greatest: int, span: Span) -> bool:
        """Return True if the parameter accepts tuples of `least` to `greatest` elements. Otherwise report why not."""
        if self._known is None:
            return True
        entry, parameter = self._known
        if parameter.refusal_reason(()) is not None:
            return self.check_value((), span)
        expected, length = parameter.check_value(()), len(entry.tuple_element_parameters(parameter.name))
        if expected is None and length and (least, greatest) != (length, length):
            expected = f"a tuple of {length} elements"
        if expected is not None:
            self._report_rejected(span, " ".join(span.text.split()), f"expected {expected}")
        return expected is None

    def range_rejection(self, part: Grid | Real) -> tuple[CatalogueEntry, Parameter, str] | None:
        """Return the operator and parameter that reject a range, and the expected values as text.

        None if it is accepted.
        """
        if self._known is None:
            return None
        expected = self._known[1].check_range(
            part.lower,
            part.upper,
            integer=isinstance(part, Grid) and part.is_integral,
            lower_open=isinstance(part, Real) and part.lower_open,
            upper_open=isinstance(part, Real) and part.upper_open,
        )
        return None if expected is None else (*self._known, f"expected {expected}")

    def check_operator(self, inner: CatalogueEntry | None, span: Span) -> bool:
        """Return True if the parameter accepts an operator, even an unknown one (None); else report why not."""
        if self._known is None or inner is None:
            return True
        entry, parameter = self._known
        expected = entry.check_operator(parameter, inner)
        if expected is not None:
            self._report_operator(
                span, expected, is_such=bool(parameter.takes_operators or parameter.takes_operator_list)
            )
        return expected is None

    def check_branches(self, branches: tuple[Branch, ...], catalogue_entry_of: EntryOf) -> None:
        """Report the alternatives of a nested decision that the parameter does not accept."""
        if self._known is None:
            return
        entry, parameter = self._known
        if not parameter.takes_operator_list:
            for branch in branches:
                if branch.value is not None:
                    self.check_value(branch.value, branch.span)
                else:
                    self._check_node(branch.node, branch, catalogue_entry_of)
            return
        others = [branch for branch in branches if not members_of_list(branch)]
        if others:
            # Report it once, even if several alternatives have this mistake.
            alone = next((branch for branch in others if branch.node != SKIPPED_STEP), others[0])
            kind = "no list" if alone.node == SKIPPED_STEP else "a single operator"
            self._report.add(
                SingleEstimatorInsteadOfList(alone.span, operator=entry.name, parameter=parameter.name, kind=kind)
            )
            return
        for branch in branches:
            for member in members_of_list(branch):
                self._check_member(member, branch, catalogue_entry_of)

    def _check_member(self, member: Node, branch: Branch, catalogue_entry_of: EntryOf) -> None:
        """Report each operator that a member of a list may be, in any alternative, and that the parameter rejects."""
        optional = decision_of_optional_member(member)
        if optional is None:
            self._check_node(member, branch, catalogue_entry_of)
            return
        for inner in optional.branches:
            if inner.node != SKIPPED_STEP:
                self._check_node(inner.node, inner, catalogue_entry_of)

    def report_condition_on_required_operator(self, condition: Span) -> None:
        """Report a condition on a choice of operators that cannot be `none` where the condition fails."""
        assert self.parameter is not None
        parameter = self.parameter
        hint = f"remove the condition: where it is false, `{parameter.name}` would be `none`"
        self._report_rejected(condition, "none", f"expected {parameter.accepted_values_description}", hint)

    def _report_rejected(self, span: Span, value: str, expected: str, hint: str | None = None) -> None:
        assert self._known is not None
        entry, parameter = self._known
        self._report.add(
            problems.ParameterValueNotAccepted(
                span, operator=entry.name, parameter=parameter.name, value=value, expected=expected, hint=hint
            )
        )

    def _check_node(self, node: Node, branch: Branch, catalogue_entry_of: EntryOf) -> None:
        """Report each operator that a node of `branch` may be, in any alternative, and that the parameter rejects."""
        match node:
            case Operator():
                self.check_operator(catalogue_entry_of(node), branch.span if node is branch.node else node.span)
            case Choice():
                for inner in node.branches:
                    self._check_node(inner.node, inner, catalogue_entry_of)
            case Product(kind=ProductKind.SEQUENCE, children=(*_, last)):
                self._check_node(last, branch, catalogue_entry_of)
            case Product(kind=ProductKind.SEQUENCE):
                self.check_value(None, branch.span)
            case Product(kind=ProductKind.PERMUTATION, children=(_, *steps)):
                for step in steps:
                    self._check_node(step, branch, catalogue_entry_of)
            case Product():
                self._check_features(node)
            case Hyperparameter():
                # Its domain is checked where it is read.
                return

    def _check_features(self, node: Product) -> None:
        """Report parallel steps if the parameter takes no transformers: they make features and are no estimator."""
        assert self.parameter is not None
        operators = bool(self.parameter.takes_operators)
        if not self.parameter.takes_transformers:
            expected = f"{self.parameter.accepted_values_description}{', not parallel steps' if operators else ''}"
            self._report_operator(node.span, expected, is_such=operators)

    def _report_operator(self, span: Span, expected: str, *, is_such: bool) -> None:
        assert self._known is not None
        entry, parameter = self._known
        kind, told = "such operator" if is_such else "operator", f"expected {expected}"
        self._report.add(
            problems.UnexpectedOperatorAsValue(
                span, operator=entry.name, parameter=parameter.name, expected=told, kind=kind
            )
        )


def _meant_value(value: Value, written: str, parameter: Parameter) -> str | None:
    """Return an accepted value that was probably meant, or None: `true` for `True`, `5` for `5.0`, `5e0` or `"5"`."""
    in_quotes = re.fullmatch(r'"(-?\d{1,15})(?:\.0)?"', written)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 and _FLOAT.fullmatch(written):
        meant: Value = int(value)
    elif in_quotes is not None:
        meant = int(in_quotes[1])
    elif isinstance(value, str) and value in _CONSTANTS:
        meant = _CONSTANTS[value]
    else:
        return None
    return format_value_as_source(meant) if parameter.check_value(meant) is None else None


def _list_hint(value: Value, parameter: Parameter) -> str:
    """Return a remedy for a value that is not the list of operators which the parameter takes.

    For `none`, it says how optional members are written, for any other value how a list is written.
    """
    if value is None:
        return "write an optional member as `A?` or `(A -> B)?`, and lists as alternatives, such as `(A & B) | (A & C)`"
    return f"join operators with `&` in parentheses: `{parameter.name} : (A & B)`"


def _looks_like_class(value: Value) -> bool:
    return isinstance(value, str) and value.isidentifier() and value[0].isupper()


_EXAMPLES: Final = (("LogisticRegression", OperatorRole.CLASSIFIER), ("Ridge", OperatorRole.REGRESSOR))
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
            problems.DeprecatedOperator(
                name.span,
                operator=entry.name,
                since=old.since,
                replacement=old.replacement,
                note=old.note,
                notes=_notes(old),
            )
        )


def find_parameter(name: ast.Word, entry: CatalogueEntry, report: DiagnosticCollector) -> Parameter | None:
    """Return the parameter of a name (a deprecated one is reported), or None after reporting it as unusable."""
    parameter = entry.parameters.get(name.text)
    if parameter is None:
        _report_unknown(name, entry, report)
    elif parameter.refused is not None:
        reason = parameter.refused
        near = reason.removeprefix(ANOTHER_NAME_OF).strip("`") if reason.startswith(ANOTHER_NAME_OF) else None
        operator = entry.name
        report.add(
            problems.ParameterForbiddenInSpaces(
                name.span, operator=operator, parameter=name.text, reason=reason, near=near
            )
        )
        return None
    elif parameter.deprecated is not None:
        old = parameter.deprecated
        report.add(
            problems.DeprecatedParameter(
                name.span,
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
        part = next((part.name for part in entry.tuple_element_parameters(whole) if part.name in given), None)
        if whole in given and part is not None:
            related = (RelatedPlace(given[part].span, "its part"),)
            primary, operator = given[whole].span, entry.name
            report.add(
                problems.TupleAndElementGiven(primary, operator=operator, whole=whole, part=part, related=related)
            )


def check_required_parameters_given(
    name: ast.DottedName,
    entry: CatalogueEntry,
    given: Collection[str],
    catalogue: FileCatalogues,
    report: DiagnosticCollector,
) -> None:
    """Report each required parameter of the operator that is not given."""
    for parameter in entry.parameters.values():
        if isinstance(parameter.default, NoDefault) and parameter.name not in given:
            example = _example(entry, parameter, catalogue)
            report.add(
                problems.MissingParameter(name.span, operator=entry.name, parameter=parameter.name, example=example)
            )


def _example(entry: CatalogueEntry, parameter: Parameter, catalogue: FileCatalogues) -> str | None:
    for name, role in _EXAMPLES:
        found = catalogue.get(name)
        suits = role in entry.roles or not entry.roles & {OperatorRole.CLASSIFIER, OperatorRole.REGRESSOR}
        if suits and found is not None and parameter.check_operator(found) is None:
            return name
    return None


def _report_unknown(name: ast.Word, entry: CatalogueEntry, report: DiagnosticCollector) -> None:
    if name.text in entry.removed:
        instead = entry.removed[name.text]
        report.add(problems.RemovedParameter(name.span, operator=entry.name, parameter=name.text, instead=instead))
        return
    offered = [parameter.name for parameter in entry.parameters.values() if parameter.refused is None]
    hint = _inner_parameter_hint(name.text, entry) or _RANGE_HINTS.get(name.text)
    near = None if hint else nearest_name(name.text, offered)
    report.add(problems.UnknownParameter(name.span, parameter=name.text, operator=entry.name, near=near, hint=hint))


def _inner_parameter_hint(name: str, entry: CatalogueEntry) -> str | None:
    """Return a hint for a name such as `estimator__max_depth` that it is set in the inner operator's body."""
    outer, sign, inner = name.partition("__")
    parameter = entry.parameters.get(outer)
    if not sign or not inner or parameter is None or not parameter.takes_operators:
        return None
    return f"set it in the body of the operator: `{outer} : Operator {{ {inner} : … }}`"


def _notes(old: Deprecation) -> tuple[str, ...]:
    """Return the note of the library about the replacement, if it says more than the name of the replacement."""
    says_more = old.replacement is not None and old.note not in ("", f"use `{old.replacement}`")
    return (old.note,) if says_more else ()
