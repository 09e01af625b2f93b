"""`spacelang show`: show the settings and results of a stored run."""

from pathlib import Path
from typing import Annotated

import typer

from spacelang.cli._options import JsonOption
from spacelang.cli._output import print_json

GROUP = ("Use a run", 2)
RunArgument = Annotated[Path, typer.Argument(metavar="RUN.db", help="The store of a run.")]


def command(
    run: RunArgument,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="The number of best trials to list.")] = 10,
    json: JsonOption = False,
) -> None:
    """Show a stored run, even while it runs: data, optimizer, budget, best pipeline, best trials, failures.

    Neither the data nor the space file is needed. Nothing is fitted, and no code of the file is run.

    Example: `spacelang show runs/credit-20260131-120000.db --top 5`
    """
    from spacelang.report.stored_runs import document, text
    from spacelang.runtime.storage.store import Store

    with Store.read(run) as found:
        if json:
            print_json(document(found, top))
        else:
            typer.echo(text(found, top))
