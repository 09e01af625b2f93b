"""The parser: text to syntax tree, with all independent syntax errors in one run.

A text is first read as a whole. Only if that fails is it cut into items, and these into lines, to find the errors after
the first one (see `recovery.py`).
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import assert_never

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.files import TooLarge
from spacelang.diagnostics.syntax import MissingSeparator
from spacelang.frozen import frozen
from spacelang.syntax import ast
from spacelang.syntax.read_items import read
from spacelang.syntax.text_limits import MAX_HEIGHT, exceeded_limit
from spacelang.text import Source, Span


@frozen
class ParseResult:
    """The readable part of a file, with diagnostics.

    `damaged` has the names of the stages and parameter groups that could not be read completely.
    """

    file: ast.File
    diagnostics: tuple[Diagnostic, ...]
    damaged: frozenset[str]


def parse(source: Source) -> ParseResult:
    """Return the syntax tree of a text with all its syntax errors. Never raises, whatever the text."""
    nothing = ast.File((), Span(source, 0, len(source.text)))
    too_large = exceeded_limit(source)
    if too_large is not None:
        return ParseResult(nothing, (too_large,), frozenset())
    reading = read(source, source.text)
    mistakes: tuple[Diagnostic, ...] = ()
    damaged: frozenset[str] = frozenset()
    if reading.error is not None:
        # Most files have no syntax errors, so error recovery is imported only if there is one.
        from spacelang.syntax.recovery import recover

        reading, mistakes, damaged = recover(source, reading, reading.error)
    if reading.highest_expression is not None and reading.highest_expression[0] > MAX_HEIGHT:
        height = TooLarge(
            primary=reading.highest_expression[1], what="the nesting of this expression", limit=str(MAX_HEIGHT)
        )
        return ParseResult(nothing, (*mistakes, height), damaged)
    file = ast.File(reading.items, nothing.span)
    return ParseResult(file, (*mistakes, *_missing_separators(reading.bodies)), damaged)


def _missing_separators(bodies: Iterable[ast.Body]) -> list[Diagnostic]:
    """Return diagnostics for members of a body that are on one line without a separator."""
    found: list[Diagnostic] = []
    for body in bodies:
        for before, after in pairwise(body.members):
            between = before.span.source.text[before.span.end : after.span.start]
            if not any(separator in between for separator in "\n\r,"):
                first = _first_word(after)
                hint = _range_hint(before, after)
                found.append(MissingSeparator(primary=first, member=first.text, hint=hint))
    return found


def _range_hint(before: ast.Member, after: ast.Member) -> str | None:
    """Return a hint if the second member was meant as the step or the default of the range before it, or None."""
    match before, after:
        case ast.Parameter(domain=ast.Range()), ast.FixedParameter(name=ast.Word("step"), value=ast.Number()):
            return f"write `step {after.value.span.text}`"
        case ast.Parameter(), ast.FixedParameter(name=ast.Word("default")):
            return f"write `= {after.value.span.text}`"
        case _:
            return None


def _first_word(member: ast.Member) -> Span:
    match member:
        case ast.Parameter(name=name) | ast.FixedParameter(name=name):
            return name.span
        case ast.Include(span=span):
            return Span(span.source, span.start, span.start + len("include"))
        case ast.ConstraintStatement(forbidden=forbidden, span=span):
            return Span(span.source, span.start, span.start + len("forbid" if forbidden else "require"))
        case _:
            assert_never(member)
