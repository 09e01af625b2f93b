"""Errors that a user can correct before a run starts, and failures of evaluations, worded alike for every executor."""

import signal
from dataclasses import dataclass
from typing import Final, TypeVar

from spacelang.errors import UserError
from spacelang.ir.task import BYTES, SECONDS, format_quantity
from spacelang.ir.trial import Status, Work

R = TypeVar("R")
MAX_REASON_LENGTH: Final = 200  # The maximum length of a reason, in characters
TIMEOUT_PREFIX: Final = "the evaluation took longer than "  # The start of the reason of a timeout; the limit follows
MEMORY_KILL_SHARE: Final = 0.9  # The share of the memory limit above which a killed evaluation counts as out of memory


class InputError(UserError):
    """An error that a user can correct: a mistake in the input of a run."""


class DataError(InputError):
    """An error in the data: it cannot be read, or no pipeline could be fitted to it."""


class MetricError(InputError):
    """An unknown metric, or one that cannot be computed on this data."""


class BuildError(InputError):
    """A configuration that gives no pipeline: it is no member of the space, or its structure cannot be built."""


class DifferentSearchError(InputError):
    """An earlier session of the run has a trial, with the number `trial`, that this search does not ask for."""

    def __init__(self, trial: int) -> None:
        message = f"the run cannot be resumed: this version of the optimizer does not request its trial {trial}"
        super().__init__(message, "start a new run: another version of spacelang made this one")
        self.trial = trial


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed evaluation: the status, a one-line reason, and the seconds until it failed."""

    status: Status
    reason: str
    seconds: float = 0.0

    def make_result(self, work: Work[R]) -> R:
        """Return what a job returns if its work failed like this, such as the failed trial of a request."""
        return work.make_failed(self.status, self.reason, self.seconds)


def exception_failure(error: BaseException, seconds: float = 0.0) -> Failure:
    """Return the failure of an exception: MEMORY for MemoryError, CRASH for SystemExit, and ERROR for all others."""
    match error:
        case MemoryError():
            return Failure(Status.MEMORY, describe_exception(error), seconds)
        case SystemExit():
            return Failure(Status.CRASH, f"the evaluation exited with {_exit_code(error)}", seconds)
        case _:
            return Failure(Status.ERROR, describe_exception(error), seconds)


def describe_exception(error: BaseException) -> str:
    """Return one line for an exception: its type and first line, at most `MAX_REASON_LENGTH` characters."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a user's exception may fail here, too
        return name
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    whole = f"{name}: {line}" if line else name
    return whole if len(whole) <= MAX_REASON_LENGTH else whole[: MAX_REASON_LENGTH - 3] + "..."


def _exit_code(error: SystemExit) -> str:
    match error.code:
        case None:
            return "code 0"
        case int(code):
            return f"code {code}"
        case _:
            return describe_exception(error)


def timeout_failure(limit: float, seconds: float) -> Failure:
    """Return the failure of an evaluation that was stopped at its time limit; both arguments are in seconds."""
    # The remaining time of an arm or a sub-problem is a limit with many digits.
    shown_limit = round(limit, 3) or limit
    return Failure(Status.TIMEOUT, f"{TIMEOUT_PREFIX}{format_quantity(shown_limit, SECONDS)}", seconds)


def memory_failure(limit: float, taken: float, seconds: float) -> Failure:
    """Return the failure of an evaluation that was stopped because it took `taken` bytes, more than its `limit`."""
    reason = f"the evaluation took {format_megabytes(taken)} of memory, more than {format_quantity(limit, BYTES)}"
    return Failure(Status.MEMORY, reason, seconds)


def exit_failure(exit_code: int, seconds: float) -> Failure:
    """Return the failure of an evaluation whose process ended; a negative exit code is that of a signal."""
    if exit_code >= 0:
        return Failure(Status.CRASH, f"the worker process exited with code {exit_code}", seconds)
    return Failure(Status.CRASH, f"the worker process was ended by {signal_name(-exit_code)}", seconds)


def kill_failure(limit: float | None, taken: float, seconds: float, *, is_memory_out: bool = False) -> Failure:
    """Return the failure of an evaluation whose process was ended by SIGKILL.

    It is out of memory if the system was (`is_memory_out`), or if the `taken` bytes come close to `limit`; otherwise a
    crash.
    """
    if is_memory_out:
        return Failure(Status.MEMORY, "the system ended the worker process because memory ran out", seconds)
    by = f"the worker process was ended by {signal_name(signal.SIGKILL)}"
    if limit is not None and taken > MEMORY_KILL_SHARE * limit:
        used = f"{format_megabytes(taken)} of memory, close to the limit of {format_quantity(limit, BYTES)}"
        reason = f"{by} when it took {used}"
        return Failure(Status.MEMORY, reason, seconds)
    return Failure(Status.CRASH, f"{by}, which the system sends when memory runs out", seconds)


def signal_name(number: int) -> str:
    """Return a signal in words, such as `signal 11 (SIGSEGV)`."""
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def format_megabytes(size: float) -> str:
    """Return a size in bytes as text, rounded to whole megabytes, at least one."""
    return f"{max(round(size / 1e6), 1):,}MB"
