"""`spacelang run` and `resume`: search a space on data, and continue a stored run."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spacelang.api.run_options import ResumeOptions, RunOptions, target_column_or_columns
from spacelang.cli import _run_steps as steps
from spacelang.cli._options import CodeOption, JsonOption, RunArgument, complete_spaces
from spacelang.cli._output import exit_with_error
from spacelang.cli._run_options import TargetColumnsOption
from spacelang.cli._run_steps import parse_seconds
from spacelang.cli._search import search_and_print_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from spacelang.api import Space
    from spacelang.api.experiment import EvaluationData

GROUP = ("Search a space", 2)


def run_command(
    space: Annotated[
        str | None,
        typer.Argument(
            metavar="[SPACE]",
            autocompletion=complete_spaces,
            show_default=False,
            help="A `.space` file, a compiled one (JSON), or the name of a bundled space; by default "
            "`tabular_classification` or `tabular_regression`, chosen by the labels.",
        ),
    ] = None,
    *,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            "-d",
            help="A `.csv`, `.csv.gz`, `.parquet` or `.arff` file, `sklearn:NAME`, `openml:ID` or `openml-task:ID`; "
            "or, without rows, `table:FILE.npz` or `artificial:SEED`.",
        ),
    ],
    target_column: TargetColumnsOption = None,
    options: RunOptions,
    code: CodeOption = False,
    json: JsonOption = False,
) -> None:
    """Search a space on data; print the best score and pipeline.

    The pipeline is printed as scikit-learn code with --code, and `spacelang export` writes it as a module.

    Without SPACE a bundled space is used, chosen by the type of the labels: `tabular_classification` or
    `tabular_regression`. It includes learners of xgboost and lightgbm if --allow names these packages.

    Options that are not given are taken from the task of the space. Without --time, --search-time, --trials and a limit
    of the task a run takes 60 seconds, including final fits, the score on test rows and the ensemble. Ctrl-C, SIGTERM
    and SIGHUP stop it early. All finished trials stay stored, however a run ends, and `spacelang resume` continues it.
    Random draws are weighted by `@weight` and `@prior`.

    With `--data table:FILE.npz`, written by `spacelang tabulate`, losses and seconds are looked up in a table instead
    of running trials. With `--data artificial:SEED` a formula gives the losses, for any space.

    With --ensemble N the best pipelines also vote, and without SPACE they have 32 votes unless --ensemble is 0. Members
    and their votes are chosen by their predictions for the held-out rows, which are then stored. With --resume and no
    time left, only the ensemble is built.

    Example: `spacelang run --data my.csv --target-column price --time 10m --test 0.2`
    """
    steps.require_store_for_resume(options)
    choose = partial(steps.choose_space, space, options=options)
    raise typer.Exit(
        search_and_print_result(
            choose, data, target_column_or_columns(target_column), options, as_json=json, with_code=code
        )
    )


def resume_command(
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
    """Continue a stored run with its data, space and options.

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
    if found.is_tabulation:
        from spacelang.cli.tabulate import resume_tabulation

        if output is None:
            exit_with_error(
                f"`{run}` is an unfinished table of `spacelang tabulate`", f"say where to write it: `{found.command}`"
            )
        resume_tabulation(found, data, output, options, as_json=json)
        return
    if output is not None:
        exit_with_error(
            "`--output` is for runs of `spacelang tabulate`", f"to write the pipeline: `spacelang export {run} -o …`"
        )

    def choose(_: "Callable[[], EvaluationData]") -> "tuple[Space, str]":
        return found.load_space(options["allow"]), found.space_choice_reason

    reference = found.data_reference(data)
    target = found.target_column
    values = found.given_or_stored_options(options)
    raise typer.Exit(
        search_and_print_result(
            choose, reference, target, values, complete=found.add_stored_row_information, as_json=json, with_code=code
        )
    )
