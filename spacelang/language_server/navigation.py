"""Definitions, references, highlights and renaming of names, across files."""

from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types

from spacelang.diagnostics.diagnostic import Severity
from spacelang.files import resource_folder
from spacelang.ir.domain import is_bare_word
from spacelang.language_server.documents import Document, OpenDocuments, PositionEncoding, source_uri
from spacelang.language_server.name_index import Occurrence, Symbol, SymbolKind
from spacelang.text import Span

RENAMED_KINDS = frozenset(
    {
        SymbolKind.STAGE,
        SymbolKind.GROUP,
        SymbolKind.ABSTRACT,
        SymbolKind.IMPORT,
        SymbolKind.VALUE,
        SymbolKind.ALTERNATIVE,
    }
)
"""The kinds of symbols that a space declares itself and that can be renamed; libraries name parameters."""


class RenameError(Exception):
    """An error that says why a name cannot be changed."""


def definitions(document: Document, position: types.Position, encoding: PositionEncoding) -> list[types.Location]:
    """Return the declarations of the symbols at a position."""
    offset = encoding.to_offset(document.source, position)
    found = document.name_index.occurrences_at(document.source, offset)
    places = [each.symbol.definition for each in found if each.symbol.definition is not None]
    elsewhere = [p for p in places if not (p.source is document.source and p.start <= offset <= p.end)]
    return [*_locations(dict.fromkeys(elsewhere or places), document, encoding)]


def references(
    document: Document,
    documents: OpenDocuments,
    position: types.Position,
    encoding: PositionEncoding,
    *,
    with_definition: bool = True,
) -> list[types.Location]:
    """Return all places in the workspace that mention a symbol at a position."""
    symbols = _symbols_at(document, encoding.to_offset(document.source, position))
    return [
        types.Location(home.uri if each.span.source is home.source else uri, encoding.to_range(each.span))
        for home, each in _occurrences(symbols, document, documents)
        if (with_definition or not each.is_definition) and (uri := source_uri(each.span.source) or home.uri)
    ]


def highlights(
    document: Document, position: types.Position, encoding: PositionEncoding
) -> list[types.DocumentHighlight]:
    """Return the places in a document that mention a symbol at a position."""
    symbols = _symbols_at(document, encoding.to_offset(document.source, position))
    spans = {each.span for symbol in symbols for each in document.name_index.occurrences_of(symbol)}
    return [
        types.DocumentHighlight(encoding.to_range(span)) for span in sorted(spans) if span.source is document.source
    ]


def range_to_rename(document: Document, position: types.Position, encoding: PositionEncoding) -> types.Range:
    """Return the range of the name at a position; raise RenameError if it cannot be changed."""
    return encoding.to_range(_renamed(document, encoding.to_offset(document.source, position)).span)


def rename(
    document: Document, documents: OpenDocuments, position: types.Position, name: str, encoding: PositionEncoding
) -> types.WorkspaceEdit:
    """Return the edits that rename the symbol at a position; raise RenameError if that is impossible."""
    chosen = _renamed(document, encoding.to_offset(document.source, position))
    if not is_bare_word(name):
        raise RenameError(f"`{name}` cannot be a name: use letters, digits and `_`, and no reserved word")
    symbols = {chosen.symbol.key: chosen.symbol}
    if chosen.symbol.kind in (SymbolKind.STAGE, SymbolKind.ABSTRACT):
        # An alternative without a name of its own is called like the stage or operator that it consists of.
        for _, each in _occurrences([chosen.symbol], document, documents):
            others = document.name_index.occurrences_at(each.span.source, each.span.start)
            symbols |= {o.symbol.key: o.symbol for o in others if o.span == each.span and o.is_definition}
    changes: dict[str, dict[Span, types.TextEdit]] = {}
    for home, each in _occurrences([*symbols.values()], document, documents):
        uri = home.uri if each.span.source is home.source else source_uri(each.span.source)
        if uri is not None and each.span.text in (chosen.symbol.name, f'"{chosen.symbol.name}"'):
            changes.setdefault(uri, {})[each.span] = _edit(each, chosen.symbol, name, document, encoding)
    _refuse_clash(document, documents, changes, name)
    return types.WorkspaceEdit(changes={uri: [*edits.values()] for uri, edits in changes.items()})


def _edit(
    each: Occurrence, symbol: Symbol, name: str, document: Document, encoding: PositionEncoding
) -> types.TextEdit:
    """Return the edit of one place. An operator that has the name of its class gets its new name after `as`."""
    if symbol.kind is SymbolKind.ALTERNATIVE and each.is_definition and _is_class(each, document):
        end = encoding.to_position(each.span.source, each.span.end)
        return types.TextEdit(types.Range(end, end), f" as {name}")
    return types.TextEdit(encoding.to_range(each.span), name)


def _is_class(each: Occurrence, document: Document) -> bool:
    others = document.name_index.occurrences_at(each.span.source, each.span.start)
    return any(other.symbol.kind is SymbolKind.OPERATOR and other.span == each.span for other in others)


def _refuse_clash(
    document: Document, documents: OpenDocuments, changes: dict[str, dict[Span, types.TextEdit]], name: str
) -> None:
    """Raise RenameError if a document would have an error after the renaming, such as two equal names."""
    after = documents.with_texts({uri: _edited(edits) for uri, edits in changes.items()})
    for changed, edits in zip(after, changes.values(), strict=True):
        known = document if changed.uri == document.uri else documents.get(changed.uri)
        text = next(iter(edits)).source.text
        (before,) = [known] if known is not None else documents.with_texts({changed.uri: text})
        codes = {problem.code for problem in before.check_result.diagnostics}
        for problem in changed.check_result.diagnostics:
            if problem.severity is Severity.ERROR and problem.code not in codes:
                raise RenameError(f"`{name}` cannot be the new name: {problem.message}")


def _edited(edits: dict[Span, types.TextEdit]) -> str:
    """Return the text of a file after edits, given by the places of the names in the file."""
    text, shift = next(iter(edits)).source.text, 0
    for span, edit in sorted(edits.items(), key=lambda pair: pair[0].start):
        start = span.end if edit.new_text.startswith(" as ") else span.start
        text = text[: start + shift] + edit.new_text + text[span.end + shift :]
        shift += len(edit.new_text) - (span.end - start)
    return text


def _renamed(document: Document, offset: int) -> Occurrence:
    found = document.name_index.occurrences_at(document.source, offset)
    renamed = [each for each in found if _is_named_by_space(each.symbol)]
    if not renamed:
        if not found:
            raise RenameError("no name at the position of the cursor")
        problem = f"the {found[0].symbol.kind} `{found[0].symbol.name}` cannot be renamed"
        raise RenameError(
            f"{problem}: only stages, groups, abstract operators, alternatives, values and imports can be renamed"
        )
    chosen = min(
        renamed, key=lambda each: (each.symbol.kind is SymbolKind.ALTERNATIVE, each.span.end - each.span.start)
    )
    if (path := _imported_bundled_file(chosen.symbol, document)) is not None:
        raise RenameError(f"`{chosen.symbol.name}` cannot be renamed: the bundled space `{path.stem}` declares it")
    return Occurrence(chosen.span, _owner_of_name(chosen.symbol, document))


def _imported_bundled_file(symbol: Symbol, document: Document) -> Path | None:
    """Return the file of an imported bundled space that declares a symbol, or None if the symbol is declared elsewhere.

    A bundled space is a part of the package; only its own document may be changed.
    """
    source = None if symbol.definition is None else symbol.definition.source
    if source is None or source is document.source or source.origin is None:
        return None
    path = source.origin.path
    return path if path.parent == resource_folder("spaces").resolve() else None


def _is_named_by_space(symbol: Symbol) -> bool:
    """Return True if the space declares the name; the alternative `none` is a word of the language."""
    return symbol.kind in RENAMED_KINDS and symbol.definition is not None and symbol.definition.text != "none"


def _owner_of_name(symbol: Symbol, document: Document) -> Symbol:
    """Return the symbol to rename instead of an alternative that is named after its stage or abstract operator.

    Any other symbol is returned unchanged.
    """
    place = symbol.definition
    others = document.name_index.occurrences_at(place.source, place.start) if place is not None else []
    kinds = (SymbolKind.STAGE, SymbolKind.ABSTRACT)
    owners = (each.symbol for each in others if each.span == place and each.symbol.kind in kinds)
    return next(owners, symbol) if symbol.kind is SymbolKind.ALTERNATIVE else symbol


def _symbols_at(document: Document, offset: int) -> list[Symbol]:
    return [
        *{each.symbol.key: each.symbol for each in document.name_index.occurrences_at(document.source, offset)}.values()
    ]


def _occurrences(
    symbols: list[Symbol], document: Document, documents: OpenDocuments
) -> Iterator[tuple[Document, Occurrence]]:
    """Yield the occurrences of symbols in a document and, if they are declared in files, in the whole workspace."""
    is_shared = any(each.definition is not None and each.definition.source.origin is not None for each in symbols)
    others = documents.workspace_documents() if is_shared else []
    seen: set[tuple[object, ...]] = set()
    for home in [document, *(each for each in others if each.uri != document.uri)]:
        for symbol in symbols:
            for each in home.name_index.occurrences_of(symbol):
                origin = each.span.source.origin
                place = (origin.path if origin is not None else home.uri, each.span.start, each.span.end)
                if place not in seen:
                    seen.add(place)
                    yield home, each


def _locations(places: "dict[Span, None]", document: Document, encoding: PositionEncoding) -> Iterator[types.Location]:
    for place in places:
        uri = document.uri if place.source is document.source else source_uri(place.source)
        if uri is not None:
            yield types.Location(uri, encoding.to_range(place))
