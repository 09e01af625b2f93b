"""`spacelang run`: search a space on data, and print the best pipeline."""

from functools import cache, partial
from typing import Annotated

import typer

from spacelang.cli._dataless import is_dataless, is_table, refuse, tell
from spacelang.cli._final import Ending
from spacelang.cli._running import (
    ArchiveNormOption,
    ArchiveOption,
    DecimalOption,
    DropColumnsOption,
    EncodingOption,
    ExecutorOption,
    InitialOption,
    IsolateOption,
    MetricOption,
    ResumeOption,
    SepOption,
    StoreOption,
    TargetColumnOption,
    TestOption,
    TimeOption,
    TrialLimitOption,
    ValidateOption,
    WorkersOption,
    archive_of,
    be_ready_to_fork,
    data_for,
    initial_of,
    must_keep_predictions,
    prepared_for,
    reading_of,
    searching,
    seconds_of,
    space_of,
    telling,
    validation_of,
    workers_of,
)
from spacelang.cli._shared import (
    AllowOption,
    BindOption,
    JsonOption,
    SeedOption,
    SetOption,
    fail,
    optimizers_like,
    plugin,
    settings,
    spaces_like,
)
from spacelang.runtime.archives import Norm


def command(  # noqa: PLR0913 - one argument an option
    space: Annotated[
        str | None,
        typer.Argument(
            metavar="[SPACE]",
            autocompletion=spaces_like,
            show_default=False,
            help="As for `stats`; without it `tabular_classification` or `tabular_regression`, as the labels are.",
        ),
    ] = None,
    *,
    data: Annotated[
        str,
        typer.Option("--data", "-d", help="As for `tabulate`, or `table:FILE.npz` or `artificial:SEED`, without rows."),
    ],
    target_column: TargetColumnOption = None,
    sep: SepOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    drop_columns: DropColumnsOption = None,
    optimizer: Annotated[
        str | None,
        typer.Option(
            "--optimizer",
            autocompletion=optimizers_like,
            help="See `spacelang optimizers`; else `mosaic`, `blds` without hyperparameters.",
        ),
    ] = None,
    set_: SetOption = None,
    metric: MetricOption = None,
    validate: ValidateOption = None,
    test: TestOption = None,
    time: TimeOption = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Stop after this many trials.")] = None,
    seed: SeedOption = 0,
    initial: InitialOption = None,
    archive: ArchiveOption = None,
    archive_norm: ArchiveNormOption = Norm.L1,
    allow: AllowOption = None,
    bind: BindOption = None,
    store: StoreOption = None,
    resume: ResumeOption = False,
    workers: WorkersOption = 1,
    executor: ExecutorOption = None,
    trial_limit: TrialLimitOption = None,
    isolate: IsolateOption = False,
    metrics: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Further scikit-learn scorers, recorded beside the loss.")
    ] = None,
    training_score: Annotated[
        bool, typer.Option("--training-score", help="Record the loss on the training rows, too.")
    ] = False,
    predictions: Annotated[
        bool, typer.Option("--predictions", help="Keep what is predicted for the held-out rows in the store.")
    ] = False,
    ensemble: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Choose an ensemble of N votes among the best pipelines, too (Caruana)."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Search a space on data with an optimizer and print the best pipeline as scikit-learn code.

    Without SPACE a bundled one is taken: `tabular_classification` or `tabular_regression`, as the labels are, with
    learners of xgboost and lightgbm where --allow names these.

    What the options do not say is as the task of the space says. Without --time, --trials and a limit of the task a run
    stops after 60 seconds. Ctrl-C or SIGTERM stops it early and keeps what was found; so does whatever else ends it:
    `--resume` goes on from there. With `--data table:FILE.npz`, which `spacelang tabulate` makes, a table of known
    losses answers instead of trials, in its recorded seconds; with `--data artificial:SEED` a formula over any space.
    With --ensemble N the best pipelines vote as well: who, and how often, is chosen by what they predicted for the
    held-out rows, which the store keeps then; with --resume and no time left that is all that is done.

    Example: `spacelang run --data my.csv --target-column price --time 10m --test 0.2`
    """
    be_ready_to_fork(workers, executor)
    from spacelang.api.experiment import Experiment, Recorded, budget_of
    from spacelang.optimizers import OPTIMIZERS, default_optimizer

    if resume and store is None:
        fail("there is no run to go on with", "name its store: `--store RUN.db --resume`")
    if resume and ensemble is not None:
        must_keep_predictions(store)
    given, validation = seconds_of(time), validation_of(validate)
    if optimizer is not None:
        plugin(OPTIMIZERS, optimizer, set_)  # what is wrong with it is better known before anything is loaded
    first, earlier = initial_of(initial, as_json=json), archive_of(archive)
    reading = reading_of(sep, encoding, decimal, drop_columns)
    read = cache(partial(data_for, data, target_column, reading, store))
    loaded, chosen = space_of(space, read, allow, bind, as_json=json)
    if not (without := is_dataless(data)):
        plugin(OPTIMIZERS, optimizer or default_optimizer(loaded.checked), set_)  # before rows are read
    else:
        judged = {"--target-column": target_column, "--metric": metric, "--validate": validate, "--metrics": metrics}
        judged |= {"--sep": sep, "--encoding": encoding, "--decimal": decimal, "--drop-columns": drop_columns}
        recorded_beside = {"--training-score": training_score, "--predictions": predictions}
        on_rows = {"--test": test, "--ensemble": ensemble, "--archive": archive}
        refuse(data, on_rows, {**judged, **recorded_beside}, {"--executor": executor, "--isolate": isolate})
    executing = workers_of(loaded, workers, executor, trial_limit, isolate=isolate, is_table=is_table(data))
    experiment = Experiment(
        space=loaded,
        data=read(),
        workers=executing,
        budget=budget_of(loaded, given, trials),
        seed=seed,
        metric=metric,
        validation=validation,
        recorded=Recorded(_names(metrics), training_score, predictions),
        test=test,
        initial=first,
        archive=earlier,
        norm=archive_norm,
        ensemble=ensemble,
        chosen=chosen,
    )
    with telling(store, as_json=json):
        experiment = experiment.by(optimizer, settings(set_))
    prepared = prepared_for(experiment, store, as_json=json)
    with searching(prepared, store, resume=resume, as_json=json) as (found, crew):
        status = tell(found, as_json=json) if without else Ending(data, found, crew).tell(as_json=json)
    raise typer.Exit(status)


def _names(listed: str | None) -> tuple[str, ...]:
    return () if listed is None else tuple(name.strip() for name in listed.split(",") if name.strip())
