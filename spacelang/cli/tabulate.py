"""`spacelang tabulate`: evaluate every configuration of a finite space, and write a table for later searches."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from spacelang.api.run_options import TabulateOptions
from spacelang.cli import _run_steps as steps
from spacelang.cli._options import JsonOption, SpaceArgument
from spacelang.cli._output import fail, print_diagnostics, print_json
from spacelang.cli._process import BAD_INPUT, INTERRUPTED, NOTHING_SUCCEEDED
from spacelang.cli._run_options import TargetColumnOption

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.bench.tables import LossTable
    from spacelang.bench.tables.tabulation import TabulationSearch
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.history import Outcome

GROUP = ("Compare optimizers", 1)
Extent: TypeAlias = Literal["all", "default"]


def command(
    space: SpaceArgument,
    *,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            "-d",
            help="A `.csv`, `.csv.gz`, `.parquet` or `.arff` file, `sklearn:NAME`, `openml:ID` or `openml-task:ID`.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="TABLE.npz", help="Write the table here.")],
    target_column: TargetColumnOption = None,
    b: Annotated[
        int | None, typer.Option("--b", min=1, help="Training rows of the first rung; 100 by default.")
    ] = None,
    eta: Annotated[
        float | None, typer.Option("--eta", help="The factor by which they grow from rung to rung; 2 by default.")
    ] = None,
    hyperparameters: Annotated[
        Extent, typer.Option(help="All values of hyperparameters, or pipelines at their defaults only.")
    ] = "all",
    options: TabulateOptions,
    json: JsonOption = False,
) -> None:
    """Train every configuration of a finite space on every rung and write losses and seconds as a table.

    A rung is a number of training rows. `spacelang run SPACE --data table:TABLE.npz` then searches in seconds. The
    seconds of a trial are those that it would take alone, without work shared with others. The table is written once no
    trial is missing. Finished trials are stored until then, and `--resume` continues.

    Example: `spacelang tabulate my.space --data my.csv -o my.npz --workers 2`
    """
    steps.limit_threads_before_fork(options["workers"], options["executor"])
    from spacelang.api.experiment import Experiment, experiment_fields
    from spacelang.api.search_data import TabularData
    from spacelang.bench.table_search import tabulation_search
    from spacelang.bench.tables.table_files import check_writable, write_table
    from spacelang.plugins import NestedPlugin
    from spacelang.runtime.budget import Budget
    from spacelang.runtime.errors import InputError

    steps.require_store_for_resume(options)
    if steps.has_no_rows(data):
        fail(f"a table needs rows, and `{data}` has none", "give data with rows")
    seconds, _ = steps.parse_seconds(options["time"]), steps.parse_validation_option(options["validate"])
    check_writable(output)
    loaded = steps.load_space(space, options)
    rows = steps.load_data(data, target_column, options)
    assert isinstance(rows, TabularData)
    steps.warn_of_columns(rows, loaded, steps.parse_validation_option(options["validate"]))
    workers = steps.check_workers(loaded, options)
    experiment = Experiment(space=loaded, data=rows, workers=workers, **experiment_fields(options))
    # A table records the numbers of columns of each kind, not their names.
    bound, objective = replace(rows, matches_names=False).bind_space(experiment)
    print_diagnostics(bound.warnings)
    tabulate, number = tabulation_search(bound, objective.training_size, hyperparameters=hyperparameters, b=b, eta=eta)
    wanted = replace(experiment, optimizer=NestedPlugin("tabulate", tabulate), budget=Budget(seconds, number))
    with steps.run_search(wanted.prepared_for(bound, objective), options) as (found, _, _):
        outcome, place = found.outcome, found.store
    assert place is not None
    table = _table(bound, objective, tabulate, outcome, experiment.seed, place)
    try:
        write_table(table, output)
    except InputError as error:
        fail(error.message, f"write the table to another place: `--store {place} --resume -o …`", status=BAD_INPUT)
    _report(table, outcome, output, place, as_json=json)


def _table(
    space: "Space", objective: "DataObjective", tabulate: "TabulationSearch", outcome: "Outcome", seed: int, place: Path
) -> "LossTable":
    from spacelang.bench.table_search import table_or_missing_count

    table = table_or_missing_count(space, objective, tabulate, outcome, seed=seed)
    if isinstance(table, int):
        message = f"{table:,} of {len(outcome.records) + table:,} trials are missing, so no table was written"
        fail(message, f"continue with `--store {place} --resume`", status=INTERRUPTED)
    if outcome.best is None:
        from spacelang.report.trial_results import count_failures_by_reason, most_frequent

        shown, _ = most_frequent(count_failures_by_reason(outcome.records))
        notes, see = (f"{count} x {reason}" for reason, count in shown), f"see why: `spacelang show {place}`"
        fail("every trial failed, so no table was written", see, status=NOTHING_SUCCEEDED, notes=notes)
    return table


def _report(table: "LossTable", outcome: "Outcome", output: Path, place: Path, *, as_json: bool) -> None:
    from spacelang.report.trial_results import count_failures_by_status, describe_counts

    rows, rungs = table.loss.shape
    if as_json:
        print_json(
            {
                "table": str(output),
                "store": str(place),
                "space": table.metadata.space,
                "data": table.metadata.data,
                "loss": table.metadata.formula,
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
    print(f"{output}: {table.metadata.formula} of {rows:,} configurations on {sizes} training rows")
    if outcome.failed:
        failures = describe_counts(count_failures_by_status(outcome.records))
        print(f"of {rows * rungs:,} trials {outcome.failed:,} failed ({failures})")
    print(f"the trials took {float(table.cost.sum()):,.1f} s of work in {outcome.seconds:,.1f} s; stored in {place}")
