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
from spacelang.facts import fact
from spacelang.syntax import ast
from spacelang.syntax.limits import MAX_HEIGHT, beyond_limits
from spacelang.syntax.reading import read
from spacelang.text import Source, Span


@fact
class Parsed:
    """The readable part of a file, with diagnostics.

    `damaged` has the names of the stages and parameter groups that could not be read completely.
    """

    file: ast.File
    diagnostics: tuple[Diagnostic, ...]
    damaged: frozenset[str]


def parse(source: Source) -> Parsed:
    """Return the syntax tree of a text with all its syntax errors. Never raises, whatever the text."""
    nothing = ast.File((), Span(source, 0, len(source.text)))
    too_large = beyond_limits(source)
    if too_large is not None:
        return Parsed(nothing, (too_large,), frozenset())
    reading = read(source, source.text)
    mistakes: tuple[Diagnostic, ...] = ()
    damaged: frozenset[str] = frozenset()
    if reading.error is not None:
        # Most files have no syntax errors, so error recovery is imported only if there is one.
        from spacelang.syntax.recovery import recover

        reading, mistakes, damaged = recover(source, reading, reading.error)
    if reading.deepest is not None and reading.deepest[0] > MAX_HEIGHT:
        height = TooLarge(primary=reading.deepest[1], what="the nesting of this expression", limit=str(MAX_HEIGHT))
        return Parsed(nothing, (*mistakes, height), damaged)
    file = ast.File(reading.items, nothing.span)
    return Parsed(file, (*mistakes, *_missing_separators(reading.bodies)), damaged)


def _missing_separators(bodies: Iterable[ast.Body]) -> list[Diagnostic]:
    """Return diagnostics for members of a body that are on one line without a separator."""
    found: list[Diagnostic] = []
    for body in bodies:
        for before, after in pairwise(body.members):
            between = before.span.source.text[before.span.end : after.span.start]
            if not any(separator in between for separator in "\n\r,"):
                first = _first_word(after)
                hint = _with_sign(before, after)
                found.append(MissingSeparator(primary=first, member=first.text, hint=hint))
    return found


def _with_sign(before: ast.Member, after: ast.Member) -> str | None:
    """Return a hint if the second member was meant as the step or the default of the range before it, or None."""
    match before, after:
        case ast.Parameter(domain=ast.Range()), ast.Fixed(name=ast.Word("step"), value=ast.Number()):
            return f"write `step {after.value.span.text}`"
        case ast.Parameter(), ast.Fixed(name=ast.Word("default")):
            return f"write `= {after.value.span.text}`"
        case _:
            return None


def _first_word(member: ast.Member) -> Span:
    match member:
        case ast.Parameter(name=name) | ast.Fixed(name=name):
            return name.span
        case ast.Include(span=span):
            return Span(span.source, span.start, span.start + len("include"))
        case ast.Rule(forbidden=forbidden, span=span):
            return Span(span.source, span.start, span.start + len("forbid" if forbidden else "require"))
        case _:
            assert_never(member)
