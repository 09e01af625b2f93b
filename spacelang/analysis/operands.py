"""Operands of comparisons: read names, values and arithmetic."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeGuard

from spacelang.analysis.arithmetic import is_infinity_placeholder, read_call, replace_infinities
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.literal_values import InvalidValue, literal_value, suggest_value
from spacelang.analysis.name_resolution import NameResolver
from spacelang.analysis.operator_lists import member_presence_conditions
from spacelang.analysis.space_drafts import Definition, Scope
from spacelang.diagnostics.conditions import InvalidComparison
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.names import ComparedValueNotInDomain, UnknownFunction
from spacelang.diagnostics.structure import AmbiguousStageUse
from spacelang.ir.data_binding import DATA_SIZE_NAMES
from spacelang.ir.domain import Categorical, contains, is_bare_word, literal, parts
from spacelang.ir.domain_properties import contains_numbers
from spacelang.ir.expr import Arithmetic, Call, Constant, Expr, Reference, nodes
from spacelang.ir.space import Choice
from spacelang.ir.tuple_parameters import length_name
from spacelang.ir.value import Value, is_number
from spacelang.syntax import ast

ReadDefinition = Callable[[Definition, ast.DottedName], Expr | Choice | None]
ReadCondition = Callable[[ast.Expression], Expr | None]


class OperandReader:
    """A reader of the operands of comparisons in one scope."""

    def __init__(
        self,
        names: NameResolver,
        scope: Scope,
        report: DiagnosticCollector,
        read_definition: ReadDefinition,
        read_condition: ReadCondition,
    ) -> None:
        """Create a reader, given functions that read the definition of a name and the conditions in a `count`."""
        self.scope = scope
        self._names = names
        self._report = report
        self._read_definition = read_definition
        self._read_condition = read_condition

    def read(self, written: ast.Expression) -> Expr | Choice | None:
        """Return the operand (a `Choice` for the name of a decision), or None after reporting a mistake."""
        match written:
            case ast.Number() | ast.QuotedString() | ast.NamedConstant():
                return Constant(written.value, written.span)
            case ast.TupleLiteral():
                value = literal_value(written, self._report)
                return None if isinstance(value, InvalidValue) else Constant(value, written.span)
            case ast.DottedName():
                return self.read_name(written)
            case ast.BinaryOperation(operator="+" | "-" | "*" | "/" | "**" as sign):
                left, right = self._number(written.left), self._number(written.right)
                return None if left is None or right is None else Arithmetic(sign, left, right, written.span)
            case ast.UnaryOperation(operator="-"):
                term = self._number(written.term)
                return None if term is None else Arithmetic("-", Constant(0), term, written.span)
            case ast.FunctionCall():
                return self._call(written)
            case ast.NumberWithUnit():
                self.refuse(written, f"`{written.span.text}` has a unit", "units are only allowed in the `task` block")
                return None
            case _:
                remedy = "truth values can only be compared with `==` and `!=`"
                self.refuse(written, f"`{written.span.text}` is a truth value, not a number", remedy)
                return None

    def _call(self, written: ast.FunctionCall) -> Expr | None:
        if written.function.text == "length":
            return self._length(written)
        listed = self._presence_of_members(written)
        if written.function.text == "len":
            function = "length" if listed is None else "count"
            hint = f"write `{function}({', '.join(each.span.text for each in written.arguments)})`"
            self._report.add(UnknownFunction(written.function.span, name="len", hint=hint))
            return None
        if written.function.text != "count":
            return read_call(written, [self._number(argument) for argument in written.arguments], self._report)
        if listed is not None:
            return Call("count", listed, written.span)
        found = [self._read_condition(argument) for argument in written.arguments]
        terms = tuple(term for term in found if term is not None)
        return Call("count", terms, written.span) if len(terms) == len(found) else None

    def _presence_of_members(self, written: ast.FunctionCall) -> tuple[Expr, ...] | None:
        """Return one condition per member of a list, true where the list has the member, if the call names only a list.

        None if the call has other arguments than the name of one list of operators.
        """
        match written.arguments:
            case (ast.DottedName() as name,) if self.is_known(name):
                found = self._names.resolve(name, self.scope)
                return member_presence_conditions(found, written.span) or None if isinstance(found, Choice) else None
            case _:
                return None

    def _length(self, written: ast.FunctionCall) -> Expr | None:
        """Return the length of the tuple that is the only argument of a call, or None after reporting a mistake."""
        match written.arguments:
            case (ast.DottedName() as name,):
                found = self._names.find_tuple_parameter(name.text, self.scope)
                if found is None and not self.is_known(name):
                    self.read_name(name)
                    return None
            case _:
                found = None
        if found is None:
            problem = f"`{written.arguments[0].span.text}` is not a tuple"
            remedy = "`length` takes the name of one parameter with the domain `tuple[…] of …`"
            if self._presence_of_members(written) is not None:
                remedy = f"count the members of a list: `count({written.arguments[0].span.text})`"
            self.refuse(written, problem, remedy)
            return None
        whole = ast.DottedName(
            (*name.words[:-1], replace(name.words[-1], text=length_name(name.words[-1].text))), written.span
        )
        read = self.read_name(whole)
        assert not isinstance(read, Choice)
        return read

    def read_sides(
        self, left: ast.Expression, right: ast.Expression
    ) -> tuple[Expr | Choice | None, Expr | Choice | None]:
        """Return the operands of both sides of a comparison, each None if invalid.

        A word next to a hyperparameter may be one of its values: `kernel` and `rbf` in `kernel == rbf`.
        """
        for word, other, swapped in ((right, left, False), (left, right, True)):
            if not self._may_be_word(word):
                continue
            known = self.read(other) if isinstance(other, ast.DottedName) and self.is_known(other) else None
            if known is not None and not isinstance(known, Choice):
                value = self._word(known, word)
                return (value, known) if swapped else (known, value)
            if isinstance(known, Choice):
                return (None, known) if swapped else (known, None)
        first = self.read(left)
        # Two unknown words: only the first is reported, the second was probably meant to be one of its values.
        lost = first is None and self._may_be_word(right) and not self.is_known(right)
        return first, None if lost else self.read(right)

    def _word(self, known: Expr, word: ast.DottedName) -> Expr | Choice | None:
        """Return what a word means that is compared with `known`, the name of a hyperparameter or a fixed value.

        It is a value of the hyperparameter, else what the word names. Compared with a fixed value, it is what the word
        names, unless that is a decision, else a string. None after reporting a mistake.
        """
        if not isinstance(known, Reference | Constant):
            return self.read_name(word)
        if isinstance(known, Constant):
            sibling = self.read_name(word) if self.is_known(word) or word.text in DATA_SIZE_NAMES else None
            return (
                sibling if sibling is not None and not isinstance(sibling, Choice) else Constant(word.text, word.span)
            )
        domain = self._names.domain_at(known.address)
        if contains(domain, word.text):
            return Constant(word.text, word.span)
        if (
            self.is_known(word)
            or self._names.is_incompletely_read(word.text, self.scope)
            or word.text in DATA_SIZE_NAMES
        ):
            return self.read_name(word)
        self.report_impossible_value(known.address, word.text, word)
        return None

    def _may_be_word(self, written: ast.Expression) -> TypeGuard[ast.DottedName]:
        return isinstance(written, ast.DottedName) and len(written.words) == 1 and is_bare_word(written.text)

    def is_known(self, written: ast.DottedName) -> bool:
        """Return True if a name stands for a variable, a fixed value, an operator or a definition that was read."""
        return self._names.is_known(written.text, self.scope)

    def _number(self, written: ast.Expression) -> Expr | None:
        found = self.read(written)
        if found is None:
            return None
        if isinstance(found, Choice) or not self.is_numeric(found):
            self.refuse(written, f"`{written.span.text}` is not a number, so it cannot be used in arithmetic", None)
            return None
        return found

    def is_numeric(self, expression: Expr) -> bool:
        """Return True if an expression may be a number."""
        match expression:
            case Constant():
                return is_number(expression.value)
            case Reference():
                return contains_numbers(self._names.domain_at(expression.address))
            case _:
                return isinstance(expression, Arithmetic | Call)

    def read_name(self, written: ast.DottedName) -> Expr | Choice | None:
        """Return what a name stands for.

        None after reporting an unknown name, and for a name whose declaration is invalid.
        """
        definition = self._names.find_definition(written.text, self.scope)
        if definition is not None:
            self._names.record_definition(written, definition)
            return self._read_definition(definition, written)
        found = self._names.resolve(written, self.scope)
        if isinstance(found, Diagnostic):
            self._report.add(found)
            return None
        uses = self._names.ambiguous_uses(written.text, self.scope)
        if uses and found is not None:
            stage, listed = self.scope.names.stage_prefix_of(written.text), " or ".join(f"`{use}`" for use in uses)
            self._report.add(AmbiguousStageUse(written.span, stage=stage, uses=len(uses), first=uses[0], listed=listed))
        return found

    def report_impossible_value(self, address: str, value: Value, written: ast.Expression | ast.Value) -> None:
        """Report a value that a hyperparameter cannot have, unless it is a number compared with a range."""
        domain = self._names.domain_at(address)
        if contains(domain, value) or (is_number(value) and not isinstance(domain, Categorical)):
            return
        near = suggest_value(value, [v for part in parts(domain) if isinstance(part, Categorical) for v in part.values])
        name, shown = address.rsplit(".", 1)[-1], self._names.written_domain(address)
        self._report.add(
            ComparedValueNotInDomain(written.span, value=literal(value), name=name, domain=shown, near=near)
        )

    def replace_infinities(self, side: Expr, written: ast.Expression) -> Expr | None:
        """Return one side of a comparison without infinite constants, or None after reporting an undefined part."""
        found = replace_infinities(side)
        if found is None:
            self._report.report_unbound_symbol(written.span)
        return found

    def check_at_most_one_infinity(self, written: ast.Expression, *sides: Expr) -> bool:
        """Return True if at most one number in a comparison is arbitrarily large.

        Otherwise report an unbound symbol.
        """
        large = [node for side in sides for node in nodes(side) if is_infinity_placeholder(node)]
        is_known = sum(bool(self._report.symbols.symbols_mentioned_in(node.span)) for node in large) < 2
        if not is_known:
            self._report.report_unbound_symbol(written.span)
        return is_known

    def mentions_data(self, written: ast.Expression) -> bool:
        """Return True if an expression mentions a symbol of the data."""
        return bool(self._report.symbols.symbols_mentioned_in(written.span))

    def refuse(self, written: ast.Expression | ast.Value, problem: str, remedy: str | None, reason: str = "") -> None:
        """Report an expression that cannot be compared or has no meaning at its place."""
        self._report.add(InvalidComparison(written.span, problem=problem, reason=reason, remedy=remedy))
