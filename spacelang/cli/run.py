"""`spacelang run`: search a space on data, and print the best pipeline."""

from functools import partial
from typing import Annotated

import typer

from spacelang.api.run_options import RunOptions, target_column_or_columns
from spacelang.cli import _run_steps as steps
from spacelang.cli._options import CodeOption, JsonOption, complete_spaces
from spacelang.cli._run_options import TargetColumnsOption
from spacelang.cli._search import search

GROUP = ("Search a space", 2)


def command(
    space: Annotated[
        str | None,
        typer.Argument(
            metavar="[SPACE]",
            autocompletion=complete_spaces,
            show_default=False,
            help="As for `stats`; by default `tabular_classification` or `tabular_regression`, chosen by the labels.",
        ),
    ] = None,
    *,
    data: Annotated[
        str,
        typer.Option("--data", "-d", help="As for `tabulate`; or `table:FILE.npz` or `artificial:SEED`, without rows."),
    ],
    target_column: TargetColumnsOption = None,
    options: RunOptions,
    code: CodeOption = False,
    json: JsonOption = False,
) -> None:
    """Search a space on data with an optimizer and print the best score and pipeline.

    The pipeline is printed as scikit-learn code with --code, and `spacelang export` writes it as a module.

    Without SPACE a bundled space is used, chosen by the type of the labels: `tabular_classification` or
    `tabular_regression`. It includes learners of xgboost and lightgbm if --allow names these packages.

    Options that are not given are taken from the task of the space. Without --time, --search-time, --trials and a limit
    of the task a run takes 60 seconds, with final fits, the score on test rows and the ensemble. Ctrl-C, SIGTERM and
    SIGHUP stop it early. All finished trials stay stored, however a run ends, and `spacelang resume` continues it.
    Random draws follow the advised law, by `@weight` and `@prior`.

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
        search(choose, data, target_column_or_columns(target_column), options, as_json=json, with_code=code)
    )
