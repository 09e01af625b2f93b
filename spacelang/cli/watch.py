"""`spacelang watch`: a run as a page that follows it while it goes on."""

import os
import sys
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from spacelang.cli._shared import fail, note
from spacelang.cli.show import RunArgument
from spacelang.files import said_by

if TYPE_CHECKING:
    from pathlib import Path

    from spacelang.report.page.watching import Watch


def command(
    run: RunArgument,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port of the page; 0 is any that is free.")
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Show a stored run as a page that follows it while it goes on, to you alone; Ctrl-C ends that.

    It is the page that `spacelang report` writes. Its address is of this machine and has a random token in it; the run
    goes on undisturbed, also when the page is not looked at any more.

    Example: `spacelang watch runs/credit-20260131-120000.db --no-browser`
    """
    try:
        server = _server(run, port)
    except OSError as error:
        fail(f"port {port} cannot be used: {said_by(error)}", "name another one, or none")
    typer.echo(f"{run} is shown at {server.address}")
    sys.stdout.flush()
    note("Ctrl-C ends it")
    # Ctrl-C may come as soon as there is an answer, so it is waited for before there is one.
    with suppress(KeyboardInterrupt), server:
        if browser and _has_windows():
            Thread(target=_open, args=(server.address,), daemon=True).start()
        server.serve_forever()


def _server(run: "Path", port: int) -> "Watch":
    """The server, which has made its page once; raises StoreError for what is no store, OSError for a port in use."""
    from spacelang.report.page.watching import Watch, Watched, new_token

    watched = Watched(run)
    watched.page()
    return Watch(watched, new_token(), port)


def _has_windows() -> bool:
    """Whether a browser would open a window: one of a terminal would take that away."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(address: str) -> None:
    import webbrowser

    webbrowser.open(address)
