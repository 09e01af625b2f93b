"""What the commands share that evaluate trials: the steps from their options to an outcome."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from spacelang.cli._shared import as_usage, colours, fail, note, show
from spacelang.cli._streams import unguarded
from spacelang.diagnostics.cells import visible

if TYPE_CHECKING:
    from spacelang.api import Result, Space
    from spacelang.api.experiment import Data, Experiment, Prepared
    from spacelang.cli._options import SpaceOptions, StoreOptions, WorkerOptions
    from spacelang.ir.task import Validation
    from spacelang.report.summary import RunFacts
    from spacelang.runtime.data.reading import Reading
    from spacelang.runtime.executors import Executor, Workers


def load_space(space: str, options: "SpaceOptions") -> "Space":
    """The space of a run; raises SpaceError where it has errors."""
    from spacelang.api import load_for_data

    return load_for_data(space, allow=options.allowed, bind=options.bindings)


def data_for(data: str, target_column: str | None, reading: "Reading") -> "Data":
    """What `--data` names, with a warning of columns that look like none that a pipeline learns from."""
    from spacelang.api.rows import Rows
    from spacelang.bench.tabulating import data_of
    from spacelang.runtime.data.profile import warnings_of

    found = data_of(data, target_column, reading)
    if isinstance(found, Rows):
        for warning in warnings_of(found.table.features):
            warn(visible(warning))
    return found


def reading_in(found: "Result") -> "Reading":
    """How the data of a search was read."""
    from spacelang.api.rows import Rows
    from spacelang.runtime.data.reading import PLAIN

    data = found.experiment.data
    return data.table.reading if isinstance(data, Rows) else PLAIN


def space_of(space: str | None, read: "Callable[[], Data]", options: "SpaceOptions") -> "tuple[Space, str]":
    """The space of a run, and why it is that one where none is named, which is told: its data is read first then."""
    if space is not None:
        return load_space(space, options), ""
    from spacelang.api.rows import Rows
    from spacelang.api.usual import told_of, usual_space

    if not isinstance(data := read(), Rows):
        fail("this data has no rows to choose a space by", "name one: `spacelang run SPACE --data …`")
    usual = usual_space(data.table, options.allowed, options.bindings)
    note(told_of(usual.reason))
    return usual.space, usual.reason


def prepared_for(experiment: "Experiment") -> "Prepared":
    """The experiment with its data, the warnings about its space shown, and what its optimizer leaves as it is."""
    from spacelang.api.keeping import check_rungs
    from spacelang.api.result import positive_class_of

    prepared = experiment.prepared()
    show(prepared.space.warnings)
    check_rungs(prepared)
    if (positive := positive_class_of(prepared.objective)) is not None:
        note(positive.sentence, "where the other one is meant, name the labels so that it comes last, such as 0 and 1")
    searched = prepared.searched
    if searched.sentence:
        note(searched.sentence, searched.remedy)
    for each in searched.lost:
        note(each)
    return prepared


def seconds_of(time: str | None) -> float | None:
    """The seconds of `--time`; ends the program for what is no duration."""
    from spacelang.runtime.budget import parse_duration

    with as_usage():
        return None if time is None else parse_duration(time)


def validation_of(validate: str | None) -> "Validation | None":
    """The validation of `--validate`; ends the program for what is none."""
    from spacelang.runtime.evaluation.split import parse_validation

    with as_usage():
        return None if validate is None else parse_validation(validate)


def be_ready_to_fork(workers: int = 1, executor: str | None = None) -> None:
    """Have a command that is to have workers of its own use one thread, before it imports anything that uses more."""
    if workers > 0 and executor is None:
        from spacelang.api.executing import use_one_thread

        use_one_thread()


def workers_of(space: "Space", options: "WorkerOptions", *, is_table: bool = False) -> "Workers":
    """Who evaluates trials; ends the program, or warns, where less holds there than is asked for."""
    from spacelang.api.executing import trial_limits, unenforced
    from spacelang.runtime.executors import Workers

    with as_usage():
        limits = trial_limits(space, options.trial_limit)
    if is_table:
        if limits.trial_bytes is not None:
            warn("a table does not know what memory its trials took: it is not limited")
        return Workers(options.workers, limits=limits)
    workers = Workers(options.workers, options.executor, limits, options.isolate)
    if workers.isolate and workers.count == 0 and workers.executor is None:
        fail("`--isolate` needs processes for trials, and `--workers 0` has none", "leave one of the two out")
    if (ignored := unenforced(workers)) is not None:
        warn(ignored)
    return workers


def warn(sentence: str) -> None:
    """Print a warning to standard error."""
    title = "\x1b[1;33mwarning\x1b[0m" if colours(sys.stderr) else "warning"
    print(f"{title}: {sentence}", file=sys.stderr)


@contextmanager
def searching(prepared: "Prepared", options: "StoreOptions") -> "Iterator[tuple[Result, Executor]]":
    """What a search comes to, and the executor of its trials, which still lives.

    The file is made once trials can be evaluated, so that none is left of a run that cannot begin.
    """
    from datetime import datetime

    from rich.console import Console

    from spacelang.report.progress import progress
    from spacelang.runtime.storing.runs import default_path

    initial = prepared.initial(lambda found: [*map(note, found.sentences)])
    with closing(prepared.crew(forks=True)) as crew:
        place = options.store or default_path(prepared.space.name, datetime.now())
        with progress(Console(file=unguarded(sys.stderr))) as listener:
            found = prepared.run(crew, initial=initial, store=place, resume=options.resume, listener=listener)
        yield found, crew


def facts_of(found: "Result", preparation: str) -> "RunFacts":
    """What the outcome of a run does not know, for its summary."""
    from spacelang.api.result import positive_class_of
    from spacelang.report.summary import RunFacts

    experiment, objective = found.experiment, found.objective
    assert experiment.optimizer is not None
    return RunFacts(
        experiment.optimizer.name,
        experiment.seed,
        objective.metric,
        objective.training_size,
        preparation=preparation,
        store=str(found.store),
        validation=objective.validation,
        searched=found.searched,
        positive=positive_class_of(objective),
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
