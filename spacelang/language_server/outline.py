"""The outline of a document, symbols of the workspace, and folding ranges."""

import re
from collections.abc import Iterator

from lsprotocol import types

from spacelang.analysis.alternatives import mentioned_operators
from spacelang.language_server.documents import Document, Documents
from spacelang.language_server.positions import PositionEncoding
from spacelang.syntax import ast
from spacelang.text import Span

_COMMENT_LINE = re.compile(r"[ \t]*#")


def document_symbols(document: Document, encoding: PositionEncoding) -> list[types.DocumentSymbol]:
    """Return the items of a document, with the operators of stages and the parameters in bodies below them."""
    return [symbol for item in document.parsed.file.items if (symbol := _item(item, encoding)) is not None]


def workspace_symbols(documents: Documents, query: str, encoding: PositionEncoding) -> list[types.WorkspaceSymbol]:
    """Return the stages, groups, abstract operators and values in the workspace whose name contains `query`."""
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
            parts = [_operator(each, encoding) for each in mentioned_operators(item.structure)]
            return _symbol(item.name, item.span, types.SymbolKind.Class, encoding, parts)
        case ast.ParameterGroup() | ast.AbstractOperator():
            members = [] if item.body is None else _members(item.body, encoding)
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


def _operator(each: ast.OperatorReference, encoding: PositionEncoding) -> types.DocumentSymbol:
    word = each.alias or ast.Word(each.name.text, each.name.span)
    members = [] if each.body is None else _members(each.body, encoding)
    return _symbol(word, each.span, types.SymbolKind.Constructor, encoding, members)


def _members(body: ast.Body, encoding: PositionEncoding) -> list[types.DocumentSymbol]:
    named = [member for member in body.members if isinstance(member, ast.NamedMember)]
    return [_symbol(member.name, member.span, types.SymbolKind.Field, encoding) for member in named]


def _symbol(
    word: ast.Word,
    span: Span,
    kind: types.SymbolKind,
    encoding: PositionEncoding,
    children: list[types.DocumentSymbol] | None = None,
) -> types.DocumentSymbol:
    whole = Span(span.source, min(span.start, word.span.start), max(span.end, word.span.end))
    place = encoding.range(word.span)
    return types.DocumentSymbol(word.text or "?", kind, encoding.range(whole), place, children=children)


def folding_ranges(document: Document) -> list[types.FoldingRange]:
    """Return the ranges of lines that can be folded: items, bodies, and comments of several lines."""
    source = document.source
    spans = {(item.span.start, item.span.end) for item in document.parsed.file.items}
    spans |= {(body.span.start, body.span.end) for body in _bodies(document.parsed.file.items)}
    lines = {(source.position(start)[0] - 1, source.position(max(start, end - 1))[0] - 1) for start, end in spans}
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


def _bodies(node: object) -> Iterator[ast.Body]:
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, tuple):
            waiting.extend(each)
        elif not isinstance(each, Span | ast.Word) and hasattr(each, "__slots__"):
            if isinstance(each, ast.Body):
                yield each
            waiting.extend(getattr(each, name) for name in each.__slots__)
