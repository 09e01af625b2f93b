"""`spacelang run`: search a space on data, and print the best pipeline."""

from dataclasses import asdict
from functools import cache, partial
from typing import Annotated

import typer

from spacelang.cli import _run_steps as steps
from spacelang.cli._final_fit import FinishedSearch
from spacelang.cli._options import (
    InitialOptions,
    JsonOption,
    MetricOption,
    ReadingOptions,
    SeedOption,
    SetOption,
    SpaceOptions,
    StoreOptions,
    TargetColumnOption,
    TestOption,
    ValidateOption,
    WorkerOptions,
    complete_optimizers,
    complete_spaces,
)
from spacelang.cli._output import configure_plugin, fail, parse_settings
from spacelang.cli._process import ignore_closed_reader

GROUP = ("Search a space", 2)


def command(  # noqa: PLR0913 - one argument an option
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
    reading: ReadingOptions,
    optimizer: Annotated[
        str | None,
        typer.Option(
            "--optimizer",
            autocompletion=complete_optimizers,
            help="See `spacelang optimizers`; by default `mosaic`, or `blds` without hyperparameters.",
        ),
    ] = None,
    set_: SetOption = None,
    metric: MetricOption = None,
    validate: ValidateOption = None,
    test: TestOption = None,
    time: Annotated[str | None, typer.Option(help="Stop after this long: `30s`, `10m`, `2h`.")] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Stop after this many trials.")] = None,
    seed: SeedOption = 0,
    first: InitialOptions,
    of_space: SpaceOptions,
    kept: StoreOptions,
    working: WorkerOptions,
    metrics: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="More scikit-learn scorers, recorded for every trial.")
    ] = None,
    training_score: Annotated[
        bool, typer.Option("--training-score", help="Record the loss on the training rows, too.")
    ] = False,
    predictions: Annotated[
        bool, typer.Option("--predictions", help="Store the predictions for the held-out rows.")
    ] = False,
    ensemble: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Also choose an ensemble of the best pipelines, with N votes (Caruana)."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Search a space on data with an optimizer and print the best pipeline as scikit-learn code.

    Without SPACE a bundled space is used, chosen by the type of the labels: `tabular_classification` or
    `tabular_regression`. It includes learners of xgboost and lightgbm if --allow names these packages.

    Options that are not given are taken from the task of the space. Without --time, --trials and a limit of the task a
    run stops after 60 seconds. Ctrl-C or SIGTERM stops it early. All finished trials stay stored, however a run ends,
    and `--resume` continues it. Random draws follow the advised law, by `@weight` and `@prior`.

    With `--data table:FILE.npz`, written by `spacelang tabulate`, losses and seconds are looked up in a table instead
    of running trials. With `--data artificial:SEED` a formula gives the losses, for any space.

    With --ensemble N the best pipelines also vote. Members and their votes are chosen by their predictions for the
    held-out rows, which are then stored. With --resume and no time left, only the ensemble is built.

    Example: `spacelang run --data my.csv --target-column price --time 10m --test 0.2`
    """
    steps.limit_threads_before_fork(working.workers, working.executor)
    from spacelang.api.execution import check_stored_predictions
    from spacelang.api.experiment import Experiment, ExtraMeasurements, budget_of
    from spacelang.api.initial_configurations import open_archive, read_initial
    from spacelang.optimizers import OPTIMIZERS, default_optimizer

    if kept.resume and kept.store is None:
        fail("`--resume` needs the store of a run", "name it: `--store RUN.db --resume`")
    if kept.resume and ensemble is not None:
        check_stored_predictions(kept.store)
    given, validation = steps.parse_seconds(time), steps.parse_validation_option(validate)
    if optimizer is not None:
        configure_plugin(OPTIMIZERS, optimizer, set_)  # report mistakes before anything is loaded
    initial = None if first.initial is None else read_initial(first.initial)
    archive = None if first.archive is None else open_archive(first.archive)
    read = cache(partial(steps.load_data, data, target_column, reading.reading))
    loaded, chosen = steps.choose_space(space, read, of_space)
    if not (without := steps.has_no_rows(data)):
        configure_plugin(OPTIMIZERS, optimizer or default_optimizer(loaded.checked), set_)  # before rows are read
    else:
        judged = {"--target-column": target_column, "--metric": metric, "--validate": validate, "--metrics": metrics}
        judged |= {f"--{name.replace('_', '-')}": value for name, value in asdict(reading).items()}
        recorded_beside = {"--training-score": training_score, "--predictions": predictions}
        on_rows = {"--test": test, "--ensemble": ensemble, "--archive": first.archive}
        of_workers = {"--executor": working.executor, "--isolate": working.isolate}
        steps.refuse_row_options(data, on_rows, {**judged, **recorded_beside}, of_workers)
    named = tuple(name.strip() for name in (metrics or "").split(",") if name.strip())
    executing = steps.worker_settings(loaded, working, is_table=steps.is_loss_table(data))
    experiment = Experiment(
        space=loaded,
        data=read(),
        workers=executing,
        budget=budget_of(loaded, given, trials),
        seed=seed,
        metric=metric,
        validation=validation,
        recorded=ExtraMeasurements(named, training_score, predictions),
        test=test,
        initial=initial,
        archive=archive,
        norm=first.archive_norm,
        ensemble=ensemble,
        chosen=chosen,
    )
    prepared = steps.prepare(experiment.with_optimizer(optimizer, parse_settings(set_)))
    # Even if nobody reads the output any more, the best pipeline is still fitted and scored.
    with ignore_closed_reader(), steps.run_search(prepared, kept) as (found, crew):
        status = (
            steps.print_result(found, as_json=json)
            if without
            else FinishedSearch(data, found, crew).print_result(as_json=json)
        )
    raise typer.Exit(status)
