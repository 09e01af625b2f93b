"""Truth values: tests that tell them from other expressions, advice where one is expected, and counts of true ones."""

from collections.abc import Iterator
from itertools import combinations, islice
from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.diagnostics.reading import TextTooLarge
from spacelang.ir.expr import And, Arithmetic, Call, Constant, Expr, Not, Or, Reference, map_children, nodes, references
from spacelang.ir.partial_evaluation import UNKNOWN, fold_constants, partially_evaluate
from spacelang.syntax import ast

ORDER_OPERATORS: Final = ("<", "<=", ">", ">=")


def is_truth_value(expression: Expr) -> bool:
    """Return True if an expression is a test, not a value."""
    return not isinstance(expression, Constant | Reference | Arithmetic | Call)


def is_boolean_expression(written: ast.Expression) -> bool:
    """Return True if an expression is true or false whatever its names stand for."""
    match written:
        case ast.LogicalOperation() | ast.Membership() | ast.IsTest():
            return True
        case ast.UnaryOperation(operator=operator):
            return operator == "not"
        case ast.BinaryOperation(operator=operator):
            return operator in ("==", "!=", "implies", *ORDER_OPERATORS)
        case _:
            return False


DIFFERENT: Final = frozenset(("all_different", "alldifferent", "all_distinct", "different", "distinct", "unique"))
"""Functions of other languages that are true if all arguments differ, in lower case."""
MAX_PAIRS: Final = 3  # The maximum number of pairs that advice shows


def comparison_remedy(written: ast.Expression) -> str:
    """Return advice for an expression that is no truth value where one is needed, guessing what was meant."""
    match written:
        case ast.TupleLiteral():
            tests = " and ".join(f"… is {item.span.text}" for item in written.items)
            return f"write `{tests}`, with the names of stages instead of `…`"
        case ast.FunctionCall() if written.function.text.lower() in DIFFERENT and len(written.arguments) > 1:
            pairs = [f"{one.span.text} != {other.span.text}" for one, other in combinations(written.arguments, 2)]
            shown = " and ".join(pairs[:MAX_PAIRS])
            return f"compare each pair: `{shown}`" + (
                f", and {len(pairs) - MAX_PAIRS} more" if pairs[MAX_PAIRS:] else ""
            )
        case _:
            return "compare this value with another one, for example by `==`"


TRUE: Final = Constant(True)
FALSE: Final = Constant(False)
MAX_PARTS: Final = 10_000  # The maximum number of parts of the combinations that replace a comparison


def expand_counts(atom: Expr, report: DiagnosticCollector) -> Expr | None:
    """Return a comparison without `count`, or None after reporting that it would have too many parts.

    `count(a, b, c) >= 2` becomes `(a and (b or c)) or (b and c)`. The result names the same hyperparameters, even if
    the number of true conditions does not matter: a constraint applies only where all that it names are active.
    """
    found = _without_counts(atom, report)
    if found is None or found is atom:
        return found
    counts = (node for node in nodes(atom) if isinstance(node, Call) and node.function == "count")
    terms = [term for count in counts for term in count.arguments]
    left = [term for term in terms if not {*references(term)} <= {*references(found)}]
    named = [Or((term, Not(term, term.span)), term.span) for term in left]
    return fold_constants(And((found, *named), found.span), naming=True) if left else found


def _without_counts(atom: Expr, report: DiagnosticCollector) -> Expr | None:
    count = next((node for node in nodes(atom) if isinstance(node, Call) and node.function == "count"), None)
    if count is None:
        return atom
    size = len(count.arguments)
    ways = [_without_counts(_with_number(atom, count, number), report) for number in range(size + 1)]
    if any(way is None for way in ways):
        return None
    known = [partially_evaluate(way, lambda _: UNKNOWN) for way in ways if way is not None]
    found = _Expansion(atom).expand(count.arguments, known)
    if found is None:
        what, limit = "the number of combinations of conditions in `count`", f"{MAX_PARTS:,}"
        report.add(TextTooLarge(count.span, quantity=what, limit=limit))
    return found


def _with_number(expression: Expr, count: Call, number: int) -> Expr:
    if expression is count:
        return Constant(number, count.span)
    return map_children(expression, lambda part: _with_number(part, count, number))


class _Expansion:
    """An expansion of a comparison with a `count` into `and`, `or` and `not`, of at most `MAX_PARTS` parts."""

    def __init__(self, atom: Expr) -> None:
        self._span = atom.span
        self._left = MAX_PARTS

    def expand(self, terms: tuple[Expr, ...], ways: list[Expr]) -> Expr | None:
        """Return an expression without `count` that equals `ways[n]` where exactly n of the terms are true.

        None if it would have too many parts.
        """
        found = self._expand(terms, ways)
        return None if self._left < 0 else fold_constants(found)

    def _expand(self, terms: tuple[Expr, ...], ways: list[Expr]) -> Expr:
        """Return the expression of `expand`, by halving the terms; `_left` falls below 0 if it gets too long.

        No part of it mixes terms of both halves, because solvers make one table for each half.
        """
        if self._left < 0 or all(way == ways[0] for way in ways):
            return ways[0]
        if len(terms) == 1:
            self._left -= sum(1 for _ in islice(nodes(terms[0]), MAX_PARTS)) + 2
            with_term, without = And((terms[0], ways[1])), And((Not(terms[0], terms[0].span), ways[0]))
            return Or((with_term, without), self._span)
        half = len(terms) // 2
        first, rest = terms[:half], terms[half:]
        parts = [
            And(
                (self._expand(first, [Constant(number in numbers) for number in range(half + 1)]), remaining),
                self._span,
            )
            for numbers, others in _cases(ways, half)
            if (remaining := self._expand(rest, others)) != FALSE
        ]
        return Or(tuple(parts), self._span)


def _cases(ways: list[Expr], half: int) -> Iterator[tuple[range, list[Expr]]]:
    """Yield a case distinction of `ways`, which has the result for each number of true terms.

    Each case is a pair: a range of numbers of true terms among the first `half`, and the part of `ways` that is left
    then, by the number of true terms among the others. Numbers with the same part share a case. If `ways` changes only
    once, from false to true or from true to false, each range extends up to `half` or down to 0, respectively.
    """
    truths = [way == TRUE for way in ways]
    is_known = all(isinstance(way, Constant) for way in ways)
    rises, falls = is_known and truths == sorted(truths), is_known and truths == sorted(truths, reverse=True)
    size = len(ways) - half
    left = half
    while left >= 0:
        others = ways[left : left + size]
        last = left
        while left and ways[left - 1 : left - 1 + size] == others:
            left -= 1
        yield range(0 if falls else left, half + 1 if rises else last + 1), others
        left -= 1
