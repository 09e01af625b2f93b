"""What the coordinator and the nursery tell each other, and what passes between the coordinator and a worker."""

import struct
from dataclasses import dataclass
from typing import Final, TypeAlias

from spacelang.ir.task import Limits
from spacelang.ir.trial import Trial
from spacelang.runtime.errors import InputError
from spacelang.runtime.failures import Failure


@dataclass(frozen=True, slots=True)
class Load:
    """Read the evaluation, and bound it so; where it `isolates`, a worker does one job."""

    limits: Limits
    isolates: bool


@dataclass(frozen=True, slots=True)
class ForkWorker:
    """Start a worker, known as `token`; the file that comes along is its end of the socket to the coordinator."""

    token: int


@dataclass(frozen=True, slots=True)
class Begin:
    """The worker is given a job now, known as `sequence`: bound it, by `seconds` of its own if it has them."""

    token: int
    sequence: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """The coordinator cannot talk to this worker any more: end it, unless it has ended by itself."""

    token: int


Command: TypeAlias = Load | ForkWorker | Begin | Lost
"""From the coordinator to the nursery."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Workers can be forked from now on; while it waits, each takes so many bytes."""

    idle_bytes: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The evaluation could not be loaded."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """No process of this worker is left.

    `sequence` is the last job that the nursery knew it to have, `failure` what to say of that job if it was at it:
    None where it was between jobs. Unless it `is_final` the job may not be the reason, and is worth another worker.
    """

    token: int
    sequence: int
    failure: Failure | None
    is_final: bool = True


News: TypeAlias = Loaded | Refused | Ended
"""From the nursery to the coordinator."""

TASK: Final = struct.Struct("!Q")
"""Before a request stands the number of the job."""

RESULT: Final = struct.Struct("!Q?")
"""Before an answer stand the number of the job, and whether the worker ends now and wants to be replaced."""


@dataclass(frozen=True, slots=True)
class Garbled:
    """A request or an answer was lost on its way: by itself, or by what an earlier job has left in that process."""

    failure: Failure
    """What to say of the job if that happens everywhere."""


Answer: TypeAlias = Trial | Failure | InputError | Garbled
"""What came of a job: an InputError is what is wrong with the run as a whole."""
