"""The run of a prepared experiment: warnings before it, its steps, its store, and its result or error."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from spacelang.api.experiment import PreparedExperiment, check_rungs_available
from spacelang.api.result import Result
from spacelang.api.several_objectives import check_supports_several_objectives
from spacelang.errors import PicklableError
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Problem, StartConditions, TotalBudget
from spacelang.ir.space import Space as CheckedSpace
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.optimizers._scheduling import search_after_initial_trials
from spacelang.runtime.errors import DifferentSearchError
from spacelang.runtime.executors import HasSimulatedClock
from spacelang.runtime.history import NullTrialStorage, Outcome, TrialStorage
from spacelang.runtime.listeners import Callback, CallbackListener, LoggingListener, SilentListener
from spacelang.runtime.objective import objective_names, prefix_key_function
from spacelang.runtime.run_deadline import RunDeadline
from spacelang.runtime.search_loop import Steps, run_to_completion, search_steps
from spacelang.runtime.storage.records import LIMIT_FLAGS
from spacelang.runtime.storage.run_header import PLAIN_LAW

if TYPE_CHECKING:
    import numpy.typing as npt

    from spacelang.runtime.executors import Executor
    from spacelang.runtime.listeners import Listener
    from spacelang.runtime.storage.store import Store


def leakage_warnings(prepared: PreparedExperiment) -> list[str]:
    """Return warnings of misleading scores: equal targets, columns that copy the labels, and misleading random splits.

    The last ones name columns (groups or times) by which to split the rows, and the share of held-out rows that are
    also training rows. Empty for data without rows.
    """
    objective, experiment = prepared.objective, prepared.experiment
    if not experiment.data.has_rows:
        return []
    from spacelang.runtime.data.labels import constant_target_warnings, label_column_warnings, target_series
    from spacelang.runtime.data.profile import find_split_hints
    from spacelang.runtime.data.split_hints import repeated_held_out_share, repeated_rows_message
    from spacelang.runtime.evaluation.folds import split_rows
    from spacelang.runtime.evaluation.objective import DataObjective

    if not isinstance(objective, DataObjective):
        return []
    data, validation = objective.dataset, objective.validation
    of_labels = [*constant_target_warnings(data), *label_column_warnings(data)]
    if data.relations.times is not None or not isinstance(validation, Holdout | CrossValidation):
        return of_labels
    share = repeated_held_out_share(data.features, split_rows(data, validation, experiment.seed))
    found = [repeated_rows_message(share, "the held-out rows are also training rows")] if share else []
    target = target_series(data.target)[0]  # of several targets, the first one stands for all
    hints = () if data.relations.groups is not None else find_split_hints(data.features, target, data.kind)
    return [*of_labels, *(hint.message for hint in hints), *found]


def data_column_notes(prepared: PreparedExperiment) -> list[str]:
    """Return notes on columns that no pipeline gets, and on imputed numbers; empty for data without rows."""
    if not prepared.experiment.data.has_rows:
        return []
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.pipelines.column_notes import column_notes

    objective = prepared.objective
    if not isinstance(objective, DataObjective):
        return []
    return [*column_notes(prepared.space.checked, objective.preparation, objective.dataset.features)]


def run_search_in_steps(
    prepared: PreparedExperiment,
    executor: "Executor",
    *,
    initial: tuple[Configuration, ...] | None = None,
    store: str | PathLike[str] | None = None,
    resume: bool = False,
    listener: "Listener | None" = None,
    callbacks: Iterable[Callback] = (),
    answer_time: RunDeadline | None = None,
) -> "Steps[Result]":
    """Run the search as a generator; with a store, every trial is saved, and `resume` continues the run in it.

    Callbacks are called with each new trial, after the listener.

    With an `answer_time` the search ends early enough for the work after it. Without one, all limits on seconds are
    limits on the search.

    The generator pauses whenever the executor needs the caller to evaluate trials. For other executors use
    `run_experiment`, which does the same without pauses. Raises as `open_run_store` and the runtime's loop do.
    """
    from spacelang.runtime.ensembles.construction import BestPredictionsStorage

    experiment = prepared.experiment
    seconds, trials = experiment.budget.smaller_seconds_limit, experiment.budget.trials
    # The budget of the search is processor time: wall-clock time times the number of workers.
    allowed = TotalBudget(None if seconds is None else seconds * max(len(executor.free), 1), trials)
    # If only the ensemble needs predictions and there is no store, keep those of its candidates only.
    best = (
        NullTrialStorage()
        if experiment.recorded.predictions
        else BestPredictionsStorage(prepared.objective.training_size)
    )
    with open_run_store(prepared, store, StartConditions(initial, allowed), resume=resume) as kept:
        terms = StartConditions(initial, allowed) if kept is None else kept.header.start_conditions
        plain_draws = kept is not None and kept.header.law == PLAIN_LAW
        searched = replace(prepared.space.checked, plain_draws=plain_draws)
        optimizer = with_earlier_behaviour_for_unstored_options(
            prepared.optimizer.plugin, None if kept is None else kept.header.options
        )
        storage, earlier = (best, 0) if kept is None else (kept, kept.count)
        listener = SilentListener() if listener is None else listener
        title = f"{searched.name} with {prepared.optimizer.name}"
        listener = LoggingListener(listener, title, prepared.objective.metric, earlier)
        listener = CallbackListener(listener, callbacks, earlier, prepared.objective.metric)
        outcome = yield from _run_loop(prepared, optimizer, executor, searched, terms, storage, listener, answer_time)
    predictions = best.predictions if isinstance(best, BestPredictionsStorage) else {}
    return make_result(prepared, outcome, store, terms.initial or (), predictions)


run_experiment = run_to_completion(run_search_in_steps)


def make_result(
    prepared: PreparedExperiment,
    outcome: Outcome,
    store: str | PathLike[str] | None,
    initial: tuple[Configuration, ...] = (),
    predictions: "Mapping[int, npt.NDArray[Any]] | None" = None,
) -> Result:
    """Return the result of an outcome: with its store, or else with the held-out `predictions` by trial number.

    `initial` are the initial configurations of the run.
    """
    place, searched = None if store is None else Path(store), replace(prepared.search_coverage, initial=initial)
    return Result(outcome, prepared.objective, prepared.experiment, searched, place, kept=predictions or {})


@contextmanager
def open_run_store(
    prepared: PreparedExperiment, path: str | PathLike[str] | None, terms: StartConditions, *, resume: bool
) -> "Iterator[Store | None]":
    """Open the store of a run as a context manager; it yields None if there is no path.

    With `resume` the run in the file is continued. If the file is missing or empty, a new run is created with `terms`.

    Raises StoreError if the file cannot be used or holds another run. Before anything is saved, raises InputError if
    the optimizer will request a fidelity that the objective does not have, or cannot search the space. Raises
    OptionError if the optimizer cannot start from the initial configurations.
    """
    check_rungs_available(prepared)
    check_supports_several_objectives(prepared)
    _ = prepared.search_coverage  # raises if the optimizer cannot search the space
    if (check := getattr(prepared.optimizer.plugin, "check_initial", None)) is not None and not resume:
        check(terms.initial or ())
    if path is None:
        yield None
        return
    from spacelang.runtime.storage.store import Store, is_missing_or_empty

    place = Path(path)
    make = Store.create if not resume or is_missing_or_empty(place) else Store.open
    with make(place, prepared.make_run_header(terms), durable=not prepared.objective.is_cheap) as store:
        if make is Store.open:
            given = prepared.experiment.command_line_options
            store.store_limits({flag: given[flag][0] for flag in LIMIT_FLAGS if flag in given})
        if prepared.experiment.ensemble is not None:
            store.store_ensemble_request(prepared.experiment.ensemble)
        try:
            yield store
        except DifferentSearchError as error:
            raise store.undo_session_and_make_error(error.trial) from error


def _run_loop(
    prepared: PreparedExperiment,
    optimizer: Any,
    executor: "Executor",
    space: CheckedSpace,
    terms: StartConditions,
    journal: TrialStorage,
    listener: "Listener | None",
    answer_time: RunDeadline | None,
) -> Steps[Outcome]:
    from numpy.random import default_rng

    objective, seed, budget = prepared.objective, prepared.experiment.seed, prepared.experiment.budget
    size, remarks, clock = objective.training_size, dict[str, None](), perf_counter
    if isinstance(executor, HasSimulatedClock):
        # Continue at the end of the earlier session, so that the times equal those of an uninterrupted run exactly.
        executor.now, clock = journal.seconds, executor.clock
    known: tuple[int, ...] = getattr(objective, "fidelities", ())
    fidelities = tuple(sorted({*known, size})) if known else ()
    of_run = (terms.initial or (), terms.budget, objective.bounds, remarks.setdefault, fidelities)
    problem = Problem(space, size, default_rng(seed), *of_run, objectives=len(objective_names(objective)) or 1)
    return search_steps(
        search_after_initial_trials(optimizer, problem),
        executor,
        budget if answer_time is not None else budget.with_merged_time_limits(),
        clock=clock,
        training_size=size,
        listener=listener,
        journal=journal,
        prefix_key=prefix_key_function(objective),
        scale=objective.scale,
        seed=seed,
        remarks=remarks,
        answer_time=answer_time,
    )


def with_earlier_behaviour_for_unstored_options(optimizer: Any, stored: "Mapping[str, str] | None") -> Any:
    """Return the optimizer with the earlier behaviour for options that the store of its run does not have yet.

    `stored` are the options in the store; if it is None, there is no store, and the optimizer is returned unchanged. A
    store of an earlier version lacks newer options. If one of them changes what is searched by default, the class of
    the optimizer says in `options_of_earlier_stores` which value stands for the earlier behaviour.
    """
    earlier = getattr(optimizer, "options_of_earlier_stores", {})
    missing = {name: value for name, value in earlier.items() if stored is not None and name not in stored}
    return replace(optimizer, **missing) if missing else optimizer


class NoSuccessError(PicklableError):
    """No trial of a search succeeded: `result` has the trials and why they failed."""

    def __init__(self, result: "Result") -> None:
        super().__init__(_no_success_message(result.outcome))
        self.result = result


def check_success(result: "Result") -> "Result":
    """Return the result itself; raises NoSuccessError if no trial succeeded."""
    if result.outcome.best is None:
        raise NoSuccessError(result)
    return result


def _no_success_message(outcome: "Outcome") -> str:
    from spacelang.report.trial_results import count_failures_by_reason, most_frequent_failure_reasons

    if not outcome.records:
        causes = {"interrupted": "the search was interrupted", "stopped": "a callback stopped the search"}
        cause = causes.get(outcome.ended, "the budget was used up")
        return f"no trial succeeded: {cause} before the first one finished"
    if len(outcome.records) == 1:
        return f"no trial succeeded: the only trial failed: {outcome.records[0].trial.reason}"
    shown, _ = most_frequent_failure_reasons(count_failures_by_reason(outcome.records))
    reasons = "; ".join(f"{count} x {reason}" for reason, count in shown)
    return f"no trial succeeded: all {len(outcome.records)} trials failed: {reasons}"
