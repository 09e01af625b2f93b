"""Simplexes: replace `simplex a, b, c` by ranges `a` and `b`, a bound on their sum, and a computed value `c`."""

from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.diagnostics.names import SharesDoNotFit, SimplexOfOne
from spacelang.ir.computed_numbers import exact
from spacelang.syntax import ast

SimpleMember: TypeAlias = ast.NamedMember | ast.ParameterGroupInclusion | ast.ConstraintStatement


def expand_simplex(member: ast.Member, report: DiagnosticCollector) -> Iterator[SimpleMember]:
    """Yield the members that a member of a body stands for: those of a simplex, or the member itself.

    All shares but the last are ranges, and their sum is at most 1. The last is the rest, so that rounding cannot make
    the sum differ from 1.
    """
    if not isinstance(member, ast.Simplex):
        yield member
        return
    *free, last = member.names
    if not free:
        report.add(SimplexOfOne(member.span, name=last.text))
        return
    shares = _shares(member, report)
    for name, share in zip(free, shares, strict=False):
        ends = ast.Number(0, name.span), ast.Number(1, name.span)
        domain = ast.Range("float", *ends, lower_open=False, upper_open=False, log=None, step=None, span=name.span)
        yield ast.Parameter(name, domain, share, None, (), name.span)
    if len(free) > 1:
        total = reduce(lambda left, right: ast.Binary("+", left, right, member.span), map(_value, free))
        yield ast.ConstraintStatement(
            False, ast.Binary("<=", total, ast.Number(1, member.span), member.span), member.span
        )
    rest: ast.Expression = ast.Number(1, last.span)
    for name in free:
        rest = ast.Binary("-", rest, _value(name), last.span)
    yield ast.ParameterFormula(last, rest, last.span)


def _shares(simplex: ast.Simplex, report: DiagnosticCollector) -> list[ast.Number]:
    """Return the default shares; report those that do not fit, and return equal ones instead."""
    count, default = len(simplex.names), simplex.default
    equal = [ast.Number(1 / count, name.span) for name in simplex.names]
    if default is None:
        return equal
    given = [item for item in default.items if isinstance(item, ast.Number)]
    total = sum((exact(item.value) for item in given), Fraction(0))
    reason = None
    if len(given) != len(default.items) or any(not 0 <= item.value <= 1 for item in given):
        reason = "shares are numbers in [0, 1]"
    elif len(given) != count:
        reason = f"{count} names have {count} shares, not {len(given)}"
    elif total != 1:
        reason = f"the sum of the shares is {float(total)!r}, not 1"
    if reason is None:
        return given
    report.add(SharesDoNotFit(default.span, reason=reason))
    return equal


def _value(name: ast.Word) -> ast.Expression:
    return ast.DottedName((name,), name.span)
