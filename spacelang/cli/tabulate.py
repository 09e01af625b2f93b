"""`spacelang tabulate`: evaluate every configuration of a finite space, and write a table for later searches."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from spacelang.cli._dataless import is_dataless
from spacelang.cli._options import (
    DataOption,
    JsonOption,
    MetricOption,
    ReadingOptions,
    SeedOption,
    SpaceArgument,
    SpaceOptions,
    StoreOptions,
    TargetColumnOption,
    ValidateOption,
    WorkerOptions,
)
from spacelang.cli._running import (
    be_ready_to_fork,
    data_for,
    load_space,
    searching,
    seconds_of,
    validation_of,
    workers_of,
)
from spacelang.cli._shared import fail, print_json, show
from spacelang.cli._shell import BAD_INPUT, INTERRUPTED, NOTHING_SUCCEEDED

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.bench.tables import LossTable
    from spacelang.bench.tables.tabulation import Tabulate
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.history import Outcome

Extent: TypeAlias = Literal["all", "default"]


def command(  # noqa: PLR0913 - one argument an option
    space: SpaceArgument,
    *,
    data: DataOption,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="TABLE.npz", help="Write the table here.")],
    target_column: TargetColumnOption = None,
    reading: ReadingOptions,
    metric: MetricOption = None,
    validate: ValidateOption = None,
    b: Annotated[
        int | None, typer.Option("--b", min=1, help="Training rows of the first rung; 100 by default.")
    ] = None,
    eta: Annotated[
        float | None, typer.Option("--eta", help="The factor by which they grow from rung to rung; 2 by default.")
    ] = None,
    hyperparameters: Annotated[
        Extent, typer.Option(help="All values of hyperparameters, or pipelines at their defaults only.")
    ] = "all",
    training_score: Annotated[
        bool, typer.Option("--training-score", help="Record the loss on the training rows, which DAUB uses.")
    ] = False,
    time: Annotated[
        str | None, typer.Option(help="Stop after this long, to be continued by `--resume`: `30m`, `2h`.")
    ] = None,
    seed: SeedOption = 0,
    of_space: SpaceOptions,
    kept: StoreOptions,
    working: WorkerOptions,
    json: JsonOption = False,
) -> None:
    """Train every configuration of a finite space on every rung and write losses and seconds as a table.

    A rung is a number of training rows. `spacelang run SPACE --data table:TABLE.npz` then searches in seconds. The
    seconds of a trial are those that it would take alone, without work shared with others. The table is written once no
    trial is missing. Finished trials are stored until then, and `--resume` continues.

    Example: `spacelang tabulate my.space --data my.csv -o my.npz --workers 2`
    """
    be_ready_to_fork(working.workers, working.executor)
    from spacelang.api.experiment import Experiment, Recorded
    from spacelang.api.rows import Rows
    from spacelang.bench.tables.writing import check_place
    from spacelang.bench.tabulating import tabulation
    from spacelang.plugins import Part
    from spacelang.runtime.budget import Budget

    if kept.resume and kept.store is None:
        fail("`--resume` needs the store of a run", "name it: `--store RUN.db --resume`")
    if is_dataless(data):
        fail(f"a table needs rows, and `{data}` has none", "give data with rows")
    seconds, validation = seconds_of(time), validation_of(validate)
    check_place(output)
    loaded = load_space(space, of_space)
    rows = data_for(data, target_column, reading.reading)
    assert isinstance(rows, Rows)
    experiment = Experiment(
        space=loaded,
        data=rows,
        workers=workers_of(loaded, working),
        seed=seed,
        metric=metric,
        validation=validation,
        recorded=Recorded(training_score=training_score),
    )
    bound, objective = rows.over(experiment)
    show(bound.warnings)
    tabulate, number = tabulation(bound, objective.training_size, hyperparameters=hyperparameters, b=b, eta=eta)
    wanted = replace(experiment, optimizer=Part("tabulate", tabulate), budget=Budget(seconds, number))
    with searching(wanted.on(bound, objective), kept) as (found, _):
        outcome, place = found.outcome, found.store
    assert place is not None
    table = _table(bound, objective, tabulate, outcome, seed, place)
    _write(table, output, place)
    _report(table, outcome, output, place, as_json=json)


def _table(
    space: "Space",
    objective: "DataObjective",
    tabulate: "Tabulate",
    outcome: "Outcome",
    seed: int,
    place: Path,
) -> "LossTable":
    """Return the table. Ends the program if trials are missing or none succeeded."""
    from spacelang.bench.tables.tabulation import Shortfall
    from spacelang.bench.tabulating import table_of

    table = table_of(space, objective, tabulate, outcome, seed=seed)
    if isinstance(table, Shortfall):
        done = len(outcome.records)
        message = f"{table.trials:,} of {done + table.trials:,} trials are missing, so no table was written"
        fail(message, f"continue with `--store {place} --resume`", status=INTERRUPTED)
    if outcome.best is None:
        from spacelang.report.failures import most_frequent, reasons

        shown, _ = most_frequent(reasons(outcome.records))
        notes = (f"{count} x {reason}" for reason, count in shown)
        fail(
            "every trial failed, so no table was written",
            f"see why: `spacelang show {place}`",
            status=NOTHING_SUCCEEDED,
            notes=notes,
        )
    return table


def _write(table: "LossTable", output: Path, place: Path) -> None:
    from spacelang.bench.tables.writing import write_table
    from spacelang.runtime.errors import InputError

    try:
        write_table(table, output)
    except InputError as error:
        fail(error.message, f"write it to another place: `--store {place} --resume -o …`", status=BAD_INPUT)


def _report(table: "LossTable", outcome: "Outcome", output: Path, place: Path, *, as_json: bool) -> None:
    from spacelang.report.failures import by_kind, told

    rows, rungs = table.loss.shape
    if as_json:
        print_json(
            {
                "table": str(output),
                "store": str(place),
                "space": table.facts.space,
                "data": table.facts.data,
                "loss": table.facts.formula,
                "configurations": rows,
                "sizes": table.sizes,
                "trials": len(outcome.records),
                "failed": outcome.failed,
                "seconds": outcome.seconds,
                "cost": float(table.cost.sum()),
            }
        )
        return
    sizes = ", ".join(f"{size:,}" for size in table.sizes)
    print(f"{output}: {table.facts.formula} of {rows:,} configurations on {sizes} training rows")
    if outcome.failed:
        print(f"of {rows * rungs:,} trials {outcome.failed:,} failed ({told(by_kind(outcome.records))})")
    print(f"{float(table.cost.sum()):,.1f} s of trials in {outcome.seconds:,.1f} s, stored in {place}")
