"""`spacelang lsp`: serve editors by the Language Server Protocol."""

from typing import Annotated

import typer

from spacelang import __version__
from spacelang.cli._options import SpaceOptions, parse_bindings
from spacelang.cli._output import exit_with_error
from spacelang.errors import MissingLibraryError, import_optional

GROUP = ("Write a space", 8)


def command(
    options: SpaceOptions,
    *,
    stdio: Annotated[  # noqa: ARG001 - the client library of VS Code always passes it
        bool, typer.Option("--stdio", help="Use standard input and output, as without this option.")
    ] = False,
) -> None:
    """Serve an editor by the Language Server Protocol.

    The editor starts this command itself, and talks to it on standard input and output. It reports mistakes while you
    type, completes, explains, renames and formats. README.md shows how to set up VS Code, Neovim and others. It needs
    `spacelang[lsp]`.

    Example: `spacelang lsp --bind n_features=30`
    """
    try:
        import_optional("pygls")
    except MissingLibraryError as error:
        exit_with_error(error.message, error.help)
    from spacelang.language_server.server import start_server

    start_server(parse_bindings(options.bind), options.allow or (), __version__)
