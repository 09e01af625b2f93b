"""Features of a whole document, not of one place: formatting, symbols, folding and semantic tokens."""

import re
from collections.abc import Iterator, Sequence

from lsprotocol import types

from spacelang.analysis.alternatives import mentioned_operators
from spacelang.language_server.documents import Document, OpenDocuments, PositionEncoding
from spacelang.language_server.name_index import SymbolKind, syntax_nodes
from spacelang.syntax import ast
from spacelang.syntax.parser_tables import highlight
from spacelang.syntax.printer import format_text
from spacelang.text import Span


def formatting(document: Document) -> list[types.TextEdit]:
    """Return the smallest edit of whole lines to the layout of `spacelang fmt`; none for a text with syntax errors."""
    if document.is_compiled_document or document.parse_result.diagnostics:
        return []
    old = document.source.text.splitlines(keepends=True)
    new = format_text(document.source.text).splitlines(keepends=True)
    if old == new:
        return []
    first = next((place for place, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    limit = min(len(old), len(new)) - first
    last = next((back for back in range(limit) if old[-1 - back] != new[-1 - back]), limit)
    end = types.Position(document.source.text.count("\n") + 1, 0)
    if last:
        end = types.Position(len(old) - last, 0)
    place = types.Range(types.Position(first, 0), end)
    return [types.TextEdit(place, "".join(new[first : len(new) - last]))]


_COMMENT_LINE = re.compile(r"[ \t]*#")


def document_symbols(document: Document, encoding: PositionEncoding) -> list[types.DocumentSymbol]:
    """Return the items of a document, with the operators of stages and the parameters in bodies below them."""
    return [symbol for item in document.parse_result.file.items if (symbol := _item(item, encoding)) is not None]


def workspace_symbols(documents: OpenDocuments, query: str, encoding: PositionEncoding) -> list[types.WorkspaceSymbol]:
    """Return the stages, groups, abstract operators and values in the workspace whose name contains `query`.

    Capital letters make no difference.
    """
    return [
        types.WorkspaceSymbol(
            location=types.Location(document.uri, symbol.selection_range), name=symbol.name, kind=symbol.kind
        )
        for document in documents.workspace_documents()
        for symbol in document_symbols(document, encoding)
        if query.lower() in symbol.name.lower()
    ]


def _item(item: ast.Item, encoding: PositionEncoding) -> types.DocumentSymbol | None:
    match item:
        case ast.Stage():
            parts = _operators([*mentioned_operators(item.structure)], encoding)
            return _symbol(item.name, item.span, types.SymbolKind.Class, encoding, parts)
        case ast.ParameterGroup() | ast.AbstractOperator():
            members = [] if item.body is None else _members(item.body, [], encoding)
            return _symbol(item.name, item.span, types.SymbolKind.Struct, encoding, members)
        case ast.Parameter() | ast.Let():
            return _symbol(item.name, item.span, types.SymbolKind.Variable, encoding)
        case ast.SpaceName():
            return _symbol(item.name, item.span, types.SymbolKind.Module, encoding)
        case ast.Import() if item.alias is not None:
            return _symbol(item.alias, item.span, types.SymbolKind.Namespace, encoding)
        case ast.Task():
            return _symbol(item.kind, item.span, types.SymbolKind.Event, encoding)
        case ast.Pipeline():
            keyword = Span(item.span.source, item.span.start, item.span.start + len("pipeline"))
            return _symbol(ast.Word("pipeline", keyword), item.span, types.SymbolKind.Function, encoding)
        case _:
            return None


def _operators(mentioned: Sequence[ast.OperatorReference], encoding: PositionEncoding) -> list[types.DocumentSymbol]:
    """Return the symbols of the outermost operators; those of the others are below the parameters that have them."""
    found: list[types.DocumentSymbol] = []
    for each in mentioned:
        if not any(other is not each and _contains(other.span, each.span) for other in mentioned):
            word = each.alias or ast.Word(each.name.text, each.name.span)
            inner = [other for other in mentioned if other is not each and _contains(each.span, other.span)]
            members = [] if each.body is None else _members(each.body, inner, encoding)
            found.append(_symbol(word, each.span, types.SymbolKind.Constructor, encoding, members))
    return found


def _contains(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _members(
    body: ast.Body, mentioned: Sequence[ast.OperatorReference], encoding: PositionEncoding
) -> list[types.DocumentSymbol]:
    """Return the members of a body that have names, with the mentioned operators inside them."""
    found: list[types.DocumentSymbol] = []
    for member in body.members:
        if isinstance(member, ast.Simplex):
            found += [_symbol(name, name.span, types.SymbolKind.Field, encoding) for name in member.names]
        elif isinstance(member, ast.NamedMember):
            inner = _operators([each for each in mentioned if _contains(member.span, each.span)], encoding)
            found.append(_symbol(member.name, member.span, types.SymbolKind.Field, encoding, inner))
    return found


def _symbol(
    word: ast.Word,
    span: Span,
    kind: types.SymbolKind,
    encoding: PositionEncoding,
    children: list[types.DocumentSymbol] | None = None,
) -> types.DocumentSymbol:
    whole = Span(span.source, min(span.start, word.span.start), max(span.end, word.span.end))
    place = encoding.to_range(word.span)
    return types.DocumentSymbol(word.text or "?", kind, encoding.to_range(whole), place, children=children)


def folding_ranges(document: Document) -> list[types.FoldingRange]:
    """Return the ranges of lines that can be folded: items, bodies, and comments of several lines."""
    source = document.source
    spans = {(item.span.start, item.span.end) for item in document.parse_result.file.items}
    bodies = (node for node in syntax_nodes(document.parse_result.file.items) if isinstance(node, ast.Body))
    spans |= {(body.span.start, body.span.end) for body in bodies}
    lines = {
        (source.line_and_column(start)[0] - 1, source.line_and_column(max(start, end - 1))[0] - 1)
        for start, end in spans
    }
    found = [types.FoldingRange(first, last) for first, last in sorted(lines) if first < last]
    return [*found, *_comments(source.text.split("\n"))]


def _comments(lines: list[str]) -> Iterator[types.FoldingRange]:
    first: int | None = None
    for place, line in enumerate([*lines, ""]):
        if _COMMENT_LINE.match(line):
            first = place if first is None else first
        elif first is not None:
            if place - first > 1:
                yield types.FoldingRange(first, place - 1, kind=types.FoldingRangeKind.Comment)
            first = None


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
        place = encoding.to_position(source, start)
        column = place.character - before.character if place.line == before.line else place.character
        data += [place.line - before.line, column, encoding.length_in_units(source.text[start:end]), kind, modifiers]
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
    occurrences = document.name_index.occurrences_in_file(document.source)
    for each in sorted(occurrences, key=lambda each: -_PRIORITY.index(each.symbol.kind)):
        kind = LEGEND.token_types.index(_OF_SYMBOLS[each.symbol.kind])
        is_library = each.symbol.kind in (SymbolKind.OPERATOR, SymbolKind.FUNCTION, SymbolKind.DATA_SIZE)
        found |= dict(_words(each.span, kind, each.is_definition | is_library << 1))
    return found


def _words(span: Span, kind: int, modifiers: int) -> Iterator[tuple[int, tuple[int, int, int]]]:
    place = span.start
    is_path = span.text.startswith('"')  # an imported file, whose name may have a dot
    for word in [span.text] if is_path else span.text.split("."):
        if word.strip() == word and word:
            yield place, (place + len(word), kind, modifiers)
        place += len(word) + 1
