"""Conditions and constraints: translate the syntax of their tests and comparisons into expressions."""

from collections import Counter
from itertools import islice
from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.literal_values import InvalidValue, literal_value, misplaced_body_diagnostic
from spacelang.analysis.name_resolution import NameResolver
from spacelang.analysis.operands import OperandReader
from spacelang.analysis.operator_lists import member_presence_conditions
from spacelang.analysis.space_drafts import Definition, Scope
from spacelang.analysis.truth_values import (
    ORDER_OPERATORS,
    comparison_remedy,
    expand_counts,
    is_boolean_expression,
    is_truth_value,
)
from spacelang.diagnostics.conditions import DefinitionCycle
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.names import UnknownAlternative
from spacelang.diagnostics.reading import TextTooLarge
from spacelang.ir.domain import Categorical, NotFound, Ordinal, literal, parts
from spacelang.ir.expr import (
    INACTIVE,
    And,
    Arithmetic,
    BranchTest,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Not,
    Or,
    Reference,
    is_true,
    nodes,
)
from spacelang.ir.repeated_stages import name_of_nth_use
from spacelang.ir.space import Choice, Operator
from spacelang.ir.value import is_number
from spacelang.ir.walk import index_of_value_branch, is_value_branch
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast
from spacelang.text import Span

MAX_NODES: Final = 10_000
"""The maximum number of nodes of an expression. A comparison of truth values contains both of its sides twice."""
MAX_DEFINITIONS: Final = 100  # The maximum length of a chain of definitions, each of which uses the next one
LIMIT: Final = f"{MAX_NODES:,} terms (both sides of a comparison of truth values count twice)"


class ExpressionReader:
    """A reader of expressions, given the variables of the space."""

    def __init__(self, names: NameResolver, report: DiagnosticCollector) -> None:
        self._names = names
        self._report = report
        self._operands = self._operands_in(Scope())
        self._open: list[Definition] = []
        self._read: dict[Definition, Expr | Choice | None] = {}
        self._chain_lengths: Counter[Definition] = Counter()
        """The length of the longest chain of definitions below each definition."""
        self.used: set[Definition] = set()
        """The definitions that expressions use."""

    def _operands_in(self, scope: Scope) -> OperandReader:
        return OperandReader(self._names, scope, self._report, self._defined, self._condition)

    def read(self, written: ast.Expression, scope: Scope) -> Expr | None:
        """Return the condition that is meant, or None after reporting why it is invalid."""
        self._operands = self._operands_in(scope)
        found = self._limited(self._condition(written), written)
        is_reported = self._report.has_errors or self._names.has_incomplete_names(scope)
        assert found is not None or is_reported, "an invalid expression must be reported as an error"
        return found

    def read_operand(self, written: ast.Expression, scope: Scope) -> Expr | Choice | None:
        """Return an operand of a comparison (a `Choice` for the name of a decision), or None after a report."""
        self._operands = self._operands_in(scope)
        found = self._operands.read(written)
        return found if isinstance(found, Choice) else self._limited(found, written)

    def read_definition(self, definition: Definition) -> Expr | Choice | None:
        """Return the value that a definition stands for (a decision for a name of one), or None if it is invalid."""
        if definition in self._read:
            return self._read[definition]
        if definition in self._open:
            self._report_cycle(definition)
            return None
        if len(self._open) >= MAX_DEFINITIONS:
            self._report_long_chain(definition)
            return None
        before, self._operands = self._operands, self._operands_in(definition.scope)
        self._open.append(definition)
        written = definition.expression
        found = self._condition(written) if self._is_truth(written) else self._operands.read(written)
        found = found if isinstance(found, Choice) else self._limited(found, written)
        self._open.pop()
        self._operands = before
        if found is not None and self._chain_lengths[definition] >= MAX_DEFINITIONS:
            self._report_long_chain(definition)
            found = None
        self._read[definition] = found
        return found

    def _defined(self, definition: Definition, written: ast.DottedName) -> Expr | Choice | None:
        self.used.add(definition)
        found = self.read_definition(definition)
        if self._open:
            user = self._open[-1]
            self._chain_lengths[user] = max(self._chain_lengths[user], self._chain_lengths[definition] + 1)
        self._names.copy_mentions(definition.expression, written)  # of the symbols that reading it has found
        return found

    def _report_long_chain(self, definition: Definition) -> None:
        what = "the length of a chain of definitions, each of which uses the next one,"
        self._report.add(TextTooLarge(definition.name.span, quantity=what, limit=str(MAX_DEFINITIONS)))

    def _report_cycle(self, definition: Definition) -> None:
        cycle = self._open[self._open.index(definition) :]
        names = [each.name.text for each in cycle]
        path = f"`{names[0]}` needs " + ", which needs ".join(f"`{name}`" for name in (*names[1:], names[0]))
        related = tuple(RelatedPlace(each.name.span, f"`{each.name.text}` is defined here") for each in cycle[1:])
        self._report.add(DefinitionCycle(cycle[0].name.span, name=names[0], path=path, related=related))

    def _limited(self, found: Expr | None, written: ast.Expression) -> Expr | None:
        """Return an expression, or None after reporting that it has too many parts, as definitions can multiply."""
        if found is not None and sum(1 for _ in islice(nodes(found), MAX_NODES + 1)) > MAX_NODES:
            self._report.add(TextTooLarge(written.span, quantity="this expression", limit=f"{MAX_NODES:,} parts"))
            return None
        return found

    # ---- conditions

    def _condition(self, written: ast.Expression) -> Expr | None:
        match written:
            case ast.LogicalOperation():
                return self._logical(written)
            case ast.UnaryOperation(operator="not"):
                term = self._condition(written.term)
                return None if term is None else Not(term, written.span)
            case ast.IsTest():
                return self._is_test(written)
            case ast.Membership():
                return self._membership(written)
            case ast.BinaryOperation() if is_boolean_expression(written):
                return self._test(written)
            case ast.DottedName():
                return self._truth_value(written)
            case ast.NamedConstant(value=bool()):
                return Constant(written.value, written.span)
            case _:
                problem = f"`{written.span.text}` is neither true nor false"
                self._operands.refuse(written, problem, comparison_remedy(written))
                return None

    def _test(self, written: ast.BinaryOperation) -> Expr | None:
        if written.operator == "implies":
            left, right = self._condition(written.left), self._condition(written.right)
            return None if left is None or right is None else Or((Not(left, written.left.span), right), written.span)
        if self._compares_truths(written):
            return self._truth_comparison(written)
        found = self._comparison(written)
        return found if found is None else expand_counts(found, self._report)

    def _logical(self, written: ast.LogicalOperation) -> Expr | None:
        # Read all terms, to find all mistakes.
        terms = [self._condition(term) for term in written.terms]
        known = tuple(term for term in terms if term is not None)
        if len(known) < len(terms):
            return None
        return And(known, written.span) if written.operator == "and" else Or(known, written.span)

    def _truth_value(self, written: ast.DottedName) -> Expr | None:
        found = self._operands.read_name(written)
        if isinstance(found, Reference) and not self._is_boolean(found.address):
            name = written.text
            self._operands.refuse(written, f"`{name}` is neither true nor false", f"compare it: `{name} == …`")
            return None
        if isinstance(found, Arithmetic | Call):
            self._operands.refuse(written, f"`{written.text}` is a number", f"compare it: `{written.text} > …`")
            return None
        if isinstance(found, Constant) and self._operands.mentions_data(written):
            self._operands.refuse(written, f"`{written.text}` is a number", f"compare it: `{written.text} > …`")
            return None
        if isinstance(found, Constant) and not isinstance(found.value, bool):
            self._operands.refuse(
                written, f"`{written.text}` is fixed to `{literal(found.value)}`, which is neither true nor false", None
            )
            return None
        if isinstance(found, Choice):
            self._operands.refuse(written, f"`{written.text}` is a decision", f"test it: `{written.text} is …`")
            return None
        return found

    def _is_boolean(self, address: str) -> bool:
        return all(
            isinstance(part, Categorical) and all(isinstance(value, bool) for value in part.values)
            for part in parts(self._names.domain_at(address))
        )

    def _is_test(self, written: ast.IsTest) -> Expr | None:
        if not isinstance(written.decision, ast.DottedName):
            self._operands.refuse(written.decision, "only decisions can be tested with `is`", None)
            return None
        name = written.decision.text
        if name in self._operands.scope.operators:
            wanted = None if written.operator is None else written.operator.words[-1].text
            self._names.record_fixed_value(written.decision, self._operands.scope, written.span)
            return Constant(self._operands.scope.operators[name] == wanted, written.span)
        found = self._operands.read_name(written.decision)
        if not isinstance(found, Choice):
            if found is not None:
                value = written.operator.text if written.operator else "none"
                remedy = f"write `{name} == {value}`"
                self._operands.refuse(written, f"`{name}` is a hyperparameter, not a decision", remedy)
            return None
        branches = self._branches(found, written)
        return BranchTest(found.address, branches, written.span) if branches else None

    def _branches(self, choice: Choice, written: ast.IsTest) -> tuple[str, ...]:
        """Return the alternative with the tested name; if there is none, all alternatives that use this operator.

        If there are none either, the unknown name is reported.
        """
        operator = written.operator
        name = "none" if operator is None else operator.text
        if name in choice.branch_indices:
            if operator is not None:
                self._names.record_branches(operator, choice, (name,))
            return (name,)
        package, _, plain = name.rpartition(".")
        operators = [(branch.name, branch.node) for branch in choice.branches if isinstance(branch.node, Operator)]
        uses = tuple(b for b, node in operators if node.name == plain and package in ("", node.catalogue))
        if not uses and choice.repeats:
            remedy = f"name a use: `{name_of_nth_use(choice.key, 1)} is {name}`"
            self._operands.refuse(written, f"`{choice.key}` is the number of uses of a chain", remedy)
            return ()
        if not uses and not self._names.is_incompletely_read(choice.address, self._operands.scope):
            self._report.add(
                UnknownAlternative(
                    operator.span
                    if operator is not None
                    else Span(written.span.source, written.span.end - len("none"), written.span.end),
                    name=name,
                    stage=choice.key,
                    alternatives=", ".join(f"`{branch.name}`" for branch in choice.branches),
                    near=nearest_name(name, choice.branch_indices),
                )
            )
        if operator is not None and uses:
            self._names.record_branches(operator, choice, uses)
        return uses

    def _membership(self, written: ast.Membership) -> Expr | None:
        item = self._operands.read(written.item)
        if isinstance(item, Choice):
            found = [self._meant_alternatives(item, written.item, value) for value in written.values]
            branches = tuple(dict.fromkeys(branch for several in found for branch in several))
            return BranchTest(item.address, branches, written.span) if all(found) else None
        values = [literal_value(value, self._report) for value in written.values]
        if item is None or any(isinstance(value, InvalidValue) for value in values):
            return None
        item = self._operands.replace_infinities(item, written.item)
        if item is None:
            return None
        if self._refuses_truths((item, written.item)):
            return None
        if isinstance(item, Reference):
            for value, place in zip(values, written.values, strict=True):
                self._operands.report_impossible_value(item.address, value, place)  # type: ignore[arg-type]
        return expand_counts(In(item, tuple(values), written.span), self._report)  # type: ignore[arg-type]

    # ---- comparisons

    def _truth_comparison(self, written: ast.BinaryOperation) -> Expr | None:
        left, right = self._condition(written.left), self._condition(written.right)
        if left is None or right is None:
            return None
        other = Not(right, written.right.span)
        same, opposite = (right, other) if written.operator == "==" else (other, right)
        terms = And((left, same), written.span), And((Not(left, written.left.span), opposite), written.span)
        found = Or(terms, written.span)
        if sum(1 for _ in islice(nodes(found), MAX_NODES + 1)) > MAX_NODES:
            self._report.add(TextTooLarge(written.span, quantity="the comparison of truth values", limit=LIMIT))
            return None
        return found

    def _comparison(self, written: ast.BinaryOperation) -> Expr | None:
        nested = self._nested_side(written)
        if nested is not None:
            found = self._decision_equality(*nested, written)
            return found if found is None or written.operator == "==" else Not(found, written.span)
        left, right = self._operands.read_sides(written.left, written.right)
        counted = self._number_of_uses(written, left, right)
        return self._value_comparison(written, left, right) if counted is None else counted

    def _value_comparison(
        self, written: ast.BinaryOperation, left: Expr | Choice | None, right: Expr | Choice | None
    ) -> Expr | None:
        for side, value, place, other in (
            (left, right, written.left, written.right),
            (right, left, written.right, written.left),
        ):
            if isinstance(side, Choice):
                remedy = _decision_remedy(written.operator, side, value, place, other)
                self._operands.refuse(written, f"`{side.key}` is a decision: test it with `is`", remedy)
                return None
        if left is None or right is None or isinstance(left, Choice) or isinstance(right, Choice):
            return None
        if self._refuses_truths((left, written.left), (right, written.right)):
            return None
        left = self._operands.replace_infinities(left, written.left)
        right = self._operands.replace_infinities(right, written.right)
        if left is None or right is None or not self._operands.check_at_most_one_infinity(written, left, right):
            return None
        if written.operator in ORDER_OPERATORS:
            return self._order(written, left, right)
        for side, constant, place in ((left, right, written.right), (right, left, written.left)):
            if (
                isinstance(side, Reference)
                and isinstance(constant, Constant)
                and not self._operands.mentions_data(place)
            ):
                self._operands.report_impossible_value(side.address, constant.value, place)
        return Compare(written.operator, left, right, written.span)  # type: ignore[arg-type]

    def _number_of_uses(
        self, written: ast.BinaryOperation, left: Expr | Choice | None, right: Expr | Choice | None
    ) -> Expr | None:
        """Return a comparison of a chain's number of uses with a number, as a test of its alternatives.

        None for any other comparison.
        """
        chain = next((side for side in (left, right) if isinstance(side, Choice) and side.repeats), None)
        number = right if chain is left else left
        if chain is None or not isinstance(number, Constant) or not is_number(number.value):
            return None

        def is_true_for(uses: int) -> bool:
            sides = (Constant(uses), number) if chain is left else (number, Constant(uses))
            return is_true(Compare(written.operator, *sides), lambda _: INACTIVE)  # type: ignore[arg-type]

        branches = tuple(branch.name for branch in chain.branches if is_true_for(int(branch.name)))
        return BranchTest(chain.address, branches, written.span)

    def _refuses_truths(self, *sides: tuple[Expr, ast.Expression]) -> bool:
        """Return True after reporting that a side of a comparison of values is a truth value."""
        for side, place in sides:
            if is_truth_value(side):
                remedy = "truth values can only be compared with `==` and `!=`, and with each other"
                self._operands.refuse(place, f"`{place.span.text}` is a truth value", remedy)
                return True
        return False

    def _compares_truths(self, written: ast.BinaryOperation) -> bool:
        return written.operator in ("==", "!=") and (self._is_truth(written.left) or self._is_truth(written.right))

    def _is_truth(self, written: ast.Expression) -> bool:
        """Return True if an expression is true or false: a test, or the name of a definition (`let`) that is one."""
        scope = self._operands.scope
        seen: list[Definition] = []
        while isinstance(written, ast.DottedName):
            definition = self._names.find_definition(written.text, scope)
            if definition is None or definition in seen:
                return False
            seen.append(definition)
            written, scope = definition.expression, definition.scope
        return is_boolean_expression(written)

    def _nested_side(self, written: ast.BinaryOperation) -> tuple[ast.DottedName, ast.Expression] | None:
        """Return the name of a choice of operators that `==` or `!=` compares, and the other side.

        None for any other comparison. Such a choice is the value of a parameter.
        """
        side, other = written.left, written.right
        if isinstance(other, ast.DottedName) and not (
            isinstance(side, ast.DottedName) and self._operands.is_known(side)
        ):
            side, other = other, side
        if written.operator not in ("==", "!=") or not isinstance(side, ast.DottedName):
            return None
        return (side, other) if self._names.is_nested_operator(side.text, self._operands.scope) else None

    def _decision_equality(
        self, side: ast.DottedName, other: ast.Expression, written: ast.BinaryOperation
    ) -> Expr | None:
        """Read the equality of a choice of operators with an alternative, written by its name or as its plain value."""
        if side.text in self._operands.scope.operators and isinstance(
            other, ast.DottedName | ast.QuotedString | ast.NamedConstant
        ):
            return self._is_test(ast.IsTest(side, _alternative_name(other), written.span))
        found = self._operands.read_name(side)
        if not isinstance(found, Choice):
            return None
        branches = self._meant_alternatives(found, side, other)
        return BranchTest(found.address, branches, written.span) if branches else None

    def _meant_alternatives(
        self, choice: Choice, decision: ast.Expression, written: ast.Expression | ast.Value
    ) -> tuple[str, ...]:
        """Return the alternatives that a name or plain value refers to, or none after reporting it."""
        match written:
            case ast.Number(value=int() as number) if choice.repeats and str(number) in choice.branch_indices:
                return (str(number),)
            case ast.Number() | ast.QuotedString() | ast.NamedConstant() | ast.TupleLiteral() | ast.DottedName():
                value = literal_value(written, self._report)
                place = None if isinstance(value, InvalidValue) else index_of_value_branch(choice.branches, value)
                if place is not None:
                    return (choice.branches[place].name,)
            case _:
                pass
        match written:
            case ast.QuotedString(value=text) if self._is_nested_decision(decision) and is_value_branch(
                choice.branches, text
            ):
                self._operands.refuse(
                    written, f"`{written.span.text}` is not an alternative", f"remove the quotes: `{text}`"
                )
                return ()
            case ast.DottedName() | ast.QuotedString() | ast.NamedConstant(value=None):
                return self._branches(choice, ast.IsTest(decision, _alternative_name(written), written.span))
            case ast.OperatorValue():
                self._report.add(misplaced_body_diagnostic(written))
                return ()
            case _:
                self._operands.refuse(written, f"`{written.span.text}` is not an alternative", None)
                return ()

    def _is_nested_decision(self, decision: ast.Expression) -> bool:
        return isinstance(decision, ast.DottedName) and self._names.is_nested_operator(
            decision.text, self._operands.scope
        )

    def _order(self, written: ast.BinaryOperation, left: Expr, right: Expr) -> Expr | None:
        for side, constant, swapped in ((left, right, False), (right, left, True)):
            of_data = self._operands.mentions_data(written.left if swapped else written.right)
            if isinstance(side, Reference) and isinstance(constant, Constant) and not of_data:
                domain = self._names.domain_at(side.address)
                if isinstance(domain, Ordinal):
                    return self._ordinal(written, side, domain, constant, swapped)
        for side, place in ((left, written.left), (right, written.right)):
            if not self._operands.is_numeric(side):
                reason = "only numbers and the values of an `ordered` set have an order"
                self._operands.refuse(place, f"`{place.span.text}` has no order", None, reason)
                return None
        return Compare(written.operator, left, right, written.span)  # type: ignore[arg-type]

    def _ordinal(
        self, written: ast.BinaryOperation, side: Reference, domain: Ordinal, constant: Constant, swapped: bool
    ) -> Expr | None:
        found = domain.find(constant.value)
        if isinstance(found, NotFound):
            self._operands.report_impossible_value(
                side.address, constant.value, written.left if swapped else written.right
            )
            return None
        place = domain.values.index(found)
        below = written.operator in ("<", "<=") if not swapped else written.operator in (">", ">=")
        equal = domain.values[place : place + 1] if written.operator in ("<=", ">=") else ()
        chosen = (*domain.values[:place], *equal) if below else (*equal, *domain.values[place + 1 :])
        return In(side, chosen, written.span)


def _alternative_name(value: ast.DottedName | ast.QuotedString | ast.NamedConstant) -> ast.DottedName | None:
    """Return the name of an alternative as an `is` test has it: None for `none`."""
    match value:
        case ast.DottedName():
            return value
        case ast.QuotedString():
            return ast.DottedName((ast.Word(value.value, value.span),), value.span)
        case ast.NamedConstant():
            return None


def _decision_remedy(
    operator: str, decision: Choice, value: Expr | Choice | None, place: ast.Expression, other: ast.Expression
) -> str | None:
    """Return the remedy for comparing a decision, written at `place`, with a `value`, written as `other`."""
    if value is not None and not isinstance(value, Choice | Constant):
        return f"only an alternative can be tested, as in `{decision.key} is {decision.branches[0].name}`"
    if member_presence_conditions(decision, place.span) and not isinstance(other, ast.DottedName | ast.QuotedString):
        return f"count the members of a list: `count({place.span.text})`"
    test = f"{decision.key} is {other.span.text}"
    return {"==": f"write `{test}`", "!=": f"write `not {test}`"}.get(operator)
