"""Expressions as written to expressions as meant: names to addresses, words to values, sides that can be compared."""

from itertools import islice
from typing import Final

from spacelang.analysis.arithmetic import is_large, known_call, settled
from spacelang.analysis.drafts import Scope
from spacelang.analysis.names import Names
from spacelang.analysis.report import Report
from spacelang.analysis.values import NoValue, misplaced_body, near_value, plain
from spacelang.diagnostics.conditions import WrongComparison
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.files import TooLarge
from spacelang.diagnostics.names import UnknownAlternative, UnknownValue
from spacelang.diagnostics.structure import SeveralUses
from spacelang.ir.domain import (
    SYMBOLS,
    Categorical,
    Missing,
    Ordinal,
    contains,
    has_numbers,
    is_word,
    literal,
    parts,
)
from spacelang.ir.expr import (
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Is,
    Not,
    Or,
    Reference,
    nodes,
)
from spacelang.ir.space import Choice, Operator, named_value, valued
from spacelang.ir.value import Value, is_number
from spacelang.suggest import nearest
from spacelang.syntax import ast
from spacelang.text import Span

ORDER: Final = ("<", "<=", ">", ">=")

LONGEST: Final = 10_000
"""Parts of an expression; each comparison of truth values says both of its sides twice."""

LIMIT: Final = f"{LONGEST:,} parts, each side counted twice"


class ExpressionReader:
    """Reads the expressions of a space whose variables are known."""

    def __init__(self, names: Names, report: Report) -> None:
        self._names = names
        self._report = report
        self._scope = Scope()

    def read(self, written: ast.Expression, scope: Scope) -> Expr | None:
        """The condition that is meant; None where it has none, the reasons reported."""
        self._scope = scope
        found = self._condition(written)
        assert found is not None or self._report.has_errors, "nothing that a space says is lost in silence"
        return found

    # ---- conditions

    def _condition(self, written: ast.Expression) -> Expr | None:
        match written:
            case ast.Logical():
                return self._logical(written)
            case ast.Unary(operator="not"):
                term = self._condition(written.term)
                return None if term is None else Not(term, written.span)
            case ast.IsTest():
                return self._is(written)
            case ast.Membership():
                return self._membership(written)
            case ast.Binary(operator="==" | "!=" | "<" | "<=" | ">" | ">="):
                return self._of_truths(written) if _compares_truths(written) else self._comparison(written)
            case ast.Dotted():
                return self._truth(written)
            case ast.Keyword(value=bool()):
                return Constant(written.value, written.span)
            case _:
                self._wrong(written, f"`{written.span.text}` is neither true nor false", _compared(written))
                return None

    def _logical(self, written: ast.Logical) -> Expr | None:
        # All terms are read, so that all mistakes are found.
        terms = [self._condition(term) for term in written.terms]
        known = tuple(term for term in terms if term is not None)
        if len(known) < len(terms):
            return None
        return And(known, written.span) if written.operator == "and" else Or(known, written.span)

    def _truth(self, written: ast.Dotted) -> Expr | None:
        found = self._name(written)
        if isinstance(found, Reference) and not self._is_boolean(found.address):
            name = written.text
            self._wrong(written, f"`{name}` is neither true nor false", f"compare it: `{name} == …`")
            return None
        if isinstance(found, Constant) and self._is_of_data(written):
            self._wrong(written, f"`{written.text}` is a number", f"compare it: `{written.text} > …`")
            return None
        if isinstance(found, Constant) and not isinstance(found.value, bool):
            self._wrong(
                written, f"`{written.text}` is fixed to `{literal(found.value)}`, which is no truth value", None
            )
            return None
        if isinstance(found, Choice):
            self._wrong(written, f"`{written.text}` is a decision", f"test it: `{written.text} is …`")
            return None
        return found

    def _is_boolean(self, address: str) -> bool:
        return all(
            isinstance(part, Categorical) and all(isinstance(value, bool) for value in part.values)
            for part in parts(self._names.domain(address))
        )

    def _is(self, written: ast.IsTest) -> Expr | None:
        if not isinstance(written.decision, ast.Dotted):
            self._wrong(written.decision, "only a decision is tested with `is`", None)
            return None
        name = written.decision.text
        if name in self._scope.operators:
            wanted = None if written.operator is None else written.operator.words[-1].text
            self._names.note_fixed(written.decision, self._scope, written.span)
            return Constant(self._scope.operators[name] == wanted, written.span)
        found = self._name(written.decision)
        if not isinstance(found, Choice):
            if found is not None:
                value = written.operator.text if written.operator else "none"
                self._wrong(written, f"`{name}` is a hyperparameter, not a decision", f"write `{name} == {value}`")
            return None
        branches = self._branches(found, written)
        return Is(found.address, branches, written.span) if branches else None

    def _branches(self, choice: Choice, written: ast.IsTest) -> tuple[str, ...]:
        """The alternative of that name, or every alternative that uses the operator of that name."""
        operator = written.operator
        name = "none" if operator is None else operator.text
        if name in choice.places:
            return (name,)
        package, _, plain = name.rpartition(".")
        operators = [(branch.name, branch.node) for branch in choice.branches if isinstance(branch.node, Operator)]
        uses = tuple(b for b, node in operators if node.name == plain and package in ("", node.catalogue))
        if not uses and not self._names.is_dubious(choice.address, self._scope):
            self._report.add(
                UnknownAlternative(
                    primary=operator.span if operator is not None else _last(written.span, len("none")),
                    name=name,
                    stage=choice.key,
                    alternatives=", ".join(f"`{branch.name}`" for branch in choice.branches),
                    near=nearest(name, choice.places),
                )
            )
        return uses

    def _membership(self, written: ast.Membership) -> Expr | None:
        item = self._operand(written.item)
        if isinstance(item, Choice):
            return self._among(item, written)
        values = [plain(value, self._report) for value in written.values]
        if item is None or any(isinstance(value, NoValue) for value in values):
            return None
        item = self._settled(item, written.item)
        if item is None:
            return None
        if isinstance(item, Reference):
            for value, place in zip(values, written.values, strict=True):
                self._expect_value(item.address, value, place)  # type: ignore[arg-type]
        return In(item, tuple(values), written.span)  # type: ignore[arg-type]

    def _among(self, choice: Choice, written: ast.Membership) -> Expr | None:
        """`decision in {A, B}`: it takes one of these alternatives."""
        found = [self._meant(choice, written.item, value) for value in written.values]
        branches = tuple(dict.fromkeys(branch for several in found for branch in several))
        return Is(choice.address, branches, written.span) if all(found) else None

    # ---- comparisons

    def _of_truths(self, written: ast.Binary) -> Expr | None:
        """Two truth values that are the same, or are not: said by `and`, `or` and `not`."""
        left, right = self._condition(written.left), self._condition(written.right)
        if left is None or right is None:
            return None
        other = Not(right, written.right.span)
        same, opposite = (right, other) if written.operator == "==" else (other, right)
        terms = And((left, same), written.span), And((Not(left, written.left.span), opposite), written.span)
        found = Or(terms, written.span)
        if sum(1 for _ in islice(nodes(found), LONGEST + 1)) > LONGEST:
            self._report.add(TooLarge(primary=written.span, what="the comparison of truth values", limit=LIMIT))
            return None
        return found

    def _comparison(self, written: ast.Binary) -> Expr | None:
        nested = self._nested_in(written)
        if nested is not None:
            found = self._takes(*nested, written)
            return found if found is None or written.operator == "==" else Not(found, written.span)
        left, right = self._sides(written.left, written.right)
        for side, other in ((left, written.right), (right, written.left)):
            if isinstance(side, Choice):
                test = f"{side.key} is {other.span.text}"
                remedy = {"==": f"write `{test}`", "!=": f"write `not {test}`"}.get(written.operator)
                self._wrong(written, f"`{side.key}` is a decision: it is tested with `is`", remedy)
                return None
        if left is None or right is None or isinstance(left, Choice) or isinstance(right, Choice):
            return None
        left, right = self._settled(left, written.left), self._settled(right, written.right)
        if left is None or right is None or not self._is_settled(written, left, right):
            return None
        if written.operator in ORDER:
            return self._order(written, left, right)
        for side, constant, place in ((left, right, written.right), (right, left, written.left)):
            if isinstance(side, Reference) and isinstance(constant, Constant) and not self._is_of_data(place):
                self._expect_value(side.address, constant.value, place)
        return Compare(written.operator, left, right, written.span)  # type: ignore[arg-type]

    def _nested_in(self, written: ast.Binary) -> tuple[ast.Dotted, ast.Expression] | None:
        """The choice of operators that an equality is of, as the value of a parameter, and its other side."""
        side, other = written.left, written.right
        if isinstance(other, ast.Dotted) and not (isinstance(side, ast.Dotted) and self._is_known(side)):
            side, other = other, side
        is_equality = written.operator in ("==", "!=") and isinstance(side, ast.Dotted)
        return (side, other) if is_equality and self._names.is_nested(side.text, self._scope) else None  # type: ignore[union-attr, return-value]

    def _takes(self, side: ast.Dotted, other: ast.Expression, written: ast.Binary) -> Expr | None:
        """Whether a choice of operators takes an alternative, by its name or as the plain value that it is."""
        if side.text in self._scope.operators and isinstance(other, ast.Dotted | ast.Text | ast.Keyword):
            return self._is(ast.IsTest(side, _named(other), written.span))
        found = self._name(side)
        if not isinstance(found, Choice):
            return None
        branches = self._meant(found, side, other)
        return Is(found.address, branches, written.span) if branches else None

    def _meant(self, choice: Choice, decision: ast.Expression, written: ast.Expression | ast.Value) -> tuple[str, ...]:
        """The alternatives that are meant by a name or a plain value; none, reported, where there are none such."""
        match written:
            case ast.Number() | ast.Text() | ast.Keyword() | ast.Tuple() | ast.Dotted():
                value = plain(written, self._report)
                place = None if isinstance(value, NoValue) else valued(choice.branches, value)
                if place is not None:
                    return (choice.branches[place].name,)
            case _:
                pass
        match written:
            case ast.Text(value=text) if self._is_of_values(decision) and named_value(choice.branches, text):
                self._wrong(written, f"`{written.span.text}` is not an alternative", f"without quotes it is: `{text}`")
                return ()
            case ast.Dotted() | ast.Text() | ast.Keyword(value=None):
                return self._branches(choice, ast.IsTest(decision, _named(written), written.span))
            case ast.OperatorValue():
                self._report.add(misplaced_body(written))
                return ()
            case _:
                self._wrong(written, f"`{written.span.text}` is not an alternative", None)
                return ()

    def _is_of_values(self, decision: ast.Expression) -> bool:
        """Whether a decision is the value of a parameter."""
        return isinstance(decision, ast.Dotted) and self._names.is_nested(decision.text, self._scope)

    def _is_of_data(self, written: ast.Expression) -> bool:
        return bool(self._report.symbols.within(written.span))

    def _settled(self, side: Expr, written: ast.Expression) -> Expr | None:
        """A side in which symbols without a number are very large; None, reported, where that says nothing."""
        found = settled(side)
        if found is None:
            self._report.unbound(written.span)
        return found

    def _is_settled(self, written: ast.Expression, *sides: Expr) -> bool:
        """Whether at most one number is arbitrarily large: of two nobody knows which one is larger."""
        large = [node for side in sides for node in nodes(side) if is_large(node)]
        is_known = sum(bool(self._report.symbols.within(node.span)) for node in large) < 2
        if not is_known:
            self._report.unbound(written.span)
        return is_known

    def _sides(self, left: ast.Expression, right: ast.Expression) -> tuple[Expr | Choice | None, Expr | Choice | None]:
        """Both sides; a word on one side that is a value of the hyperparameter on the other one stands for itself."""
        for word, other, swapped in ((right, left, False), (left, right, True)):
            if not self._may_be_word(word):
                continue
            known = self._operand(other) if isinstance(other, ast.Dotted) and self._is_known(other) else None
            if isinstance(known, Reference | Constant):
                assert isinstance(word, ast.Dotted)
                value = self._word(known, word)
                return (value, known) if swapped else (known, value)
            if isinstance(known, Choice):
                return (None, known) if swapped else (known, None)
        first = self._operand(left)
        # Two words of which neither is known: the first is the mistake, the second was to be one of its values.
        lost = first is None and self._may_be_word(right) and not self._is_known(right)
        return first, None if lost else self._operand(right)

    def _may_be_word(self, written: ast.Expression) -> bool:
        return isinstance(written, ast.Dotted) and len(written.words) == 1 and is_word(written.text)

    def _is_known(self, written: ast.Expression) -> bool:
        assert isinstance(written, ast.Dotted)
        name = written.text
        return self._names.is_known(name, self._scope)

    def _word(self, known: Reference | Constant, word: ast.Dotted) -> Expr | None:
        """A word beside a hyperparameter: one of its values, else a sibling, else a mistake."""
        if isinstance(known, Constant):
            sibling = self._name(word) if self._is_known(word) or word.text in SYMBOLS else None
            return (
                sibling if sibling is not None and not isinstance(sibling, Choice) else Constant(word.text, word.span)
            )
        domain = self._names.domain(known.address)
        if contains(domain, word.text):
            return Constant(word.text, word.span)
        if self._is_known(word) or self._names.is_dubious(word.text, self._scope) or word.text in SYMBOLS:
            found = self._name(word)
            return None if isinstance(found, Choice) else found
        self._expect_value(known.address, word.text, word)
        return None

    def _order(self, written: ast.Binary, left: Expr, right: Expr) -> Expr | None:
        for side, constant, swapped in ((left, right, False), (right, left, True)):
            of_data = self._is_of_data(written.left if swapped else written.right)
            if isinstance(side, Reference) and isinstance(constant, Constant) and not of_data:
                domain = self._names.domain(side.address)
                if isinstance(domain, Ordinal):
                    return self._ordinal(written, side, domain, constant, swapped)
        for side, place in ((left, written.left), (right, written.right)):
            if not self._is_numeric(side):
                reason = "only numbers and the values of an `ordered` set have an order"
                self._wrong(place, f"`{place.span.text}` has no order", None, reason)
                return None
        return Compare(written.operator, left, right, written.span)  # type: ignore[arg-type]

    def _ordinal(
        self, written: ast.Binary, side: Reference, domain: Ordinal, constant: Constant, swapped: bool
    ) -> Expr | None:
        found = domain.find(constant.value)
        if isinstance(found, Missing):
            self._expect_value(side.address, constant.value, written.left if swapped else written.right)
            return None
        place = domain.values.index(found)
        below = written.operator in ("<", "<=") if not swapped else written.operator in (">", ">=")
        equal = domain.values[place : place + 1] if written.operator in ("<=", ">=") else ()
        chosen = (*domain.values[:place], *equal) if below else (*equal, *domain.values[place + 1 :])
        return In(side, chosen, written.span)

    def _is_numeric(self, expression: Expr) -> bool:
        match expression:
            case Constant():
                return is_number(expression.value)
            case Reference():
                return has_numbers(self._names.domain(expression.address))
            case _:
                return isinstance(expression, Arithmetic | Call)

    # ---- operands

    def _operand(self, written: ast.Expression) -> Expr | Choice | None:
        match written:
            case ast.Number() | ast.Text() | ast.Keyword():
                return Constant(written.value, written.span)
            case ast.Tuple():
                value = plain(written, self._report)
                return None if isinstance(value, NoValue) else Constant(value, written.span)
            case ast.Dotted():
                return self._name(written)
            case ast.Binary(operator="+" | "-" | "*" | "/" as sign):
                left, right = self._number(written.left), self._number(written.right)
                return None if left is None or right is None else Arithmetic(sign, left, right, written.span)
            case ast.Unary(operator="-"):
                term = self._number(written.term)
                return None if term is None else Arithmetic("-", Constant(0), term, written.span)
            case ast.FunctionCall():
                return known_call(written, [self._number(argument) for argument in written.arguments], self._report)
            case ast.Quantity():
                self._wrong(written, f"`{written.span.text}` has a unit", "units belong into the `task` block")
                return None
            case _:
                remedy = "truth values are compared by `==` and `!=` alone"
                self._wrong(written, f"`{written.span.text}` is a truth value, not a number", remedy)
                return None

    def _number(self, written: ast.Expression) -> Expr | None:
        found = self._operand(written)
        if found is None:
            return None
        if isinstance(found, Choice) or not self._is_numeric(found):
            self._wrong(written, f"`{written.span.text}` is not a number", None)
            return None
        return found

    def _name(self, written: ast.Dotted) -> Reference | Constant | Choice | None:
        """What a name stands for; None, reported, where it is not known (silently where it is dubious)."""
        found = self._names.find(written, self._scope)
        if isinstance(found, Diagnostic):
            self._report.add(found)
            return None
        uses = self._names.uses(written.text, self._scope)
        if uses and found is not None:
            stage, listed = self._scope.names.stage(written.text), " or ".join(f"`{use}`" for use in uses)
            self._report.add(
                SeveralUses(primary=written.span, stage=stage, uses=len(uses), first=uses[0], listed=listed)
            )
        return found

    def _expect_value(self, address: str, value: Value, written: ast.Expression | ast.Value) -> None:
        """Report a word that is not among the values of a hyperparameter (numbers are judged by what they lead to)."""
        domain = self._names.domain(address)
        if contains(domain, value) or (is_number(value) and not isinstance(domain, Categorical)):
            return
        near = near_value(value, [v for part in parts(domain) if isinstance(part, Categorical) for v in part.values])
        name, shown = address.rsplit(".", 1)[-1], self._names.written_domain(address)
        self._report.add(UnknownValue(primary=written.span, value=literal(value), name=name, domain=shown, near=near))

    def _wrong(self, written: ast.Expression | ast.Value, problem: str, remedy: str | None, reason: str = "") -> None:
        self._report.add(WrongComparison(primary=written.span, problem=problem, reason=reason, remedy=remedy))


def _compared(written: ast.Expression) -> str:
    """How to compare what is no condition by itself; of a tuple each member is meant to be an alternative."""
    if not isinstance(written, ast.Tuple):
        return "compare it with something"
    tests = " and ".join(f"… is {item.span.text}" for item in written.items)
    return f"write `{tests}`, the stages in place of the dots"


def _compares_truths(written: ast.Binary) -> bool:
    return written.operator in ("==", "!=") and (_is_truth(written.left) or _is_truth(written.right))


def _is_truth(written: ast.Expression) -> bool:
    """Whether an expression can only be true or false; a name and a constant may be values, too."""
    match written:
        case ast.Logical() | ast.Membership() | ast.IsTest():
            return True
        case ast.Unary(operator=operator):
            return operator == "not"
        case ast.Binary(operator=operator):
            return operator in ("==", "!=", *ORDER)
        case _:
            return False


def _named(value: ast.Dotted | ast.Text | ast.Keyword) -> ast.Dotted | None:
    """An alternative as `is` has it: None for `none`."""
    match value:
        case ast.Dotted():
            return value
        case ast.Text():
            return ast.Dotted((ast.Word(value.value, value.span),), value.span)
        case ast.Keyword():
            return None


def _last(span: Span, length: int) -> Span:
    return Span(span.source, span.end - length, span.end)
