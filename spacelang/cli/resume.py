"""`spacelang resume`: continue a stored run, of which the store knows the data, the space and all options."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spacelang.api.run_options import ResumeOptions
from spacelang.cli._options import CodeOption, JsonOption, RunArgument
from spacelang.cli._output import fail
from spacelang.cli._run_steps import parse_seconds
from spacelang.cli._search import search

if TYPE_CHECKING:
    from collections.abc import Callable

    from spacelang.api import Space
    from spacelang.api.experiment import EvaluationData

GROUP = ("Search a space", 3)


def command(
    run: RunArgument,
    *,
    data: Annotated[
        str | None,
        typer.Option("--data", "-d", help="The data of the run; only needed if it is not in this folder or below."),
    ] = None,
    options: ResumeOptions,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="TABLE.npz", help="For a run of `tabulate`: write the table here."),
    ] = None,
    code: CodeOption = False,
    json: JsonOption = False,
) -> None:
    """Continue a stored run with the data, the space and the options that are in its store.

    A run that was stopped continues with its budget. One that has used it up needs a larger --time or --trials, which
    count from the start of the run. Options that are not given are as in the run, also the other limits, unless the run
    has used them up: after `run --trials 50`, `resume --time 1h` has no limit on trials.

    The store may come from someone else. Packages that its space or its scorer uses must be allowed again, and data
    outside of this folder, or that a Python program held, must be named. The message that asks for them, and
    `spacelang show`, have the complete command.

    Example: `spacelang resume runs/credit-20260131-120000.db --time 30m`
    """
    from spacelang.api.resuming import open_resumable_run

    for name in ("time", "search_time"):
        parse_seconds(options[name])
    found = open_resumable_run(run)
    if found.is_table:
        from spacelang.cli.tabulate import resume_table

        if output is None:
            fail(f"`{run}` is an unfinished table of `spacelang tabulate`", f"say where to write it: `{found.command}`")
        resume_table(found, data, output, options, as_json=json)
        return
    if output is not None:
        fail("`--output` is for runs of `spacelang tabulate`", f"to write the pipeline: `spacelang export {run} -o …`")

    def choose(_: "Callable[[], EvaluationData]") -> "tuple[Space, str]":
        return found.space(options["allow"]), found.chosen

    reference = found.data(data)
    target = found.target_column
    values = found.options(options)
    raise typer.Exit(
        search(
            choose, reference, target, values, complete=found.add_stored_row_information, as_json=json, with_code=code
        )
    )
