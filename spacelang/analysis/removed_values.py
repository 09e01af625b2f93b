"""Constraints that remove the words of a union, such as `none`, because no order relates these to numbers."""

from collections.abc import Iterator, Sequence
from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.drafts import ConstraintWithBranches
from spacelang.analysis.truths import ORDER_OPERATORS
from spacelang.diagnostics.conditions import RemovedValue
from spacelang.ir.domain import Categorical, contains_numbers, literal, parts
from spacelang.ir.expr import (
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

_OPPOSITES: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def check(space: Space, written: Sequence[ConstraintWithBranches], report: DiagnosticCollector) -> None:
    """Warn about each constraint that removes all words of a hyperparameter, unless it mentions one of them."""
    for constraint, said in zip(space.constraints, written, strict=False):
        for address in constraint.scope:
            words = [*_words(space, address)]
            if not words or any(_mentions(said.expression, address, word) for word in words):
                continue
            left = {_with_word(said.expression, address, word) for word in words}
            if address in _ordered_names(said.expression) and left == {Constant(constraint.forbidden)}:
                _report(constraint, said.expression, address, words[0], report)


def _words(space: Space, address: str) -> Iterator[Value]:
    """Yield the values of a hyperparameter that are no numbers; none if it has no numbers."""
    domain = space.variables[address].hyperparameter.domain
    if contains_numbers(domain):
        for part in parts(domain):
            yield from (v for v in (part.values if isinstance(part, Categorical) else ()) if not is_number(v))


def _with_word(expression: Expr, address: str, word: Value) -> Expr:
    """Return what remains of a condition where a hyperparameter is a word: comparisons of its order are false."""

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
    """Return the hyperparameters that must be numbers where they stand: beside an order, or in arithmetic."""
    found: set[str] = set()
    for node in nodes(expression):
        if isinstance(node, Arithmetic | Call) or (isinstance(node, Compare) and node.relation in ORDER_OPERATORS):
            found.update(references(node))
    return found


def _report(constraint: Constraint, said: Expr, address: str, word: Value, report: DiagnosticCollector) -> None:
    opposite = None
    if isinstance(said, Compare) and said.relation in _OPPOSITES and not constraint.forbidden:
        opposite = f"{said.left.span.text} {_OPPOSITES[said.relation]} {said.right.span.text}"
    name = next(node.span.text for node in nodes(said) if node == Reference(address))
    report.add(RemovedValue(constraint.span, name=name, value=literal(word), opposite=opposite))
