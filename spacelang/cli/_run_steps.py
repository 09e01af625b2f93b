"""Steps shared by the commands that evaluate trials, from the options to the outcome, and output functions."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from spacelang.cli._output import exit_on_value_error, fail, print_diagnostics, print_note, use_colours
from spacelang.cli._sanitized_streams import raw_stream
from spacelang.diagnostics.terminal_cells import make_visible

if TYPE_CHECKING:
    from spacelang.api import Result, Space
    from spacelang.api.experiment import EvaluationData, Experiment, PreparedExperiment
    from spacelang.cli._options import SpaceOptions, StoreOptions, WorkerOptions
    from spacelang.ir.task import Validation
    from spacelang.report.summary import RunFacts
    from spacelang.runtime.data.read_options import ReadOptions
    from spacelang.runtime.executors import Executor, WorkerSettings


def load_space(space: str, options: "SpaceOptions") -> "Space":
    """Return the space of a run. Raises SpaceError if it has errors."""
    from spacelang.api import load_for_data

    return load_for_data(space, allow=options.allowed, bind=options.bindings)


def load_data(data: str, target_column: str | None, reading: "ReadOptions") -> "EvaluationData":
    """Return the data named by `--data`, and warn of columns that look useless for learning."""
    from spacelang.api.tabular_data import TabularData
    from spacelang.bench.table_search import data_of
    from spacelang.runtime.data.profile import warnings_of

    found = data_of(data, target_column, reading)
    if isinstance(found, TabularData):
        for warning in warnings_of(found.table.features):
            warn(make_visible(warning))
    return found


def read_options_of(found: "Result") -> "ReadOptions":
    """Return the options with which the data of a search was read."""
    from spacelang.api.tabular_data import TabularData
    from spacelang.runtime.data.read_options import DEFAULT_OPTIONS

    data = found.experiment.data
    return data.table.reading if isinstance(data, TabularData) else DEFAULT_OPTIONS


def choose_space(
    space: str | None, read: "Callable[[], EvaluationData]", options: "SpaceOptions"
) -> "tuple[Space, str]":
    """Return the space of a run and the reason for choosing it.

    If no space is named, the default space for the data is chosen, for which the data is read, and the reason is
    printed. The reason of a named space is empty.
    """
    if space is not None:
        return load_space(space, options), ""
    from spacelang.api.default_space import choose_default_space, default_space_note
    from spacelang.api.tabular_data import TabularData

    if not isinstance(data := read(), TabularData):
        fail("no space can be chosen for data without rows", "name a space: `spacelang run SPACE --data …`")
    usual = choose_default_space(data.table, options.allowed, options.bindings)
    print_note(default_space_note(usual.reason))
    return usual.space, usual.reason


def prepare(experiment: "Experiment") -> "PreparedExperiment":
    """Return the experiment with its data read.

    Prints the warnings about its space, the class that is taken as positive, and the parts of the space that the
    optimizer does not search.
    """
    from spacelang.api.result import positive_class_of
    from spacelang.api.run_storage import check_rungs

    prepared = experiment.prepare()
    print_diagnostics(prepared.space.warnings)
    check_rungs(prepared)
    if (positive := positive_class_of(prepared.objective)) is not None:
        print_note(
            positive.description,
            "if you mean the other class, rename the labels so that it sorts last, such as 0 and 1",
        )
    searched = prepared.search_coverage
    if searched.sentence:
        print_note(searched.sentence, searched.remedy)
    for each in searched.lost:
        print_note(each)
    return prepared


def parse_seconds(time: str | None) -> float | None:
    """Return the seconds of `--time`, or None. Ends the program if the text is not a duration."""
    from spacelang.runtime.budget import parse_duration

    with exit_on_value_error():
        return None if time is None else parse_duration(time)


def parse_validation_option(validate: str | None) -> "Validation | None":
    """Return the validation of `--validate`, or None. Ends the program if the text is not a validation."""
    from spacelang.runtime.evaluation.splits import parse_validation

    with exit_on_value_error():
        return None if validate is None else parse_validation(validate)


def limit_threads_before_fork(workers: int = 1, executor: str | None = None) -> None:
    """Limit this process to one thread if it will fork workers.

    It must be called before libraries that start threads are imported.
    """
    if workers > 0 and executor is None:
        from spacelang.api.execution import use_one_thread

        use_one_thread()


def worker_settings(space: "Space", options: "WorkerOptions", *, is_table: bool = False) -> "WorkerSettings":
    """Return the settings of the workers.

    Ends the program if options contradict each other, and warns of limits that these workers cannot enforce.
    """
    from spacelang.api.execution import trial_limits, unenforced_limits_warning
    from spacelang.runtime.executors import WorkerSettings

    with exit_on_value_error():
        limits = trial_limits(space, options.trial_limit)
    if is_table:
        if limits.trial_bytes is not None:
            warn("memory is not limited: a table does not record the memory of trials")
        return WorkerSettings(options.workers, limits=limits)
    workers = WorkerSettings(options.workers, options.executor, limits, options.isolate)
    if workers.isolate and workers.count == 0 and workers.executor is None:
        fail("`--isolate` needs worker processes, and `--workers 0` has none", "leave one of the two out")
    if (ignored := unenforced_limits_warning(workers)) is not None:
        warn(ignored)
    return workers


def warn(sentence: str) -> None:
    """Print a warning to standard error."""
    title = "\x1b[1;33mwarning\x1b[0m" if use_colours(sys.stderr) else "warning"
    print(f"{title}: {sentence}", file=sys.stderr)


@contextmanager
def run_search(prepared: "PreparedExperiment", options: "StoreOptions") -> "Iterator[tuple[Result, Executor]]":
    """Run the search, and yield its result with the executor of its trials, which still runs.

    The store is created only once trials can be evaluated, so that a run that cannot start leaves no file.
    """
    from datetime import datetime

    from rich.console import Console

    from spacelang.report.progress import progress_listener
    from spacelang.runtime.storage.runs import reserve_default_path

    initial = prepared.initial_configurations(lambda found: [*map(print_note, found.messages)])
    with closing(prepared.make_executor(forks=True)) as crew:
        place = options.store or reserve_default_path(prepared.space.name, datetime.now())
        with progress_listener(Console(file=raw_stream(sys.stderr))) as listener:
            found = prepared.run(crew, initial=initial, store=place, resume=options.resume, listener=listener)
        yield found, crew


def run_facts(found: "Result", preparation: str) -> "RunFacts":
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


def print_comments(*lines: str) -> None:
    """Print an empty line and then comments, below printed code."""
    print()
    for line in lines:
        print_comment(line)


def print_comment(line: str) -> None:
    """Print one comment line below printed code, so that the whole output can be run as it is."""
    print_code(f"# {make_visible(line)}")


def print_code(text: str) -> None:
    """Print code, highlighted on a terminal."""
    if not use_colours(sys.stdout):
        print(text.rstrip())
        return
    from rich.console import Console
    from rich.syntax import Syntax

    # Printed as text, which the terminal wraps; as `Syntax`, long lines would be cut off.
    code = Syntax("", "python", background_color="default").highlight(text.rstrip())
    Console().print(code, soft_wrap=True)
