"""Open documents, with cached results of parsing and checking, and positions in them as an editor counts them."""

import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from lsprotocol import types
from pygls import uris

from spacelang.analysis import CheckResult, CheckSettings, FileReader, TextNameIndex, check
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.frozen import frozen
from spacelang.language_server.name_index import NameIndex, build_name_index
from spacelang.serialization.json_documents import is_compiled_space
from spacelang.solver.counting import Structures
from spacelang.syntax.parser import ParseResult, parse
from spacelang.syntax.sources import ImportLocation, read_import, read_source
from spacelang.text import Source, SourceFileLocation, Span

_CODECS: Final = {"utf-8": "utf-8", "utf-16": "utf-16-le"}
_UNIT_BYTES: Final = {"utf-8": 1, "utf-16": 2}


@frozen
class PositionEncoding:
    """The unit in which a client counts columns: `utf-8`, `utf-16` (the default of the protocol) or `utf-32`."""

    name: str = "utf-16"

    def length_in_units(self, text: str) -> int:
        """Return the length of a text in units."""
        if self.name not in _CODECS or text.isascii():
            return len(text)
        return len(text.encode(_CODECS[self.name], "surrogatepass")) // _UNIT_BYTES[self.name]

    def characters_before_column(self, line: str, column: int) -> int:
        """Return the number of characters before a column; a column after the end of the line means its end."""
        if self.name not in _CODECS or line.isascii():
            return min(column, len(line))
        before = 0
        for place, character in enumerate(line):
            if before >= column:
                return place
            before += self.length_in_units(character)
        return len(line)

    def to_offset(self, source: Source, position: types.Position) -> int:
        """Return the offset of a position; positions after the end of the text mean its end."""
        if position.line >= len(source.line_starts):
            return len(source.text)
        line = source.line_text(position.line + 1)
        return source.line_starts[position.line] + self.characters_before_column(line, position.character)

    def to_position(self, source: Source, offset: int) -> types.Position:
        """Return the position of an offset."""
        line = bisect_right(source.line_starts, offset) - 1
        return types.Position(line, self.length_in_units(source.text[source.line_starts[line] : offset]))

    def to_range(self, span: Span) -> types.Range:
        """Return the range of a span."""
        return types.Range(self.to_position(span.source, span.start), self.to_position(span.source, span.end))


@dataclass(eq=False)
class Document:
    """One version of an open text, with lazily computed results of parsing and checking.

    `previous` is an earlier version without syntax errors.
    """

    uri: str
    version: int | None
    source: Source
    check_settings: CheckSettings
    previous: "Document | None" = None

    @cached_property
    def parse_result(self) -> ParseResult:
        """The syntax tree and the syntax errors of the text."""
        return parse(self.source)

    @cached_property
    def is_compiled_document(self) -> bool:
        """True if the text is the JSON document of a compiled space."""
        return is_compiled_space(self.source.text)

    @cached_property
    def check_result(self) -> CheckResult:
        """The result of checking the text and everything that it imports."""
        return check(self.source, self.check_settings)

    @property
    def is_checked(self) -> bool:
        """True if the result of the check is known already."""
        return "check_result" in self.__dict__

    @property
    def names(self) -> TextNameIndex | None:
        """The files, catalogues and variables of the text; None for a JSON document."""
        return self.check_result.names

    @cached_property
    def name_index(self) -> NameIndex:
        """The index of the names in the text and in the files that it imports."""
        return NameIndex(()) if self.names is None else build_name_index(self.names)

    @property
    def structures(self) -> Structures | None:
        """The structures of the space; None if the text has errors."""
        return self.check_result.structures

    @property
    def last_checked_version(self) -> "Document":
        """The newest version whose names are known from a check: this version, or one before a syntax error."""
        if self.previous is None or (
            self.is_checked and self.names is not None and not self.names.module.has_unreadable_items
        ):
            return self
        return self.previous

    def next_version(self, version: int | None, text: str) -> "Document":
        """Return the next version of the document."""
        previous = self.last_checked_version
        previous.previous = None  # one earlier version is enough
        source = Source(self.source.name, text, self.source.origin)
        return Document(self.uri, version, source, self.check_settings, previous)

    def without_cache(self) -> "Document":
        """Return the same version without cached results, because an imported file has changed."""
        return Document(self.uri, self.version, self.source, self.check_settings, self.previous)

    def imports_file(self, path: Path) -> bool:
        """Return True if the text imports a file, directly or through other files; False if it was not checked yet."""
        return self.is_checked and path in imported_paths(self.names)


def imported_paths(names: TextNameIndex | None) -> set[Path]:
    """Return the paths of all files that a text imports."""
    if names is None:
        return set()
    found, waiting = set[Path](), [*names.module.imports.values()]
    while waiting:
        module = waiting.pop()
        if module.source.origin is not None and module.source.origin.path not in found:
            found.add(module.source.origin.path)
            waiting.extend(module.imports.values())
    return found


@dataclass(eq=False)
class OpenDocuments(FileReader):
    """All open documents by address, and the parsed files that they import."""

    bindings: Mapping[str, int] = field(default_factory=dict)
    allowed: frozenset[str] = frozenset()
    folders: tuple[Path, ...] = ()
    _open: dict[str, Document] = field(default_factory=dict)
    _files: dict[tuple[Path, str], tuple[Source, ParseResult]] = field(default_factory=dict)
    _closed: dict[Path, tuple[tuple[int, int], Document]] = field(default_factory=dict)

    @cached_property
    def check_settings(self) -> CheckSettings:
        """The settings with which all documents are checked."""
        return CheckSettings(self.bindings, self.allowed, files=self)

    def __iter__(self) -> Iterator[Document]:
        """Iterate over the open documents."""
        return iter([*self._open.values()])

    def get(self, uri: str) -> Document | None:
        """Return an open document, or None if no document with this address is open."""
        return self._open.get(uri)

    def open(self, uri: str, version: int | None, text: str) -> Document:
        """Store a document that was opened in the editor, and return it."""
        self._open[uri] = Document(uri, version, document_source(uri, text), self.check_settings)
        self.refresh_importers(uri)
        return self._open[uri]

    def change(self, uri: str, version: int | None, text: str) -> Document:
        """Store a new version of a document, and return it."""
        known = self._open.get(uri)
        if known is None:
            return self.open(uri, version, text)
        if known.source.text == text:
            known.version = version
            return known
        self._open[uri] = known.next_version(version, text)
        self.refresh_importers(uri)
        return self._open[uri]

    def close(self, uri: str) -> None:
        """Forget a document that was closed in the editor."""
        self._open.pop(uri, None)
        self.refresh_importers(uri)

    def refresh_importers(self, uri: str) -> list[Document]:
        """Discard cached results of the open documents that import a changed file; return these documents."""
        path = _real_path(uri)
        stale = [] if path is None else [document for document in self if document.imports_file(path)]
        for document in stale:
            self._open[document.uri] = document.without_cache()
        return [self._open[document.uri] for document in stale]

    def with_texts(self, texts: Mapping[str, str]) -> list[Document]:
        """Return new documents with the given texts, which are by address; the open documents do not change.

        Their imports see the given texts, and the texts of the other open documents.
        """
        others = OpenDocuments(self.bindings, self.allowed)
        for uri, text in ({document.uri: document.source.text for document in self} | dict(texts)).items():
            others.open(uri, None, text)
        return [others._open[uri] for uri in texts]

    def workspace_documents(self) -> list[Document]:
        """Return the open documents, and the `.space` files in the workspace folders that are not open."""
        opened = [*self]
        known = {each.source.origin.path for each in opened if each.source.origin is not None}
        closed = (self._file(path) for path in self._workspace_files() if path not in known)
        return [*opened, *(document for document in closed if document is not None)]

    def _workspace_files(self) -> Iterator[Path]:
        left = MAX_WORKSPACE_FILES
        for folder in self.folders:
            for place, folders, files in os.walk(folder):
                folders[:] = sorted(name for name in folders if name[0] != "." and name not in _SKIPPED_FOLDERS)
                for name in sorted(files):
                    if name.endswith(".space") and left > 0:
                        left -= 1
                        yield Path(os.path.realpath(Path(place) / name))

    def _file(self, path: Path) -> Document | None:
        try:
            status = path.stat()
        except OSError:
            return None
        stamp = status.st_mtime_ns, status.st_size
        known = self._closed.get(path)
        if known is None or known[0] != stamp:
            source = read_source(str(path))
            if isinstance(source, Diagnostic):
                return None
            uri = uris.from_fs_path(str(path)) or ""
            known = self._closed[path] = stamp, Document(uri, None, source, self.check_settings)
        return known[1]

    # ---- the reader of files for checks

    def parse(self, source: Source) -> ParseResult:
        """Return the syntax tree of a document or of an imported file, parsed once for each of its versions."""
        for document in self._open.values():
            if document.source is source:
                return document.parse_result
        if source.origin is None:
            return parse(source)
        key = source.origin.path, source.name
        known = self._files.get(key)
        if known is None or known[0].text != source.text:
            known = self._files[key] = source, parse(source)
        return known[1]

    def read_import(self, place: ImportLocation, reference: str, at: Span) -> Source | Diagnostic:
        """Return the text of an imported file: of its open document if it has one, else from the disk."""
        opened = self._open_at(place.origin.path)
        source = read_import(place, reference, at) if opened is None else None
        if isinstance(source, Diagnostic):
            return source
        text = opened.source.text if opened is not None else source.text if source is not None else ""
        known = self._files.get((place.origin.path, place.name))
        return known[0] if known is not None and known[0].text == text else Source(place.name, text, place.origin)

    def _open_at(self, path: Path) -> Document | None:
        found = (each for each in self._open.values() if each.source.origin is not None)
        return next((each for each in found if each.source.origin and each.source.origin.path == path), None)


MAX_WORKSPACE_FILES = 500  # The maximum number of spaces that references and symbols of a workspace are looked for in
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages"})


def document_source(uri: str, text: str) -> Source:
    """Return the source of a document; it has no origin if the document was never saved."""
    path = _real_path(uri)
    if path is None:
        return Source(uri.rpartition("/")[2] or uri, text)
    return Source(path.name, text, SourceFileLocation(path, path.parent))


def source_uri(source: Source) -> str | None:
    """Return the address of the file that a source was read from, or None if it was not read from a file."""
    return None if source.origin is None else uris.from_fs_path(str(source.origin.path))


def _real_path(uri: str) -> Path | None:
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return None if path is None else Path(os.path.realpath(path))
