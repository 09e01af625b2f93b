"""`spacelang report`: stored runs as a page that opens offline."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from spacelang.cli._shared import fail, write_over
from spacelang.cli._streams import write_file


def command(
    places: Annotated[
        list[Path],
        typer.Argument(metavar="RUNS…", help="Stores of runs and folders with stores; several are compared."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE.html", help="Where the page is written; `-` prints it.")
    ] = Path("report.html"),
) -> None:
    """Write one or several stored runs as one HTML page that opens offline: no script, nothing loaded from elsewhere.

    It has the best loss over time, the best pipelines, what mattered, trials side by side, the tree of decisions,
    bounds, cost, failures and the space, also while a run goes on. Neither the data nor the space is needed.

    Example: `spacelang report runs/credit-20260131-120000.db -o report.html`
    """
    if output.is_dir():
        fail(f"`{output}` is a folder", "name a file")
    if any(place.resolve() == output.resolve() for place in places):
        fail(f"`{output}` is a store, which a page must not replace", "name another file with `-o`")
    text = _page(places)
    if str(output) == "-":
        write_file(text)
        return
    write_over(output, text)
    typer.echo(f"written to {output}")


def _page(places: Sequence[Path]) -> str:
    """The page; raises StoreError where a file that was named cannot be read, and where there is no run at all."""
    from spacelang.report.page.rendering import page
    from spacelang.runtime.storing.runs import runs
    from spacelang.runtime.storing.store import Store
    from spacelang.runtime.storing.store_faults import StoreError

    listing = runs(*places)
    for path, error in listing.others:
        if path in places:
            raise error
    if not listing.runs:
        raise StoreError("no runs are stored there", "name stores, or folders of them")
    with ExitStack() as stack:
        found = [stack.enter_context(Store.read(each.path)) for each in reversed(listing.runs)]
        return page(found, others=[(str(path), error.message) for path, error in listing.others])
