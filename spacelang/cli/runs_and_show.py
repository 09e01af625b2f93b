"""`spacelang runs` and `show`: list stored runs, and show the settings and results of one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spacelang.cli._options import JsonOption, RunArgument
from spacelang.cli._output import exit_if_not_replaceable, exit_with_error, overwrite_file, print_json
from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.ir.trial import LossName
from spacelang.text import pad_table_columns

if TYPE_CHECKING:
    from spacelang.runtime.storage.run_listing import RunListing, RunSummary

GROUP = ("Use a run", 1)
EXPORT_STARTS: Final = {".csv": "trial,", ".csv.gz": "trial,", ".jsonl": '{"trial": ', ".parquet": "PAR1"}
"""The first characters of exported trials by the suffix of the file, without compression."""


def runs_command(
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUNS]…", help="Stores of runs and folders with stores; by default `runs`."),
    ] = None,
    *,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the trials of the run in the named store: `.csv`, `.csv.gz`, `.parquet` or `.jsonl`. An "
            "existing file is replaced only if it is an earlier export.",
        ),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the search tree of a run of `mosaic`: `.svg` or `.txt`; `-` prints it."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List stored runs, or write the trials or tree of one run.

    Other files in a folder are ignored.

    Example: `spacelang runs runs old/*.db`
    """
    from spacelang.runtime.storage.run_listing import DEFAULT_FOLDER, list_runs

    found = places or [Path(DEFAULT_FOLDER)]
    if (export is not None or tree is not None) and len(found) > 1:
        exit_with_error(
            f"`{'--tree' if export is None else '--export'}` needs a single store, and {len(found)} are named"
        )
    if export is not None:
        from spacelang.runtime.storage.run_listing import export_trials
        from spacelang.runtime.storage.store import Store

        begins = next((start for suffix, start in EXPORT_STARTS.items() if export.name.lower().endswith(suffix)), "")
        exit_if_not_replaceable(export, begins, "an earlier export of trials", option="--export")
        with Store.read(found[0]) as run:
            export_trials(run, export)
    if tree is not None:
        _write_tree(found[0], tree)
    if export is not None or tree is not None:
        return
    listing = list_runs(*found)
    if json:
        from spacelang.report.stored_run_output import run_summary_document

        print_json([run_summary_document(run) for run in listing.runs])
    else:
        _print(listing, is_one_folder=len(found) == 1)


def _write_tree(store: Path, picture: Path) -> None:
    from spacelang.report.page.tree_tables import search_tree_listing
    from spacelang.runtime.storage.store import Store

    if str(picture) != "-" and picture.suffix not in (".svg", ".txt"):
        exit_with_error(
            f"unknown file type: `{picture.name}`", "the name must end in `.svg` or `.txt`; `-` prints the tree"
        )
    with Store.read(store) as run:
        found = search_tree_listing(run)
    text = found.to_svg() if picture.suffix == ".svg" else found.to_text()
    if str(picture) == "-":
        typer.echo(text)
        return
    begins = "<svg " if picture.suffix == ".svg" else ""
    overwrite_file(picture, text + "\n", begins=begins, kind="an SVG picture")


def _print(listing: "RunListing", *, is_one_folder: bool) -> None:
    head = ("store", "space", "data", "optimizer", "seed", "state", "trials", "score", "metric", "validation")
    rows = [tuple(map(replace_unprintable, (_name(run.path, is_one_folder), *_cells(run)))) for run in listing.runs]
    if rows:
        first, *lines = ("  ".join(cells).rstrip() for cells in pad_table_columns([head, *rows]))
        typer.secho(first, bold=True)
        for line in lines:
            typer.echo(line)
    else:
        typer.echo("no stored runs found")
    for path, error in listing.unreadable:
        typer.echo(f"{replace_unprintable(_name(path, is_one_folder))}: {replace_unprintable(error.message)}", err=True)


def _name(path: Path, is_one_folder: bool) -> str:
    return path.name if is_one_folder else str(path)


def _cells(run: "RunSummary") -> tuple[str, ...]:
    metric = LossName.of_formula(run.metric)
    best = "-" if run.best is None else f"{metric.score(run.best):.6g}" + ("" if run.feasible else " (infeasible)")
    names = (run.space, run.data.name, run.optimizer, str(run.seed), run.state.value)
    return (*names, f"{run.trials:,}", best, metric.score_name, run.validation)


def show_command(
    run: RunArgument,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="The number of best trials to list.")] = 10,
    json: JsonOption = False,
) -> None:
    """Show a stored run, even while it runs.

    It shows data, optimizer, budget, best pipeline, best trials and failures. Neither the data nor the space file is
    needed. Nothing is fitted, and no code of the file is run.

    Example: `spacelang show runs/credit-20260131-120000.db --top 5`
    """
    from spacelang.report.stored_run_output import stored_run_document, stored_run_text
    from spacelang.runtime.storage.store import Store

    with Store.read(run) as found:
        if json:
            print_json(stored_run_document(found, top))
        else:
            typer.echo(stored_run_text(found, top))
