"""`spacelang run`: search a space on data, and print the best pipeline."""

from functools import cache, partial
from typing import Annotated

import typer

from spacelang.api.run_options import RunOptions
from spacelang.cli import _run_steps as steps
from spacelang.cli._final_fit import FinishedSearch
from spacelang.cli._options import JsonOption, complete_spaces
from spacelang.cli._process import ignore_closed_reader
from spacelang.cli._run_options import TargetColumnOption

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
    target_column: TargetColumnOption = None,
    options: RunOptions,
    json: JsonOption = False,
) -> None:
    """Search a space on data with an optimizer and print the best pipeline as scikit-learn code.

    Without SPACE a bundled space is used, chosen by the type of the labels: `tabular_classification` or
    `tabular_regression`. It includes learners of xgboost and lightgbm if --allow names these packages.

    Options that are not given are taken from the task of the space. Without --time, --search-time, --trials and a limit
    of the task a run takes 60 seconds, with final fits, the score on test rows and the ensemble. Ctrl-C, SIGTERM and
    SIGHUP stop it early. All finished trials stay stored, however a run ends, and `--resume` continues it. Random draws
    follow the advised law, by `@weight` and `@prior`.

    With `--data table:FILE.npz`, written by `spacelang tabulate`, losses and seconds are looked up in a table instead
    of running trials. With `--data artificial:SEED` a formula gives the losses, for any space.

    With --ensemble N the best pipelines also vote, and without SPACE they have 32 votes unless --ensemble is 0. Members
    and their votes are chosen by their predictions for the held-out rows, which are then stored. With --resume and no
    time left, only the ensemble is built.

    Example: `spacelang run --data my.csv --target-column price --time 10m --test 0.2`
    """
    steps.limit_threads_before_fork(options["workers"], options["executor"])
    from spacelang.api.execution import ensemble_votes
    from spacelang.api.experiment import Experiment, budget_of, experiment_fields
    from spacelang.optimizers import OPTIMIZERS, default_optimizer

    steps.require_store_for_resume(options)
    optimizer, settings = options["optimizer"], options["optimizer_options"]
    seconds, of_search = map(steps.parse_seconds, (options["time"], options["search_time"]))
    steps.parse_validation_option(options["validate"])
    if optimizer is not None:
        OPTIMIZERS.create(optimizer, settings or {})  # report mistakes before anything is loaded
    described = experiment_fields(options)
    read = cache(partial(steps.load_data, data, target_column, options))
    loaded, chosen = steps.choose_space(space, read, options)
    votes = ensemble_votes(options["ensemble"], chosen, options["store"], resume=options["resume"])
    if without := steps.has_no_rows(data):
        steps.refuse_row_options(data, target_column, options)
    else:
        OPTIMIZERS.create(optimizer or default_optimizer(), settings or {})  # before rows are read
    workers = steps.check_workers(loaded, options, is_table=steps.is_loss_table(data))
    budget = budget_of(loaded, seconds, options["trials"], of_search)
    rows = read()
    steps.warn_of_columns(rows, loaded, described["validation"])
    experiment = Experiment(
        space=loaded, data=rows, workers=workers, budget=budget, chosen=chosen, **(described | {"ensemble": votes})
    ).with_optimizer(optimizer, settings)
    prepared = steps.prepare(experiment)
    # Even if nobody reads the output any more, the best pipeline is still fitted and scored.
    with ignore_closed_reader(), steps.run_search(prepared, options) as (found, crew, answer_time):
        status = (
            steps.print_result(found, as_json=json)
            if without
            else FinishedSearch(data, found, crew, answer_time).fit_and_print_result(as_json=json)
        )
    raise typer.Exit(status)
