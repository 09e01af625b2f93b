"""Limits on the size of a text, checked before parsing, so that no file can exhaust the machine."""

import math
import re
from typing import Final

from spacelang.diagnostics.files import TooLarge
from spacelang.text import Source, Span

MAX_BYTES: Final = 2**20
MAX_NESTING: Final = 64
"""The deepest nesting of brackets, of all kinds together."""

MAX_NUMBER: Final = 400
"""The most characters of one number."""

MAX_TOKENS: Final = 150_000
"""The most names, numbers, strings and signs of a text. A tree has fewer nodes: about 100,000 at most in practice."""

MAX_HEIGHT: Final = 100
"""The greatest height of an expression. Operators nest without brackets too (`not not x`, `a + b + c`)."""

_LEXEME = re.compile(
    r'[ \t\r\n]*(?:#[^\r\n]*|"(?:[^"\\\r\n]|\\[^\r\n])*"|`[^`\r\n]*`|[A-Za-z_]\w*|(?P<bracket>[\[\](){}])'
    r"|(?P<number>\.?\d[\w.]*(?:(?<=[eE])[+-]\w+)?)|[^\s])"
)


def exceeded_limit(source: Source) -> TooLarge | None:
    """Return a diagnostic for the first limit that the text exceeds, with its place, or None."""
    text = source.text
    if len(text) > MAX_BYTES or (not text.isascii() and len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES):
        return TooLarge(primary=Span(source, 0, 0), what="the file", limit="1 MiB")
    depth = 0
    for place, lexeme in enumerate(_LEXEME.finditer(text)):
        kind = lexeme.lastgroup
        if kind == "bracket":
            depth = depth + 1 if lexeme["bracket"] in "[({" else max(depth - 1, 0)
            if depth > MAX_NESTING:
                span = Span(source, lexeme.start("bracket"), lexeme.end())
                return TooLarge(primary=span, what="the nesting of brackets", limit=str(MAX_NESTING))
        elif kind == "number":
            what = _exceeded_number_limit(lexeme["number"])
            if what is not None:
                span = Span(source, lexeme.start("number"), lexeme.end())
                return TooLarge(primary=span, what="this number", limit=what)
        if place >= MAX_TOKENS:
            span = Span(source, lexeme.start(), lexeme.end())
            return TooLarge(primary=span, what="the number of words and signs", limit=f"{MAX_TOKENS:,}")
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
