"""`spacelang run`: search a space on data, and print the best pipeline."""

import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from spacelang.cli import BAD_INPUT, INTERRUPTED, NOTHING_SUCCEEDED, WRONG_USAGE
from spacelang.cli._shared import (
    AllowOption,
    BindOption,
    JsonOption,
    SeedOption,
    SetOption,
    SpaceArgument,
    bindings,
    colours,
    end,
    fail,
    plugin,
    print_json,
    report,
    settings,
    show,
)

if TYPE_CHECKING:
    from spacelang.api import Recorded, Space
    from spacelang.ir.task import Limits, Validation
    from spacelang.report.summary import Run
    from spacelang.runtime.evaluation.objective import Objective
    from spacelang.runtime.history import Outcome

DEFAULT_SECONDS: Final = 60.0
"""How long a run takes that nothing limits."""


@dataclass(frozen=True, slots=True)
class Where:
    """Where trials are evaluated, and what each of them may take."""

    workers: int
    executor: str | None
    limits: "Limits"


def command(  # noqa: PLR0913 - one argument an option
    space: SpaceArgument,
    *,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            "-d",
            help="A `.csv`, `.csv.gz`, `.parquet` or `.arff` file, `sklearn:NAME`, `openml:ID` or `openml-task:ID`; "
            "`table:FILE.npz` is a table of known losses.",
        ),
    ],
    target_column: Annotated[
        str | None, typer.Option(help="The column of labels; else the one named `target`, else the last.")
    ] = None,
    optimizer: Annotated[str, typer.Option("--optimizer", help="See `spacelang optimizers`.")] = "blds",
    set_: SetOption = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="A scikit-learn scorer; else as the task says, or AUROC, balanced accuracy or R² by the data."
        ),
    ] = None,
    validate: Annotated[
        str | None,
        typer.Option(metavar="SPLIT", help="`holdout(0.3)` or `cv(5)`; else as data or task say, or the first."),
    ] = None,
    time: Annotated[str | None, typer.Option(help="Stop after this long: `30s`, `10m`, `2h`.")] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Stop after this many trials.")] = None,
    seed: SeedOption = 0,
    allow: AllowOption = None,
    bind: BindOption = None,
    store: Annotated[
        Path | None,
        typer.Option(metavar="RUN.db", help="Keep every trial in this file as it ends; else in a new one in `runs/`."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that the store holds.")] = False,
    workers: Annotated[
        int, typer.Option(min=0, help="Trials at a time, each in a process of its own; 0: in this process, unbounded.")
    ] = 1,
    executor: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="`dask` starts a local cluster, `tcp://HOST:PORT` uses a running one."),
    ] = None,
    trial_limit: Annotated[
        str | None,
        typer.Option(metavar="LIMIT", help="What a trial may take: `300s`, `4GB` or both; else as the task says."),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Further scikit-learn scorers, recorded beside the loss.")
    ] = None,
    training_score: Annotated[
        bool, typer.Option("--training-score", help="Record the loss on the training rows, too.")
    ] = False,
    predictions: Annotated[
        bool, typer.Option("--predictions", help="Keep what is predicted for the held-out rows in the store.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Search a space on data with an optimizer and print the best pipeline as scikit-learn code.

    What the options do not say is as the task of the space says. Without --time, --trials and a limit of the task a run
    stops after 60 seconds. Ctrl-C stops it early and keeps what was found; so does whatever else ends it: `--resume`
    goes on from there.
    """
    from spacelang.api import Recorded, needs_training_loss, with_fidelity
    from spacelang.optimizers import OPTIMIZERS

    if resume and store is None:
        fail("there is no run to go on with", "name its store: `--store RUN.db --resume`")
    given = seconds_of(time)
    validation = validation_of(validate)
    chosen = plugin(OPTIMIZERS, optimizer, set_)
    loaded = load_space(space, allow, bind, as_json=json)
    limits = limits_of(loaded, trial_limit)
    if data.startswith("table:"):
        from spacelang.cli._table_runs import OnTable, refuse, run_on_table

        refuse(
            {
                "--target-column": target_column,
                "--metric": metric,
                "--validate": validate,
                "--executor": executor,
                "--metrics": metrics,
                "--training-score": training_score,
                "--predictions": predictions,
            }
        )
        chosen, seconds = with_fidelity(chosen, loaded, settings(set_)), _limit(loaded, given, trials)
        asked = OnTable(data, (optimizer, chosen), seconds, trials, workers, limits, seed, store, resume)
        run_on_table(loaded, asked, as_json=json)
        return
    if workers == 0 and executor is None:
        warn_unenforced(limits)
    recorded = Recorded(_names(metrics), training_score or needs_training_loss(chosen), predictions)
    objective = objective_of(loaded, data, target_column, (metric, recorded), validation, seed)
    loaded, objective = bound_space(loaded, objective, as_json=json)
    chosen = with_fidelity(chosen, loaded, settings(set_))
    place = place_of(store, loaded)
    seconds = _limit(loaded, given, trials)
    where = Where(workers, executor, limits)
    outcome = searched(loaded, (optimizer, chosen), objective, where, (seconds, trials), seed, place, resume=resume)
    _report(loaded, objective, outcome, _facts(objective, optimizer, seed, place), as_json=json)
    if outcome.ended == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if outcome.best is None:
        raise typer.Exit(NOTHING_SUCCEEDED)


def load_space(space: str, allow: list[str] | None, bind: list[str] | None, *, as_json: bool) -> "Space":
    """The space of a run; ends the program where it has errors."""
    from spacelang.api import SpaceError, load_for_data

    try:
        return load_for_data(space, allow=allow or (), bind=bindings(bind))
    except SpaceError as error:
        end(error.diagnostics, as_json=as_json)


def bound_space(space: "Space", objective: "Objective", *, as_json: bool) -> tuple["Space", "Objective"]:
    """The space for the data, whose size only now is known, and its warnings shown."""
    from spacelang.api import SpaceError, bound_by

    try:
        space, objective = bound_by(objective, space)
    except SpaceError as error:
        end(error.diagnostics, as_json=as_json)
    show(space.warnings)
    return space, objective


def seconds_of(time: str | None) -> float | None:
    """The seconds of `--time`; ends the program for what is no duration."""
    from spacelang.runtime.budget import parse_duration

    try:
        return None if time is None else parse_duration(time)
    except ValueError as error:
        fail(str(error))


def validation_of(validate: str | None) -> "Validation | None":
    """The validation of `--validate`; ends the program for what is none."""
    from spacelang.runtime.evaluation.split import parse_validation

    try:
        return None if validate is None else parse_validation(validate)
    except ValueError as error:
        fail(str(error))


def _names(listed: str | None) -> tuple[str, ...]:
    return () if listed is None else tuple(name.strip() for name in listed.split(",") if name.strip())


def limits_of(space: "Space", given: str | None) -> "Limits":
    """What a trial may take; ends the program for a text that says nothing of the kind."""
    from spacelang.api import trial_limits

    try:
        return trial_limits(space, given)
    except ValueError as error:
        fail(str(error))


def _limit(space: "Space", given: float | None, trials: int | None) -> float | None:
    """The seconds of the run: as given, else as the task says, else enough to try something."""
    if given is not None:
        return given
    limit = None if space.task is None else space.task.limits.run_seconds
    return DEFAULT_SECONDS if limit is None and trials is None else limit


def warn_unenforced(limits: "Limits") -> None:
    """Warn of limits that nothing enforces."""
    from spacelang.api import unenforced

    ignored = unenforced(limits)
    if ignored is not None:
        title = "\x1b[1;33mwarning\x1b[0m" if colours(sys.stderr) else "warning"
        print(f"{title}: {ignored}", file=sys.stderr)


def objective_of(
    space: "Space",
    data: str,
    target_column: str | None,
    judged: tuple[str | None, "Recorded"],
    validation: "Validation | None",
    seed: int,
) -> "Objective":
    """What a search minimises on some data, judged by a metric; ends the program for what is wrong with them."""
    from spacelang.api import make_objective
    from spacelang.runtime.data.loading import load_dataset
    from spacelang.runtime.errors import InputError, MetricError

    try:
        table = load_dataset(data, target_column)
        metric, recorded = judged
        return make_objective(space, table, metric=metric, validation=validation, seed=seed, recorded=recorded)
    except InputError as error:
        fail(error.message, error.help, status=WRONG_USAGE if isinstance(error, MetricError) else BAD_INPUT)


def place_of(store: Path | None, space: "Space") -> Path:
    """The file that keeps the run."""
    from datetime import datetime

    from spacelang.runtime.errors import InputError
    from spacelang.runtime.storing.runs import default_path

    try:
        return default_path(space.name, datetime.now()) if store is None else store
    except InputError as error:
        fail(error.message, error.help, status=BAD_INPUT)


def searched(
    space: "Space",
    optimizer: tuple[str, Any],
    objective: "Objective",
    where: Where,
    budget: tuple[float | None, int | None],
    seed: int,
    place: Path,
    *,
    resume: bool,
) -> "Outcome":
    """What an optimizer, given with its name, finds within a budget of seconds and trials."""
    from rich.console import Console

    from spacelang.api import keeping, make_executor, run
    from spacelang.report.progress import progress
    from spacelang.runtime.errors import InputError
    from spacelang.runtime.storing.store_faults import StoreError

    seconds, trials = budget
    try:
        with (
            closing(
                make_executor(objective, workers=where.workers, executor=where.executor, limits=where.limits)
            ) as executor,
            keeping(place, space, optimizer, objective, seed=seed, resume=resume) as journal,
            progress(Console(stderr=True)) as listener,
        ):
            return run(
                space,
                optimizer[1],
                objective,
                executor,
                time=seconds,
                trials=trials,
                seed=seed,
                listener=listener,
                journal=journal,
            )
    except StoreError as error:
        if len(error.differences) < 2:
            fail(error.message, error.help, status=BAD_INPUT)
        fail(f"`{place}` is of another run", error.help, status=BAD_INPUT, notes=error.differences)
    except InputError as error:
        fail(error.message, error.help, status=BAD_INPUT)


def _facts(objective: "Objective", optimizer: str, seed: int, place: Path) -> "Run":
    from spacelang.report.summary import Run

    return Run(
        optimizer,
        seed,
        objective.metric,
        objective.training_size,
        preparation=objective.preparation.sentence,
        store=str(place),
        validation=objective.validation,
    )


def _report(space: "Space", objective: "Objective", outcome: "Outcome", facts: "Run", *, as_json: bool) -> None:
    from rich.console import Console

    from spacelang.report.summary import document, print_summary

    if as_json:
        print_json(document(outcome, facts))
        return
    print_summary(outcome, facts, Console(highlight=False))
    if outcome.best is not None:
        _print_pipeline(space, objective, outcome)


def _print_pipeline(space: "Space", objective: "Objective", outcome: "Outcome") -> None:
    """The best pipeline as code, once it has been fitted on all rows: whether code fits should be known before."""
    from spacelang.report.code import source

    assert outcome.best is not None
    configuration = outcome.best.trial.request.configuration
    text = source(space.checked, configuration, objective.preparation, random_state=objective.random_state)
    try:
        objective.refit(configuration)
    except Exception as error:  # noqa: BLE001 - a user's pipeline may raise anything
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        report(f"the best pipeline cannot be fitted on all rows: {reason}")
        print("\nthe best pipeline:\n")
    else:
        print("\nthe best pipeline, which was refitted on all rows:\n")
    print_code(text)


def print_code(text: str) -> None:
    """Print code, in colours on a terminal."""
    if not colours(sys.stdout):
        print(text.rstrip())
        return
    from rich.console import Console
    from rich.syntax import Syntax

    # As text, which the terminal wraps: printed as syntax, lines longer than the terminal would be cut off.
    code = Syntax("", "python", background_color="default").highlight(text.rstrip())
    Console().print(code, soft_wrap=True)
