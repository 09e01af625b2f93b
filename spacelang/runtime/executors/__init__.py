"""The interface of executors, which evaluate trials, and their registry.

Each module without a leading underscore is one executor. The run loop knows only this interface.

The limits of a trial are in `ir.task.Limits`: `trial_seconds` of wall-clock time, and `trial_bytes` of memory of all
its processes.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, runtime_checkable

from spacelang.deprecation import renamed_attributes
from spacelang.ir.task import UNLIMITED, Limits
from spacelang.ir.trial import Request, Trial
from spacelang.plugins import PluginRegistry

Evaluate: TypeAlias = Callable[[Request], Trial]
"""A function that evaluates a request. For another process cloudpickle must be able to serialize it."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The number and kind of workers that evaluate the trials of a run.

    There are `count` workers, each within `limits`, of the named `executor` or, for None, of this machine. With
    `isolate` every trial gets a process of its own, forked from one that has everything loaded; it shares no fitted
    steps with other trials.
    """

    count: int = 1
    executor: str | None = None
    limits: Limits = UNLIMITED
    isolate: bool = False


EXECUTORS: Final = PluginRegistry("spacelang.runtime.executors", "spacelang.executors")
"""The registry of executors by name.

An executor that users can name has a class method `create(evaluate, workers, forks=...)`, where `workers` is a
`WorkerSettings`.
"""
ONE_WORKER: Final = WorkerSettings()
"""One worker process on this machine, without limits."""


@renamed_attributes(allowed="allowed_seconds")
@dataclass(frozen=True, slots=True)
class Job:
    """A request that is to be evaluated; `number` identifies it within a run.

    `seconds` overrides the time limit that the executor applies to all jobs.
    """

    number: int
    request: Request
    seconds: float | None = None

    def allowed_seconds(self, limits: Limits) -> float | None:
        """Return the time limit of this job in seconds, None for no limit.

        It is the smaller one of the limit of the job (`seconds`, or that of `limits`) and the limit in its request.
        """
        most = limits.trial_seconds if self.seconds is None else self.seconds
        return min((each for each in (most, self.request.seconds) if each is not None), default=None)


@dataclass(frozen=True, slots=True)
class FinishedJob:
    """A job that has ended, with its trial.

    `worker` is the name of the worker that evaluated it; `attempts` counts how often the job was started.
    """

    job: Job
    trial: Trial
    worker: str = ""
    attempts: int = 1


class PendingJobsError(Exception):
    """Raised by `wait` if the caller must report the result of a pending job first."""


class Executor(Protocol):
    """An interface of workers, each of which evaluates one request at a time within its time limit.

    Every started job is answered exactly once, even if processes die, unless it is stopped or the executor is closed
    before.
    """

    def ready(self) -> None:
        """Block until trials can be started; the clock of a run starts then.

        Raises InputError if the executor can never start trials.
        """

    @property
    def free(self) -> Sequence[str]:
        """The names of the workers that can be given a job now."""

    def start(self, worker: str, job: Job) -> None:
        """Give a job to a free worker."""

    def wait(self, seconds: float | None = None) -> Sequence[FinishedJob]:
        """Return the jobs that have ended since the last call.

        Without a pending job it returns at once. Else it blocks until at least one job has ended, or until `seconds`
        have passed.

        Raises errors of the executor as a whole, never those of a pipeline. Raises PendingJobsError if the caller
        itself evaluates the pending jobs.
        """

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Stop the jobs of these workers, or of all workers for None.

        The stopped jobs are never answered. The workers are free for other jobs.
        """

    def close(self) -> None:
        """End all running jobs and processes at once, without waiting for results. Closing again does nothing."""


@runtime_checkable
class HasSimulatedClock(Protocol):
    """An executor with a simulated clock, which is then the clock of the run; `now` is its time in seconds."""

    now: float

    def clock(self) -> float:
        """Return the simulated time in seconds."""
