"""Truth values: tests that tell them from other expressions, advice where one is expected, and counts of true ones."""

from itertools import islice
from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.diagnostics.files import TooLarge
from spacelang.ir.expr import And, Arithmetic, Call, Constant, Expr, Not, Or, Reference, nodes, with_children
from spacelang.ir.partial_evaluation import UNKNOWN, fold_constants, partially_evaluate
from spacelang.syntax import ast

ORDER_OPERATORS: Final = ("<", "<=", ">", ">=")


def is_truth_value(expression: Expr) -> bool:
    """Return True if an expression is a test, not a value."""
    return not isinstance(expression, Constant | Reference | Arithmetic | Call)


def is_test(written: ast.Expression) -> bool:
    """Return True if an expression is true or false whatever its names stand for."""
    match written:
        case ast.Logical() | ast.Membership() | ast.IsTest():
            return True
        case ast.Unary(operator=operator):
            return operator == "not"
        case ast.Binary(operator=operator):
            return operator in ("==", "!=", "implies", *ORDER_OPERATORS)
        case _:
            return False


def comparison_remedy(written: ast.Expression) -> str:
    """Return advice for an expression without truth; a tuple was probably meant to list alternatives."""
    if not isinstance(written, ast.Tuple):
        return "compare this value with another one, for example by `==`"
    tests = " and ".join(f"… is {item.span.text}" for item in written.items)
    return f"write `{tests}`, with stages in place of the dots"


MAX_PARTS: Final = 10_000  # The maximum number of parts of the combinations that replace a comparison


def expand_counts(atom: Expr, report: DiagnosticCollector) -> Expr | None:
    """Return a comparison without `count`, or None after reporting that it would have too many parts.

    `count(a, b, c) >= 2` becomes `(a and (b or c)) or (b and c)`.
    """
    count = next((node for node in nodes(atom) if isinstance(node, Call) and node.function == "count"), None)
    if count is None:
        return atom
    size = len(count.arguments)
    ways = [expand_counts(_with_number(atom, count, number), report) for number in range(size + 1)]
    if any(way is None for way in ways):
        return None
    known = [partially_evaluate(way, lambda _: UNKNOWN) for way in ways if way is not None]
    found = _Expansion(count.arguments, known, atom).expand()
    if found is None:
        limit = f"{MAX_PARTS:,} combinations of its conditions"
        report.add(TooLarge(count.span, what="this count", limit=limit))
    return found


def _with_number(expression: Expr, count: Call, number: int) -> Expr:
    if expression is count:
        return Constant(number, count.span)
    return with_children(expression, lambda part: _with_number(part, count, number))


class _Expansion:
    """The decision tree over the counted conditions, whose leaves say what a comparison is for each number."""

    def __init__(self, terms: tuple[Expr, ...], ways: list[Expr], atom: Expr) -> None:
        self._terms, self._ways, self._atom = terms, ways, atom
        truths = [way == Constant(True) for way in ways]
        is_known = all(isinstance(way, Constant) for way in ways)
        self._rises = is_known and truths == sorted(truths)
        self._falls = is_known and truths == sorted(truths, reverse=True)
        self._left = MAX_PARTS

    def expand(self) -> Expr | None:
        found = self._tree(0, 0)
        return None if self._left < 0 else fold_constants(found)

    def _tree(self, place: int, number: int) -> Expr:
        """Return the comparison if `number` of the terms before `place` hold."""
        possible = self._ways[number : number + len(self._terms) - place + 1]
        if all(way == possible[0] for way in possible):
            return possible[0]
        term = self._terms[place]
        self._left -= sum(1 for _ in islice(nodes(term), MAX_PARTS)) + 2
        if self._left < 0:
            return possible[0]
        more, same = self._tree(place + 1, number + 1), self._tree(place + 1, number)
        span = self._atom.span
        # A comparison that holds for a number and all larger ones holds with one more term wherever it does without.
        with_term = more if self._falls else And((term, more), span)
        without_term = same if self._rises else And((Not(term, term.span), same), span)
        return Or((with_term, without_term), span)
