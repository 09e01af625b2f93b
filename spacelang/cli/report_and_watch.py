"""`spacelang report` and `watch`: show stored runs as a page, which can be updated while a run continues."""

import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer

from spacelang.cli._options import RunArgument
from spacelang.cli._output import exit_if_not_replaceable, exit_with_error, overwrite_file, print_note
from spacelang.cli._process import print_file_content
from spacelang.files import os_error_text

GROUP = ("Use a run", 3)


def report_command(
    places: Annotated[
        list[Path],
        typer.Argument(metavar="RUNS…", help="Stores of runs and folders with stores; several are compared."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE.html", help="The file of the page; `-` prints it.")
    ] = Path("report.html"),
) -> None:
    """Write stored runs as one HTML page that opens offline.

    It has no scripts and loads nothing. It shows the best score over time, the best pipelines, the importance of
    hyperparameters, parallel coordinates, the tree of decisions, constraints, cost, failures and the space. A run that
    is still running can be shown, too. Neither the data nor the space file is needed. An existing file is replaced only
    if it is an earlier report.

    Example: `spacelang report runs/credit-20260131-120000.db -o report.html`
    """
    from spacelang.report.page.rendering import render_page
    from spacelang.runtime.storage.run_listing import list_runs
    from spacelang.runtime.storage.store import Store
    from spacelang.runtime.storage.store_errors import StoreError

    if output.is_dir():
        exit_with_error(f"`{output}` is a folder", "name a file")
    if str(output) != "-":
        exit_if_not_replaceable(output, "<!doctype html>", "an earlier report")
    listing = list_runs(*places)
    for path, error in listing.unreadable:
        if path in places:
            raise error
    if not listing.runs:
        raise StoreError("no stored runs found", "give files with stored runs, or folders with such files")
    with ExitStack() as stack:
        found = [stack.enter_context(Store.read(each.path)) for each in reversed(listing.runs)]
        text = render_page(found, others=[(str(path), error.message) for path, error in listing.unreadable])
    if str(output) == "-":
        print_file_content(text)
        return
    overwrite_file(output, text)
    typer.echo(f"wrote {output}")


def watch_command(
    run: RunArgument,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port of the page; 0 takes a free one.")
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Show a stored run as a page that updates itself.

    Ctrl-C stops it. It is the page that `spacelang report` writes. Its address contains a random token and works on
    this computer only. The run is not affected, also when you close the page.

    Example: `spacelang watch runs/credit-20260131-120000.db --no-browser`
    """
    from spacelang.report.page.watch_server import WatchedPage, WatchServer, new_access_token

    watched = WatchedPage(run)
    watched.page()  # raises StoreError
    try:
        server = WatchServer(watched, new_access_token(), port)
    except OSError as error:
        exit_with_error(
            f"port {port} cannot be used: {os_error_text(error)}", "name another port, or leave `--port` out"
        )
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
