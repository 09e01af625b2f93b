"""The end of a run: its best pipeline is fitted on all rows, or the next best where that one cannot be."""

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
"""How many pipelines are tried at most."""

SHORTEST: Final = 60.0
"""The seconds that fitting on all rows may take at least where trials have no limit of their own."""


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A trial whose pipeline could not be fitted on all rows: how that ended, and why."""

    record: Record
    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Finale:
    """What became of the best trials of a run.

    `record` is the trial whose pipeline was fitted on all `rows`, in so many `seconds`; None where none of those that
    were tried could be. `passed_over` are the better ones that could not, in their order. `pipeline` is the fitted one
    where it was wanted, `test` its score on the test rows if there are such.
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
    """Fit the best pipeline of a run on all rows, on its executor; the next best where it fails, is too long or dies.

    What still goes on there is stopped before. The limits of a trial hold, that of time for as many more rows as there
    are; at most `ATTEMPTS` are tried. `announce` is told of each before, and which were passed over. Where there are
    test rows the fitted one is scored on them, its interval included unless that is not wanted, and all that bounds
    trials is measured there. Raises what is wrong with the executor as a whole.
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
    """What a job says of the score on so many test rows, or why it says nothing; None where there are no such rows."""
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
    # Apart from the score, which stays if what is measured now hangs or crashes.
    job = Job(-ATTEMPTS - 2, Gauge(wish.configuration), seconds + SHORTEST)
    return replace(score, constraints=_gauged(executor, job, objective.bounds))


def _gauged(executor: Executor, job: Job, bounds: tuple[AnyBound, ...]) -> tuple[Reached, ...]:
    """What a job says that is reached of each bound on the test rows, or why it says nothing."""
    (trial,) = answers(executor, job)
    if isinstance(trial, Gauged) and trial.status is Status.SUCCESS:
        return trial.reached
    return tuple(Reached(bound, None, reason=trial.reason) for bound in bounds)


def candidates(outcome: Outcome, training_size: int) -> Iterator[Record]:
    """The trials that succeeded, the best first and one a configuration.

    Those that keep to the bounds come before all others, on all training rows before those on fewer.
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
    """The seconds that fitting the pipeline of a trial on all rows may take.

    The limit of a trial grows with the square of the rows. Where there is none a trial could have taken as long as the
    run did, so that stands for it, and is a minute at least.
    """
    growth = (objective.rows / (record.trial.request.fidelity or objective.training_size)) ** 2
    if limits.trial_seconds is not None:
        return round(limits.trial_seconds * max(growth, 1.0), 3)
    return max(round(outcome.seconds * growth, 3), SHORTEST)


def answers(executor: Executor, *jobs: Job) -> list[Trial]:
    """What came of the jobs, in their order; as many go on at a time as there are workers."""
    waiting = [*jobs]
    found: dict[int, Trial] = {}
    while len(found) < len(jobs):
        for worker in list(executor.free)[: len(waiting)]:
            executor.start(worker, waiting.pop(0))
        found |= {finished.job.number: finished.trial for finished in executor.wait()}
    return [found[job.number] for job in jobs]


def readable(trial: Trial) -> Trial:
    """The trial itself, or a failed one where the pipeline that came back cannot be read."""
    if not isinstance(trial, Refitted) or trial.pipeline is None:
        return trial
    try:
        trial.pipeline.open()
    except Exception as error:  # noqa: BLE001 - whatever a stranger's class does when it is unpickled
        reason = f"the fitted pipeline cannot be read by this process: {described(error)}"
        return Trial(trial.request, None, trial.cost, Status.ERROR, reason)
    return trial
