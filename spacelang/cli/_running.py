"""What the commands share that evaluate trials: their options, and the steps from these to an outcome."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spacelang.cli import BAD_INPUT, WRONG_USAGE
from spacelang.cli._shared import bindings, colours, end, fail, note, show
from spacelang.cli._streams import unguarded
from spacelang.diagnostics.cells import visible
from spacelang.runtime.archives import Norm

if TYPE_CHECKING:
    from spacelang.api import Result, Space
    from spacelang.api.experiment import Data, Experiment, Prepared
    from spacelang.api.initial import Read
    from spacelang.ir.task import Limits, Validation
    from spacelang.report.summary import Run
    from spacelang.runtime.archives.archive import Archive
    from spacelang.runtime.data.reading import Reading
    from spacelang.runtime.executors import Executor, Workers

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
SepOption = Annotated[
    str | None,
    typer.Option(metavar="CHARACTER", help=r"What separates the fields of a `.csv` file; else a comma. `\t` is a tab."),
]
EncodingOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The encoding of a text file, such as `cp1252`; else UTF-8.")
]
DecimalOption = Annotated[
    str | None, typer.Option(metavar="SIGN", help="`,` where the numbers of a `.csv` file are written `1,5`.")
]
DropColumnsOption = Annotated[
    str | None,
    typer.Option(metavar="A,B,…", help='Columns to leave out, such as identifiers; `"a,b",c` has one with a comma.'),
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


def load_space(space: str, allow: list[str] | None, bind: list[str] | None, *, as_json: bool) -> "Space":
    """The space of a run; ends the program where it has errors."""
    from spacelang.api import load_for_data

    with telling(None, as_json=as_json):
        return load_for_data(space, allow=allow or (), bind=bindings(bind))


def reading_of(sep: str | None, encoding: str | None, decimal: str | None, drop_columns: str | None) -> "Reading":
    """How a file is to be read; ends the program where no file can be."""
    import csv

    from spacelang.runtime.data.reading import reading

    named = [] if drop_columns is None else next(csv.reader([drop_columns], skipinitialspace=True), [])
    with telling(None):
        return reading(sep, encoding, decimal, [name.strip() for name in named if name.strip()])


def data_for(data: str, target_column: str | None, read: "Reading", store: Path | None = None) -> "Data":
    """What `--data` names, with a warning of each column that looks like none that a pipeline learns from.

    Ends the program where it cannot be read.
    """
    from spacelang.api.rows import Rows
    from spacelang.bench.tabulating import data_of
    from spacelang.runtime.data.profile import suspects

    with telling(store):
        found = data_of(data, target_column, read)
    if isinstance(found, Rows):
        for column in suspects(found.table.features):
            warn(visible(column.warning))
    return found


def reading_in(found: "Result") -> "Reading":
    """How the data of a search was read."""
    from spacelang.api.rows import Rows
    from spacelang.runtime.data.reading import PLAIN

    data = found.experiment.data
    return data.table.reading if isinstance(data, Rows) else PLAIN


def space_of(
    space: str | None, read: "Callable[[], Data]", allow: list[str] | None, bind: list[str] | None, *, as_json: bool
) -> "tuple[Space, str]":
    """The space of a run, and why it is that one where none is named, which is told: its data is read first then."""
    if space is not None:
        return load_space(space, allow, bind, as_json=as_json), ""
    from spacelang.api.rows import Rows
    from spacelang.api.usual import told_of, usual_space

    if not isinstance(data := read(), Rows):
        fail("this data has no rows to choose a space by", "name one: `spacelang run SPACE --data …`")
    with telling(None, as_json=as_json):
        usual = usual_space(data.table, allow or (), bindings(bind))
    note(told_of(usual.reason))
    return usual.space, usual.reason


def prepared_for(experiment: "Experiment", store: Path | None, *, as_json: bool) -> "Prepared":
    """The experiment with its data, the warnings about its space shown, and what its optimizer leaves as it is."""
    from spacelang.api.keeping import check_rungs

    with telling(store, as_json=as_json):
        prepared = experiment.prepared()
        show(prepared.space.warnings)
        check_rungs(prepared)
        searched = prepared.searched
    if searched.sentence:
        note(searched.sentence, searched.remedy)
    for each in searched.lost:
        note(each)
    return prepared


def initial_of(given: str | None, *, as_json: bool) -> "tuple[Read, ...] | None":
    """What `--initial` gives, before it is known in which space; ends the program where that is no configuration."""
    from spacelang.api.initial import read_initial

    with telling(None, as_json=as_json):
        return None if given is None else read_initial(given)


def archive_of(file: Path | None) -> "Archive | None":
    """The archive of `--archive`; ends the program for a file that holds none."""
    from spacelang.api.archiving import open_archive

    with telling(None):
        return None if file is None else open_archive(file)


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
    from spacelang.api.executing import trial_limits

    try:
        return trial_limits(space, given)
    except ValueError as error:
        fail(str(error))


def be_ready_to_fork(workers: int, executor: str | None) -> None:
    """Have a command that is to have workers of its own use one thread, before it imports anything that uses more."""
    if workers > 0 and executor is None:
        from spacelang.api.executing import use_one_thread

        use_one_thread()


def workers_of(
    space: "Space", count: int, executor: str | None, limit: str | None, *, isolate: bool, is_table: bool = False
) -> "Workers":
    """Who evaluates trials; ends the program, or warns, where less holds there than is asked for."""
    from spacelang.api.executing import unenforced
    from spacelang.runtime.executors import Workers

    limits = limits_of(space, limit)
    if is_table:
        if limits.trial_bytes is not None:
            warn("a table does not know what memory its trials took: it is not limited")
        return Workers(count, limits=limits)
    workers = Workers(count, executor, limits, isolate)
    if executor is None:
        check_isolation(count, isolate=isolate)
    if (ignored := unenforced(workers)) is not None:
        warn(ignored)
    return workers


def check_isolation(workers: int, *, isolate: bool) -> None:
    """End the program where trials shall be isolated and have no processes."""
    if isolate and workers == 0:
        fail("`--isolate` needs processes for trials, and `--workers 0` has none", "leave one of the two out")


def warn(sentence: str) -> None:
    """Print a warning to standard error."""
    title = "\x1b[1;33mwarning\x1b[0m" if colours(sys.stderr) else "warning"
    print(f"{title}: {sentence}", file=sys.stderr)


def must_keep_predictions(store: Path | None) -> None:
    """End the program where an ensemble is wanted of a run that keeps no predictions."""
    from spacelang.api.keeping import check_predictions

    with telling(None):
        check_predictions(store)


def place_of(store: Path | None, space: "Space") -> Path:
    """The file that keeps the run."""
    from datetime import datetime

    from spacelang.runtime.storing.runs import default_path

    with telling(store):
        return default_path(space.name, datetime.now()) if store is None else store


@contextmanager
def searching(
    prepared: "Prepared", store: Path | None, *, resume: bool, as_json: bool
) -> "Iterator[tuple[Result, Executor]]":
    """What a search comes to, and the executor of its trials, which still lives.

    The file is made once trials can be evaluated, so that none is left of a run that cannot begin.
    """
    from rich.console import Console

    from spacelang.report.progress import progress

    with telling(store, as_json=as_json):
        initial = prepared.initial(lambda found: [*map(note, found.sentences)])
        with closing(prepared.crew(forks=True)) as crew:
            place = place_of(store, prepared.space)
            with progress(Console(file=unguarded(sys.stderr))) as listener:
                found = prepared.run(crew, initial=initial, store=place, resume=resume, listener=listener)
            yield found, crew


@contextmanager
def telling(store: Path | None, *, as_json: bool = False) -> "Iterator[None]":
    """End the program for what the user can put right in what a run is given, its store among that."""
    from spacelang.api import SpaceError
    from spacelang.plugins import OptionError, UnknownPluginError
    from spacelang.runtime.data.reading import ReadingError
    from spacelang.runtime.errors import InputError, MetricError
    from spacelang.runtime.storing.store_faults import StoreError

    try:
        yield
    except SpaceError as error:
        end(error.diagnostics, as_json=as_json)
    except (UnknownPluginError, OptionError) as error:  # what an option asks for is not there in this run
        fail(error.message, error.help)
    except StoreError as error:
        if len(error.differences) < 2:
            fail(error.message, error.help, status=BAD_INPUT)
        fail(f"`{store}` is of another run", error.help, status=BAD_INPUT, notes=error.differences)
    except InputError as error:
        is_usage = isinstance(error, MetricError | ReadingError)
        fail(error.message, error.help, status=WRONG_USAGE if is_usage else BAD_INPUT)


def facts_of(found: "Result", preparation: str) -> "Run":
    """What the outcome of a run does not know, for its summary."""
    from spacelang.report.summary import Run

    experiment, objective = found.experiment, found.objective
    assert experiment.optimizer is not None
    return Run(
        experiment.optimizer.name,
        experiment.seed,
        objective.metric,
        objective.training_size,
        preparation=preparation,
        store=str(found.store),
        validation=objective.validation,
        searched=found.searched,
    )


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
