"""Executors: where trials are evaluated, and what bounds them. One file a place; the loop knows only this interface.

What a trial may take is in `ir.task.Limits`: `trial_seconds` of wall-clock time, `trial_bytes` of all its processes.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, runtime_checkable

from spacelang.ir.task import UNLIMITED, Limits
from spacelang.ir.trial import Request, Trial
from spacelang.plugins import Plugins

Evaluate: TypeAlias = Callable[[Request], Trial]
"""What evaluates a request; where it goes to another process, cloudpickle must be able to take it there."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Who evaluates trials: so many at a time, of an `executor` or of this machine, each within `limits`.

    With `isolate` every trial has a process of its own, forked from one that has everything loaded, and shares no
    fitted steps with others.
    """

    count: int = 1
    executor: str | None = None
    limits: Limits = UNLIMITED
    isolate: bool = False


EXECUTORS: Final = Plugins("spacelang.runtime.executors", "spacelang.executors")
"""The executors by their names.

Who can be named has a `hired(evaluate, workers, forks=…)`, which gives it so many `Workers`.
"""

ONE: Final = Workers()
"""A process of this machine."""


@dataclass(frozen=True, slots=True)
class Job:
    """A request on its way: `number` tells the jobs of a run apart.

    `seconds` is what this one may take, where that is not what the executor allows every job.
    """

    number: int
    request: Request
    seconds: float | None = None

    def allowed(self, limits: Limits) -> float | None:
        """The seconds that it may take under the limits of every job: its request may allow less."""
        most = limits.trial_seconds if self.seconds is None else self.seconds
        return min((each for each in (most, self.request.seconds) if each is not None), default=None)


@dataclass(frozen=True, slots=True)
class Finished:
    """A job that has ended, one way or the other: `attempts` counts how often it was begun, `worker` ended it."""

    job: Job
    trial: Trial
    worker: str = ""
    attempts: int = 1


class UnansweredError(Exception):
    """Jobs were started that nobody can wait for: whoever drives the run has to say what came of one first."""


class Executor(Protocol):
    """A number of workers that evaluate one request at a time each, for as long as a job is `allowed` to take.

    Every job that was started is answered exactly once, whatever dies, unless the executor is stopped or closed before.
    """

    def ready(self) -> None:
        """Return once trials can be started; the clock of a run begins then. Raises InputError where that never is."""

    @property
    def free(self) -> Sequence[str]:
        """The names of the workers that can be given a job now."""

    def start(self, worker: str, job: Job) -> None:
        """Give a job to a worker that is free."""

    def wait(self, seconds: float | None = None) -> Sequence[Finished]:
        """The jobs that have ended since: at least one, unless `seconds` go by before; at once where none is started.

        Raises what is wrong with the executor as a whole, never what a pipeline raised, and UnansweredError where it
        is the caller who evaluates.
        """

    def stop(self, workers: Collection[str] | None = None) -> None:
        """End the jobs of these workers, or of all; they are never answered, and the workers are free for others."""

    def close(self) -> None:
        """End everything that goes on, at once; no process is left behind. Closing again does nothing."""


@runtime_checkable
class Timed(Protocol):
    """An executor that takes no time but that of its own clock, which stands at `now` and is the clock of the run."""

    now: float

    def clock(self) -> float:
        """The time, in seconds."""
