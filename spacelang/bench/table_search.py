"""Search tables of precomputed losses in simulated time, and make such tables."""

import heapq
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from spacelang.api.executor_settings import check_store_for_resume, worker_settings
from spacelang.api.experiment import EvaluationData, Experiment, experiment_fields_from_options, run_time_limit
from spacelang.api.experiment_run import check_success, run_experiment
from spacelang.api.option_checks_and_signatures import accept_options
from spacelang.api.result import Result
from spacelang.api.run_options import SearchTableOptions
from spacelang.api.search_data import BlackBoxData, TabularData, bind_sizes
from spacelang.api.space import Space, load_or_bind_space
from spacelang.ir.task import UNLIMITED
from spacelang.ir.trial import Request, Trial
from spacelang.ir.validation import describe_validation
from spacelang.optimizers._fidelity import rungs
from spacelang.runtime.black_box import ARTIFICIAL_PREFIX
from spacelang.runtime.budget import Budget
from spacelang.runtime.data.read_options import DEFAULT_OPTIONS, DataOptions, ReadOptions
from spacelang.runtime.errors import InputError, timeout_failure
from spacelang.runtime.executors import Evaluate, Executor, FinishedJob, Job, WorkerSettings
from spacelang.runtime.executors.in_process import JobSlots
from spacelang.runtime.history import Outcome
from spacelang.runtime.objective import Evaluator, ObjectiveInfo
from spacelang.runtime.storage.run_header import current_versions
from spacelang.runtime.storage.stored_run import TABLE_PREFIX
from spacelang.serialization.definition import space_to_json

if TYPE_CHECKING:
    from spacelang.bench.tables import Extent, LossTable, TabulationSearch
    from spacelang.bench.tables.objective import TableObjective
    from spacelang.runtime.evaluation.objective import DataObjective


@accept_options(SearchTableOptions)
def search_table(
    space: Space | str | PathLike[str], table: str | PathLike[str], **options: Unpack[SearchTableOptions]
) -> Result:
    """Search a space on a table of precomputed losses and costs, in seconds instead of hours.

    See `bench.tables` for the format. All seconds are recorded ones: `time`, the times of incumbents, and the costs of
    trials. With several `workers`, trials end in the order in which that many workers would finish them. A trial on
    fewer rows must be one of the table's rungs. The result has no fitted pipeline, because there is no data. Everything
    else is as for `search`. If the table has only default hyperparameters, the default optimizer is `blds`, and
    `initial` must have default hyperparameters.

    Parameters
    ----------
    space
        A space, or anything that `load` accepts.
    table
        The file of the table.

    Notes
    -----
    Raises NoSuccessError, which holds the result, if no trial succeeded; SpaceError, UnknownPluginError and
    OptionError; ValueError for texts that are no time or limit. InputError of the runtime is raised for a file that is
    no table, for a table of other pipelines, for numbers of rows that it does not have, and for stores.
    """
    check_store_for_resume(options["store"], resume=options["resume"])
    loaded = load_or_bind_space(space, options["allow"], options["bind"])
    data = load_evaluation_data(f"{TABLE_PREFIX}{str(table).removeprefix(TABLE_PREFIX)}")
    budget = Budget(run_time_limit(loaded, options["time"]), options["trials"])
    workers = worker_settings(loaded, options)
    experiment = Experiment(
        space=loaded, data=data, budget=budget, workers=workers, **experiment_fields_from_options(options)
    )
    prepared = experiment.with_optimizer(options["optimizer"], options["optimizer_options"]).prepare()
    first, store, listener = prepared.initial_configurations(), options["store"], options["listener"]
    crew = prepared.make_executor()
    found = run_experiment(prepared, crew, initial=first, store=store, resume=options["resume"], listener=listener)
    return check_success(found)


@dataclass(frozen=True, eq=False)
class LossTableData(EvaluationData):
    """A loss table as the data of a search: the losses are looked up, and the clock is that of the recorded seconds."""

    table: "LossTable"
    reference: str | None = None  # The table as `--data` names it

    @property
    def has_only_default_hyperparameters(self) -> bool:
        """True if the table has only pipelines with default hyperparameters."""
        return self.table.has_only_default_hyperparameters

    def options_to_store(self, experiment: Experiment, objective: ObjectiveInfo) -> Mapping[str, str]:  # noqa: ARG002 - alike for all
        """Return the options that a store keeps of the data: the path of the table."""
        return DataOptions(reference=self.reference).as_texts

    def bind_space(self, experiment: Experiment) -> "tuple[Space, TableObjective]":
        """Return the bound space, and the objective; raises InputError if the table lacks the number of a symbol."""
        from spacelang.bench.tables.objective import TableObjective

        space, table = experiment.space, self.table
        unbound = [name for name, number in space.symbols.items() if number is None]
        unknown = [name for name in unbound if name not in table.metadata.symbols]
        if unknown:
            message = f"the table `{table.name}` does not record the size of its data: `{unknown[0]}` is unknown"
            raise InputError(message, f"give the size: `--bind {unknown[0]}=…`")
        bound = bind_sizes(space, table.metadata.symbols)
        return bound, TableObjective(bound.counted, table, limits=experiment.workers.limits)

    def make_executor(self, objective: ObjectiveInfo, workers: WorkerSettings, *, forks: bool = False) -> Executor:  # noqa: ARG002 - no process
        """Return an executor whose workers take the recorded seconds."""
        assert isinstance(objective, Evaluator)
        # Simulated workers need no process, so there is one even if `workers` is 0.
        return SimulatedExecutor(objective.evaluate, workers=max(workers.count, 1))


def load_evaluation_data(
    reference: str, target_column: str | tuple[str, ...] | None = None, reading: ReadOptions | None = None
) -> EvaluationData:
    """Return the data that a reference such as `--data` names: a loss table, an artificial objective, or rows.

    Raises InputError.
    """
    if reference.startswith(ARTIFICIAL_PREFIX):
        return BlackBoxData(reference)
    if reference.startswith(TABLE_PREFIX):
        from spacelang.bench.tables.table_files import read_table

        return LossTableData(read_table(Path(reference.removeprefix(TABLE_PREFIX))), reference)
    from spacelang.runtime.data.loading import load_dataset

    table = load_dataset(reference, target_column, reading or DEFAULT_OPTIONS)
    return TabularData(table, reference=reference)


def make_tabulation_search(
    space: Space,
    training_size: int,
    *,
    hyperparameters: "Extent" = "all",
    b: int | None = None,
    eta: float | None = None,
) -> "tuple[TabulationSearch, int]":
    """Return the search that requests every trial of a table, and the number of these trials.

    The rungs are the fidelity grid of `b` and `eta`, up to all training rows. If `b` or `eta` is None, the value of the
    task is used, or the default of the optimizers (100 and 2). Raises InputError for a space of which no table can be
    made, and OptionError for an invalid grid.
    """
    from spacelang.bench.tables import TabulationSearch, count_table_trials
    from spacelang.optimizers._common_options import check_fidelity_grid

    fidelity = None if space.task is None else space.task.fidelity
    first = b if b is not None else 100 if fidelity is None else fidelity.first
    factor = eta if eta is not None else 2.0 if fidelity is None else fidelity.factor
    check_fidelity_grid(first, factor)
    sizes = rungs(training_size, first, factor)
    return TabulationSearch(sizes, hyperparameters), count_table_trials(space.counted, hyperparameters, len(sizes))


def table_or_missing_count(
    space: Space, objective: "DataObjective", tabulate: "TabulationSearch", outcome: Outcome, *, seed: int
) -> "LossTable | int":
    """Return the table of a finished tabulation, or the number of trials that are still missing.

    The cost of a trial in the table is what it would take alone, without work shared with other trials.
    """
    from spacelang.bench.tables import TableMetadata, build_table_or_count_missing

    facts = TableMetadata(
        space=space.name,
        definition=json.dumps(space_to_json(space.checked), sort_keys=True, separators=(",", ":")),
        data=objective.dataset.name,
        metric=objective.metric.name,
        formula=objective.metric.formula,
        validation=describe_validation(objective.validation),
        preparation=objective.preparation.description_sentence,
        hyperparameters=tabulate.hyperparameters,
        seed=seed,
        constant=objective.constant_loss,
        symbols=objective.size_symbols,
        versions=current_versions(),
    )
    trials = (record.trial for record in outcome.records)
    bounds = [bound.name for bound in objective.bounds]
    return build_table_or_count_missing(space.counted, trials, tabulate.sizes, facts, bounds)


SMALLEST_STEP: Final = 1e-6
"""The smallest step of the clock in seconds while waiting, so that rounding cannot leave a remainder of a budget."""


class SimulatedExecutor(JobSlots):
    """An executor with `workers` simulated workers; a job takes as many seconds as its trial reports as its cost.

    The workers are named "1", "2" and so on, and do one job at a time each. `clock` returns the simulated time, which
    is also the clock of the run. It starts at `now`. Jobs end in the order in which such workers would finish them. Of
    jobs that end at the same time, the one that was started first ends first.
    """

    def __init__(self, evaluate: Evaluate, *, workers: int = 1, now: float = 0.0) -> None:
        if workers < 1:
            raise ValueError(f"`workers` is {workers}, but must be at least 1")
        super().__init__(map(str, range(1, workers + 1)))
        self._evaluate = evaluate
        self._unevaluated: list[tuple[float, str, Job[Any]]] = []
        self._by_end_time: list[tuple[float, int, FinishedJob[Trial]]] = []
        self._started = 0
        self.now = now

    def clock(self) -> float:
        """Return the simulated time in seconds."""
        return self.now

    def start(self, worker: str, job: Job[Any]) -> None:
        """Start a job on an idle worker."""
        super().start(worker, job)
        self._unevaluated.append((self.now, worker, job))

    def wait(self, seconds: float | None = None) -> Sequence[FinishedJob[Trial]]:
        """Return the job that ends next and move the clock to its end.

        No job is returned if none is running. If the end is more than `seconds` ahead, no job is returned either, and
        the clock moves forward by `seconds`. Exceptions of the evaluation are raised here.
        """
        for began, worker, job in self._unevaluated:
            trial = self._evaluate_job(job)
            self._started += 1
            heapq.heappush(self._by_end_time, (began + trial.cost, self._started, FinishedJob(job, trial, worker)))
        self._unevaluated.clear()
        if not self._by_end_time:
            return ()
        if seconds is not None and self._by_end_time[0][0] > self.now + seconds:
            self.now += max(seconds, SMALLEST_STEP)
            return ()
        end, _, finished = heapq.heappop(self._by_end_time)
        self.now = max(self.now, end)
        del self.busy[finished.worker]
        return (finished,)

    def _evaluate_job(self, job: Job[Request]) -> Trial:
        """Return the trial of a job; it is a timeout if its cost exceeds the seconds that the job allows."""
        trial: Trial = self._evaluate(job.work)
        allowed = job.allowed_seconds(UNLIMITED)
        if allowed is not None and trial.cost > allowed:
            return timeout_failure(allowed, allowed).make_result(job.work)
        return trial

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Forget the running jobs of these workers, or of all workers for None, without a result."""
        super().stop(workers)
        self._unevaluated = [each for each in self._unevaluated if each[1] in self.busy]
        self._by_end_time = [each for each in self._by_end_time if each[2].worker in self.busy]
        heapq.heapify(self._by_end_time)
