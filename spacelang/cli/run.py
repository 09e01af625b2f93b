"""`spacelang run`: search a space on data, and print the best pipeline."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spacelang.cli._dataless import Dataless, is_dataless, place_without_data, refuse, run_without_data
from spacelang.cli._final import Ending
from spacelang.cli._running import (
    ArchiveNormOption,
    ArchiveOption,
    ExecutorOption,
    InitialOption,
    IsolateOption,
    MetricOption,
    ResumeOption,
    StoreOption,
    TargetColumnOption,
    TestOption,
    TimeOption,
    TrialLimitOption,
    ValidateOption,
    WorkersOption,
    archive_of,
    be_ready_to_fork,
    bound_space,
    initial_of,
    limits_of,
    load_space,
    members_of,
    must_keep_predictions,
    objective_of,
    say_searched,
    searching,
    seconds_of,
    validation_of,
    where_of,
    with_suggested,
)
from spacelang.cli._shared import (
    AllowOption,
    BindOption,
    JsonOption,
    SeedOption,
    SetOption,
    SpaceArgument,
    fail,
    plugin,
    settings,
)
from spacelang.runtime.archives import Norm

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.report.searched import Searched
    from spacelang.report.summary import Run
    from spacelang.runtime.evaluation.objective import DataObjective

DEFAULT_SECONDS: Final = 60.0
"""How long a run takes that nothing limits."""


def command(  # noqa: PLR0913 - one argument an option
    space: SpaceArgument,
    *,
    data: Annotated[
        str,
        typer.Option("--data", "-d", help="As for `tabulate`, or `table:FILE.npz` or `artificial:SEED`, without rows."),
    ],
    target_column: TargetColumnOption = None,
    optimizer: Annotated[
        str | None,
        typer.Option("--optimizer", help="See `spacelang optimizers`; else `mosaic`, `blds` without hyperparameters."),
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

    What the options do not say is as the task of the space says. Without --time, --trials and a limit of the task a run
    stops after 60 seconds. Ctrl-C or SIGTERM stops it early and keeps what was found; so does whatever else ends it:
    `--resume` goes on from there. With `--data table:FILE.npz`, which `spacelang tabulate` makes, a table of known
    losses answers instead of trials, in its recorded seconds; with `--data artificial:SEED` a formula over any space.
    With --ensemble N the best pipelines vote as well: who, and how often, is chosen by what they predicted for the
    held-out rows, which the store keeps then; with --resume and no time left that is all that is done.
    """
    be_ready_to_fork(workers, executor)
    from spacelang.api import Recorded, needs_training_loss, with_fidelity
    from spacelang.optimizers import OPTIMIZERS, default_optimizer

    if resume and store is None:
        fail("there is no run to go on with", "name its store: `--store RUN.db --resume`")
    if resume and ensemble is not None:
        must_keep_predictions(store)
    given = seconds_of(time)
    validation = validation_of(validate)
    if optimizer is not None:
        plugin(OPTIMIZERS, optimizer, set_)  # what is wrong with it is better known before anything is loaded
    first, earlier = initial_of(initial, as_json=json), archive_of(archive)
    loaded = load_space(space, allow, bind, as_json=json)
    limits = limits_of(loaded, trial_limit)
    if is_dataless(data):
        judged = {"--target-column": target_column, "--metric": metric, "--validate": validate, "--metrics": metrics}
        recorded_beside = {"--training-score": training_score, "--predictions": predictions}
        on_rows = {"--test": test, "--ensemble": ensemble, "--archive": archive}
        refuse(data, on_rows, {**judged, **recorded_beside}, {"--executor": executor, "--isolate": isolate})
        where = place_without_data(data, workers, executor, limits, isolate=isolate)
        seconds = _limit(loaded, given, trials)
        asked = Dataless(data, (optimizer, set_), seconds, trials, where, seed, store, resume, first)
        run_without_data(loaded, asked, as_json=json)
        return
    name = default_optimizer(loaded.checked) if optimizer is None else optimizer
    chosen = plugin(OPTIMIZERS, name, set_)
    where = where_of(workers, executor, limits, isolate=isolate)
    recorded = Recorded(
        _names(metrics), training_score or needs_training_loss(chosen), predictions or ensemble is not None
    )
    objective = objective_of(loaded, data, target_column, (metric, recorded), validation, seed, test)
    loaded, objective = bound_space(loaded, objective, as_json=json)
    chosen = with_fidelity(chosen, loaded, settings(set_))
    budget, searched = (_limit(loaded, given, trials), trials), say_searched(chosen, loaded)
    members = with_suggested(members_of(loaded, first, as_json=json), earlier, archive_norm, loaded, objective)
    with searching(
        loaded, (name, chosen), objective, where, budget, seed, store, resume=resume, initial=members
    ) as found:
        facts = _facts(objective, name, seed, found.place, replace(searched, initial=found.initial))
        ending = Ending(data, objective, found, facts, limits, ensemble)
        status = ending.tell(as_json=json)
    raise typer.Exit(status)


def _names(listed: str | None) -> tuple[str, ...]:
    return () if listed is None else tuple(name.strip() for name in listed.split(",") if name.strip())


def _limit(space: "Space", given: float | None, trials: int | None) -> float | None:
    """The seconds of the run: as given, else as the task says, else enough to try something."""
    if given is not None:
        return given
    limit = None if space.task is None else space.task.limits.run_seconds
    return DEFAULT_SECONDS if limit is None and trials is None else limit


def _facts(objective: "DataObjective", optimizer: str, seed: int, place: Path, searched: "Searched") -> "Run":
    from spacelang.report.summary import Run

    return Run(
        optimizer,
        seed,
        objective.metric,
        objective.training_size,
        preparation=objective.preparation.sentence,
        store=str(place),
        validation=objective.validation,
        searched=searched,
    )
