"""`spacelang runs`: the runs that are stored in a folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spacelang.cli import BAD_INPUT
from spacelang.cli._shared import JsonOption, fail, print_json
from spacelang.diagnostics.cells import visible

if TYPE_CHECKING:
    from spacelang.runtime.storing.runs import Listing, Summary

PICTURES: Final = (".svg", ".txt")
"""How files end that a tree is written to."""


def command(
    folder: Annotated[Path, typer.Argument(help="The folder with the stores.")] = Path("runs"),
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the trials of one run, whose store is named instead of a folder."),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Show the tree of one run of `mosaic`: as `.svg` or `.txt`; `-` prints it."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List stored runs with space, data, optimizer, state and best loss; or write the trials of one, or its tree."""
    from spacelang.runtime.errors import InputError
    from spacelang.runtime.storing.runs import runs

    try:
        if export is not None:
            _export(folder, export)
        if tree is not None:
            _draw(folder, tree)
        if export is not None or tree is not None:
            return
        listing = runs(folder)
    except InputError as error:
        fail(error.message, error.help, status=BAD_INPUT)
    if json:
        print_json([_document(run) for run in listing.runs])
    else:
        _print(listing)


def _export(store: Path, table: Path) -> None:
    from spacelang.runtime.storing.exports import export
    from spacelang.runtime.storing.store import Store

    with Store.read(store) as run:
        export(run, table)


def _draw(store: Path, picture: Path) -> None:
    from spacelang.report.search_tree import shown_tree
    from spacelang.runtime.storing.store import Store

    if str(picture) != "-" and picture.suffix not in PICTURES:
        fail(f"no tree is written as `{picture.name}`", "name a file `.svg` or `.txt`, or `-`")
    with Store.read(store) as run:
        found = shown_tree(run)
    text = found.to_svg() if picture.suffix == ".svg" else found.to_text()
    if str(picture) == "-":
        typer.echo(text)
        return
    try:
        picture.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        fail(f"cannot write `{picture}`: {(error.strerror or str(error)).lower()}")


def _document(run: "Summary") -> dict[str, object]:
    from spacelang.report.reached import score_document

    return {
        "store": str(run.path),
        "space": run.space,
        "data": run.data.name,
        "optimizer": run.optimizer,
        "seed": run.seed,
        "metric": run.metric,
        "validation": run.validation,
        "state": run.state.value,
        "trials": run.trials,
        "loss": run.best,
        "feasible": run.feasible,
        "started": run.started,
        "seconds": run.seconds,
        "test": None if run.test is None else score_document(run.test),
    }


def _print(listing: "Listing") -> None:
    head = ("store", "space", "data", "optimizer", "seed", "state", "trials", "best", "loss", "validation")
    lines = [tuple(map(visible, _cells(run))) for run in listing.runs]
    if lines:
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        typer.secho(_line(head, widths), bold=True)
        for line in lines:
            typer.echo(_line(line, widths))
    else:
        typer.echo("no runs are stored there")
    for path, error in listing.others:
        typer.echo(f"{visible(path.name)}: {visible(error.message)}", err=True)


def _cells(run: "Summary") -> tuple[str, ...]:
    best = "-" if run.best is None else f"{run.best:.6g}" + ("" if run.feasible else " beyond a bound")
    names = (run.path.name, run.space, run.data.name, run.optimizer, str(run.seed), run.state.value)
    return (*names, f"{run.trials:,}", best, run.metric, run.validation)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
