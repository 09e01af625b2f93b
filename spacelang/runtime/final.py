"""The final fit of a run: fit the best pipeline, or the next best that can be fitted, on all rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from spacelang.ir.task import UNLIMITED, AnyBound, Limits
from spacelang.ir.trial import Reached, Status, TestScore, Trial
from spacelang.runtime.evaluation.refitting import Examine, Examined, Gauge, Gauged, Refit, Refitted
from spacelang.runtime.executors import Executor, Job
from spacelang.runtime.failures import described
from spacelang.runtime.history import Outcome, Record
from spacelang.runtime.objective import Refittable
from spacelang.runtime.pipelines.inputs import PipelineInput

ATTEMPTS: Final = 5
"""The maximum number of pipelines that are tried."""

SHORTEST: Final = 60.0
"""The minimum time limit of a fit on all rows, in seconds, if trials have no limit."""


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A trial whose pipeline could not be fitted on all rows, with the status and the reason."""

    record: Record
    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Finale:
    """The result of the final fit.

    `record` is the trial whose pipeline was fitted on all `rows` in `seconds`; None if none of the candidates could be
    fitted. `passed_over` lists the better candidates that failed, in their order. `pipeline` is the fitted pipeline if
    it was requested. `test` is its score on the test rows, if there are any.
    """

    record: Record | None
    rows: int
    seconds: float = 0.0
    passed_over: tuple[PassedOver, ...] = ()
    pipeline: Any = field(default=None, compare=False, repr=False)
    test: TestScore | None = None


def finish(
    outcome: Outcome,
    objective: Refittable,
    executor: Executor,
    *,
    limits: Limits = UNLIMITED,
    form: PipelineInput = PipelineInput.TABLE,
    is_wanted: bool = False,
    has_interval: bool = True,
    announce: Callable[[Record, tuple[PassedOver, ...]], None] = lambda *_: None,
) -> Finale:
    """Fit the best pipeline of a run on all rows; try the next best if the fit fails, takes too long or dies.

    This runs on the executor of the run, after stopping what still runs there. The limits of a trial apply, with the
    time limit scaled by `allowed_seconds`. At most `ATTEMPTS` pipelines are tried. `announce` is called before each of
    them, with its record and the skipped trials.

    If there are test rows, the fitted pipeline is scored on them, with a confidence interval if `has_interval`, and the
    bounds of the task are measured there. Errors of the executor as a whole are raised.
    """
    passed_over: tuple[PassedOver, ...] = ()
    executor.stop()
    for number, record in enumerate(islice(candidates(outcome, objective.training_size), ATTEMPTS), start=1):
        announce(record, passed_over)
        configuration = record.trial.request.configuration
        request = Refit(configuration, form=form, is_wanted=is_wanted or objective.test_rows > 0)
        seconds = allowed_seconds(record, outcome, objective, limits)
        (trial,) = answers(executor, Job(-number, request, seconds))
        trial = readable(trial) if is_wanted else trial
        if isinstance(trial, Refitted) and trial.status is Status.SUCCESS:
            pipeline = trial.pipeline.open() if is_wanted and trial.pipeline is not None else None
            wish = Examine(configuration, form=form, pipeline=trial.pipeline, has_interval=has_interval)
            score = _tested(wish, objective, executor, seconds)
            return Finale(record, objective.rows, trial.cost, passed_over, pipeline, score)
        passed_over = (*passed_over, PassedOver(record, trial.status, trial.reason))
    return Finale(None, objective.rows, passed_over=passed_over)


def scored(executor: Executor, job: Job, rows: int) -> TestScore | None:
    """Run a scoring job and return its score on the test rows; None if `rows` is 0.

    If the job fails, the score has no loss and says why.
    """
    if not rows:
        return None
    (trial,) = answers(executor, job)
    if isinstance(trial, Examined):
        return trial.score
    return TestScore(None, None, None, rows, trial.reason)


def _tested(wish: Examine, objective: Refittable, executor: Executor, seconds: float) -> TestScore | None:
    score = scored(executor, Job(-ATTEMPTS - 1, wish, max(seconds, SHORTEST)), objective.test_rows)
    if score is None or not objective.bounds:
        return score
    # A separate job, so that the score is not lost if this one hangs or crashes.
    job = Job(-ATTEMPTS - 2, Gauge(wish.configuration), seconds + SHORTEST)
    return replace(score, constraints=_gauged(executor, job, objective.bounds))


def _gauged(executor: Executor, job: Job, bounds: tuple[AnyBound, ...]) -> tuple[Reached, ...]:
    """Run a job that measures each bound on the test rows; if it fails, every bound says why."""
    (trial,) = answers(executor, job)
    if isinstance(trial, Gauged) and trial.status is Status.SUCCESS:
        return trial.reached
    return tuple(Reached(bound, None, reason=trial.reason) for bound in bounds)


def candidates(outcome: Outcome, training_size: int) -> Iterator[Record]:
    """Yield the successful trials, best first, one for each configuration.

    Trials within the bounds come before all others, and among them trials on all training rows before those on fewer.
    """
    seen = set()
    for record in sorted(outcome.records, key=lambda record: _rank(record, outcome, training_size)):
        configuration = record.trial.request.configuration
        if record.trial.loss is not None and configuration not in seen:
            seen.add(configuration)
            yield record


def _rank(record: Record, outcome: Outcome, training_size: int) -> tuple[bool, bool, float, bool, float, int]:
    trial = record.trial
    rows = trial.request.fidelity
    is_partial = trial.is_feasible and rows is not None and rows < training_size
    loss = float("inf") if trial.loss is None else trial.loss
    return record is not outcome.best, not trial.is_feasible, trial.excess, is_partial, loss, record.index


def allowed_seconds(record: Record, outcome: Outcome, objective: Refittable, limits: Limits) -> float:
    """Return the seconds that fitting a trial's pipeline on all rows may take.

    The trial limit is scaled by the square of the growth in rows. Without a trial limit, the seconds of the whole run
    take its place, and the result is at least `SHORTEST`.
    """
    growth = (objective.rows / (record.trial.request.fidelity or objective.training_size)) ** 2
    if limits.trial_seconds is not None:
        return round(limits.trial_seconds * max(growth, 1.0), 3)
    return max(round(outcome.seconds * growth, 3), SHORTEST)


def answers(executor: Executor, *jobs: Job) -> list[Trial]:
    """Run jobs on all workers of an executor and return their trials in the order of the jobs."""
    waiting = [*jobs]
    found: dict[int, Trial] = {}
    while len(found) < len(jobs):
        for worker in list(executor.free)[: len(waiting)]:
            executor.start(worker, waiting.pop(0))
        found |= {finished.job.number: finished.trial for finished in executor.wait()}
    return [found[job.number] for job in jobs]


def readable(trial: Trial) -> Trial:
    """Return the trial unchanged, or a failed trial if its fitted pipeline cannot be unpickled here."""
    if not isinstance(trial, Refitted) or trial.pipeline is None:
        return trial
    try:
        trial.pipeline.open()
    except Exception as error:  # noqa: BLE001 - a user's class may raise anything when it is unpickled
        reason = f"the fitted pipeline cannot be read by this process: {described(error)}"
        return Trial(trial.request, None, trial.cost, Status.ERROR, reason)
    return trial
