"""A client of the language server, for tests and benchmarks: it starts `spacelang lsp` and waits for its answers."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

TIMEOUT = 60.0


class SpaceClient(LanguageClient):
    """An editor without a screen; it stores the diagnostics of every version of a document."""

    def __init__(self) -> None:
        super().__init__("tests", "1")
        self.published: dict[tuple[str, int | None], list[types.Diagnostic]] = {}
        self.exit_status: int | None = None
        self._arrived = asyncio.Condition()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        async def published(parameters: types.PublishDiagnosticsParams) -> None:
            async with self._arrived:
                self.published[parameters.uri, parameters.version] = list(parameters.diagnostics)
                self._arrived.notify_all()

    async def server_exit(self, server: asyncio.subprocess.Process) -> None:
        """Store the exit status of the server."""
        self.exit_status = server.returncode

    def open(self, path: Path, text: str, version: int = 1) -> str:
        """Open a document, and return its address."""
        uri = path.as_uri()
        item = types.TextDocumentItem(uri, "spacelang", version, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, version: int, text: str) -> None:
        """Replace the text of a document."""
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        changes = [types.TextDocumentContentChangeWholeDocument(text)]
        self.text_document_did_change(types.DidChangeTextDocumentParams(identifier, changes))

    async def diagnostics(self, uri: str, version: int) -> list[types.Diagnostic]:
        """Wait for the diagnostics of a version of a document, and return them."""
        async with self._arrived:
            await asyncio.wait_for(self._arrived.wait_for(lambda: (uri, version) in self.published), TIMEOUT)
        return self.published[uri, version]


def place(text: str, mark: str, shift: int = 0) -> types.Position:
    """Return the position of the first character of `mark` in an ASCII text, moved by `shift` characters."""
    before = text[: text.index(mark) + shift]
    return types.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)


@asynccontextmanager
async def language_client(folder: Path, options: Any = None) -> AsyncIterator[SpaceClient]:
    """Start a server in a process of its own, and stop it afterwards as an editor does."""
    client = SpaceClient()
    await client.start_io(sys.executable, "-m", "spacelang", "lsp", "--stdio")
    await client.initialize_async(
        types.InitializeParams(types.ClientCapabilities(), root_uri=folder.as_uri(), initialization_options=options)
    )
    client.initialized(types.InitializedParams())
    try:
        yield client
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()
        assert client.exit_status == 0
