"""Semantic tokens, by which an editor colours the words of a document."""

from collections.abc import Iterator

from lsprotocol import types

from spacelang.language_server.documents import Document
from spacelang.language_server.names import SymbolKind
from spacelang.language_server.positions import PositionEncoding
from spacelang.syntax.parser_tables import highlight
from spacelang.text import Span

LEGEND = types.SemanticTokensLegend(
    ["keyword", "comment", "string", "decorator", "number", "class", "type", "namespace", "enumMember", "property",
     "variable", "function"],
    ["declaration", "defaultLibrary"],
)  # fmt: skip
_KINDS = {"keyword": 0, "comment": 1, "string": 2, "annotation": 3, "number": 4}
_OF_SYMBOLS = {
    SymbolKind.OPERATOR: "class",
    SymbolKind.STAGE: "type",
    SymbolKind.GROUP: "type",
    SymbolKind.ABSTRACT: "class",
    SymbolKind.IMPORT: "namespace",
    SymbolKind.CATALOGUE: "namespace",
    SymbolKind.ALTERNATIVE: "enumMember",
    SymbolKind.PARAMETER: "property",
    SymbolKind.VALUE: "variable",
    SymbolKind.DATA_SIZE: "variable",
    SymbolKind.FUNCTION: "function",
}
_PRIORITY = [SymbolKind.STAGE, SymbolKind.OPERATOR, *SymbolKind]
"""The kinds of symbols by priority: if a name denotes several symbols, the first kind in this list is shown."""


def semantic_tokens(document: Document, encoding: PositionEncoding) -> list[int]:
    """Return the tokens in the encoding of the protocol: five integers for each, relative to the previous token."""
    source, data, before = document.source, list[int](), types.Position(0, 0)
    for start, end, kind, modifiers in _tokens(document):
        place = encoding.position(source, start)
        column = place.character - before.character if place.line == before.line else place.character
        data += [place.line - before.line, column, encoding.units(source.text[start:end]), kind, modifiers]
        before = place
    return data


def _tokens(document: Document) -> Iterator[tuple[int, int, int, int]]:
    """Yield the start, end, type and modifiers of each token; names take precedence over keywords."""
    named = _names(document)
    place = 0
    for kind, text in highlight(document.source.text):
        start, place = place, place + len(text)
        if start in named:
            yield start, *named[start]
        elif kind in _KINDS and "\n" not in text:
            yield start, place, _KINDS[kind], 0


def _names(document: Document) -> dict[int, tuple[int, int, int]]:
    """Return the end, the type and the modifiers of the words of names, by their offsets."""
    found: dict[int, tuple[int, int, int]] = {}
    occurrences = document.index.in_file(document.source)
    for each in sorted(occurrences, key=lambda each: -_PRIORITY.index(each.symbol.kind)):
        kind = LEGEND.token_types.index(_OF_SYMBOLS[each.symbol.kind])
        is_library = each.symbol.kind in (SymbolKind.OPERATOR, SymbolKind.FUNCTION, SymbolKind.DATA_SIZE)
        found |= dict(_words(each.span, kind, each.is_definition | is_library << 1))
    return found


def _words(span: Span, kind: int, modifiers: int) -> Iterator[tuple[int, tuple[int, int, int]]]:
    place = span.start
    for word in span.text.split("."):
        if word.strip() == word and word:
            yield place, (place + len(word), kind, modifiers)
        place += len(word) + 1
