"""Steps shared by the commands that evaluate trials, from the options to the outcome, and output functions."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from spacelang.cli._output import (
    exit_on_value_error,
    exit_with_error,
    print_diagnostics,
    print_error,
    print_json,
    print_note,
    print_warning,
    should_use_colours,
)
from spacelang.cli._process import INTERRUPTED, NOTHING_SUCCEEDED, CommandStartTime, unsanitized_stream
from spacelang.diagnostics.terminal_cells import replace_unprintable

if TYPE_CHECKING:
    from spacelang.api import Result, Space
    from spacelang.api.experiment import EvaluationData, Experiment, PreparedExperiment
    from spacelang.api.run_options import AllowAndBindOptions, ReadingOptions, RunOptions, StoreOptions
    from spacelang.ir.configuration import Configuration
    from spacelang.ir.validation import Validation
    from spacelang.report.run_facts import FinalWorkResult, RunFacts, StartingPointsAndBudget
    from spacelang.runtime.executors import Executor, WorkerSettings
    from spacelang.runtime.run_deadline import RunDeadline


def load_space_of_run(space: str, options: "AllowAndBindOptions") -> "Space":
    """Return the space of a run, which is bound to the data later; raises SpaceError if the space has errors."""
    from spacelang.api import load_for_data

    return load_for_data(space, allow=options["allow"], bind=options["bind"])


def load_data(data: str, target_column: str | tuple[str, ...] | None, options: "ReadingOptions") -> "EvaluationData":
    """Return the data named by `--data`."""
    from spacelang.bench.table_search import load_evaluation_data
    from spacelang.runtime.data.read_options import select_read_options

    return load_evaluation_data(data, target_column, select_read_options(options))


def warn_of_useless_columns(data: "EvaluationData", space: "Space", validation: "Validation | None") -> None:
    """Warn of columns that look useless for learning, except those by which the validation splits the rows."""
    from spacelang.api.search_data import TabularData
    from spacelang.ir.validation import excluded_columns
    from spacelang.runtime.data.profile import column_warnings

    if isinstance(data, TabularData):
        used = excluded_columns(validation or (None if space.task is None else space.task.validation))
        for warning in column_warnings(data.table.features, used):
            print_warning(replace_unprintable(warning))


def choose_space(space: str | None, read: "Callable[[], EvaluationData]", options: "RunOptions") -> "tuple[Space, str]":
    """Return the space of a run and the reason for choosing it.

    If no space is named, the one of the resumed run or the default one for the data is chosen, for which the data is
    read, and the reason is printed. The reason of a named space is empty.
    """
    if space is not None:
        return load_space_of_run(space, options), ""
    from spacelang.api.resuming import stored_default_space
    from spacelang.api.search_data import TabularData, choose_default_space, default_space_note

    if not isinstance(data := read(), TabularData):
        exit_with_error("no space can be chosen for data without rows", "name a space: `spacelang run SPACE --data …`")
    resumed = stored_default_space(options["store"] if options["resume"] else None, options["allow"])
    usual = resumed or choose_default_space(data.table, options["allow"], options["bind"])
    print_note(default_space_note(usual.reason))
    return usual.space, usual.reason


def prepare_experiment(experiment: "Experiment") -> "PreparedExperiment":
    """Return the experiment with its data read; prints warnings and notes, such as on what is not searched."""
    from spacelang.api.experiment import check_rungs_available
    from spacelang.api.experiment_run import data_column_notes, leakage_warnings
    from spacelang.api.several_objectives import check_supports_several_objectives
    from spacelang.runtime.objective import positive_class_of

    prepared = experiment.prepare()
    print_diagnostics(prepared.space.warnings)
    for message in leakage_warnings(prepared):
        print_warning(replace_unprintable(message))
    for note in data_column_notes(prepared):
        print_note(note)
    check_rungs_available(prepared)
    check_supports_several_objectives(prepared)
    if (positive := positive_class_of(prepared.objective)) is not None:
        print_note(
            positive.description,
            "to make the other class positive, rename the labels so that this class sorts last, for example to 0 and 1",
        )
    searched = prepared.search_coverage
    if searched.unsearched_hyperparameters_sentence:
        print_note(searched.unsearched_hyperparameters_sentence, searched.remedy)
    for each in (*searched.lost, *filter(None, (prepared.dropped_keys_note,))):
        print_note(each)
    return prepared


def parse_seconds(time: str | float | None) -> float | None:
    """Return the seconds of `--time`, or None. Ends the program if the text is not a duration."""
    from spacelang.runtime.budget import parse_duration

    with exit_on_value_error():
        return parse_duration(time) if isinstance(time, str) else time


def parse_validation_option(validate: str | None) -> "Validation | None":
    """Return the validation of `--validate`, or None. Ends the program if the text is not a validation."""
    from spacelang.ir.validation import parse_validation

    with exit_on_value_error():
        return None if validate is None else parse_validation(validate)


def require_store_for_resume(options: "StoreOptions") -> None:
    """End the program if a run is to be resumed, and no store is named."""
    if options["resume"] and options["store"] is None:
        exit_with_error("`--resume` needs the store of a run", "name the store: `--store RUN.db --resume`")


def limit_threads_before_fork(workers: int = 1, executor: str | None = None) -> None:
    """Limit this process to one thread if it will fork workers; call it before imports of libraries with threads."""
    if workers > 0 and executor is None:
        from spacelang.api.executor_settings import use_one_thread

        use_one_thread()


def checked_worker_settings(
    space: "Space", options: "Mapping[str, object]", *, is_table: bool = False
) -> "WorkerSettings":
    """Return the settings of the workers; ends the program for contradictions, and warns of unenforced limits."""
    from spacelang.api.executor_settings import unenforced_limits_warning, worker_settings

    with exit_on_value_error():
        workers = worker_settings(space, options)
    if is_table:
        if workers.limits.trial_bytes is not None:
            print_warning("memory is not limited: a table does not record the memory of trials")
        return workers
    if workers.count == 0 and (workers.isolate or workers.executor is not None):
        option = "--executor" if workers.executor is not None else "--isolate"
        exit_with_error(
            f"`{option}` needs worker processes, and `--workers 0` has none", "leave out one of the two options"
        )
    if (ignored := unenforced_limits_warning(workers)) is not None:
        print_warning(ignored)
    return workers


@contextmanager
def run_search(
    prepared: "PreparedExperiment", options: "StoreOptions"
) -> "Iterator[tuple[Result, Executor, RunDeadline | None]]":
    """Run the search; yield its result, the executor of its trials, which still runs, and the time until the answer.

    The store is created only once trials can be evaluated, so that a run that cannot start leaves no file.
    """
    from datetime import datetime

    from rich.console import Console

    from spacelang.api.experiment_run import run_experiment
    from spacelang.report.progress import progress_listener
    from spacelang.runtime.storage.run_listing import reserve_default_path

    initial = prepared.initial_configurations(lambda found: [*map(print_note, found.messages)])
    with ExitStack() as stack:
        if (answer_time := prepared.make_run_deadline(CommandStartTime.read())) is not None:
            stack.enter_context(answer_time)
        crew = stack.enter_context(closing(prepared.make_executor(forks=True)))
        place = options["store"] or reserve_default_path(prepared.space.name, datetime.now())
        with progress_listener(Console(file=unsanitized_stream(sys.stderr)), prepared.objective.metric) as listener:
            found = run_experiment(
                prepared,
                crew,
                initial=initial,
                store=place,
                resume=options["resume"],
                listener=listener,
                answer_time=answer_time,
            )
        yield found, crew, answer_time


def make_run_facts(found: "Result", preparation: str) -> "RunFacts":
    """Return the facts of a finished run that its summary needs and that its outcome does not contain.

    `preparation` is a sentence on what was done to the data before the first step.
    """
    from spacelang.optimizers import reproducibility_sentence
    from spacelang.report.run_facts import RunFacts
    from spacelang.report.trial_results import summarize_held_out_rows
    from spacelang.runtime.objective import objective_names, positive_class_of
    from spacelang.runtime.storage.store import Store
    from spacelang.targets.mosaic import decisions_in_tree_order

    experiment, objective = found.experiment, found.objective
    assert experiment.optimizer is not None
    assert found.store is not None
    with Store.read(found.store) as run:
        held_out = summarize_held_out_rows(run.header)
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
        equal_seeds=reproducibility_sentence(experiment.optimizer.plugin, found.objectives),
        learner_key=decisions_in_tree_order(experiment.space.checked)[0].key
        if experiment.space.checked.decisions
        else "",
        held_out=held_out,
        starting_points=_starting_points(found),
        objectives=objective_names(objective),
    )


def _starting_points(found: "Result") -> "StartingPointsAndBudget | None":
    """Return the configurations with which the optimizer started; None if it has no fixed ones."""
    from spacelang.report.run_facts import StartingPointsAndBudget
    from spacelang.solver.counting import Structures

    experiment = found.experiment
    if experiment.optimizer is None or not hasattr(plugin := experiment.optimizer.plugin, "starting_points"):
        return None
    points = plugin.starting_points(Structures(found.searched.space))
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return StartingPointsAndBudget(points, experiment.budget, experiment.workers.count, processors)


def print_summary_and_next_steps(
    found: "Result", facts: "RunFacts", after: "FinalWorkResult | None" = None, data: str | None = None
) -> None:
    """Print the short answer of a run, with the next steps on `data`, as the user named it."""
    from rich.console import Console

    from spacelang.report.next_steps import suggest_next_steps
    from spacelang.report.run_facts import NO_FINAL_WORK
    from spacelang.report.summary import print_summary
    from spacelang.runtime.storage.store import Store

    assert found.store is not None
    outcome, points = found.outcome, facts.starting_points
    budget = "" if points is None else points.larger_budget_option(outcome)
    with Store.read(found.store) as run:
        has_best = outcome.best is not None
        trusted = found.experiment.space.surroundings.allowed
        steps = [
            step.line for step in suggest_next_steps(run, has_best=has_best, budget=budget, data=data, trusted=trusted)
        ]
    print_summary(outcome, facts, Console(highlight=False), after or NO_FINAL_WORK, steps)


def print_code_comments(*lines: str) -> None:
    """Print an empty line and then comments, below printed code."""
    print()
    for line in lines:
        print_code_comment(line)


def print_code_comment(line: str) -> None:
    """Print one comment line below printed code, so that the whole output can be run as it is."""
    print_code(f"# {replace_unprintable(line)}")


def print_code(text: str) -> None:
    """Print code, highlighted on a terminal."""
    if not should_use_colours(sys.stdout):
        print(text.rstrip())
        return
    from rich.console import Console
    from rich.syntax import Syntax

    # Printed as text, which the terminal wraps; as `Syntax`, long lines would be cut off.
    code = Syntax("", "python", background_color="default").highlight(text.rstrip())
    Console().print(code, soft_wrap=True)


def has_no_rows(data: str) -> bool:
    """Return True if `--data` names data without rows: a loss table, or an artificial objective."""
    from spacelang.runtime.black_box import ARTIFICIAL_PREFIX

    return is_loss_table(data) or data.startswith(ARTIFICIAL_PREFIX)


def is_loss_table(data: str) -> bool:
    """Return True if `--data` names a loss table (`table:FILE.npz`)."""
    from spacelang.runtime.storage.stored_run import TABLE_PREFIX

    return data.startswith(TABLE_PREFIX)


def refuse_row_options(data: str, target_column: str | tuple[str, ...] | None, given: "Mapping[str, object]") -> None:
    """End the program if an option is given that has an effect only on rows, while the data has none."""
    from spacelang.api.option_checks_and_signatures import run_options_by_name
    from spacelang.api.run_options import RunOptions

    is_known, unused = is_loss_table(data), [] if not target_column else ["--target-column"]
    for name, option in run_options_by_name(RunOptions).items():
        flag, value = option.command_line_flag(name), given[name]
        if option.scope == "rows" and value is not None:
            source = "a table of losses" if is_known else f"`{data}`"
            instead = "give the data set from which the table was made, instead of the table"
            help_text = instead if is_known else "give data"
            needed = "predictions" if name == "ensemble" else "rows"
            exit_with_error(f"`{flag}` needs {needed}, but {source} has none", help_text)
        if value and (option.scope in {"scores", "reading"} or (option.scope == "workers" and is_known)):
            unused.append(flag)
    if unused and is_known:
        help_text = "its trials were evaluated before; make another table with `spacelang tabulate`"
        exit_with_error(f"`{unused[0]}` has no effect on a table of losses", help_text)
    if unused:
        exit_with_error(f"`{unused[0]}` has no effect on `{data}`", f"`{data}` has no rows; leave the option out")


def print_result_without_rows(found: "Result", *, as_json: bool, with_code: bool) -> int:
    """Print the result of a search without rows and return the exit status."""
    from spacelang.bench.tables.objective import TableObjective
    from spacelang.report.run_document import run_json_document

    outcome, objective = found.outcome, found.objective
    table = objective.table if isinstance(objective, TableObjective) else None
    facts = make_run_facts(found, "" if table is None else table.metadata.preparation)
    if as_json:
        print_json(run_json_document(outcome, facts))
    else:
        source = f"Losses come from `{objective.facts.name}`; nothing was fitted."
        if table is not None:
            source = f"Losses come from the table `{table.name}`; all times are recorded ones."
        print_summary_and_next_steps(
            found, replace(facts, preparation=" ".join(filter(None, (facts.preparation, source))))
        )
        if with_code and found.best_configuration is not None and table is not None:
            _print_pipeline(found, found.best_configuration, table.metadata.seed)
    if outcome.ended == "interrupted":
        return INTERRUPTED
    return NOTHING_SUCCEEDED if outcome.best is None else 0


def _print_pipeline(found: "Result", configuration: "Configuration", seed: int | None) -> None:
    from spacelang.report.code_writer import pipeline_module_source
    from spacelang.runtime.errors import BuildError
    from spacelang.runtime.pipelines.build import build_pipeline

    try:
        text = pipeline_module_source(
            build_pipeline(found.searched.space, configuration, random_state=seed, n_jobs=None)
        )
    except BuildError as error:
        print_error(error.message, error.help)
        return
    print_code_comments("the best pipeline (not fitted, because a table of losses has no rows to fit on):")
    print()
    print_code(text)
