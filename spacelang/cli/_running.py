"""What the commands share that evaluate trials: their options, and the steps from these to an outcome."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spacelang.cli import BAD_INPUT, WRONG_USAGE
from spacelang.cli._shared import bindings, colours, end, fail, note, show
from spacelang.cli._streams import unguarded
from spacelang.diagnostics.cells import visible
from spacelang.runtime.archives import Norm

if TYPE_CHECKING:
    from spacelang.api import Recorded, Space
    from spacelang.api.initial import Read
    from spacelang.ir.configuration import Configuration
    from spacelang.ir.task import Limits, Validation
    from spacelang.report.searched import Searched
    from spacelang.runtime.archives.archive import Archive
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.history import Outcome
    from spacelang.runtime.objective import Objective

DataOption = Annotated[
    str,
    typer.Option(
        "--data",
        "-d",
        help="A `.csv`, `.csv.gz`, `.parquet` or `.arff` file, `sklearn:NAME`, `openml:ID` or `openml-task:ID`.",
    ),
]
TargetColumnOption = Annotated[
    str | None, typer.Option(help="The column of labels; else the one named `target`, else the last.")
]
MetricOption = Annotated[
    str | None,
    typer.Option(help="A scikit-learn scorer; else as the task says, or AUROC, balanced accuracy or R² by the data."),
]
ValidateOption = Annotated[
    str | None,
    typer.Option(
        metavar="SPLIT",
        help="`holdout(0.3)` or `cv(5)`; else as data or task say, or the second up to 1,000 rows, the first beyond.",
    ),
]
TimeOption = Annotated[str | None, typer.Option(help="Stop after this long: `30s`, `10m`, `2h`.")]
InitialOption = Annotated[
    str | None,
    typer.Option(
        metavar="default|FILE.json",
        help="Configurations to start from, evaluated first: the default one, or those of a file (as of `run --json`).",
    ),
]
ArchiveOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.json",
        help="Start from what was best on the data sets that are most alike, of an archive (`spacelang archive`).",
    ),
]
ArchiveNormOption = Annotated[
    Norm, typer.Option(help="How differences of meta-features add up to the distance of two data sets.")
]
TestOption = Annotated[
    str | None,
    typer.Option("--test", metavar="SHARE|FILE", help="Rows that no trial sees, to score the best pipeline on: `0.2`."),
]
StoreOption = Annotated[
    Path | None,
    typer.Option(metavar="RUN.db", help="Keep every trial in this file as it ends; else in a new one in `runs/`."),
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Go on with the run that the store holds.")]
WorkersOption = Annotated[
    int, typer.Option(min=0, help="Trials at a time, each in a process of its own; 0: in this process, unbounded.")
]
ExecutorOption = Annotated[
    str | None,
    typer.Option(metavar="WHERE", help="`dask` starts a local cluster, `tcp://HOST:PORT` uses a running one."),
]
TrialLimitOption = Annotated[
    str | None,
    typer.Option(metavar="LIMIT", help="What a trial may take: `300s`, `4GB` or both; else as the task says."),
]
IsolateOption = Annotated[
    bool, typer.Option("--isolate", help="A fresh process for every trial: none can touch another, none shares work.")
]


@dataclass(frozen=True, slots=True)
class Where:
    """Where trials are evaluated, what each of them may take, and whether each is alone there."""

    workers: int
    executor: str | None
    limits: "Limits"
    isolate: bool


def load_space(space: str, allow: list[str] | None, bind: list[str] | None, *, as_json: bool) -> "Space":
    """The space of a run; ends the program where it has errors."""
    from spacelang.api import SpaceError, load_for_data

    try:
        return load_for_data(space, allow=allow or (), bind=bindings(bind))
    except SpaceError as error:
        end(error.diagnostics, as_json=as_json)


def bound_space(space: "Space", objective: "DataObjective", *, as_json: bool) -> tuple["Space", "DataObjective"]:
    """The space for the data, whose size only now is known, and its warnings shown."""
    from spacelang.api import SpaceError, bound_by

    try:
        space, objective = bound_by(objective, space)
    except SpaceError as error:
        end(error.diagnostics, as_json=as_json)
    show(space.warnings)
    return space, objective


def initial_of(given: str | None, *, as_json: bool) -> "tuple[Read, ...] | None":
    """What `--initial` gives, before it is known in which space; ends the program where that is no configuration."""
    from spacelang.api.initial import InitialError, read_initial

    try:
        return None if given is None else read_initial(given)
    except InitialError as error:
        end(error.diagnostics, as_json=as_json)


def members_of(
    space: "Space",
    given: "tuple[Read, ...] | None",
    lacks: "Callable[[Configuration], str]" = lambda _: "",
    *,
    as_json: bool,
) -> "tuple[Configuration, ...] | None":
    """The configurations as those of the space; ends the program where one is none or `lacks` says why it is not."""
    from spacelang.api import initial

    try:
        return None if given is None else initial.members_of(space, given, lacks)
    except initial.InitialError as error:
        end(error.diagnostics, as_json=as_json)


def archive_of(file: Path | None) -> "Archive | None":
    """The archive of `--archive`; ends the program for a file that holds none."""
    from spacelang.api.archiving import open_archive
    from spacelang.runtime.errors import InputError

    try:
        return None if file is None else open_archive(file)
    except InputError as error:
        fail(error.message, error.help, status=BAD_INPUT)


def with_suggested(
    members: "tuple[Configuration, ...] | None",
    archive: "Archive | None",
    norm: Norm,
    space: "Space",
    objective: "DataObjective",
) -> "tuple[Configuration, ...] | None":
    """What a search starts from, with what an archive suggests behind it; ends the program where it is about others."""
    from spacelang.api.archiving import begun_by, suggested
    from spacelang.runtime.errors import InputError

    if archive is None:
        return members
    try:
        found = suggested(archive, space, objective, norm)
    except InputError as error:
        fail(error.message, error.help, status=BAD_INPUT)
    for sentence in found.sentences:
        note(sentence)
    return begun_by(members, found)


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


def limits_of(space: "Space", given: str | None) -> "Limits":
    """What a trial may take; ends the program for a text that says nothing of the kind."""
    from spacelang.api import trial_limits

    try:
        return trial_limits(space, given)
    except ValueError as error:
        fail(str(error))


def be_ready_to_fork(workers: int, executor: str | None) -> None:
    """Have a command that is to have workers of its own use one thread, before it imports anything that uses more."""
    if workers > 0 and executor is None:
        from spacelang.api.executing import use_one_thread

        use_one_thread()


def where_of(workers: int, executor: str | None, limits: "Limits", *, isolate: bool) -> Where:
    """Where trials are evaluated; ends the program, or warns, where less holds there than is asked for."""
    if workers == 0 and executor is None:
        check_isolation(workers, isolate=isolate)
        warn_unenforced(limits)
    return Where(workers, executor, limits, isolate)


def check_isolation(workers: int, *, isolate: bool) -> None:
    """End the program where trials shall be isolated and have no processes."""
    if isolate and workers == 0:
        fail("`--isolate` needs processes for trials, and `--workers 0` has none", "leave one of the two out")


def warn_unenforced(limits: "Limits") -> None:
    """Warn of limits that nothing enforces."""
    from spacelang.api import unenforced

    ignored = unenforced(limits)
    if ignored is not None:
        title = "\x1b[1;33mwarning\x1b[0m" if colours(sys.stderr) else "warning"
        print(f"{title}: {ignored}", file=sys.stderr)


def say_searched(optimizer: Any, space: "Space", *, has_defaults_only: bool = False) -> "Searched":
    """What an optimizer searches of a space; what it leaves as it is, is told before it begins.

    Ends the program where it cannot search the space.
    """
    from spacelang.report.searched import searched_by
    from spacelang.runtime.errors import InputError

    try:
        searched = searched_by(optimizer, space.checked, has_defaults_only=has_defaults_only)
    except InputError as error:
        fail(error.message, error.help, status=BAD_INPUT)
    if searched.sentence:
        note(searched.sentence, searched.remedy)
    for each in searched.lost:
        note(each)
    return searched


def objective_of(
    space: "Space",
    data: str,
    target_column: str | None,
    judged: tuple[str | None, "Recorded"],
    validation: "Validation | None",
    seed: int,
    test: str | None = None,
) -> "DataObjective":
    """What a search minimises on some data, judged by a metric; ends the program for what is wrong with them.

    `test` says which rows are kept from it.
    """
    from spacelang.api import make_objective
    from spacelang.runtime.data.loading import load_dataset
    from spacelang.runtime.errors import InputError, MetricError

    try:
        table = load_dataset(data, target_column)
        metric, recorded = judged
        return make_objective(
            space,
            table,
            metric=metric,
            validation=validation,
            seed=seed,
            recorded=recorded,
            test=test,
        )
    except InputError as error:
        fail(error.message, error.help, status=WRONG_USAGE if isinstance(error, MetricError) else BAD_INPUT)


def must_keep_predictions(store: Path | None) -> None:
    """End the program where an ensemble is wanted of a run that keeps no predictions."""
    from spacelang.api.keeping import check_predictions
    from spacelang.runtime.errors import InputError

    try:
        check_predictions(store)
    except InputError as error:
        fail(error.message, error.help, status=BAD_INPUT)


def place_of(store: Path | None, space: "Space") -> Path:
    """The file that keeps the run."""
    from datetime import datetime

    from spacelang.runtime.errors import InputError
    from spacelang.runtime.storing.runs import default_path

    try:
        return default_path(space.name, datetime.now()) if store is None else store
    except InputError as error:
        fail(error.message, error.help, status=BAD_INPUT)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to, where it is kept, and the executor of its trials, which still lives.

    `initial` are the configurations that it began with.
    """

    outcome: "Outcome"
    place: Path
    executor: "Executor"
    initial: "tuple[Configuration, ...]" = ()


@contextmanager
def searching(
    space: "Space",
    optimizer: tuple[str, Any],
    objective: "Objective",
    where: Where,
    budget: tuple[float | None, int | None],
    seed: int,
    store: Path | None,
    *,
    resume: bool,
    initial: "tuple[Configuration, ...] | None" = None,
) -> "Iterator[Found]":
    """What an optimizer, given with its name, finds within a budget of seconds and trials, from what it starts with.

    The file is made once trials can be evaluated, so that none is left of a run that cannot begin.
    """
    from rich.console import Console

    from spacelang.api import keeping, make_executor, run
    from spacelang.api.keeping import begun_with, terms_of
    from spacelang.report.progress import progress

    seconds, trials = budget
    workers, executor, limits, isolate = where.workers, where.executor, where.limits, where.isolate
    with (
        telling(store),
        closing(
            make_executor(objective, workers=workers, executor=executor, limits=limits, isolate=isolate, forks=True)
        ) as crew,
    ):
        place = place_of(store, space)
        terms = terms_of(seconds, trials, len(crew.free), initial)
        with (
            keeping(place, space, optimizer, objective, seed=seed, resume=resume, terms=terms) as journal,
            progress(Console(file=unguarded(sys.stderr))) as listener,
        ):
            outcome = run(
                space,
                optimizer[1],
                objective,
                crew,
                time=seconds,
                trials=trials,
                seed=seed,
                listener=listener,
                journal=journal,
            )
        yield Found(outcome, place, crew, begun_with(terms, journal))


@contextmanager
def telling(store: Path | None) -> "Iterator[None]":
    """End the program for what the user can put right in what a run is given, its store among that."""
    from spacelang.plugins import OptionError
    from spacelang.runtime.errors import InputError
    from spacelang.runtime.storing.store_faults import StoreError

    try:
        yield
    except OptionError as error:  # what an option asks for is not there in this run
        fail(error.message, error.help)
    except StoreError as error:
        if len(error.differences) < 2:
            fail(error.message, error.help, status=BAD_INPUT)
        fail(f"`{store}` is of another run", error.help, status=BAD_INPUT, notes=error.differences)
    except InputError as error:
        fail(error.message, error.help, status=BAD_INPUT)


def comment(*lines: str) -> None:
    """Say something behind code, after an empty line."""
    print()
    for line in lines:
        add(line)


def add(line: str) -> None:
    """Say something more behind code: a comment, so that all of it can be run as it stands."""
    print_code(f"# {visible(line)}")


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
