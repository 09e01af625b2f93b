"""Warnings for constraints that remove the words of a union, such as `none`, by comparing them with numbers."""

from collections.abc import Iterator, Sequence

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.drafts import ConstraintWithBranches
from spacelang.analysis.truths import ORDER_OPERATORS
from spacelang.diagnostics.conditions import RemovedValue
from spacelang.ir.domain import Categorical, contains_numbers, literal, parts
from spacelang.ir.expr import (
    NEGATED_SIGNS,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Not,
    Or,
    Reference,
    nodes,
    references,
    with_children,
)
from spacelang.ir.partial_evaluation import UNKNOWN, partially_evaluate
from spacelang.ir.space import Constraint, Space
from spacelang.ir.value import Value, are_same, is_number


def check(space: Space, written: Sequence[ConstraintWithBranches], report: DiagnosticCollector) -> None:
    """Warn about each constraint that removes all words of a hyperparameter, unless it mentions one of them."""
    for constraint, as_written in zip(space.constraints, written, strict=False):
        for address in constraint.scope:
            words = [*_words(space, address)]
            if not words or any(_mentions(as_written.expression, address, word) for word in words):
                continue
            left = {_with_word(as_written.expression, address, word) for word in words}
            if address in _ordered_names(as_written.expression) and left == {Constant(constraint.forbidden)}:
                _report(constraint, as_written.expression, address, words[0], report)


def _words(space: Space, address: str) -> Iterator[Value]:
    """Yield the values of a hyperparameter that are no numbers; none if it has no numbers."""
    domain = space.variables[address].hyperparameter.domain
    if contains_numbers(domain):
        for part in parts(domain):
            yield from (v for v in (part.values if isinstance(part, Categorical) else ()) if not is_number(v))


def _with_word(expression: Expr, address: str, word: Value) -> Expr:
    """Return what remains of a condition where a hyperparameter is a word, which no `<` or `>=` holds for."""

    def with_false_orders(part: Expr) -> Expr:
        if isinstance(part, And | Or | Not):
            return with_children(part, with_false_orders)
        is_order = isinstance(part, Compare) and part.relation in ORDER_OPERATORS
        return Constant(False) if is_order and address in references(part) else part

    return partially_evaluate(with_false_orders(expression), lambda each: word if each == address else UNKNOWN)


def _mentions(expression: Expr, address: str, word: Value) -> bool:
    for node in nodes(expression):
        if isinstance(node, In) and node.item == Reference(address):
            return True
        if isinstance(node, Compare) and Reference(address) in (node.left, node.right):
            sides = (node.left, node.right)
            if any(isinstance(side, Constant) and are_same(side.value, word) for side in sides):
                return True
    return False


def _ordered_names(expression: Expr) -> set[str]:
    """Return the hyperparameters in arithmetic or in a comparison by `<`, `<=`, `>` or `>=`, which needs numbers."""
    found: set[str] = set()
    for node in nodes(expression):
        if isinstance(node, Arithmetic | Call) or (isinstance(node, Compare) and node.relation in ORDER_OPERATORS):
            found.update(references(node))
    return found


def _report(constraint: Constraint, expression: Expr, address: str, word: Value, report: DiagnosticCollector) -> None:
    opposite = None
    if isinstance(expression, Compare) and expression.relation in ORDER_OPERATORS and not constraint.forbidden:
        opposite = f"{expression.left.span.text} {NEGATED_SIGNS[expression.relation]} {expression.right.span.text}"
    name = next(node.span.text for node in nodes(expression) if node == Reference(address))
    report.add(RemovedValue(constraint.span, name=name, value=literal(word), opposite=opposite))
