"""Domains that contain operators: they are decisions, whose alternatives may include plain values."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from spacelang.analysis.alternatives import Alternative, alternatives_of, operator_node
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.values import InvalidValue, literal_value
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.names import DuplicateValue
from spacelang.ir.domain import contains, literal
from spacelang.ir.space import RANGE_NAME, SKIPPED_STEP, Branch, Hyperparameter, value_name
from spacelang.ir.value import Value, are_same
from spacelang.syntax import ast
from spacelang.text import Span

IsOperator: TypeAlias = Callable[[ast.Value], bool]
"""A function that tells whether a word stands for an operator."""


def is_decision(domain: ast.Domain, known: IsOperator) -> bool:
    """Return True if a domain is a decision between alternatives, that is, if it contains operators.

    `known` tells whether a word names an operator. `none` beside plain values does not make a domain a decision.
    """
    match domain:
        case ast.Operator() | ast.NoneStep() | ast.Parenthesised():
            return True
        case ast.UnionDomain(parts=parts):
            return any(is_decision(part, known) for part in parts if not isinstance(part, ast.NoneStep))
        case ast.Values(values=values, ordered=False):
            return any(isinstance(value, ast.OperatorValue) or known(value) for value in values)
        case _:
            return False


def alternatives_in(domain: ast.Domain, known: IsOperator, report: DiagnosticCollector) -> list[Alternative]:
    """Return the alternatives of a domain that is a decision, with each value of a set as an alternative.

    Members of a set that cannot be alternatives are reported.
    """
    match domain:
        case ast.Operator() | ast.NoneStep() | ast.Parenthesised():
            return alternatives_of(domain)
        case ast.UnionDomain(parts=parts):
            structures = tuple(
                part for part in parts if isinstance(part, ast.Operator | ast.NoneStep | ast.Parenthesised)
            )
            if len(structures) == len(parts):
                return alternatives_of(ast.JoinedStructures("|", structures, domain.span))
            ranges = [part for part in parts if _is_range(part)]
            kept = [part for part in parts if not _is_range(part) or part is ranges[0]]
            return [each for part in kept for each in alternatives_in(part, known, report)]
        case ast.Values(ordered=False):
            return [*_member_alternatives(domain, known, report)]
        case ast.Booleans():
            return [_value_alternative(value, domain.span) for value in (True, False)]
        case _:
            return [Alternative(RANGE_NAME, domain.span, ast.NoneStep((), domain.span))]


def range_in(domain: ast.Domain) -> ast.Domain | None:
    """Return the ranges and ordered sets of a domain that is a decision, as one domain, or None if there are none."""
    parts = domain.parts if isinstance(domain, ast.UnionDomain) else ()
    ranges = tuple(part for part in parts if _is_range(part))
    return ranges[0] if len(ranges) == 1 else ast.UnionDomain(ranges, domain.span) if ranges else None


def check_duplicates(branches: Sequence[Branch], report: DiagnosticCollector) -> None:
    """Report plain values that are listed twice, or listed and also contained in a range."""
    for place, branch in enumerate(branches):
        for other in branches[:place] if branch.value is not None else ():
            if other.value is not None and are_same(other.value, branch.value):
                related = (Related(other.span, "first listed here"),)
                report.add(DuplicateValue(primary=branch.span, value=literal(branch.value), related=related))
        for other in branches if branch.node == SKIPPED_STEP else ():
            if isinstance(other.node, Hyperparameter) and contains(other.node.domain, branch.value):
                reason = f"also lies in `{other.span.text}`"
                report.add(DuplicateValue(primary=branch.span, value=literal(branch.value), reason=reason))


def _is_range(part: ast.Domain) -> bool:
    return isinstance(part, ast.Range) or (isinstance(part, ast.Values) and part.ordered)


def _value_alternative(value: Value, span: Span) -> Alternative:
    return Alternative(value_name(value), span, ast.NoneStep((), span), value=value)


def _member_alternatives(written: ast.Values, known: IsOperator, report: DiagnosticCollector) -> Iterator[Alternative]:
    """Yield the alternatives that the members of a set are: operators, `none` and plain values."""
    for value in written.values:
        if isinstance(value, ast.OperatorValue) or (isinstance(value, ast.DottedName) and known(value)):
            yield from alternatives_of(operator_node(value))
            continue
        found = literal_value(value, report)
        if not isinstance(found, InvalidValue):
            yield _value_alternative(found, value.span)
