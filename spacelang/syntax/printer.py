"""The formatter: the canonical layout of a text.

Words, signs and comments are unchanged; whitespace and optional separators change. There are no options. A body with at
most one hyperparameter may stand on one line. With two or more, each gets a line of its own, with their `:` and `=`
aligned in one column. The alternatives of a stage stand on one line if that is short. Blank lines between members,
alternatives and items are preserved, at most one.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, assert_never

from spacelang.syntax import ast
from spacelang.syntax.builder import parse_items
from spacelang.syntax.inline_printer import GROUPED_ITEMS, spell_file
from spacelang.syntax.pretty_printing import (
    INDENT,
    Comment,
    Document,
    DocumentWriter,
    FlatOrBroken,
    FormattedLine,
    IndentedParts,
    Lexeme,
    LexemeCursor,
    LineBreak,
    SpaceRun,
    is_broken,
    lexemes,
    make_group,
    normalise_line_ends,
    render_lines,
)
from spacelang.text import Source

MAX_STAGE_LINE: Final = 80  # The longest line on which the alternatives of a stage are written side by side
_GROUPED_ITEMS: Final = (*GROUPED_ITEMS, (ast.Stage,))  # Kinds of items between which a blank line is optional


def format_file(file: ast.File) -> str:
    """Return the canonical text of a tree (which has no comments): parsing it gives the tree back."""
    return format_text(spell_file(file))


def format_text(text: str) -> str:
    """Return the text in the canonical layout; raise ValueError for a text with syntax errors."""
    text = normalise_line_ends(text)
    reading = parse_items(Source("", text), text)
    if reading.error is not None:
        raise ValueError("a text with syntax errors cannot be formatted")
    layout = _Layout(lexemes(text))
    blocks = [
        layout.item_lines(item, following) for item, following in pairwise((*reading.items, None)) if item is not None
    ]
    rows: list[FormattedLine] = []
    for place, block in enumerate(blocks):
        if place and _needs_blank_line(reading.items[place - 1], reading.items[place], blocks[place - 1], block):
            block[0].after_blank_line = True
        rows.extend(block)
    rows.extend(layout.end_comments())
    return render_lines(rows)


def _needs_blank_line(
    before: ast.Item, item: ast.Item, rows: Sequence[FormattedLine], following: Sequence[FormattedLine]
) -> bool:
    """Return True if a blank line is always inserted between two items."""
    if not any(isinstance(before, kinds) and isinstance(item, kinds) for kinds in _GROUPED_ITEMS):
        return True
    return not isinstance(item, ast.ConstraintStatement) and (_has_several_lines(rows) or _has_several_lines(following))


def _has_several_lines(rows: Sequence[FormattedLine]) -> bool:
    return sum(not row.text.startswith("#") for row in rows) > 1


class _Layout(LexemeCursor):
    """A cursor that turns the nodes of a tree into documents; each method takes the lexemes of its node."""

    # ---- items

    def item_lines(self, item: ast.Item, following: ast.Item | None) -> list[FormattedLine]:
        """Return the lines of an item, with the comments before it and the indented comments directly after it."""
        last = self.index_at(following.span.start) if following is not None else len(self.lexemes) - 1
        tail = _take_tail_comments(self.lexemes[last])
        writer = DocumentWriter()
        self.after_unary_minus = False
        writer.write(self._item(item, long=bool(tail)))
        for comment in tail:
            writer.comment(comment, INDENT, after_blank_line=False)
        rows = writer.rows
        return rows if rows[-1].text else rows[:-1]

    def end_comments(self) -> list[FormattedLine]:
        """Return the comments at the end of the file as lines."""
        writer = DocumentWriter()
        for comment in self.lexemes[-1].leading:
            writer.comment(comment, 0, after_blank_line=comment.after_blank_line)
        return writer.rows[:-1]

    def _item(self, item: ast.Item, *, long: bool) -> list[Document]:
        match item:
            case ast.SpaceName() | ast.Import() | ast.CatalogueUse():
                return self.take_until_offset(item.span.end)
            case ast.ParameterGroup(body=body):
                return [*self.take_until_offset(body.span.start), SpaceRun(), *self._body(body, long=True)]
            case ast.AbstractOperator(body=inside):
                if inside is None:
                    return self.take_until_offset(item.span.end)
                return [*self.take_until_offset(inside.span.start), SpaceRun(), *self._body(inside)]
            case ast.Stage() | ast.Pipeline():
                return self._assignment(item, long=long)
            case ast.ConstraintStatement() | ast.Parameter() | ast.Let():
                return self._member(item, 0)
            case ast.Task():
                return self._task(item)
            case _:
                assert_never(item)

    def _assignment(self, item: ast.Stage | ast.Pipeline, *, long: bool) -> list[Document]:
        structure = item.structure
        head = self.take_until_offset(self.sign_before(structure, "=").start + 1)
        bar = self.take() if self.peek() == "|" else None
        if not isinstance(structure, ast.JoinedStructures):
            self.keep_comments_of(bar)
            return [*head, SpaceRun(), *self._structure(structure)]
        if structure.sign != "|" or isinstance(item, ast.Pipeline):
            self.keep_comments_of(bar)
            inside = self._joined(structure)
            return [make_group([*head, IndentedParts((LineBreak(), *inside))], broken=is_broken(inside))]
        first = self.lexemes[self.place]
        if bar is None:
            bar, first.leading, first.after_blank_line = Lexeme("|", first.start, first.leading), [], False
        inside = [FlatOrBroken((), (bar,)), SpaceRun(), IndentedParts((*self._structure(structure.parts[0]),))]
        for part in structure.parts[1:]:
            inside += [LineBreak(keeps_blank=True), self.take(), SpaceRun(), IndentedParts((*self._structure(part),))]
        return [
            make_group(
                [*head, IndentedParts((LineBreak(), *inside))], broken=long or is_broken(inside), width=MAX_STAGE_LINE
            )
        ]

    def _constraint(self, rule: ast.ConstraintStatement) -> list[Document]:
        return [self.take(), SpaceRun(), *self._expression(rule.expression)]

    def _let(self, let: ast.Let) -> list[Document]:
        return [
            self.take(),
            SpaceRun(),
            self.take(),
            SpaceRun(),
            self.take(),
            SpaceRun(),
            *self._expression(let.expression),
        ]

    def _task(self, task: ast.Task) -> list[Document]:
        head: list[Document] = [self.take(), SpaceRun(), self.take(), SpaceRun(), self.take()]
        width = max((len(setting.keyword) for setting in task.settings), default=0)
        inside: list[Document] = []
        for place, setting in enumerate(task.settings):
            inside += [LineBreak(keeps_blank=place > 0), self.take()]
            inside += [SpaceRun(), self.take()] if " " in setting.keyword else []
            inside += [SpaceRun(1 + width - len(setting.keyword)), *self._setting(setting)]
        return self._braced([*head], inside, long=True)

    def _setting(self, setting: ast.TaskSetting) -> list[Document]:
        (first, *rest) = setting.arguments
        if rest or isinstance(first, ast.Word | ast.SplitOption):
            return self.take_until_offset(setting.span.end, tight="=")
        return self._expression(first)

    # ---- structure

    def _structure(self, structure: ast.Structure) -> list[Document]:
        match structure:
            case ast.NoneStep():
                return self.take_until_offset(structure.span.end)
            case ast.OperatorReference(body=body):
                inside = (
                    [*self.take_until_offset(body.span.start), SpaceRun(), *self._body(body)]
                    if body is not None
                    else []
                )
                return [*inside, *self.take_until_offset(structure.span.end)]
            case ast.JoinedStructures():
                inside = self._joined(structure)
                return [make_group(inside, broken=is_broken(inside))]
            case ast.OptionalStructure(part=part):
                return [*self._structure(part), *self.take_until_offset(structure.span.end)]
            case ast.Parenthesised(part=part):
                return self._parenthesised([part], structure)
            case ast.ColumnSplit(parts=pairs):
                return self._parenthesised([part for _, part in pairs], structure)
            case ast.Permutation(parts=parts):
                return self._parenthesised(parts, structure)
            case ast.Repetition(part=part, counts=counts):
                return self._parenthesised([part], structure, counts)
            case _:
                assert_never(structure)

    def _joined(self, joined: ast.JoinedStructures) -> list[Document]:
        # In parentheses, a leading `|` may mark this as a decision.
        bar: list[Document] = [self.take(), SpaceRun()] if self.peek() == "|" else []
        inside = [*bar, *self._structure(joined.parts[0])]
        for part in joined.parts[1:]:
            inside += [LineBreak(keeps_blank=joined.sign == "|"), self.take(), SpaceRun(), *self._structure(part)]
        return inside

    def _parenthesised(
        self,
        parts: Sequence[ast.Structure],
        structure: ast.Parenthesised | ast.ColumnSplit | ast.Permutation | ast.Repetition,
        counts: Sequence[ast.Number] = (),
    ) -> list[Document]:
        head: list[Document] = [self.take()] if isinstance(structure, ast.Parenthesised) else [self.take(), self.take()]
        inside: list[Document] = []
        for place, part in enumerate(parts):
            inside.append(LineBreak("" if place == 0 else " ", keeps_blank=place > 0))
            labels = structure.labels if isinstance(structure, ast.Permutation) else ()
            is_called = isinstance(structure, ast.ColumnSplit) or any(labels[place : place + 1])
            inside += [self.take(), self.take(), SpaceRun()] if is_called else []
            inside += (
                self._joined(part)
                if isinstance(part, ast.JoinedStructures) and len(parts) == 1
                else self._structure(part)
            )
            self.skip_comma()
            inside += [Lexeme(",", 0)] if place < len(parts) - 1 else []
        for _ in counts:
            inside += [Lexeme(",", 0), SpaceRun(), self.take()]
            self.skip_comma()
        end = self.take()
        inside += _take_closing_comments(end, inside)
        whole = make_group([*head, IndentedParts((*inside,)), LineBreak(""), end], broken=is_broken(inside))
        return [whole, *self.take_until_offset(structure.span.end)]

    # ---- bodies

    def _body(self, body: ast.Body, *, long: bool = False) -> list[Document]:
        """Return a body. It may stand on one line if at most one member is a hyperparameter or constraint."""
        start = self.take()
        widths = self._name_widths(body)
        inside: list[Document] = []
        for place, member in enumerate(body.members):
            if place:
                comma = Lexeme(",", 0)
                inside.append(FlatOrBroken((comma,), (comma,) if _needs_comma(member) else ()))
            inside += [LineBreak(keeps_blank=place > 0), *self._member(member, widths[place])]
            self.skip_comma()
        searched = sum(
            isinstance(member, ast.Parameter | ast.ConstraintStatement | ast.ParameterFormula | ast.Let)
            for member in body.members
        )
        has_simplex = any(isinstance(member, ast.Simplex) for member in body.members)
        return self._braced([start], inside, long=long or searched > 1 or has_simplex)

    def _braced(self, head: list[Document], inside: list[Document], *, long: bool) -> list[Document]:
        end = self.take()
        inside = [*inside, *_take_closing_comments(end, inside)]
        space = " " if inside else ""
        parts = [*head, IndentedParts((*inside,)), LineBreak(space), end]
        return [make_group(parts, broken=(long and bool(inside)) or is_broken(inside))]

    def _name_widths(self, body: ast.Body) -> list[int]:
        """Return, for each member, the width of its name column, in characters. A blank line starts a new column."""
        columns: list[list[ast.Member]] = []
        for member in body.members:
            first = self.lexemes[self.index_at(member.span.start)]
            if not columns or first.after_blank_line or any(comment.after_blank_line for comment in first.leading):
                columns.append([])
            columns[-1].append(member)
        widths = [
            max(
                (
                    _name_width(each)
                    for each in column
                    if isinstance(each, ast.Parameter | ast.FixedParameter | ast.ParameterFormula)
                ),
                default=0,
            )
            for column in columns
        ]
        return [width for column, width in zip(columns, widths, strict=True) for _ in column]

    def _member(self, member: ast.Member, width: int) -> list[Document]:
        match member:
            case ast.Parameter():
                return self._parameter(member, width)
            case ast.FixedParameter(name=name, value=value):
                start = [self.take(), _padding(_width(name), width), self.take(), SpaceRun()]
                return [*start, *self._conditional(self._value_or_arithmetic(value), member.condition)]
            case ast.ParameterFormula(name=name, expression=expression):
                start = [self.take(), _padding(_width(name), width), self.take(), SpaceRun()]
                return [*start, *self._expression(expression)]
            case ast.Let():
                return self._let(member)
            case ast.ParameterGroupInclusion() | ast.Simplex():
                return self.take_until_offset(member.span.end)
            case ast.ConstraintStatement():
                return self._constraint(member)
            case _:
                assert_never(member)

    def _parameter(self, parameter: ast.Parameter, width: int) -> list[Document]:
        var: list[Document] = [self.take(), SpaceRun()] if parameter.is_var else []
        name = [*var, self.take(), _padding(_name_width(parameter), width), self.take(), SpaceRun()]
        inside = self._domain(parameter.domain)
        if parameter.default is not None:
            inside += [SpaceRun(), self.take(), SpaceRun(), *self._value_or_arithmetic(parameter.default)]
        return [*name, *self._conditional(inside, parameter.condition), *self.take_until_offset(parameter.span.end)]

    def _conditional(self, inside: list[Document], condition: ast.Expression | None) -> list[Document]:
        if condition is None:
            return inside
        when = self.index_at(condition.span.start) - 1
        before = [*inside, *self.take_until_offset(self.lexemes[when].start)]
        behind = [LineBreak(), self.take(), SpaceRun(), *self._expression(condition)]
        return [make_group([*before, IndentedParts((IndentedParts((*behind,)),))])]

    def _domain(self, domain: ast.Domain) -> list[Document]:
        match domain:
            case ast.UnionDomain(parts=parts):
                inside = self._domain(parts[0])
                for part in parts[1:]:
                    inside += [IndentedParts((LineBreak(), self.take(), SpaceRun(), *self._domain(part)))]
                return [make_group(inside, broken=is_broken(inside))]
            case ast.TupleDomain(least=least, greatest=greatest, element=element):
                ends = [*self.take_until_offset(least.span.start), *self._expression(least)]
                ends += [*self.take_until_offset(greatest.span.start), *self._expression(greatest)]
                return [*ends, *self.take_until_offset(element.span.start), SpaceRun(), *self._domain(element)]
            case ast.Range(lower=lower, upper=upper):
                bounds = [*self.take_until_offset(lower.span.start), *self._expression(lower)]
                bounds += [*self.take_until_offset(upper.span.start), *self._expression(upper)]
                if domain.step is None:
                    return [*bounds, *self.take_until_offset(domain.span.end)]
                step = [
                    *self.take_until_offset(domain.step.span.start),
                    SpaceRun(),
                    *self._value_or_arithmetic(domain.step),
                ]
                return [*bounds, *step, *self.take_until_offset(domain.span.end)]
            case ast.ValueSet(values=values, ordered=ordered):
                head: list[Document] = [self.take(), SpaceRun()] if ordered else []
                return [*head, *self._list(values)]
            case ast.BooleanDomain():
                return self.take_until_offset(domain.span.end)
            case ast.NoneStep() | ast.OperatorReference() | ast.Parenthesised():
                return self._structure(domain)
            case _:
                assert_never(domain)

    # ---- values and expressions

    def _value(self, value: ast.Value) -> list[Document]:
        match value:
            case ast.TupleLiteral(items=items):
                return self._list(items, only=len(items) == 1)
            case ast.OperatorValue(body=body):
                return [*self.take_until_offset(body.span.start), SpaceRun(), *self._body(body)]
            case ast.Number():
                return self._number(value)
            case ast.QuotedString() | ast.NamedConstant() | ast.DottedName():
                return self.take_until_offset(value.span.end)
            case _:
                assert_never(value)

    def _value_or_arithmetic(self, given: ast.Value | ast.Expression) -> list[Document]:
        match given:
            case ast.Number() | ast.OperatorValue():
                return self._value(given)
            case ast.TupleLiteral() if self._is_tuple_next(given):
                return self._value(given)
            case _:
                return self._expression(given)

    def _is_tuple_next(self, value: ast.TupleLiteral) -> bool:
        """Return True if the next parenthesis begins the tuple itself, rather than enclosing it."""
        first: ast.Value | None = value
        depth = 0
        while isinstance(first, ast.TupleLiteral):
            first, depth = next(iter(first.items), None), depth + 1
        return self.lexemes[self.place + depth].text != "("

    def _number(self, number: ast.Number) -> list[Document]:
        sign = [self.take()] if self.peek() == "-" else []
        self.after_unary_minus = bool(sign)
        return [*sign, *self.take_until_offset(number.span.end)]

    def _list(self, values: Sequence[ast.Value], *, only: bool = False) -> list[Document]:
        """Return values in brackets, on many lines if long. `only` keeps the comma after the only item of a tuple."""
        start = self.take()
        inside: list[Document] = []
        for place, value in enumerate(values):
            inside += [
                LineBreak("" if place == 0 else " ", keeps_blank=place > 0, fills=place > 0),
                *self._value(value),
            ]
            self.skip_comma()
            inside += [Lexeme(",", 0)] if only or place < len(values) - 1 else []
        end = self.take()
        inside += _take_closing_comments(end, inside)
        return [make_group([start, IndentedParts((*inside,)), LineBreak(""), end], broken=is_broken(inside))]

    def _expression(self, expression: ast.Expression) -> list[Document]:
        """Return an expression, with the parentheses that the author wrote around it."""
        inside: list[Document] = []
        match expression:
            case ast.LogicalOperation(terms=terms):
                inside = [*self.take_until_offset(terms[0].span.start), *self._expression(terms[0])]
                for term in terms[1:]:
                    inside += [IndentedParts((LineBreak(), self.take(), SpaceRun(), *self._expression(term)))]
                inside = [make_group(inside)]
            case ast.UnaryOperation(term=term):
                inside = [*self.take_until_offset(term.span.start), *self._expression(term)]
            case ast.BinaryOperation(left=left, right=right):
                inside = [*self.take_until_offset(left.span.start), *self._expression(left)]
                inside += [*self.take_until_offset(right.span.start), *self._expression(right)]
            case ast.FunctionCall(arguments=arguments):
                for argument in arguments:
                    inside += [*self.take_until_offset(argument.span.start), *self._expression(argument)]
            case ast.Membership(item=item, values=values):
                inside = [*self.take_until_offset(item.span.start), *self._expression(item)]
                inside += [SpaceRun(), self.take(), SpaceRun(), *self._list(values)]
            case ast.IsTest(decision=decision):
                inside = [*self.take_until_offset(decision.span.start), *self._expression(decision)]
            case (
                ast.Number()
                | ast.QuotedString()
                | ast.NamedConstant()
                | ast.DottedName()
                | ast.TupleLiteral()
                | ast.NumberWithUnit()
            ):
                pass
            case _:
                assert_never(expression)
        return [*inside, *self.take_until_offset(expression.span.end)]


def _take_tail_comments(lexeme: Lexeme) -> list[Comment]:
    """Remove and return the leading comments of a lexeme that are indented, so that they belong to the item before."""
    count = 0
    while count < len(lexeme.leading) and lexeme.leading[count].indented and not lexeme.leading[count].after_blank_line:
        count += 1
    tail, lexeme.leading = lexeme.leading[:count], lexeme.leading[count:]
    return tail


def _take_closing_comments(closing: Lexeme, inside: Sequence[Document]) -> list[Document]:
    """Remove the comments before a closing bracket, and return them as document parts to put inside the brackets."""
    comments, closing.leading, closing.after_blank_line = closing.leading, [], False
    return [LineBreak(keeps_blank=bool(inside)), Lexeme("", closing.start, comments)] if comments else []


def _width(name: ast.Word) -> int:
    return name.span.end - name.span.start


def _name_width(member: ast.Parameter | ast.FixedParameter | ast.ParameterFormula) -> int:
    """Return the width of the name of a member, with the word `var` before it."""
    is_var = isinstance(member, ast.Parameter) and member.is_var
    return _width(member.name) + len("var ") * is_var


def _padding(own: int, width: int) -> Document:
    return FlatOrBroken((SpaceRun(),), (SpaceRun(1 + width - own if width else 1),))


def _needs_comma(member: ast.Member) -> bool:
    """Return True if a line break does not suffice: `log =` would be read as a modifier, `pipeline =` as an item."""
    return isinstance(member, ast.FixedParameter) and member.name.text in ("log", "pipeline")
