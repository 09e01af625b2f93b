"""Structures that are values of parameters: whether a parameter takes what they come to."""

from collections.abc import Callable

from spacelang.analysis.report import Report
from spacelang.analysis.values import judge, judge_operator
from spacelang.catalog.catalogue import Operator as Entry
from spacelang.catalog.catalogue import Parameter
from spacelang.diagnostics.parameters import NoOperatorExpected
from spacelang.diagnostics.structure import NotSideBySide
from spacelang.ir.space import Branch, Choice, Hyperparameter, Kind, Node, Operator, Product
from spacelang.text import Span

EntryOf = Callable[[Operator], Entry | None]
"""What the catalogue says of an operator; None for one that it does not know."""


def judge_branches(
    branches: tuple[Branch, ...], entry: Entry | None, parameter: Parameter | None, entry_of: EntryOf, report: Report
) -> None:
    """Report the alternatives of a nested decision that its parameter does not take."""
    if entry is None or parameter is None:
        return
    judging = _Judge(entry, parameter, entry_of, report)
    if not parameter.several:
        for branch in branches:
            if branch.value is not None:
                judge(branch.value, branch.span, entry, parameter, report)
            else:
                judging.judge(branch.node, branch)
        return
    alone = next((branch for branch in branches if not _is_side_by_side(branch.node)), None)
    if alone is not None:
        # One mistake, in however many alternatives it was made.
        report.add(NotSideBySide(primary=alone.span, operator=entry.name, parameter=parameter.name))
        return
    for branch in branches:
        assert isinstance(branch.node, Product)
        for side in branch.node.children:
            judging.judge(side, branch)


def _is_side_by_side(node: Node) -> bool:
    return isinstance(node, Product) and node.kind is Kind.PARALLEL


class _Judge:
    def __init__(self, entry: Entry, parameter: Parameter, entry_of: EntryOf, report: Report) -> None:
        self._entry = entry
        self._parameter = parameter
        self._entry_of = entry_of
        self._report = report

    def judge(self, node: Node, branch: Branch) -> None:
        """Report what a node may come to that the parameter does not take; the branch is where it stands."""
        match node:
            case Operator():
                self._judge_operator(node, branch.span if node is branch.node else node.span)
            case Choice():
                for inner in node.branches:
                    self.judge(inner.node, inner)
            case Product(kind=Kind.SEQUENCE, children=(*_, last)):
                self.judge(last, branch)
            case Product(kind=Kind.SEQUENCE):
                judge(None, branch.span, self._entry, self._parameter, self._report)
            case Product(kind=Kind.PERMUTATION, children=(_, *steps)):
                for step in steps:
                    self.judge(step, branch)
            case Product():
                self._judge_features(node)
            case Hyperparameter():
                # Its domain is judged where it is read.
                return

    def _judge_operator(self, operator: Operator, span: Span) -> None:
        found = self._entry_of(operator)
        if found is not None:
            judge_operator(found, span, self._entry, self._parameter, self._report)

    def _judge_features(self, node: Product) -> None:
        """Features side by side are no estimator: they are made by something that transforms."""
        if self._parameter.takes_transformers:
            return
        operators = self._parameter.operators
        self._report.add(
            NoOperatorExpected(
                primary=node.span,
                operator=self._entry.name,
                parameter=self._parameter.name,
                expected=f"expected {self._parameter.expected}{', not features side by side' if operators else ''}",
                kind="such operator" if operators else "operator",
            )
        )
