"""`spacelang report`: write stored runs as a page that opens offline."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from spacelang.cli._output import fail, overwrite
from spacelang.cli._process import print_file_text

GROUP = ("Use a run", 3)


def command(
    places: Annotated[
        list[Path],
        typer.Argument(metavar="RUNS…", help="Stores of runs and folders with stores; several are compared."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE.html", help="The file of the page; `-` prints it.")
    ] = Path("report.html"),
) -> None:
    """Write stored runs as one HTML page that opens offline: no scripts, nothing loaded from elsewhere.

    It shows the best loss over time, the best pipelines, the importance of hyperparameters, parallel coordinates, the
    tree of decisions, constraints, cost, failures and the space. A run that is still running can be shown, too. Neither
    the data nor the space file is needed.

    Example: `spacelang report runs/credit-20260131-120000.db -o report.html`
    """
    from spacelang.report.page.rendering import render_page
    from spacelang.runtime.storage.runs import list_runs
    from spacelang.runtime.storage.store import Store
    from spacelang.runtime.storage.store_errors import StoreError

    if output.is_dir():
        fail(f"`{output}` is a folder", "name a file")
    if any(place.resolve() == output.resolve() for place in places):
        fail(f"`{output}` is the store of a run and cannot be overwritten", "name another file with `-o`")
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
        print_file_text(text)
        return
    overwrite(output, text)
    typer.echo(f"wrote {output}")
