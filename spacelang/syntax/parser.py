"""The parser: text to syntax tree, with all independent syntax errors in one run (see `recovery.py`)."""

import math
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, assert_never

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.reading import MissingSeparator, TextTooLarge
from spacelang.frozen import frozen
from spacelang.syntax import ast
from spacelang.syntax.builder import parse_items
from spacelang.text import Source, Span


@frozen
class ParseResult:
    """The readable part of a file, with diagnostics and the names of stages and groups that are `damaged`.

    `words_of_unreadable_lines` are the words of lines inside of these that could not be parsed: each may be the name
    of a member of a body.
    """

    file: ast.File
    diagnostics: tuple[Diagnostic, ...]
    damaged: frozenset[str]
    words_of_unreadable_lines: frozenset[str] = frozenset()


def parse(source: Source) -> ParseResult:
    """Return the syntax tree of a text with all its syntax errors. Never raises, whatever the text."""
    nothing = ast.File((), Span(source, 0, len(source.text)))
    too_large = exceeded_limit_diagnostic(source)
    if too_large is not None:
        return ParseResult(nothing, (too_large,), frozenset())
    reading = parse_items(source, source.text)
    mistakes: tuple[Diagnostic, ...] = ()
    damaged = removed = frozenset[str]()
    if reading.error is not None:
        # Most files have no syntax errors, so error recovery is imported only if there is one.
        from spacelang.syntax.recovery import recover

        reading, mistakes, damaged, removed = recover(source, reading, reading.error)
    if reading.highest_expression is not None and reading.highest_expression[0] > MAX_HEIGHT:
        height = TextTooLarge(
            reading.highest_expression[1], quantity="the nesting depth of this expression", limit=str(MAX_HEIGHT)
        )
        return ParseResult(nothing, (*mistakes, height), damaged, removed)
    file = ast.File(reading.items, nothing.span)
    return ParseResult(file, (*mistakes, *_missing_separators(reading.bodies)), damaged, removed)


def _missing_separators(bodies: Iterable[ast.Body]) -> list[Diagnostic]:
    """Return diagnostics for members of a body that are on one line without a separator."""
    found: list[Diagnostic] = []
    for body in bodies:
        for before, after in pairwise(body.members):
            between = before.span.source.text[before.span.end : after.span.start]
            if not any(separator in between for separator in "\n\r,"):
                first = _first_word(after)
                hint = _range_hint(before, after)
                found.append(MissingSeparator(first, member=first.text, hint=hint))
    return found


def _range_hint(before: ast.Member, after: ast.Member) -> str | None:
    match before, after:
        case ast.Parameter(domain=ast.Range()), ast.FixedParameter(name=ast.Word("step"), value=ast.Number()):
            return f"write `step {after.value.span.text}`"
        case ast.Parameter(), ast.FixedParameter(name=ast.Word("default")):
            return f"write `= {after.value.span.text}`"
        case _:
            return None


def _first_word(member: ast.Member) -> Span:
    match member:
        case ast.Parameter(is_var=True, span=span) | ast.Let(span=span):
            return Span(span.source, span.start, span.start + len("var"))
        case ast.Parameter(name=name) | ast.FixedParameter(name=name) | ast.ParameterFormula(name=name):
            return name.span
        case ast.ParameterGroupInclusion(span=span):
            return Span(span.source, span.start, span.start + len("include"))
        case ast.Simplex(span=span):
            return Span(span.source, span.start, span.start + len("simplex"))
        case ast.ConstraintStatement(forbidden=forbidden, span=span):
            return Span(span.source, span.start, span.start + len("forbid" if forbidden else "require"))
        case _:
            assert_never(member)


MAX_BYTES: Final = 2**20
MAX_NESTING: Final = 64
MAX_NUMBER: Final = 400
MAX_TOKENS: Final = 150_000
"""The most names, numbers, strings and signs of a text. A tree has fewer nodes: about 100,000 at most in practice."""
MAX_HEIGHT: Final = 100
"""The greatest height of an expression. Operators nest without brackets too (`not not x`, `a + b + c`)."""
_LEXEME = re.compile(
    r'[ \t\r\n]*(?:#[^\r\n]*|"(?:[^"\\\r\n]|\\[^\r\n])*"|`[^`\r\n]*`|[A-Za-z_]\w*|(?P<bracket>[\[\](){}])'
    r"|(?P<number>\.?\d[\w.]*(?:(?<=[eE])[+-]\w+)?)|[^\s])"
)


def exceeded_limit_diagnostic(source: Source) -> TextTooLarge | None:
    """Return a diagnostic for the first limit that the text exceeds, with its place, or None."""
    text = source.text
    if len(text) > MAX_BYTES or (not text.isascii() and len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES):
        return TextTooLarge(Span(source, 0, 0), quantity="the file", limit="1 MiB")
    depth = 0
    for place, lexeme in enumerate(_LEXEME.finditer(text)):
        kind = lexeme.lastgroup
        if kind == "bracket":
            depth = depth + 1 if lexeme["bracket"] in "[({" else max(depth - 1, 0)
            if depth > MAX_NESTING:
                span = Span(source, lexeme.start("bracket"), lexeme.end())
                return TextTooLarge(span, quantity="the nesting depth of brackets", limit=str(MAX_NESTING))
        elif kind == "number":
            what = _exceeded_number_limit(lexeme["number"])
            if what is not None:
                span = Span(source, lexeme.start("number"), lexeme.end())
                return TextTooLarge(span, quantity="this number", limit=what)
        if place >= MAX_TOKENS:
            span = Span(source, lexeme.start(), lexeme.end())
            return TextTooLarge(span, quantity="the number of words and signs", limit=f"{MAX_TOKENS:,}")
    return None


def _exceeded_number_limit(text: str) -> str | None:
    if len(text) > MAX_NUMBER:
        return f"{MAX_NUMBER} characters"
    if len(text) < 5 or (text.isdigit() and len(text) < 300):
        return None
    try:
        return "1.8e308" if math.isinf(float(text.replace("_", ""))) else None
    except ValueError:
        return None
