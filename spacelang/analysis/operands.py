"""Operands of comparisons: resolve names to addresses, words to values, and read arithmetic."""

from spacelang.analysis.arithmetic import is_very_large, read_call, resolve_infinities
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.drafts import Scope
from spacelang.analysis.names import NameResolver
from spacelang.analysis.values import InvalidValue, literal_value, suggest_value
from spacelang.diagnostics.conditions import WrongComparison
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.names import UnknownValue
from spacelang.diagnostics.structure import AmbiguousStageUse
from spacelang.ir.domain import DATA_SIZE_NAMES, Categorical, contains, contains_numbers, is_bare_word, literal, parts
from spacelang.ir.expr import Arithmetic, Call, Constant, Expr, Reference, nodes
from spacelang.ir.space import Choice
from spacelang.ir.value import Value, is_number
from spacelang.syntax import ast


class OperandReader:
    """A reader of the operands of comparisons in one scope."""

    def __init__(self, names: NameResolver, scope: Scope, report: DiagnosticCollector) -> None:
        self.scope = scope
        self._names = names
        self._report = report

    def read(self, written: ast.Expression) -> Expr | Choice | None:
        """Return the operand that an expression stands for, or None after reporting a mistake.

        The result is a decision (`Choice`) if the expression is the name of one.
        """
        match written:
            case ast.Number() | ast.Text() | ast.NamedConstant():
                return Constant(written.value, written.span)
            case ast.Tuple():
                value = literal_value(written, self._report)
                return None if isinstance(value, InvalidValue) else Constant(value, written.span)
            case ast.DottedName():
                return self.read_name(written)
            case ast.Binary(operator="+" | "-" | "*" | "/" as sign):
                left, right = self._number(written.left), self._number(written.right)
                return None if left is None or right is None else Arithmetic(sign, left, right, written.span)
            case ast.Unary(operator="-"):
                term = self._number(written.term)
                return None if term is None else Arithmetic("-", Constant(0), term, written.span)
            case ast.FunctionCall():
                return read_call(written, [self._number(argument) for argument in written.arguments], self._report)
            case ast.Quantity():
                self.refuse(written, f"`{written.span.text}` has a unit", "units are only allowed in the `task` block")
                return None
            case _:
                remedy = "truth values can only be compared with `==` and `!=`"
                self.refuse(written, f"`{written.span.text}` is a truth value, not a number", remedy)
                return None

    def read_sides(
        self, left: ast.Expression, right: ast.Expression
    ) -> tuple[Expr | Choice | None, Expr | Choice | None]:
        """Return both sides of a comparison, None for a side that is invalid.

        A word that is a value of the hyperparameter on the other side is read as this value.
        """
        for word, other, swapped in ((right, left, False), (left, right, True)):
            if not self._may_be_word(word):
                continue
            known = self.read(other) if isinstance(other, ast.DottedName) and self.is_known(other) else None
            if isinstance(known, Reference | Constant):
                assert isinstance(word, ast.DottedName)
                value = self._word(known, word)
                return (value, known) if swapped else (known, value)
            if isinstance(known, Choice):
                return (None, known) if swapped else (known, None)
        first = self.read(left)
        # Two unknown words: only the first is reported, the second was probably meant to be one of its values.
        lost = first is None and self._may_be_word(right) and not self.is_known(right)
        return first, None if lost else self.read(right)

    def _word(self, known: Reference | Constant, word: ast.DottedName) -> Expr | None:
        """Return the meaning of a word that is compared with a hyperparameter or a constant.

        It is one of the values of the hyperparameter, else a sibling member, else a mistake.
        """
        if isinstance(known, Constant):
            sibling = self.read_name(word) if self.is_known(word) or word.text in DATA_SIZE_NAMES else None
            return (
                sibling if sibling is not None and not isinstance(sibling, Choice) else Constant(word.text, word.span)
            )
        domain = self._names.domain(known.address)
        if contains(domain, word.text):
            return Constant(word.text, word.span)
        if (
            self.is_known(word)
            or self._names.is_incompletely_read(word.text, self.scope)
            or word.text in DATA_SIZE_NAMES
        ):
            found = self.read_name(word)
            return None if isinstance(found, Choice) else found
        self.expect_value(known.address, word.text, word)
        return None

    def _may_be_word(self, written: ast.Expression) -> bool:
        return isinstance(written, ast.DottedName) and len(written.words) == 1 and is_bare_word(written.text)

    def is_known(self, written: ast.Expression) -> bool:
        """Return True if a name stands for something that could be read."""
        assert isinstance(written, ast.DottedName)
        return self._names.is_known(written.text, self.scope)

    def _number(self, written: ast.Expression) -> Expr | None:
        found = self.read(written)
        if found is None:
            return None
        if isinstance(found, Choice) or not self.is_numeric(found):
            self.refuse(written, f"`{written.span.text}` is not a number", None)
            return None
        return found

    def is_numeric(self, expression: Expr) -> bool:
        """Return True if an expression may be a number."""
        match expression:
            case Constant():
                return is_number(expression.value)
            case Reference():
                return contains_numbers(self._names.domain(expression.address))
            case _:
                return isinstance(expression, Arithmetic | Call)

    def read_name(self, written: ast.DottedName) -> Reference | Constant | Choice | None:
        """Return what a name stands for, or None if it is unknown.

        An unknown name is reported. A name whose declaration could not be read is not.
        """
        found = self._names.find(written, self.scope)
        if isinstance(found, Diagnostic):
            self._report.add(found)
            return None
        uses = self._names.possible_uses(written.text, self.scope)
        if uses and found is not None:
            stage, listed = self.scope.names.stage_part(written.text), " or ".join(f"`{use}`" for use in uses)
            self._report.add(
                AmbiguousStageUse(primary=written.span, stage=stage, uses=len(uses), first=uses[0], listed=listed)
            )
        return found

    def expect_value(self, address: str, value: Value, written: ast.Expression | ast.Value) -> None:
        """Report a value that a hyperparameter cannot have.

        Numbers are only checked against sets of values. Comparisons with other numbers are checked by their effect.
        """
        domain = self._names.domain(address)
        if contains(domain, value) or (is_number(value) and not isinstance(domain, Categorical)):
            return
        near = suggest_value(value, [v for part in parts(domain) if isinstance(part, Categorical) for v in part.values])
        name, shown = address.rsplit(".", 1)[-1], self._names.written_domain(address)
        self._report.add(UnknownValue(primary=written.span, value=literal(value), name=name, domain=shown, near=near))

    def resolve_infinities(self, side: Expr, written: ast.Expression) -> Expr | None:
        """Replace infinite constants in one side of a comparison by very large numbers.

        Symbols without a number are such constants. If the value of a part is undefined, this is reported, and the
        result is None.
        """
        found = resolve_infinities(side)
        if found is None:
            self._report.report_unbound(written.span)
        return found

    def is_comparable(self, written: ast.Expression, *sides: Expr) -> bool:
        """Return True if at most one number in a comparison is arbitrarily large.

        Otherwise report an unbound symbol: nobody knows which of the numbers is larger.
        """
        large = [node for side in sides for node in nodes(side) if is_very_large(node)]
        is_known = sum(bool(self._report.symbols.mentioned_in(node.span)) for node in large) < 2
        if not is_known:
            self._report.report_unbound(written.span)
        return is_known

    def mentions_data(self, written: ast.Expression) -> bool:
        """Return True if an expression mentions a symbol of the data."""
        return bool(self._report.symbols.mentioned_in(written.span))

    def refuse(self, written: ast.Expression | ast.Value, problem: str, remedy: str | None, reason: str = "") -> None:
        """Report an expression that cannot be compared or has no meaning at its place."""
        self._report.add(WrongComparison(primary=written.span, problem=problem, reason=reason, remedy=remedy))
