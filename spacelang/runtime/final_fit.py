"""The final fit of a run: fit the best pipeline, or the next best that can be fitted, on all rows; its jobs."""

import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from math import inf
from typing import Any, Final, Generic, TypeVar

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import UNLIMITED, Limits
from spacelang.ir.trial import Status, TestScore, Trial, UnseenRowsMeasurement
from spacelang.runtime.errors import describe_exception
from spacelang.runtime.executors import Executor, FinishedJob, Job
from spacelang.runtime.history import Outcome, TrialRecord
from spacelang.runtime.objective import RefittableObjective
from spacelang.runtime.pipelines import PipelineInput
from spacelang.runtime.run_deadline import TIME_WAS_UP, RunDeadline, enforced_deadline
from spacelang.runtime.trial_models import TrialRank, rank_trial

V = TypeVar("V")
MAX_ATTEMPTS: Final = 5  # The maximum number of pipelines that are tried
MIN_SECONDS: Final = 60.0  # The minimum time limit of a fit on all rows, in seconds, if trials have no limit


@dataclass(frozen=True, slots=True)
class WorkResult(Generic[V]):
    """The value of work after a search, or the status and the reason of its failure; `cost` is its time in seconds."""

    value: V | None = field(default=None, compare=False, repr=False)
    cost: float = 0.0
    status: Status = Status.SUCCESS
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FinalWork(Generic[V]):
    """Work after a search, which needs the pipeline of a configuration for features of the kind `form`."""

    configuration: Configuration
    form: PipelineInput = PipelineInput.TABLE

    @property
    def seconds(self) -> float | None:
        """None: only the job limits the time."""
        return None

    def make_failed(self, status: Status, reason: str, cost: float) -> WorkResult[V]:
        """Return the result of the work if it failed."""
        return WorkResult(None, cost, status, reason)


@dataclass(frozen=True, slots=True)
class RefitWork(FinalWork["SerializedPayload"]):
    """Work that fits a pipeline on all rows that trials may use.

    Its value is the fitted pipeline if `returns_pipeline`, else None. A member of an ensemble is fitted on class codes.
    """

    returns_pipeline: bool = False
    is_member: bool = False


@dataclass(frozen=True, slots=True)
class LoadTrialModelWork(FinalWork["SerializedPayload"]):
    """Work that reads the kept models of a trial from the file `path` and makes them one fitted pipeline.

    A member of an ensemble predicts class codes.
    """

    path: str = ""
    is_member: bool = False


@dataclass(frozen=True, slots=True)
class UnseenScoreWork(FinalWork[TestScore]):
    """Work that scores a fitted pipeline on the test rows, which no trial saw.

    Without `has_interval` it takes far less time. There is no interval either if the work would take more than
    `interval_seconds` with it.
    """

    pipeline: "SerializedPayload | None" = field(default=None, compare=False, repr=False)
    has_interval: bool = True
    interval_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class UnseenBoundsWork(FinalWork[tuple[UnseenRowsMeasurement, ...]]):
    """Work that measures each bound of the task on the test rows, for a pipeline fitted on all other rows."""


@dataclass(frozen=True, slots=True)
class HeldOutPredictionsWork(FinalWork[Any]):
    """Work that evaluates a trial again, on `fidelity` training rows, and returns its held-out predictions."""

    fidelity: int | None = None


@dataclass(frozen=True, slots=True)
class SkippedTrial:
    """A trial whose pipeline could not be fitted on all rows, with the status and the reason."""

    record: TrialRecord
    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class FinalFit:
    """The final fit of a run: the trial whose pipeline was fitted on all `rows`, in `seconds`.

    `record` is None if no pipeline could be fitted, and `skipped` are better trials that could not be fitted.
    `pipeline` is the fitted pipeline if it was requested. `test` is its score on the test rows, if there are any. If
    the time was up, the pipeline may be the model of the trial (`is_trial_model`), which was fitted on fewer `rows`;
    `note` is a sentence about it, otherwise empty.
    """

    record: TrialRecord | None
    rows: int
    seconds: float = 0.0
    skipped: tuple[SkippedTrial, ...] = ()
    pipeline: Any = field(default=None, compare=False, repr=False)
    test: TestScore | None = None
    is_trial_model: bool = False
    note: str = ""


def fit_best_pipeline(
    outcome: Outcome,
    objective: RefittableObjective,
    executor: Executor,
    *,
    limits: Limits = UNLIMITED,
    form: PipelineInput = PipelineInput.TABLE,
    is_wanted: bool = False,
    has_interval: bool = True,
    answer_time: RunDeadline | None = None,
) -> FinalFit:
    """Fit the best pipeline of a run on all rows; try the next best if the fit fails, takes too long or dies.

    This runs on the executor of the run, after stopping what still runs there. The limits of a trial apply, with the
    time limit scaled by `allowed_fit_seconds`. At most `MAX_ATTEMPTS` pipelines are tried.

    With an `answer_time`, fits end in time. If a fit would not, or does not, the model of its trial takes its place. A
    pipeline without one is skipped if another one has a model. If none has, the fit takes as long as it needs, because
    there would be no answer without it.

    If there are test rows, the fitted pipeline is scored on them, with a confidence interval if `has_interval`, and the
    bounds of the task are measured there. Errors of the executor as a whole are raised.
    """
    passed_over: tuple[SkippedTrial, ...] = ()
    executor.stop()
    time = enforced_deadline(answer_time)
    candidates = [*islice(rank_candidates(outcome, objective.training_size), MAX_ATTEMPTS)]
    for number, record in enumerate(candidates, start=1):
        configuration = record.trial.request.configuration
        work = RefitWork(configuration, form, returns_pipeline=is_wanted or objective.test_rows > 0)
        seconds = allowed_fit_seconds(record, outcome, objective, limits)
        has_models = time is not None and any(time.find_model(each.trial) for each in candidates[number - 1 :])
        fit = _fit_in_time(Job(-number, work, seconds), record, executor, time if has_models else None)
        model = (
            time.find_model(record.trial) if time is not None and was_cut_off_by_run_deadline(fit, seconds) else None
        )
        if time is not None and model is not None:
            taking = LoadTrialModelWork(configuration, form, path=str(model.path))
            (fit,) = run_final_jobs(executor, Job(-number, taking, time.job_time_limit))
        fit = replace_unreadable_by_failure(fit) if is_wanted else fit
        if fit.status is Status.SUCCESS:
            pipeline = fit.value.unpickle() if is_wanted and fit.value is not None else None
            score_work = UnseenScoreWork(configuration, form, fit.value, has_interval)
            score = _score_and_bounds(score_work, record, objective, executor, seconds, time)
            if time is None or model is None:
                return FinalFit(record, objective.rows, fit.cost, passed_over, pipeline, score)
            rows, note = training_row_count(record.trial, objective), _trial_model_note(record, objective, time)
            return FinalFit(record, rows, fit.cost, passed_over, pipeline, score, is_trial_model=True, note=note)
        passed_over = (*passed_over, SkippedTrial(record, fit.status, fit.reason))
    return FinalFit(None, objective.rows, skipped=passed_over)


def _fit_in_time(
    job: Job[RefitWork], record: TrialRecord, executor: Executor, time: RunDeadline | None
) -> WorkResult["SerializedPayload"]:
    """Run a fit on all rows; with a `time`, only if it is predicted to end in time, and only until then."""
    if time is None:
        (fit,) = run_final_jobs(executor, job)
        return fit
    (fit,) = run_final_jobs(
        executor, job, admit=lambda _: time.allowed_fit_seconds(record.trial, time.seconds_left_for_fit)
    )
    if fit.status is Status.SUCCESS:
        time.correct_fit_predictions(record.trial, fit.cost)
    return fit


def was_cut_off_by_run_deadline(fit: WorkResult[Any], limit: float) -> bool:
    """Return True if a fit was prevented or cut off by the deadline of the run, not by its own time `limit`."""
    return fit.status is Status.TIMEOUT and fit.cost < limit


def training_row_count(trial: Trial, objective: RefittableObjective) -> int:
    """Return the number of rows on which the pipeline of a trial was fitted, in each fold."""
    return min(trial.request.fidelity or objective.training_size, objective.training_size)


def _trial_model_note(record: TrialRecord, objective: RefittableObjective, time: RunDeadline) -> str:
    folds, number = time.costs.sizes.folds, record.index
    models = f"the model of trial {number}" if folds == 1 else f"the vote of the {folds} models of trial {number}"
    rows = f"{training_row_count(record.trial, objective):,} of {objective.rows:,} rows"
    return f"the best pipeline is {models}, fitted on {rows}: {TIME_WAS_UP}"


def score_on_unseen_rows(executor: Executor, job: Job[UnseenScoreWork], rows: int) -> TestScore | None:
    """Run a job that scores on `rows` test rows, and return the score; None, without running it, if `rows` is 0.

    If the job fails, the score has the reason instead of a loss.
    """
    if not rows:
        return None
    (found,) = run_final_jobs(executor, job)
    return found.value or TestScore(None, None, None, rows, found.reason)


def _score_and_bounds(
    work: UnseenScoreWork,
    record: TrialRecord,
    objective: RefittableObjective,
    executor: Executor,
    seconds: float,
    time: RunDeadline | None,
) -> TestScore | None:
    allowed = max(seconds, MIN_SECONDS)
    if time is not None:
        work = replace(work, interval_seconds=max(time.seconds_left_for_best_score, 0.0))
        allowed = min(allowed, time.job_time_limit)
    score = score_on_unseen_rows(executor, Job(-MAX_ATTEMPTS - 1, work, allowed), objective.test_rows)
    if score is None or not objective.bounds:
        return score
    # A separate job, so that the score is not lost if this one hangs or crashes.
    job = Job(-MAX_ATTEMPTS - 2, UnseenBoundsWork(work.configuration), seconds + MIN_SECONDS)
    admit = None if time is None else lambda _: time.allowed_fit_seconds(record.trial, time.seconds_left_for_best_score)
    (found,) = run_final_jobs(executor, job, admit=admit)
    unknown = (UnseenRowsMeasurement(bound, None, reason=found.reason) for bound in objective.bounds)
    return replace(score, constraints=tuple(unknown) if found.value is None else found.value)


def rank_candidates(outcome: Outcome, training_size: int) -> Iterator[TrialRecord]:
    """Yield the best successful trial of each configuration, best first.

    Trials within all bounds come before others, and among them trials on all training rows come first.
    """
    seen = set()
    for record in sorted(outcome.records, key=lambda record: _rank(record, outcome, training_size)):
        configuration = record.trial.request.configuration
        if record.trial.loss is not None and configuration not in seen:
            seen.add(configuration)
            yield record


def _rank(record: TrialRecord, outcome: Outcome, training_size: int) -> tuple[bool, TrialRank, int]:
    return record is not outcome.best, rank_trial(record.trial, training_size), record.index


def allowed_fit_seconds(record: TrialRecord, outcome: Outcome, objective: RefittableObjective, limits: Limits) -> float:
    """Return the seconds that a fit on all rows may take: the trial limit times the square of the growth in rows.

    Without a limit, it is the seconds of the run instead of the limit, and at least `MIN_SECONDS`.
    """
    growth = (objective.rows / (record.trial.request.fidelity or objective.training_size)) ** 2
    if limits.trial_seconds is not None:
        return round(limits.trial_seconds * max(growth, 1.0), 3)
    return max(round(outcome.seconds * growth, 3), MIN_SECONDS)


def run_final_jobs(
    executor: Executor, *jobs: Job[FinalWork[V]], admit: Callable[[Job[FinalWork[V]]], float | None] | None = None
) -> list[WorkResult[V]]:
    """Run jobs on all workers of an executor and return the results of their work in the order of the jobs.

    Jobs are started in their order. `admit` is called before a job is started. It returns the most seconds that the job
    may take, or None if it must not be started; the result is a timeout then.
    """
    waiting = [*jobs]
    found: dict[int, WorkResult[V]] = {}
    while len(found) < len(jobs):
        while waiting and executor.free:
            job = waiting.pop(0)
            most = inf if admit is None else admit(job)
            if most is None:
                found[job.number] = job.work.make_failed(Status.TIMEOUT, TIME_WAS_UP, 0.0)
            else:
                seconds = min(most, inf if job.seconds is None else job.seconds)
                executor.start(executor.free[0], replace(job, seconds=None if seconds == inf else seconds))
        if len(found) < len(jobs):
            found |= {finished.job.number: _own_result(finished) for finished in executor.wait()}
    return [found[job.number] for job in jobs]


def _own_result(finished: FinishedJob[Any]) -> WorkResult[Any]:
    """Return the result of final work; executors up to version 0.2 return a failed trial for any work that fails."""
    result = finished.result
    if isinstance(result, WorkResult):
        return result
    assert isinstance(result, Trial)
    what = "an executor returned a trial for other work that failed: let it return `job.work.make_failed(...)`"
    warnings.warn(what, DeprecationWarning, stacklevel=2)
    status = Status.ERROR if result.status is Status.SUCCESS else result.status
    return WorkResult(None, result.cost, status, result.reason)


def replace_unreadable_by_failure(fit: WorkResult["SerializedPayload"]) -> WorkResult["SerializedPayload"]:
    """Return the result of a fit unchanged, or a failure if its pipeline cannot be unpickled here."""
    try:
        if fit.value is not None:
            fit.value.unpickle()
    except Exception as error:  # noqa: BLE001 - a user's class may raise anything when it is unpickled
        reason = f"the fitted pipeline cannot be read by this process: {describe_exception(error)}"
        return WorkResult(None, fit.cost, Status.ERROR, reason)
    return fit


class SerializedPayload:
    """A pickled object that is sent between processes; only `unpickle` loads it, not the processes that pass it on."""

    def __init__(self, content: Any) -> None:
        self._content = content
        self._packed: bytes | None = None

    def unpickle(self) -> Any:
        """Return the content, unpickled if necessary; raise whatever unpickling raises."""
        if self._packed is not None:
            self._content, self._packed = pickle.loads(self._packed), None
        return self._content

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        packed = pickle.dumps(self._content, pickle.HIGHEST_PROTOCOL) if self._packed is None else self._packed
        return _from_bytes, (packed,)


def _from_bytes(packed: bytes) -> SerializedPayload:
    parcel = SerializedPayload(None)
    parcel._packed = packed
    return parcel
