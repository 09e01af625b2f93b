"""The server: dispatches the requests of an editor to the modules of the features, and publishes diagnostics."""

import asyncio
import gc
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from spacelang.analysis.diagnostic_collector import BindingError, check_bindings
from spacelang.language_server import completions, diagnostics_and_fixes, hovers, navigation, whole_document
from spacelang.language_server.documents import Document, OpenDocuments, PositionEncoding

QUIET_SECONDS: Final = 0.005
"""The delay between a change and the check of the text; requests that follow the change are answered first."""
COMPLETION_CHARACTERS: Final = [".", "@", ":", "=", "{", " "]


class SpaceLanguageServer(LanguageServer):
    """A language server for spaces."""

    def __init__(self, bindings: Mapping[str, int], allowed: Iterable[str], version: str) -> None:
        """Create the server; `bindings` and `allowed` are the options `--bind` and `--allow`."""
        super().__init__("spacelang", version, types.TextDocumentSyncKind.Full)
        self.documents = OpenDocuments(bindings, frozenset(allowed))
        self._waiting: dict[str, asyncio.TimerHandle] = {}

    @property
    def encoding(self) -> PositionEncoding:
        """The unit of columns that was agreed with the client."""
        return PositionEncoding(str(getattr(self.workspace.position_encoding, "value", "utf-16")))

    def get_document(self, identifier: types.TextDocumentIdentifier) -> Document:
        """Return an open document; raise JsonRpcInvalidParams if it is not open."""
        found = self.documents.get(identifier.uri)
        if found is None:
            raise JsonRpcInvalidParams(f"the document {identifier.uri} is not open")
        return found

    def schedule_check(self, uri: str) -> None:
        """Check a document after a short time without changes, and publish its diagnostics."""
        if uri in self._waiting:
            self._waiting[uri].cancel()
        self._waiting[uri] = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._publish, uri)

    def schedule_all_checks(self) -> None:
        """Schedule a check of all open documents that have no cached results."""
        for document in self.documents:
            if not document.is_checked:
                self.schedule_check(document.uri)

    def _publish(self, uri: str) -> None:
        self._waiting.pop(uri, None)
        document = self.documents.get(uri)
        if document is not None:
            found = diagnostics_and_fixes.diagnostics(document, self.encoding)
            parameters = types.PublishDiagnosticsParams(uri, found, document.version)
            self.text_document_publish_diagnostics(parameters)

    def configure(self, folders: Iterable[str | None], options: Any) -> None:
        """Set the folders of the workspace, and the options `bind` and `allow` that the client sends."""
        paths = (uris.to_fs_path(folder) for folder in folders if folder)
        self.documents.folders = tuple(Path(path) for path in paths if path)
        given = _to_mapping(options)
        self.documents.allowed = self.documents.allowed | {str(name) for name in given.get("allow") or ()}
        try:
            bindings = check_bindings(_to_mapping(given.get("bind")))
        except BindingError as error:
            message = f"spacelang: {error}; {error.help}"
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))
        else:
            self.documents.bindings = {**self.documents.bindings, **bindings}


def _to_mapping(options: Any) -> dict[str, Any]:
    """Return the options of a client as a mapping, whether they are a dictionary or an object; empty otherwise."""
    if isinstance(options, Mapping):
        return dict(options)
    return dict(options._asdict()) if hasattr(options, "_asdict") else dict(getattr(options, "__dict__", {}))


def make_server(bindings: Mapping[str, int], allowed: Iterable[str], version: str) -> SpaceLanguageServer:
    """Return a server with all features, which tells clients the version of this package."""
    server = SpaceLanguageServer(bindings, allowed, version)
    _add_synchronization(server)
    _add_answers(server)
    return server


def start_server(bindings: Mapping[str, int], allowed: Iterable[str], version: str) -> None:
    """Serve one client on standard input and output, until it disconnects."""
    server = make_server(bindings, allowed, version)
    gc.collect()
    gc.freeze()  # exclude the permanent objects from garbage collections while the user types
    # The server closes its output when the client disconnects, and the end of the process flushes the standard output.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:
        server.start_io(stdout=output)


def _add_synchronization(server: SpaceLanguageServer) -> None:
    documents = server.documents

    @server.feature(types.INITIALIZE)
    def initialize(parameters: types.InitializeParams) -> None:
        folders: list[str | None] = [folder.uri for folder in parameters.workspace_folders or ()]
        server.configure(folders or [parameters.root_uri], parameters.initialization_options)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(parameters: types.DidOpenTextDocumentParams) -> None:
        opened = parameters.text_document
        documents.open(opened.uri, opened.version, opened.text)
        server.schedule_all_checks()

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(parameters: types.DidChangeTextDocumentParams) -> None:
        changed = parameters.text_document
        for change in parameters.content_changes:
            documents.change(changed.uri, changed.version, change.text)
        server.schedule_check(changed.uri)
        server.schedule_all_checks()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(parameters: types.DidCloseTextDocumentParams) -> None:
        uri = parameters.text_document.uri
        documents.close(uri)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        server.schedule_all_checks()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_files(parameters: types.DidChangeWatchedFilesParams) -> None:
        for change in parameters.changes:
            documents.refresh_importers(change.uri)
        server.schedule_all_checks()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(parameters: types.DidSaveTextDocumentParams) -> None:
        documents.refresh_importers(parameters.text_document.uri)
        server.schedule_all_checks()


Answer = Callable[[Document, Any, PositionEncoding], object]

OPTIONS: Final[Mapping[str, object]] = {
    types.TEXT_DOCUMENT_COMPLETION: types.CompletionOptions(trigger_characters=COMPLETION_CHARACTERS),
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    types.TEXT_DOCUMENT_RENAME: types.RenameOptions(prepare_provider=True),
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: types.SemanticTokensRegistrationOptions(whole_document.LEGEND, full=True),
}
"""The options of features, which clients are told, by method."""


def _answers(documents: OpenDocuments) -> dict[str, Answer]:
    """Return the functions that answer requests about an open document, by method; `given` are the parameters."""

    def rename(document: Document, given: types.RenameParams, unit: PositionEncoding) -> types.WorkspaceEdit:
        try:
            return navigation.rename(document, documents, given.position, given.new_name, unit)
        except navigation.RenameError as error:
            raise JsonRpcInvalidParams(str(error)) from None

    def renamed_range(document: Document, given: types.PrepareRenameParams, unit: PositionEncoding) -> object:
        try:
            return navigation.range_to_rename(document, given.position, unit)
        except navigation.RenameError:
            return None

    return {
        types.TEXT_DOCUMENT_COMPLETION: lambda each, given, unit: completions.complete(each, given.position, unit),
        types.TEXT_DOCUMENT_HOVER: lambda each, given, unit: hovers.hover(each, given.position, unit),
        types.TEXT_DOCUMENT_DEFINITION: lambda each, given, unit: navigation.definitions(each, given.position, unit),
        types.TEXT_DOCUMENT_REFERENCES: lambda each, given, unit: navigation.references(
            each, documents, given.position, unit, with_definition=given.context.include_declaration
        ),
        types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: lambda each, given, unit: navigation.highlights(
            each, given.position, unit
        ),
        types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: lambda each, _, unit: whole_document.document_symbols(each, unit),
        types.TEXT_DOCUMENT_FORMATTING: lambda each, _, __: whole_document.formatting(each),
        types.TEXT_DOCUMENT_CODE_ACTION: lambda each, given, unit: diagnostics_and_fixes.quick_fixes(
            each, given.range, unit
        ),
        types.TEXT_DOCUMENT_PREPARE_RENAME: renamed_range,
        types.TEXT_DOCUMENT_RENAME: rename,
        types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: lambda each, _, unit: types.SemanticTokens(
            whole_document.semantic_tokens(each, unit)
        ),
        types.TEXT_DOCUMENT_FOLDING_RANGE: lambda each, _, __: whole_document.folding_ranges(each),
        types.TEXT_DOCUMENT_INLAY_HINT: lambda each, given, unit: hovers.inlay_hints(each, given.range, unit),
    }


def _add_answers(server: SpaceLanguageServer) -> None:
    for method, answer in _answers(server.documents).items():

        def respond(parameters: Any, answer: Answer = answer) -> object:
            return answer(server.get_document(parameters.text_document), parameters, server.encoding)

        server.feature(method, OPTIONS.get(method))(respond)

    @server.feature(types.WORKSPACE_SYMBOL)
    def workspace_symbols(parameters: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
        return whole_document.workspace_symbols(server.documents, parameters.query, server.encoding)
