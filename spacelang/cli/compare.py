"""`spacelang compare`: run several optimizers on the same data, with the same splits and the same budget."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spacelang.api.run_options import CompareOptions, complete_optimizers
from spacelang.cli._options import JsonOption, SpaceArgument
from spacelang.cli._output import exit_on_value_error, print_diagnostics, print_error, print_json, print_note
from spacelang.cli._process import BAD_INPUT, INTERRUPTED, NOTHING_SUCCEEDED, WRONG_USAGE, unsanitized_stream
from spacelang.cli._run_steps import checked_worker_settings, load_space_of_run
from spacelang.diagnostics.terminal_cells import replace_unprintable

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.bench.run_comparison import Comparison

GROUP = ("Compare optimizers", 2)


def command(
    space: SpaceArgument,
    *,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            "-d",
            help="A data file or other data as for `spacelang run`, or `table:FILE.npz`; may be given several times.",
        ),
    ] = None,
    optimizers: Annotated[
        str,
        typer.Option(
            metavar="A,B:NAME=VALUE,…",
            autocompletion=complete_optimizers,
            help="Optimizers with options: `blds,blds:disc=2,hyperband:b=50:eta=3`.",
        ),
    ],
    options: CompareOptions,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print losses and ranks over time, and the differences of all pairs.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Compare optimizers on the same data.

    It says who is ahead at the end, and which differences are noise. Every optimizer runs on all data sets with the
    same seeds, splits and budget. A run takes one minute unless --time, --trials or the task sets a limit. With --test
    the optimizers are compared on rows that no trial saw. All runs are stored in DIR. The same command resumes a
    comparison that was stopped, and may add optimizers, data and repeats. Plots need `spacelang[plots]`.

    Example: `spacelang compare my.space --data my.csv --optimizers random,mosaic --time 60s --test 0.2 -o compared`
    """
    from rich.console import Console

    from spacelang.api.experiment import make_budget
    from spacelang.bench.comparison.progress import ComparisonProgress
    from spacelang.bench.comparison.summary import comparison_document
    from spacelang.bench.comparison.text_report import print_comparison
    from spacelang.bench.run_comparison import ComparisonOptions, compare, data_references_by_label
    from spacelang.plugins import split_outside_brackets
    from spacelang.runtime.data.read_options import select_read_options

    time, trials, folder = options["time"], options["trials"], options["folder"]
    _check_usage(optimizers, time, options["validate"], data)
    select_read_options(options)
    loaded = load_space_of_run(space, options)
    print_diagnostics(loaded.warnings)
    with exit_on_value_error():
        make_budget(loaded, time, trials)
    checked_worker_settings(loaded, options)
    place = _new_folder(loaded) if folder is None else Path(folder)
    with _exit_on_errors(place), ComparisonProgress(Console(file=unsanitized_stream(sys.stderr))) as listener:
        given: ComparisonOptions = {**options, "folder": place, "listener": listener}
        comparison = compare(
            loaded, data_references_by_label(data or []), split_outside_brackets(optimizers, ","), **given
        )
    if json:
        found = comparison_document(comparison.results)
        print_json({**found, "folder": str(place), "interrupted": comparison.interrupted})
    else:
        print_comparison(comparison.results, Console(highlight=False), verbose=verbose)
        print(f"\nRuns, tables and plots are in {comparison.folder}.")
        print(replace_unprintable(f"Verdict: {comparison.verdict}."))
    _exit_with_status(comparison)


def _check_usage(optimizers: str, time: str | float | None, validate: str | None, data: list[str] | None) -> None:
    """End the program with all mistakes in the options, before anything is read."""
    from spacelang.bench.run_comparison import ConfiguredOptimizersError, parse_optimizers
    from spacelang.ir.validation import parse_validation
    from spacelang.plugins import split_outside_brackets
    from spacelang.runtime.budget import parse_duration

    checks: list[tuple[Callable[[Any], object], Any]] = [
        (parse_duration, time),
        (parse_validation, validate),
        (parse_optimizers, split_outside_brackets(optimizers, ",")),
    ]
    mistakes: list[tuple[str, str]] = []
    if not data:
        what = "no data is given to compare optimizers on"
        mistakes.append((what, "add `--data FILE`, once or several times"))
    for check, given in checks:
        try:
            if given is not None:
                check(given)
        except ConfiguredOptimizersError as error:
            mistakes += [(each.message, each.help) for each in error.mistakes]
        except ValueError as error:
            mistakes.append((str(error), ""))
    _exit_with_mistakes(mistakes)


def _new_folder(space: "Space") -> Path:
    from datetime import datetime

    from spacelang.runtime.storage.run_listing import default_file_names

    places = (Path("comparisons") / name for name in default_file_names(space.name, datetime.now()))
    return next(place for place in places if not place.exists())


@contextmanager
def _exit_on_errors(place: Path) -> Iterator[None]:
    """End the program with all errors in the data, or if it was interrupted before all runs of one seed finished."""
    from spacelang.bench.run_comparison import ComparisonDataError
    from spacelang.runtime.errors import MetricError

    try:
        yield
    except ComparisonDataError as error:
        usage = all(isinstance(each, MetricError) for each in error.mistakes)
        found = [(each.message, each.help) for each in error.mistakes]
        _exit_with_mistakes(dict.fromkeys(found), status=WRONG_USAGE if usage else BAD_INPUT)
    except KeyboardInterrupt:
        message = f"interrupted before all runs of the first seed finished; finished runs are stored in `{place}`"
        print_error(message, CONTINUE_HELP)
        raise typer.Exit(INTERRUPTED) from None


CONTINUE_HELP = "run the same command again to continue"


def _exit_with_status(comparison: "Comparison") -> None:
    for each in comparison.notes:
        print_note(each)
    if comparison.interrupted:
        seeds = len(comparison.results.seeds)
        print_error(f"interrupted after {seeds} complete seed{'s' if seeds > 1 else ''}", CONTINUE_HELP)
        raise typer.Exit(INTERRUPTED)
    if all(run.reason for run in comparison.results.runs):
        raise typer.Exit(NOTHING_SUCCEEDED)


def _exit_with_mistakes(mistakes: Iterable[tuple[str, str]], status: int = WRONG_USAGE) -> None:
    found = [*mistakes]
    for message, help_text in found:
        print_error(message, help_text)
    if found:
        raise typer.Exit(status)
