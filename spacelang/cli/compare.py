"""`spacelang compare`: run several optimizers on the same data, with the same splits and the same budget."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spacelang.cli._options import (
    InitialOptions,
    IsolateOption,
    JsonOption,
    ReadingOptions,
    SeedOption,
    SpaceArgument,
    SpaceOptions,
    TargetColumnOption,
    TestOption,
    WorkerOptions,
    WorkersOption,
    optimizers_like,
)
from spacelang.cli._running import load_space, workers_of
from spacelang.cli._shared import as_usage, note, print_json, report, show
from spacelang.cli._shell import BAD_INPUT, INTERRUPTED, NOTHING_SUCCEEDED, WRONG_USAGE
from spacelang.cli._streams import unguarded

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.bench.comparing import Comparison


def command(  # noqa: PLR0913 - one argument an option
    space: SpaceArgument,
    *,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            "-d",
            help="As for `spacelang run`, or a table: `table:FILE.npz`; may be given several times.",
        ),
    ] = None,
    optimizers: Annotated[
        str,
        typer.Option(
            metavar="A,B:NAME=VALUE,…",
            autocompletion=optimizers_like,
            help="Optimizers with options: `blds,blds:disc=2,hyperband:b=50:eta=3`.",
        ),
    ],
    repeats: Annotated[int, typer.Option(min=1, help="The number of seeds, each with its own split.")] = 10,
    time: Annotated[
        str | None, typer.Option(help="Stop each run after this long: `30s`, `10m`, `2h`; on a table in recorded time.")
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Stop each run after this many trials.")] = None,
    workers: WorkersOption = 1,
    seed: SeedOption = 0,
    metric: Annotated[
        str | None, typer.Option(help="A scikit-learn scorer; by default as for `spacelang run`.")
    ] = None,
    validate: Annotated[
        str | None, typer.Option(metavar="SPLIT", help="`holdout(0.3)` or `cv(5)`; by default as for `run`.")
    ] = None,
    test: TestOption = None,
    trial_limit: Annotated[
        str | None, typer.Option(metavar="LIMIT", help="The limit of a trial: `300s`, `4GB` or `300s 4GB`.")
    ] = None,
    isolate: IsolateOption = False,
    first: InitialOptions,
    target_column: TargetColumnOption = None,
    reading: ReadingOptions,
    of_space: SpaceOptions,
    folder: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="The folder for runs, tables and plots; by default a new one in `comparisons/`.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare optimizers on the same data: losses and ranks over time, and which differences are noise.

    Every optimizer runs on all data sets with the same seeds, splits and budget. A run takes one minute unless --time,
    --trials or the task sets a limit. With --test the optimizers are compared on rows that no trial saw. All runs are
    stored in DIR. The same command resumes a comparison that was stopped, and may add optimizers, data and repeats.
    Plots need `spacelang[plots]`.

    Example: `spacelang compare my.space --data my.csv --optimizers random,mosaic --time 60s --test 0.2 -o compared`
    """
    from rich.console import Console

    from spacelang.api.experiment import budget_of
    from spacelang.bench.comparing import compare, labels
    from spacelang.bench.comparison.document import document
    from spacelang.bench.comparison.progress import ComparisonProgress
    from spacelang.plugins import pieces

    _check_usage(optimizers, time, validate, data)
    files = reading.reading
    loaded = load_space(space, of_space)
    show(loaded.warnings)
    with as_usage():
        budget_of(loaded, time, trials)
    workers_of(loaded, WorkerOptions(workers, None, trial_limit, isolate))
    place = _place(loaded) if folder is None else folder
    with _told(place), ComparisonProgress(Console(file=unguarded(sys.stderr))) as listener:
        comparison = compare(
            loaded,
            labels(data or []),
            pieces(optimizers, ","),
            repeats=repeats,
            metric=metric,
            validate=validate,
            test=test,
            time=time,
            trials=trials,
            workers=workers,
            seed=seed,
            trial_limit=trial_limit,
            isolate=isolate,
            target_column=target_column,
            **asdict(files),
            **asdict(first),
            folder=place,
            listener=listener,
        )
    if json:
        print_json({**document(comparison.results), "folder": str(place), "interrupted": comparison.interrupted})
    else:
        _print(comparison)
    _end(comparison)


def _check_usage(optimizers: str, time: str | None, validate: str | None, data: list[str] | None) -> None:
    """End the program with all mistakes in the options, before anything is read."""
    from spacelang.bench.comparing import ContestantsError, contestants
    from spacelang.plugins import pieces
    from spacelang.runtime.budget import parse_duration
    from spacelang.runtime.evaluation.split import parse_validation

    checks: list[tuple[Callable[[Any], object], Any]] = [
        (parse_duration, time),
        (parse_validation, validate),
        (contestants, pieces(optimizers, ",")),
    ]
    mistakes: list[tuple[str, str]] = []
    if not data:
        mistakes.append(
            ("there is no data to compare optimizers on", "give it with `--data FILE`, once or several times")
        )
    for check, given in checks:
        try:
            if given is not None:
                check(given)
        except ContestantsError as error:
            mistakes += [(each.message, each.help) for each in error.mistakes]
        except ValueError as error:
            mistakes.append((str(error), ""))
    _tell(mistakes)


def _place(space: "Space") -> Path:
    """Return a new folder below `comparisons`, for a comparison without `--output`."""
    from datetime import datetime

    from spacelang.runtime.storing.runs import names

    places = (Path("comparisons") / name for name in names(space.name, datetime.now()))
    return next(place for place in places if not place.exists())


@contextmanager
def _told(place: Path) -> Iterator[None]:
    """End the program with all errors in the data, or if it was interrupted before all runs of one seed finished."""
    from spacelang.bench.comparing import ArenasError
    from spacelang.runtime.errors import MetricError

    try:
        yield
    except ArenasError as error:
        usage = all(isinstance(each, MetricError) for each in error.mistakes)
        found = [(each.message, each.help) for each in error.mistakes]
        _tell(dict.fromkeys(found), status=WRONG_USAGE if usage else BAD_INPUT)
    except KeyboardInterrupt:
        message = f"interrupted before all runs of the first seed finished; finished runs are stored in `{place}`"
        report(message, GO_ON)
        raise typer.Exit(INTERRUPTED) from None


GO_ON = "run the same command again to continue"


def _print(comparison: "Comparison") -> None:
    from rich.console import Console

    from spacelang.bench.comparison.text import print_comparison

    print_comparison(comparison.results, Console(highlight=False))
    print(f"\nRuns, tables and plots are in {comparison.folder}.")


def _end(comparison: "Comparison") -> None:
    """Print the notes of the comparison, and exit with an error status if it was interrupted or all runs failed."""
    for each in comparison.notes:
        note(each)
    if comparison.interrupted:
        seeds = len(comparison.results.seeds)
        report(f"interrupted after {seeds} complete seed{'s' if seeds > 1 else ''}", GO_ON)
        raise typer.Exit(INTERRUPTED)
    if all(run.reason for run in comparison.results.runs):
        raise typer.Exit(NOTHING_SUCCEEDED)


def _tell(mistakes: Iterable[tuple[str, str]], status: int = WRONG_USAGE) -> None:
    """End the program with all mistakes; return if there are none."""
    found = [*mistakes]
    for message, help_text in found:
        report(message, help_text)
    if found:
        raise typer.Exit(status)
