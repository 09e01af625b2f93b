"""The final fit of a run: fit the best pipeline, or the next best that can be fitted, on all rows; its jobs."""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from spacelang.ir.task import UNLIMITED, AnyBound, Limits
from spacelang.ir.trial import Request, Status, TestScore, Trial, UnseenMeasurement
from spacelang.runtime.errors import describe_exception
from spacelang.runtime.executors import Executor, Job
from spacelang.runtime.history import Outcome, TrialRecord
from spacelang.runtime.objective import Refittable
from spacelang.runtime.pipelines import PipelineInput

MAX_ATTEMPTS: Final = 5
"""The maximum number of pipelines that are tried."""
MIN_SECONDS: Final = 60.0
"""The minimum time limit of a fit on all rows, in seconds, if trials have no limit."""


@dataclass(frozen=True, slots=True)
class UnseenScoreRequest(Request):
    """A request to score the fitted pipeline of a configuration on the test rows, which no trial saw.

    Without the confidence interval (`has_interval`) it takes far less time.
    """

    form: PipelineInput = PipelineInput.TABLE
    pipeline: "SerializedPayload | None" = field(default=None, compare=False, repr=False)
    has_interval: bool = True


@dataclass(frozen=True, slots=True)
class SkippedTrial:
    """A trial whose pipeline could not be fitted on all rows, with the status and the reason."""

    record: TrialRecord
    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class FinalFit:
    """The result of the final fit.

    `record` is the trial whose pipeline was fitted on all `rows` in `seconds`; None if none of the candidates could be
    fitted. `skipped` lists the better candidates that failed, in their order. `pipeline` is the fitted pipeline if
    it was requested. `test` is its score on the test rows, if there are any.
    """

    record: TrialRecord | None
    rows: int
    seconds: float = 0.0
    skipped: tuple[SkippedTrial, ...] = ()
    pipeline: Any = field(default=None, compare=False, repr=False)
    test: TestScore | None = None


def fit_best_pipeline(
    outcome: Outcome,
    objective: Refittable,
    executor: Executor,
    *,
    limits: Limits = UNLIMITED,
    form: PipelineInput = PipelineInput.TABLE,
    is_wanted: bool = False,
    has_interval: bool = True,
    announce: Callable[[TrialRecord, tuple[SkippedTrial, ...]], None] = lambda *_: None,
) -> FinalFit:
    """Fit the best pipeline of a run on all rows; try the next best if the fit fails, takes too long or dies.

    This runs on the executor of the run, after stopping what still runs there. The limits of a trial apply, with the
    time limit scaled by `allowed_seconds`. At most `MAX_ATTEMPTS` pipelines are tried. `announce` is called before each
    of them, with its record and the skipped trials.

    If there are test rows, the fitted pipeline is scored on them, with a confidence interval if `has_interval`, and the
    bounds of the task are measured there. Errors of the executor as a whole are raised.
    """
    passed_over: tuple[SkippedTrial, ...] = ()
    executor.stop()
    for number, record in enumerate(islice(rank_candidates(outcome, objective.training_size), MAX_ATTEMPTS), start=1):
        announce(record, passed_over)
        configuration = record.trial.request.configuration
        request = RefitRequest(configuration, form=form, returns_pipeline=is_wanted or objective.test_rows > 0)
        seconds = allowed_seconds(record, outcome, objective, limits)
        (trial,) = run_jobs(executor, Job(-number, request, seconds))
        trial = replace_unreadable_by_failure(trial) if is_wanted else trial
        if isinstance(trial, RefitTrial) and trial.status is Status.SUCCESS:
            pipeline = trial.pipeline.open() if is_wanted and trial.pipeline is not None else None
            wish = UnseenScoreRequest(configuration, form=form, pipeline=trial.pipeline, has_interval=has_interval)
            score = _score_and_bounds(wish, objective, executor, seconds)
            return FinalFit(record, objective.rows, trial.cost, passed_over, pipeline, score)
        passed_over = (*passed_over, SkippedTrial(record, trial.status, trial.reason))
    return FinalFit(None, objective.rows, skipped=passed_over)


def score_on_unseen_rows(executor: Executor, job: Job, rows: int) -> TestScore | None:
    """Run a scoring job and return its score on the test rows; None if `rows` is 0.

    If the job fails, the score has no loss and says why.
    """
    if not rows:
        return None
    (trial,) = run_jobs(executor, job)
    if isinstance(trial, UnseenScoreTrial):
        return trial.score
    return TestScore(None, None, None, rows, trial.reason)


def _score_and_bounds(
    wish: UnseenScoreRequest, objective: Refittable, executor: Executor, seconds: float
) -> TestScore | None:
    score = score_on_unseen_rows(executor, Job(-MAX_ATTEMPTS - 1, wish, max(seconds, MIN_SECONDS)), objective.test_rows)
    if score is None or not objective.bounds:
        return score
    # A separate job, so that the score is not lost if this one hangs or crashes.
    job = Job(-MAX_ATTEMPTS - 2, UnseenBoundsRequest(wish.configuration), seconds + MIN_SECONDS)
    return replace(score, constraints=_bounds_on_unseen_rows(executor, job, objective.bounds))


def _bounds_on_unseen_rows(executor: Executor, job: Job, bounds: tuple[AnyBound, ...]) -> tuple[UnseenMeasurement, ...]:
    """Run a job that measures each bound on the test rows; if it fails, every bound says why."""
    (trial,) = run_jobs(executor, job)
    if isinstance(trial, UnseenBoundsTrial) and trial.status is Status.SUCCESS:
        return trial.reached
    return tuple(UnseenMeasurement(bound, None, reason=trial.reason) for bound in bounds)


def rank_candidates(outcome: Outcome, training_size: int) -> Iterator[TrialRecord]:
    """Yield the successful trials, best first, one for each configuration.

    Trials within the bounds come before all others, and among them trials on all training rows before those on fewer.
    """
    seen = set()
    for record in sorted(outcome.records, key=lambda record: _rank(record, outcome, training_size)):
        configuration = record.trial.request.configuration
        if record.trial.loss is not None and configuration not in seen:
            seen.add(configuration)
            yield record


def _rank(record: TrialRecord, outcome: Outcome, training_size: int) -> tuple[bool, bool, float, bool, float, int]:
    trial = record.trial
    rows = trial.request.fidelity
    is_partial = trial.is_feasible and rows is not None and rows < training_size
    loss = float("inf") if trial.loss is None else trial.loss
    return record is not outcome.best, not trial.is_feasible, trial.excess, is_partial, loss, record.index


def allowed_seconds(record: TrialRecord, outcome: Outcome, objective: Refittable, limits: Limits) -> float:
    """Return the seconds that fitting a trial's pipeline on all rows may take.

    The trial limit is scaled by the square of the growth in rows. Without a trial limit, the seconds of the whole run
    take its place, and the result is at least `MIN_SECONDS`.
    """
    growth = (objective.rows / (record.trial.request.fidelity or objective.training_size)) ** 2
    if limits.trial_seconds is not None:
        return round(limits.trial_seconds * max(growth, 1.0), 3)
    return max(round(outcome.seconds * growth, 3), MIN_SECONDS)


def run_jobs(executor: Executor, *jobs: Job) -> list[Trial]:
    """Run jobs on all workers of an executor and return their trials in the order of the jobs."""
    waiting = [*jobs]
    found: dict[int, Trial] = {}
    while len(found) < len(jobs):
        for worker in list(executor.free)[: len(waiting)]:
            executor.start(worker, waiting.pop(0))
        found |= {finished.job.number: finished.trial for finished in executor.wait()}
    return [found[job.number] for job in jobs]


def replace_unreadable_by_failure(trial: Trial) -> Trial:
    """Return the trial unchanged, or a failed trial if its fitted pipeline cannot be unpickled here."""
    if not isinstance(trial, RefitTrial) or trial.pipeline is None:
        return trial
    try:
        trial.pipeline.open()
    except Exception as error:  # noqa: BLE001 - a user's class may raise anything when it is unpickled
        reason = f"the fitted pipeline cannot be read by this process: {describe_exception(error)}"
        return Trial(trial.request, None, trial.cost, Status.ERROR, reason)
    return trial


@dataclass(frozen=True, slots=True)
class RefitRequest(Request):
    """A request to fit the pipeline of a configuration on all rows that trials may use, held out or not.

    `form` is the kind of features that it takes. `returns_pipeline` is True if the fitted pipeline is to be returned. A
    member of an ensemble (`is_member`) learns class codes, which the ensemble decodes.
    """

    form: PipelineInput = PipelineInput.TABLE
    returns_pipeline: bool = False
    is_member: bool = False


@dataclass(frozen=True, slots=True)
class RefitTrial(Trial):
    """The answer to a `RefitRequest`: a pipeline fitted on all rows. There is no loss, because no row was held out.

    If fitting failed, `status` and `reason` say why, as for any trial.
    """

    pipeline: "SerializedPayload | None" = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UnseenScoreTrial(Trial):
    """The answer to an `UnseenScoreRequest`. If the pipeline raised, the score holds the reason."""

    score: TestScore | None = None


@dataclass(frozen=True, slots=True)
class UnseenBoundsRequest(Request):
    """A request to measure every bound on the test rows, for the pipeline of a configuration fitted on all rows."""


@dataclass(frozen=True, slots=True)
class UnseenBoundsTrial(Trial):
    """The measured value of each bound on the unseen test rows, in the order of the bounds.

    It answers an `UnseenBoundsRequest`. If a bound could not be measured, its `reason` says why.
    """

    reached: tuple[UnseenMeasurement, ...] = ()


class SerializedPayload:
    """An object that is sent between processes in pickled form, and unpickled only when it is opened.

    A process that only passes it on needs neither the libraries of its content, nor to trust it.
    """

    def __init__(self, content: Any) -> None:
        self._content = content
        self._packed: bytes | None = None

    def open(self) -> Any:
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
