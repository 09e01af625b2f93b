"""The messages between coordinator and zygote, and between coordinator and worker."""

import struct
from dataclasses import dataclass
from typing import Final, TypeAlias

from spacelang.ir.task import Limits
from spacelang.ir.trial import Trial
from spacelang.runtime.errors import InputError
from spacelang.runtime.failures import Failure


@dataclass(frozen=True, slots=True)
class ConfigureWorkers:
    """A command to use these limits; if `isolates`, each worker does a single job. It is sent once, first."""

    limits: Limits
    isolates: bool


@dataclass(frozen=True, slots=True)
class ForkWorker:
    """A command to fork a worker, identified by `token`.

    The file sent along is the worker's end of its connection to the coordinator.
    """

    token: int


@dataclass(frozen=True, slots=True)
class JobStartNotice:
    """A notice that a job is being sent to a worker, so that the zygote enforces its limits.

    `sequence` is the number of the job; `seconds` is its time limit if it has its own.
    """

    token: int
    sequence: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class EndUnreachableWorker:
    """A command to end a worker that the coordinator cannot reach, unless it has ended already."""

    token: int


ZygoteCommand: TypeAlias = ConfigureWorkers | ForkWorker | JobStartNotice | EndUnreachableWorker
"""A message from the coordinator to the zygote."""


@dataclass(frozen=True, slots=True)
class LoadSucceeded:
    """A notice that workers can be forked now; each takes `idle_bytes` of memory while it waits."""

    idle_bytes: int


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """A notice that the evaluation could not be loaded, with the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class WorkerEnded:
    """A notice that a worker process and all its child processes have ended.

    `sequence` is the number of the last job of the worker that the zygote (the process that forks workers) knows of.
    `failure` is the failure of that job; it is None if the worker had no job. If `is_final` is false, the worker may
    have ended for another reason than the job, and another worker should try the job.
    """

    token: int
    sequence: int
    failure: Failure | None
    is_final: bool = True


ZygoteMessage: TypeAlias = LoadSucceeded | LoadFailed | WorkerEnded
"""A message from the zygote to the coordinator."""

REQUEST_HEADER: Final = struct.Struct("!Q")
"""The header of a pickled request: the number of the job."""

ANSWER_HEADER: Final = struct.Struct("!Q?")
"""The header of a pickled answer: the number of the job, and whether the worker exits and must be replaced."""


@dataclass(frozen=True, slots=True)
class TransmissionFailure:
    """An answer for a request or result that could not be transmitted.

    The cause is the object itself, or a change that an earlier job made to the process.
    """

    failure: Failure
    """The failure of the job if this happens in every attempt."""


Answer: TypeAlias = Trial | Failure | InputError | TransmissionFailure
"""The answer to a job; an `InputError` ends the whole run."""
