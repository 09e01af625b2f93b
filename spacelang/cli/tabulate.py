"""`spacelang tabulate`: evaluate every configuration of a finite space, and write a table for later searches."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, cast

import typer

from spacelang.api.run_options import ResumeOptions, TabulateOptions, target_column_or_columns
from spacelang.cli import _run_steps as steps
from spacelang.cli._options import JsonOption, SpaceArgument
from spacelang.cli._output import exit_with_error, print_diagnostics, print_json
from spacelang.cli._process import BAD_INPUT, INTERRUPTED, NOTHING_SUCCEEDED
from spacelang.cli._run_options import TargetColumnsOption

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.api.resuming import ResumableRun
    from spacelang.bench.tables import LossTable, TabulationSearch
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
    target_column: TargetColumnsOption = None,
    b: Annotated[
        int | None, typer.Option("--b", min=1, help="Training rows of the first rung; 100 by default.")
    ] = None,
    eta: Annotated[
        float | None,
        typer.Option("--eta", help="The factor by which the training rows grow from rung to rung; 2 by default."),
    ] = None,
    hyperparameters: Annotated[
        Extent, typer.Option(help="All values of hyperparameters, or pipelines at their defaults only.")
    ] = "all",
    options: TabulateOptions,
    json: JsonOption = False,
) -> None:
    """Write the losses of all configurations of a finite space.

    Every configuration is trained on every rung, which is a number of training rows. `spacelang run SPACE --data
    table:TABLE.npz` then searches in seconds. The seconds of a trial are those that it would take alone, without work
    shared with others. The table is written once no trial is missing. Finished trials are stored until then, and
    `spacelang resume` continues.

    Example: `spacelang tabulate my.space --data my.csv -o my.npz --workers 2`
    """
    steps.limit_threads_before_fork(options["workers"], options["executor"])
    from spacelang.bench.table_search import make_tabulation_search

    steps.require_store_for_resume(options)
    if steps.has_no_rows(data):
        exit_with_error(f"a table needs rows, but `{data}` has none", "give data with rows")
    steps.parse_seconds(options["time"])
    steps.parse_validation_option(options["validate"])
    make = partial(make_tabulation_search, hyperparameters=hyperparameters, b=b, eta=eta)
    load = partial(steps.load_space_of_run, space, options)
    _tabulate(load, data, target_column_or_columns(target_column), options, make, output, as_json=json)


def resume_tabulation(
    found: "ResumableRun", data: str | None, output: Path, given: ResumeOptions, *, as_json: bool
) -> None:
    """Resume a stored run of `tabulate`: evaluate the missing trials, and write the table to `output`."""
    from spacelang.bench.tables import count_table_trials

    options = cast(TabulateOptions, {**found.given_or_stored_options(given), "ensemble": None})
    steps.limit_threads_before_fork(options["workers"], options["executor"])
    search = _stored_search(found)

    def make(space: "Space", _: int) -> "tuple[TabulationSearch, int]":
        return search, count_table_trials(space.counted, search.hyperparameters, len(search.sizes))

    load = partial(found.load_space, options["allow"])
    _tabulate(load, found.data_reference(data), found.target_column, options, make, output, as_json=as_json)


def _stored_search(found: "ResumableRun") -> "TabulationSearch":
    """Return the search of a stored tabulation; raises StoreError if the rungs in the store are invalid."""
    from spacelang.bench.tables import TabulationSearch
    from spacelang.report.stored_run_output import parse_optimizer_options
    from spacelang.runtime.storage.store_errors import StoreError

    options = parse_optimizer_options(found.header.options)
    sizes = options.get("sizes")
    if not isinstance(sizes, list) or not sizes or not all(type(each) is int and each > 0 for each in sizes):
        raise StoreError(f"`{found.store}` has invalid rungs", "start again with `spacelang tabulate`")
    return TabulationSearch(tuple(sizes), "default" if options.get("hyperparameters") == "default" else "all")


def _tabulate(
    load: "Callable[[], Space]",
    data: str,
    target_column: str | tuple[str, ...] | None,
    options: TabulateOptions,
    make: "Callable[[Space, int], tuple[TabulationSearch, int]]",
    output: Path,
    *,
    as_json: bool,
) -> None:
    """Evaluate all trials of a table and write it.

    `make` returns the search of a bound space with a number of training rows, and the number of its trials.
    """
    from spacelang.api.experiment import Experiment, experiment_fields_from_options
    from spacelang.api.search_data import TabularData
    from spacelang.api.several_objectives import refuse_several_objectives
    from spacelang.bench.tables.table_files import check_writable, write_table
    from spacelang.plugins import NestedPlugin
    from spacelang.runtime.budget import Budget
    from spacelang.runtime.errors import InputError

    check_writable(output)
    loaded = load()
    rows = steps.load_data(data, target_column, options)
    assert isinstance(rows, TabularData)
    steps.warn_of_useless_columns(rows, loaded, steps.parse_validation_option(options["validate"]))
    workers = steps.checked_worker_settings(loaded, options)
    experiment = Experiment(space=loaded, data=rows, workers=workers, **experiment_fields_from_options(options))
    # A table records the numbers of columns of each kind, not their names.
    bound, objective = replace(rows, matches_names=False).bind_space(experiment)
    refuse_several_objectives(objective, "a table")
    print_diagnostics(bound.warnings)
    tabulate, number = make(bound, objective.training_size)
    budget = Budget(steps.parse_seconds(options["time"]), number)
    wanted = replace(experiment, optimizer=NestedPlugin("tabulate", tabulate), budget=budget)
    with steps.run_search(wanted.prepare_for(bound, objective), options) as (found, _, _):
        outcome, place = found.outcome, found.store
    assert place is not None
    table = _table(bound, objective, tabulate, outcome, seed=experiment.seed, place=place, output=output)
    try:
        write_table(table, output)
    except InputError as error:
        exit_with_error(
            error.message,
            f"write the table to another place: `spacelang resume {place} -o TABLE.npz`",
            status=BAD_INPUT,
        )
    _report(table, outcome, output, place, as_json=as_json)


def _table(
    space: "Space",
    objective: "DataObjective",
    tabulate: "TabulationSearch",
    outcome: "Outcome",
    *,
    seed: int,
    place: Path,
    output: Path,
) -> "LossTable":
    from spacelang.bench.table_search import table_or_missing_count

    table = table_or_missing_count(space, objective, tabulate, outcome, seed=seed)
    if isinstance(table, int):
        message = f"{table:,} of {len(outcome.records) + table:,} trials are missing, so no table was written"
        exit_with_error(message, f"continue with `spacelang resume {place} -o {output}`", status=INTERRUPTED)
    if outcome.best is None:
        from spacelang.report.trial_results import count_failures_by_reason, most_frequent_failure_reasons

        shown, _ = most_frequent_failure_reasons(count_failures_by_reason(outcome.records))
        notes, see = (f"{count} x {reason}" for reason, count in shown), f"see why: `spacelang show {place}`"
        exit_with_error("every trial failed, so no table was written", see, status=NOTHING_SUCCEEDED, notes=notes)
    return table


def _report(table: "LossTable", outcome: "Outcome", output: Path, place: Path, *, as_json: bool) -> None:
    from spacelang.report.trial_results import (
        count_failures_by_reason,
        describe_failure_counts,
        sum_failures_by_status,
    )

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
        failures = describe_failure_counts(sum_failures_by_status(count_failures_by_reason(outcome.records)))
        print(f"of {rows * rungs:,} trials {outcome.failed:,} failed ({failures})")
    print(f"the trials took {float(table.cost.sum()):,.1f} s of work in {outcome.seconds:,.1f} s; stored in {place}")
