"""`spacelang watch`: show a run as a page that updates itself while the run continues."""

import os
import sys
from contextlib import suppress
from threading import Thread
from typing import Annotated

import typer

from spacelang.cli._output import fail, print_note
from spacelang.cli.show import RunArgument
from spacelang.files import os_error_text

GROUP = ("Use a run", 4)


def command(
    run: RunArgument,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port of the page; 0 takes a free one.")
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Show a stored run as a page that updates itself, on this computer only; Ctrl-C stops it.

    It is the page that `spacelang report` writes. Its address contains a random token and works on this computer only.
    The run is not affected, also when you close the page.

    Example: `spacelang watch runs/credit-20260131-120000.db --no-browser`
    """
    from spacelang.report.page.watch_server import WatchedPage, WatchServer, new_token

    watched = WatchedPage(run)
    watched.page()  # raises StoreError
    try:
        server = WatchServer(watched, new_token(), port)
    except OSError as error:
        fail(f"port {port} cannot be used: {os_error_text(error)}", "name another port, or leave `--port` out")
    typer.echo(f"{run} is shown at {server.address}")
    sys.stdout.flush()
    print_note("press Ctrl-C to stop")
    # Ctrl-C may arrive as soon as the server answers, so it must be caught before that.
    with suppress(KeyboardInterrupt), server:
        # Without a graphical display, a browser in the terminal would replace our output.
        screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform in ("darwin", "win32")
        if browser and screen:
            Thread(target=_open_browser, args=(server.address,), daemon=True).start()
        server.serve_forever()


def _open_browser(address: str) -> None:
    import webbrowser

    webbrowser.open(address)
