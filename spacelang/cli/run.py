"""`spacelang run`: search a space on data, and print the best pipeline."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spacelang.cli import BAD_INPUT, INTERRUPTED, NOTHING_SUCCEEDED, WRONG_USAGE
from spacelang.cli._shared import (
    JsonOption,
    SeedOption,
    SetOption,
    SpaceArgument,
    colours,
    fail,
    load,
    plugin,
    print_json,
    report,
)

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.report.summary import Run
    from spacelang.runtime.loop import Outcome
    from spacelang.runtime.objective import Objective


def command(
    space: SpaceArgument,
    data: Annotated[str, typer.Option("--data", "-d", help="A `.csv` or `.csv.gz` file, or `sklearn:NAME`.")],
    target_column: Annotated[
        str | None, typer.Option(help="The column of labels; else the one named `target`, else the last.")
    ] = None,
    optimizer: Annotated[str, typer.Option("--optimizer", help="See `spacelang optimizers`.")] = "blds",
    set_: SetOption = None,
    metric: Annotated[
        str | None, typer.Option(help="A scikit-learn scorer; else AUROC, balanced accuracy or R² by the data.")
    ] = None,
    time: Annotated[str | None, typer.Option(help="Stop after this long: `30s`, `10m`, `2h`.")] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Stop after this many trials.")] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Search a space on data with an optimizer and print the best pipeline as scikit-learn code.

    Without --time and --trials a run stops after 60 seconds. Ctrl-C stops it early and keeps what was found.
    """
    from spacelang.optimizers import OPTIMIZERS

    seconds = _seconds(time, trials)
    chosen = plugin(OPTIMIZERS, optimizer, set_)
    loaded = load(space, as_json=json)
    objective = _objective(loaded, data, target_column, metric, seed)
    outcome = _search(loaded, chosen, objective, seconds, trials, seed)
    _report(loaded, objective, outcome, _facts(objective, optimizer, seed), as_json=json)
    if outcome.ended == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if outcome.best is None:
        raise typer.Exit(NOTHING_SUCCEEDED)


def _seconds(time: str | None, trials: int | None) -> float | None:
    from spacelang.runtime.budget import parse_duration

    try:
        return parse_duration(time) if time is not None else (60.0 if trials is None else None)
    except ValueError as error:
        fail(str(error))


def _objective(space: "Space", data: str, target_column: str | None, metric: str | None, seed: int) -> "Objective":
    from spacelang.api import make_objective
    from spacelang.runtime.data import load_dataset
    from spacelang.runtime.errors import InputError, MetricError

    try:
        return make_objective(space, load_dataset(data, target_column), metric=metric, seed=seed)
    except InputError as error:
        fail(error.message, error.help, status=WRONG_USAGE if isinstance(error, MetricError) else BAD_INPUT)


def _search(
    space: "Space", optimizer: Any, objective: "Objective", seconds: float | None, trials: int | None, seed: int
) -> "Outcome":
    from rich.console import Console

    from spacelang.api import run
    from spacelang.report.progress import progress

    with progress(Console(stderr=True)) as listener:
        return run(space, optimizer, objective, time=seconds, trials=trials, seed=seed, listener=listener)


def _facts(objective: "Objective", optimizer: str, seed: int) -> "Run":
    from spacelang.report.summary import Run

    return Run(optimizer, seed, objective.metric, objective.training_size, objective.preparation.sentence)


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
