"""Reading of a text into a syntax tree, up to the first syntax error, with one method for each rule of the grammar.

The parser calls a method whenever it reduces a rule, so inner nodes are built first. No tree is walked afterwards, and
deep nesting cannot exhaust the stack.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from threading import Lock
from typing import Any, Literal, TypeAlias, TypeVar

from spacelang.frozen import frozen
from spacelang.syntax import ast
from spacelang.syntax.parser_tables import LrDriver, Token, UnexpectedToken, load
from spacelang.text import Source, Span

Child: TypeAlias = Any  # A token, or a node that another method returned, depending on the grammar rule
T = TypeVar("T")


class SyntaxTreeBuilder:
    """A builder of syntax trees, with a method for each grammar rule. It must be reset before each parse."""

    def __init__(self) -> None:
        self.reset(Source("", ""), 0)

    def reset(self, source: Source, shift: int) -> None:
        """Reset the builder for a new parse, at the offset `shift` in the source."""
        self.source = source
        self.shift = shift
        self.highest_expression: tuple[int, Span] | None = None
        self.bodies: list[ast.Body] = []
        """All bodies, inner ones first."""
        self._heights: dict[int, int] = {}

    # ---- items

    def file(self, children: list[Child]) -> ast.File:
        return ast.File(tuple(children), Span(self.source, 0, len(self.source.text)))

    def header(self, children: list[Child]) -> ast.SpaceName:
        title = self._text(children[2]) if len(children) > 2 else None
        return ast.SpaceName(self._word(children[1]), title, self._span(children))

    def import_(self, children: list[Child]) -> ast.Import:
        return ast.Import(self._text(children[1]), self._alias(children), self._span(children))

    def use(self, children: list[Child]) -> ast.CatalogueUse:
        return ast.CatalogueUse(children[1], self._span(children))

    def params(self, children: list[Child]) -> ast.ParameterGroup:
        return ast.ParameterGroup(self._word(children[1]), children[2], self._span(children))

    def abstract(self, children: list[Child]) -> ast.AbstractOperator:
        body = children[2] if len(children) > 2 else None
        return ast.AbstractOperator(self._word(children[1]), body, self._span(children))

    def stage(self, children: list[Child]) -> ast.Stage:
        annotations = _of_type(children, ast.Annotation)
        return ast.Stage(self._word(children[1]), annotations, children[-1], self._span(children))

    def pipeline(self, children: list[Child]) -> ast.Pipeline:
        return ast.Pipeline(children[2], self._span(children))

    def rule(self, children: list[Child]) -> ast.ConstraintStatement:
        return ast.ConstraintStatement(children[0].type == "FORBID", children[1], self._span(children))

    def var(self, children: list[Child]) -> ast.Parameter:
        return replace(self.parameter(children[1:]), span=self._span(children), is_var=True)

    def let(self, children: list[Child]) -> ast.Let:
        return ast.Let(self._word(children[1]), children[3], self._span(children))

    # ---- structure

    def alternatives(self, children: list[Child]) -> ast.JoinedStructures:
        return ast.JoinedStructures("|", _nodes(children), self._span(children))

    def sequence(self, children: list[Child]) -> ast.JoinedStructures:
        return ast.JoinedStructures("->", _nodes(children), self._span(children))

    def parallel(self, children: list[Child]) -> ast.JoinedStructures:
        return ast.JoinedStructures("&", _nodes(children), self._span(children))

    def maybe(self, children: list[Child]) -> ast.OptionalStructure:
        return ast.OptionalStructure(children[0], self._span(children))

    def nothing(self, children: list[Child]) -> ast.NoneStep:
        return ast.NoneStep(_of_type(children, ast.Annotation), self._span(children))

    nothing_part = nothing

    def group(self, children: list[Child]) -> ast.Parenthesised:
        annotations = _of_type(children, ast.Annotation)
        part = self._leading_bar_decision(children[1:3]) if _is_terminal(children[1], "VBAR") else children[1]
        return ast.Parenthesised(part, self._alias(children), annotations, self._span(children))

    group_part = group

    def _leading_bar_decision(self, children: list[Child]) -> ast.JoinedStructures:
        """Return the decision of a group that begins with `|`. It is a decision even with a single alternative."""
        bar, part = children
        parts = part.parts if isinstance(part, ast.JoinedStructures) and part.sign == "|" else (part,)
        return ast.JoinedStructures("|", parts, self._span([bar, part]))

    def columns_part(self, children: list[Child]) -> tuple[ast.Word | ast.QuotedString, ast.Structure]:
        selector = self._text(children[0]) if children[0].type == "STRING" else self._word(children[0])
        return selector, children[2]

    def columns(self, children: list[Child]) -> ast.ColumnSplit:
        return ast.ColumnSplit(_of_type(children, tuple), _of_type(children, ast.Annotation), self._span(children))

    def permute_part(self, children: list[Child]) -> tuple[ast.Word | None, ast.Structure]:
        return children[0] if len(children) > 1 else None, children[-1]

    def permute(self, children: list[Child]) -> ast.Permutation:
        annotations = _of_type(children, ast.Annotation)
        labels, parts = zip(*_of_type(children, tuple), strict=True)
        return ast.Permutation(parts, annotations, self._span(children), labels if any(labels) else ())

    def repeat(self, children: list[Child]) -> ast.Repetition:
        part, *counts = (child for child in _nodes(children) if not isinstance(child, ast.Annotation))
        return ast.Repetition(part, tuple(counts), _of_type(children, ast.Annotation), self._span(children))

    def operator(self, children: list[Child]) -> ast.OperatorReference:
        body = next(iter(_of_type(children, ast.Body)), None)
        annotations = _of_type(children, ast.Annotation)
        return ast.OperatorReference(children[0], self._alias(children), body, annotations, self._span(children))

    # ---- bodies

    def body(self, children: list[Child]) -> ast.Body:
        body = ast.Body(_nodes(children), self._span(children))
        self.bodies.append(body)
        return body

    def parameter(self, children: list[Child]) -> ast.Parameter:
        name, _, domain, *rest = children
        default = rest[1] if rest and isinstance(rest[0], Token) else None
        condition = next((child[0] for child in rest if isinstance(child, list)), None)
        annotations = _of_type(rest, ast.Annotation) if rest else ()
        return ast.Parameter(self._word(name), domain, default, condition, annotations, self._span(children))

    def fixed(self, children: list[Child]) -> ast.FixedParameter:
        condition = children[3][0] if len(children) > 3 else None
        return ast.FixedParameter(self._word(children[0]), children[2], self._span(children), condition)

    def computed(self, children: list[Child]) -> ast.ParameterFormula:
        return ast.ParameterFormula(self._word(children[0]), children[2], self._span(children))

    def include(self, children: list[Child]) -> ast.ParameterGroupInclusion:
        return ast.ParameterGroupInclusion(children[1], self._span(children))

    def simplex(self, children: list[Child]) -> ast.Simplex:
        default = next(iter(_of_type(children, ast.TupleLiteral)), None)
        names = children[1::2] if default is None else children[1:-2:2]
        return ast.Simplex(tuple(map(self._word, names)), default, self._span(children))

    def when(self, children: list[Child]) -> list[ast.Expression]:
        return [children[1]]

    def union(self, children: list[Child]) -> ast.UnionDomain:
        return ast.UnionDomain(_nodes(children), self._span(children))

    def range_(self, children: list[Child]) -> ast.Range:
        kind, opening, lower, _, upper, closing, *modifiers = children
        step = next(iter(_nodes(modifiers)), None) if modifiers else None
        log = next((self._word(token) for token in modifiers if _is_terminal(token, "LOG")), None)
        span = self._span(children)
        name: Literal["float", "int"] = "float" if kind.type == "FLOAT" else "int"
        return ast.Range(name, lower, upper, opening == "(", closing == ")", log, step, span)

    def tuple_domain(self, children: list[Child]) -> ast.TupleDomain:
        _, _, least, _, greatest, _, _, element = children
        return ast.TupleDomain(least, greatest, element, self._span(children))

    def boolean(self, children: list[Child]) -> ast.BooleanDomain:
        return ast.BooleanDomain(self._span(children))

    def set_(self, children: list[Child]) -> ast.ValueSet:
        (values,) = _of_type(children, ast.ValueSet)
        return ast.ValueSet(values.values, _is_terminal(children[0], "ORDERED"), self._span(children))

    def values(self, children: list[Child]) -> ast.ValueSet:
        return ast.ValueSet(_nodes(children), False, self._span(children))

    # ---- values

    def operator_value(self, children: list[Child]) -> ast.OperatorValue:
        return ast.OperatorValue(children[0], children[1], self._span(children))

    def word(self, children: list[Child]) -> ast.DottedName:
        return children[0]  # type: ignore[no-any-return]

    def constant(self, children: list[Child]) -> ast.NamedConstant:
        return ast.NamedConstant({"TRUE": True, "FALSE": False, "NONE": None}[children[0].type], self._span(children))

    literal_constant = constant

    def number(self, children: list[Child]) -> ast.Number:
        value = _number(children[-1])
        return ast.Number(-value if len(children) > 1 else value, self._span(children))

    literal = number

    def string(self, children: list[Child]) -> ast.QuotedString:
        return self._text(children[0])

    literal_string = string

    def tuple_(self, children: list[Child]) -> ast.TupleLiteral:
        return ast.TupleLiteral(_nodes(children), self._span(children))

    def annotation(self, children: list[Child]) -> ast.Annotation:
        sign = children[0]
        span = self._span([sign])
        name = ast.Word(str(sign)[1:], Span(self.source, span.start + 1, span.end))
        return ast.Annotation(name, _nodes(children), self._span(children))

    def dotted(self, children: list[Child]) -> ast.DottedName:
        words = tuple([self._name_of(part) for part in children[::2]])
        return ast.DottedName(words, words[0].span.extended_to(words[-1].span) if len(words) > 1 else words[0].span)

    def path(self, children: list[Child]) -> ast.DottedName:
        words: list[ast.Word] = []
        for child in children:
            if isinstance(child, ast.DottedName):
                words += child.words
            elif _is_terminal(child, "INDEX"):
                text = f"{words[-1].text}[{int(child[1:-1])}]"
                words[-1] = replace(words[-1], text=text, span=words[-1].span.extended_to(self._span([child])))
            elif not _is_terminal(child, "DOT"):
                words.append(self._name_of(child))
        return ast.DottedName(tuple(words), words[0].span.extended_to(words[-1].span))

    words = dotted

    def called(self, children: list[Child]) -> ast.Word:
        return self._name_of(children[0])

    # ---- expressions

    def disjunction(self, children: list[Child]) -> ast.LogicalOperation:
        terms = _nodes(children)
        return self._record_height(ast.LogicalOperation("or", terms, self._span(children)), terms)

    def conjunction(self, children: list[Child]) -> ast.LogicalOperation:
        terms = _nodes(children)
        return self._record_height(ast.LogicalOperation("and", terms, self._span(children)), terms)

    def negation(self, children: list[Child]) -> ast.UnaryOperation:
        return self._record_height(ast.UnaryOperation("not", children[1], self._span(children)), children[1:])

    def negative(self, children: list[Child]) -> ast.UnaryOperation | ast.Number:
        span = self._span(children)
        if isinstance(children[1], ast.Number):
            return ast.Number(-children[1].value, span)
        return self._record_height(ast.UnaryOperation("-", children[1], span), children[1:])

    def comparison(self, children: list[Child]) -> ast.BinaryOperation:
        left, operator, right = children
        return self._record_height(ast.BinaryOperation(str(operator), left, right, self._span(children)), (left, right))

    arithmetic = implication = comparison

    def membership(self, children: list[Child]) -> ast.Membership:
        node = ast.Membership(children[0], children[2].values, self._span(children))
        return self._record_height(node, children[:1])

    def is_(self, children: list[Child]) -> ast.IsTest:
        operator = self.dotted(children[2:]) if _is_terminal(children[2], "STRING") else children[2]
        tested = None if isinstance(operator, Token) else operator
        return self._record_height(ast.IsTest(children[0], tested, self._span(children)), children[:1])

    def quantity(self, children: list[Child]) -> ast.NumberWithUnit:
        return self._quantity(children[0])

    def reference(self, children: list[Child]) -> ast.DottedName:
        return children[0]  # type: ignore[no-any-return]

    def call(self, children: list[Child]) -> ast.FunctionCall:
        arguments = _nodes(children)
        call = ast.FunctionCall(self._word(children[0]), arguments, self._span(children))
        return self._record_height(call, arguments)

    def parenthesis(self, children: list[Child]) -> ast.Expression:
        inner: ast.Expression = children[1]
        outer = replace(inner, span=self._span(children))
        self._heights[id(outer)] = self._heights.pop(id(inner), 0)
        return outer

    def _record_height(self, node: T, terms: Sequence[Child]) -> T:
        height = 1 + max([self._heights.get(id(term), 0) for term in terms])
        self._heights[id(node)] = height
        if self.highest_expression is None or height > self.highest_expression[0]:
            self.highest_expression = height, node.span  # type: ignore[attr-defined]
        return node

    # ---- the task block

    def task(self, children: list[Child]) -> ast.Task:
        return ast.Task(self._word(children[1]), _of_type(children, ast.TaskSetting), self._span(children))

    def goal(self, children: list[Child]) -> ast.TaskSetting:
        keyword, *rest = children
        arguments = tuple(self._argument(child) for child in rest if not _is_sign(child))
        return ast.TaskSetting(" ".join(str(keyword).split()), arguments, self._span(children))

    subject = validate = fidelity = limit = goal

    def split_option(self, children: list[Child]) -> ast.SplitOption:
        value = children[2] if len(children) > 1 else None
        return ast.SplitOption(self._word(children[0]), value, self._span(children))

    # ---- tokens

    def _argument(self, child: Child) -> ast.Expression | ast.Word | ast.SplitOption:
        if not isinstance(child, Token):
            return child  # type: ignore[no-any-return]
        match child.type:
            case "NUMBER":
                return ast.Number(_number(child), self._span([child]))
            case "QUANTITY":
                return self._quantity(child)
            case _:
                return self._word(child)

    def _quantity(self, token: Token) -> ast.NumberWithUnit:
        found = re.fullmatch(r"([\d_.]+)([A-Za-z]+)", token)
        assert found is not None
        return ast.NumberWithUnit(float(found[1].replace("_", "")), found[2], self._span([token]))

    def _word(self, token: Token) -> ast.Word:
        start = token.start_pos + self.shift
        span = Span(self.source, start, start + len(token))
        return ast.Word(str(token)[1:-1], span, ticked=True) if token.type == "TICKED" else ast.Word(str(token), span)

    def _name_of(self, part: Child) -> ast.Word:
        if isinstance(part, ast.Word):
            return part
        return ast.Word(self._text(part).value, self._span([part])) if part.type == "STRING" else self._word(part)

    def _text(self, token: Token) -> ast.QuotedString:
        value = re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), str(token)[1:-1])
        return ast.QuotedString(value, self._span([token]))

    def _alias(self, children: Sequence[Child]) -> ast.Word | None:
        for place, child in enumerate(children):
            if _is_terminal(child, "AS"):
                return self._name_of(children[place + 1])
        return None

    def _span(self, children: Sequence[Child]) -> Span:
        first, last = children[0], children[-1]
        start = first.start_pos + self.shift if isinstance(first, Token) else _node_at(first, 0).span.start
        end = last.end_pos + self.shift if isinstance(last, Token) else _node_at(last, -1).span.end
        return Span(self.source, start, end)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _number(token: Token) -> int | float:
    text = token.replace("_", "")
    return int(text) if text.isdigit() else float(text)


def _node_at(child: Child, place: int) -> Child:
    """Return the node itself, or the one at index `place` if `child` is a list or tuple of nodes."""
    return child[place] if isinstance(child, list | tuple) else child


def _nodes(children: Sequence[Child]) -> tuple[Child, ...]:
    return tuple([child for child in children if not isinstance(child, Token)])


def _of_type(children: Sequence[Child], kind: type[T]) -> tuple[T, ...]:
    return tuple([child for child in children if isinstance(child, kind)])


def _is_terminal(child: Child, terminal: str) -> bool:
    return isinstance(child, Token) and child.type == terminal


def _is_sign(child: Child) -> bool:
    return isinstance(child, Token) and child.type not in ("NAME", "NUMBER", "QUANTITY")


_LOCK = Lock()  # The builder holds the source of the current parse, so only one text can be parsed at a time


@frozen
class ParsedItems:
    """The items and bodies before the first syntax error, and that error; without an error, all items and bodies."""

    items: tuple[ast.Item, ...]
    bodies: tuple[ast.Body, ...]
    highest_expression: tuple[int, Span] | None
    error: UnexpectedToken | None


def parse_items(source: Source, text: str, shift: int = 0) -> ParsedItems:
    """Parse `text`, which begins at offset `shift` of the source."""
    driver, builder = _driver_and_builder()
    with _LOCK:
        builder.reset(source, shift)
        outcome = driver.parse(text)
        if outcome.error is None:
            return ParsedItems(outcome.value.items, tuple(builder.bodies), builder.highest_expression, None)
        items = tuple(outcome.value)
        end = items[-1].span.end if items else shift
        bodies = tuple(body for body in builder.bodies if body.span.end <= end)
        return ParsedItems(items, bodies, builder.highest_expression if items else None, outcome.error)


@cache
def _driver_and_builder() -> tuple[LrDriver, SyntaxTreeBuilder]:
    builder = SyntaxTreeBuilder()
    return LrDriver(load(), builder), builder
