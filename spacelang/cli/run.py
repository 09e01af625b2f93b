"""`spacelang run`: search a space on data, and print the best pipeline."""

import sys
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
    from spacelang.api import Space
    from spacelang.ir.task import Validation
    from spacelang.report.summary import Run
    from spacelang.runtime.loop import Outcome
    from spacelang.runtime.objective import Objective

DEFAULT_SECONDS: Final = 60.0
"""How long a run takes that nothing limits."""


def command(  # noqa: PLR0913 - one argument an option
    space: SpaceArgument,
    *,
    data: Annotated[str, typer.Option("--data", "-d", help="A `.csv` or `.csv.gz` file, or `sklearn:NAME`.")],
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
        typer.Option(metavar="SPLIT", help="`holdout(0.3)` or `cv(5)`; else as the task says, or the first."),
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
    json: JsonOption = False,
) -> None:
    """Search a space on data with an optimizer and print the best pipeline as scikit-learn code.

    What the options do not say is as the task of the space says. Without --time, --trials and a limit of the task a run
    stops after 60 seconds. Ctrl-C stops it early and keeps what was found; so does whatever else ends it: `--resume`
    goes on from there.
    """
    from spacelang.api import with_fidelity
    from spacelang.optimizers import OPTIMIZERS

    if resume and store is None:
        fail("there is no run to go on with", "name its store: `--store RUN.db --resume`")
    given = _seconds(time)
    validation = _validation(validate)
    chosen = plugin(OPTIMIZERS, optimizer, set_)
    loaded = _load(space, allow, bind, as_json=json)
    _warn(loaded)
    objective = _objective(loaded, data, target_column, metric, validation, seed)
    loaded, objective = _bound(loaded, objective, as_json=json)
    chosen = with_fidelity(chosen, loaded, settings(set_))
    place = _place(store, loaded)
    seconds = _limit(loaded, given, trials)
    outcome = _search(loaded, (optimizer, chosen), objective, (seconds, trials), seed, place, resume=resume)
    _report(loaded, objective, outcome, _facts(objective, optimizer, seed, place), as_json=json)
    if outcome.ended == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if outcome.best is None:
        raise typer.Exit(NOTHING_SUCCEEDED)


def _load(space: str, allow: list[str] | None, bind: list[str] | None, *, as_json: bool) -> "Space":
    from spacelang.api import SpaceError, load_for_data

    try:
        return load_for_data(space, allow=allow or (), bind=bindings(bind))
    except SpaceError as error:
        end(error.diagnostics, as_json=as_json)


def _bound(space: "Space", objective: "Objective", *, as_json: bool) -> tuple["Space", "Objective"]:
    """The space for the data, whose size only now is known, and its warnings shown."""
    from spacelang.api import SpaceError, bound_by

    try:
        space, objective = bound_by(objective, space)
    except SpaceError as error:
        end(error.diagnostics, as_json=as_json)
    show(space.warnings)
    return space, objective


def _seconds(time: str | None) -> float | None:
    from spacelang.runtime.budget import parse_duration

    try:
        return None if time is None else parse_duration(time)
    except ValueError as error:
        fail(str(error))


def _validation(validate: str | None) -> "Validation | None":
    from spacelang.runtime.split import parse_validation

    try:
        return None if validate is None else parse_validation(validate)
    except ValueError as error:
        fail(str(error))


def _limit(space: "Space", given: float | None, trials: int | None) -> float | None:
    """The seconds of the run: as given, else as the task says, else enough to try something."""
    if given is not None:
        return given
    limit = None if space.task is None else space.task.limits.run_seconds
    return DEFAULT_SECONDS if limit is None and trials is None else limit


def _warn(space: "Space") -> None:
    from spacelang.api import unenforced

    ignored = unenforced(space)
    if ignored is not None:
        title = "\x1b[1;33mwarning\x1b[0m" if colours(sys.stderr) else "warning"
        print(f"{title}: {ignored}", file=sys.stderr)


def _objective(
    space: "Space",
    data: str,
    target_column: str | None,
    metric: str | None,
    validation: "Validation | None",
    seed: int,
) -> "Objective":
    from spacelang.api import make_objective
    from spacelang.runtime.data import load_dataset
    from spacelang.runtime.errors import InputError, MetricError

    try:
        table = load_dataset(data, target_column)
        return make_objective(space, table, metric=metric, validation=validation, seed=seed)
    except InputError as error:
        fail(error.message, error.help, status=WRONG_USAGE if isinstance(error, MetricError) else BAD_INPUT)


def _place(store: Path | None, space: "Space") -> Path:
    """The file that keeps the run."""
    from datetime import datetime

    from spacelang.runtime.errors import InputError
    from spacelang.runtime.runs import default_path

    try:
        return default_path(space.name, datetime.now()) if store is None else store
    except InputError as error:
        fail(error.message, error.help, status=BAD_INPUT)


def _search(
    space: "Space",
    optimizer: tuple[str, Any],
    objective: "Objective",
    budget: tuple[float | None, int | None],
    seed: int,
    place: Path,
    *,
    resume: bool,
) -> "Outcome":
    from rich.console import Console

    from spacelang.api import keeping, run
    from spacelang.report.progress import progress
    from spacelang.runtime.store_faults import StoreError

    seconds, trials = budget
    try:
        with (
            keeping(place, space, optimizer, objective, seed=seed, resume=resume) as journal,
            progress(Console(stderr=True)) as listener,
        ):
            return run(
                space,
                optimizer[1],
                objective,
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
    _print_code(text)


def _print_code(text: str) -> None:
    if not colours(sys.stdout):
        print(text.rstrip())
        return
    from rich.console import Console
    from rich.syntax import Syntax

    # As text, which the terminal wraps: printed as syntax, lines longer than the terminal would be cut off.
    code = Syntax("", "python", background_color="default").highlight(text.rstrip())
    Console().print(code, soft_wrap=True)
