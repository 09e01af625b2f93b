"""Steps shared by the commands that evaluate trials, from the options to the outcome, and output functions."""

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
    """Return the space of a run. Raises SpaceError if it has errors."""
    from spacelang.api import load_for_data

    return load_for_data(space, allow=options.allowed, bind=options.bindings)


def data_for(data: str, target_column: str | None, reading: "Reading") -> "Data":
    """Return the data named by `--data`, and warn of columns that look useless for learning."""
    from spacelang.api.rows import Rows
    from spacelang.bench.tabulating import data_of
    from spacelang.runtime.data.profile import warnings_of

    found = data_of(data, target_column, reading)
    if isinstance(found, Rows):
        for warning in warnings_of(found.table.features):
            warn(visible(warning))
    return found


def reading_in(found: "Result") -> "Reading":
    """Return the options with which the data of a search was read."""
    from spacelang.api.rows import Rows
    from spacelang.runtime.data.reading import PLAIN

    data = found.experiment.data
    return data.table.reading if isinstance(data, Rows) else PLAIN


def space_of(space: str | None, read: "Callable[[], Data]", options: "SpaceOptions") -> "tuple[Space, str]":
    """Return the space of a run and the reason for choosing it.

    If no space is named, the default space for the data is chosen, for which the data is read, and the reason is
    printed. The reason of a named space is empty.
    """
    if space is not None:
        return load_space(space, options), ""
    from spacelang.api.rows import Rows
    from spacelang.api.usual import told_of, usual_space

    if not isinstance(data := read(), Rows):
        fail("no space can be chosen for data without rows", "name a space: `spacelang run SPACE --data …`")
    usual = usual_space(data.table, options.allowed, options.bindings)
    note(told_of(usual.reason))
    return usual.space, usual.reason


def prepared_for(experiment: "Experiment") -> "Prepared":
    """Return the experiment with its data read.

    Prints the warnings about its space, the class that is taken as positive, and the parts of the space that the
    optimizer does not search.
    """
    from spacelang.api.keeping import check_rungs
    from spacelang.api.result import positive_class_of

    prepared = experiment.prepared()
    show(prepared.space.warnings)
    check_rungs(prepared)
    if (positive := positive_class_of(prepared.objective)) is not None:
        note(positive.sentence, "if you mean the other class, rename the labels so that it sorts last, such as 0 and 1")
    searched = prepared.searched
    if searched.sentence:
        note(searched.sentence, searched.remedy)
    for each in searched.lost:
        note(each)
    return prepared


def seconds_of(time: str | None) -> float | None:
    """Return the seconds of `--time`, or None. Ends the program if the text is not a duration."""
    from spacelang.runtime.budget import parse_duration

    with as_usage():
        return None if time is None else parse_duration(time)


def validation_of(validate: str | None) -> "Validation | None":
    """Return the validation of `--validate`, or None. Ends the program if the text is not a validation."""
    from spacelang.runtime.evaluation.split import parse_validation

    with as_usage():
        return None if validate is None else parse_validation(validate)


def be_ready_to_fork(workers: int = 1, executor: str | None = None) -> None:
    """Limit this process to one thread if it will fork workers.

    It must be called before libraries that start threads are imported.
    """
    if workers > 0 and executor is None:
        from spacelang.api.executing import use_one_thread

        use_one_thread()


def workers_of(space: "Space", options: "WorkerOptions", *, is_table: bool = False) -> "Workers":
    """Return the settings of the workers.

    Ends the program if options contradict each other, and warns of limits that these workers cannot enforce.
    """
    from spacelang.api.executing import trial_limits, unenforced
    from spacelang.runtime.executors import Workers

    with as_usage():
        limits = trial_limits(space, options.trial_limit)
    if is_table:
        if limits.trial_bytes is not None:
            warn("memory is not limited: a table does not record the memory of trials")
        return Workers(options.workers, limits=limits)
    workers = Workers(options.workers, options.executor, limits, options.isolate)
    if workers.isolate and workers.count == 0 and workers.executor is None:
        fail("`--isolate` needs worker processes, and `--workers 0` has none", "leave one of the two out")
    if (ignored := unenforced(workers)) is not None:
        warn(ignored)
    return workers


def warn(sentence: str) -> None:
    """Print a warning to standard error."""
    title = "\x1b[1;33mwarning\x1b[0m" if colours(sys.stderr) else "warning"
    print(f"{title}: {sentence}", file=sys.stderr)


@contextmanager
def searching(prepared: "Prepared", options: "StoreOptions") -> "Iterator[tuple[Result, Executor]]":
    """Run the search, and yield its result with the executor of its trials, which still runs.

    The store is created only once trials can be evaluated, so that a run that cannot start leaves no file.
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
    """Return the facts of a run that its summary needs besides the outcome."""
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
    """Print an empty line and then comments, below printed code."""
    print()
    for line in lines:
        add(line)


def add(line: str) -> None:
    """Print one comment line below printed code, so that the whole output can be run as it is."""
    print_code(f"# {visible(line)}")


def print_code(text: str) -> None:
    """Print code, highlighted on a terminal."""
    if not colours(sys.stdout):
        print(text.rstrip())
        return
    from rich.console import Console
    from rich.syntax import Syntax

    # Printed as text, which the terminal wraps; as `Syntax`, long lines would be cut off.
    code = Syntax("", "python", background_color="default").highlight(text.rstrip())
    Console().print(code, soft_wrap=True)
