"""The interface of executors, which evaluate trials and other work within limits, and their registry."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from spacelang.deprecation import plugin_attribute, renamed_attributes
from spacelang.ir.task import UNLIMITED, Limits
from spacelang.ir.trial import Work
from spacelang.plugins import PluginRegistry

W_co = TypeVar("W_co", bound=Work[Any], covariant=True)
R_co = TypeVar("R_co", covariant=True)
Evaluate: TypeAlias = Callable[[Any], Any]
"""A function from work to its result, such as a request to its trial, that cloudpickle can send to a process."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The `count` workers, each within `limits`, of the named `executor` or, for None, of this machine.

    With `isolate` every trial gets a process of its own, forked from one that has everything loaded; it shares no
    fitted steps with other trials.
    """

    count: int = 1
    executor: str | None = None
    limits: Limits = UNLIMITED
    isolate: bool = False


EXECUTORS: Final = PluginRegistry("spacelang.runtime.executors", "spacelang.executors")
"""The registry of executors; those that users can name have `create(evaluate, workers: WorkerSettings, forks=...)`."""
ONE_WORKER: Final = WorkerSettings()  # One worker process on this machine, without limits


@renamed_attributes(allowed="allowed_seconds", request="work")
@dataclass(frozen=True, slots=True)
class Job(Generic[W_co]):
    """Work, such as a request; `number` identifies it within a run.

    `seconds` overrides the time limit that the executor applies to all jobs.
    """

    number: int
    work: W_co
    seconds: float | None = None

    def allowed_seconds(self, limits: Limits) -> float | None:
        """Return the time limit of this job in seconds, None for no limit.

        It is the smaller one of the limit of the job (`seconds`, or that of `limits`) and the limit in its work.
        """
        most = limits.trial_seconds if self.seconds is None else self.seconds
        return min((each for each in (most, self.work.seconds) if each is not None), default=None)


@renamed_attributes(trial="result")
@dataclass(frozen=True, slots=True)
class FinishedJob(Generic[R_co]):
    """A job that has ended, with the result of its work (a trial for a request), after `attempts` starts.

    Work that failed outside of its evaluation has the result `job.work.make_failed(status, reason, cost)`.
    """

    job: Job[Any]
    result: R_co
    worker: str = ""
    attempts: int = 1


class UnreportedResultError(Exception):
    """Raised by `wait` if the caller must report the result of a pending job first."""


class Executor(Protocol):
    """An interface of workers, each of which does one job at a time within its time limit.

    Every started job is answered exactly once, even if processes die, unless it is stopped or the executor closed.
    """

    def wait_until_ready(self) -> None:
        """Block until trials can start; the clock of the run starts afterwards. Raise InputError if they never can."""

    @property
    def free(self) -> Sequence[str]:
        """The names of the idle workers, to which a job can be given now."""

    def start(self, worker: str, job: Job[Any]) -> None:
        """Start a job on an idle worker, which must be one of `free`."""

    def wait(self, seconds: float | None = None) -> Sequence[FinishedJob[Any]]:
        """Return the jobs that have ended since the last call, at once if none is pending.

        Else it blocks until at least one has ended, or `seconds` have passed. Raises errors of the executor as a whole,
        never those of a pipeline, and UnreportedResultError if the caller itself evaluates the pending jobs.
        """

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Stop the jobs of these workers, or of all workers for None.

        Stopped jobs are never returned by `wait`, and their workers are idle again.
        """

    def close(self) -> None:
        """End all running jobs and processes at once, without waiting for results. Closing again does nothing."""


def wait_until_ready(executor: Executor) -> None:
    """Call `wait_until_ready` of an executor, or `ready` of a plug-in that still defines the method by its old name."""
    plugin_attribute(executor, "wait_until_ready", "ready")()


@runtime_checkable
class HasSimulatedClock(Protocol):
    """An executor with a simulated clock, which is then the clock of the run; `now` is its time in seconds."""

    now: float

    def clock(self) -> float:
        """Return the simulated time in seconds."""
