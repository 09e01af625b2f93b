"""Failures: what ended an evaluation that has no result, in one line; the same words from every executor."""

import signal
from dataclasses import dataclass
from typing import Final

from spacelang.ir.task import BYTES, SECONDS, quantity
from spacelang.ir.trial import Request, Status, Trial

LENGTH: Final = 200
"""The longest reason that is kept, in characters."""

TOO_LONG: Final = "it took longer than "
"""How the reason of an evaluation begins that was ended at its limit, which comes behind it."""

NEARLY_ALL: Final = 0.9
"""The share of its room above which memory is the reason why an evaluation was killed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """How an evaluation failed, why in one line, and the seconds that it took until then."""

    status: Status
    reason: str
    seconds: float = 0.0

    def of(self, request: Request, kind: type[Trial] = Trial) -> Trial:
        """The trial of some kind that it makes of a request."""
        return kind(request, None, self.seconds, self.status, self.reason)


def raised(error: BaseException, seconds: float = 0.0) -> Failure:
    """The failure of an evaluation that raised.

    A MemoryError is a failure by memory, a SystemExit one of those that exit; all others are errors.
    """
    match error:
        case MemoryError():
            return Failure(Status.MEMORY, described(error), seconds)
        case SystemExit():
            return Failure(Status.CRASH, f"it exited with {_exit_code(error)}", seconds)
        case _:
            return Failure(Status.ERROR, described(error), seconds)


def described(error: BaseException) -> str:
    """One line that says what was raised: the type and the first line of the text, cut where it is long."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a stranger's exception may fail at this, too
        return name
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    whole = f"{name}: {line}" if line else name
    return whole if len(whole) <= LENGTH else whole[: LENGTH - 3] + "..."


def _exit_code(error: SystemExit) -> str:
    match error.code:
        case None:
            return "code 0"
        case int(code):
            return f"code {code}"
        case _:
            return described(error)


def too_long(limit: float, seconds: float) -> Failure:
    """The failure of an evaluation that was ended at its limit, in seconds."""
    # What an arm or a sub-problem has left is a limit with all its digits.
    said = round(limit, 3) or limit
    return Failure(Status.TIMEOUT, f"{TOO_LONG}{quantity(said, SECONDS)}", seconds)


def too_large(limit: float, taken: float, seconds: float) -> Failure:
    """The failure of an evaluation that was ended when it took more bytes than its limit."""
    reason = f"it took {megabytes(taken)} of memory, more than {quantity(limit, BYTES)}"
    return Failure(Status.MEMORY, reason, seconds)


def ended(exit_code: int, seconds: float) -> Failure:
    """The failure of an evaluation whose process has ended: below 0 an exit code is that of a signal."""
    if exit_code >= 0:
        return Failure(Status.CRASH, f"its process exited with code {exit_code}", seconds)
    return Failure(Status.CRASH, f"its process was ended by {signal_name(-exit_code)}", seconds)


def killed(limit: float | None, taken: float, seconds: float, *, is_memory_out: bool = False) -> Failure:
    """The failure of an evaluation that somebody else has ended by SIGKILL when it took so many bytes of its limit.

    `is_memory_out` says that the system has ended processes since the evaluation began, because memory ran out.
    """
    if is_memory_out:
        return Failure(Status.MEMORY, "the system ended its process because memory ran out", seconds)
    by = f"its process was ended by {signal_name(signal.SIGKILL)}"
    if limit is not None and taken > NEARLY_ALL * limit:
        reason = f"{by} when it took {megabytes(taken)} of memory, of {quantity(limit, BYTES)}"
        return Failure(Status.MEMORY, reason, seconds)
    return Failure(Status.CRASH, f"{by}, which the system sends when memory runs out", seconds)


def signal_name(number: int) -> str:
    """A signal in words: `signal 11 (SIGSEGV)`."""
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def megabytes(size: float) -> str:
    """A measured size, to the megabyte."""
    return f"{max(round(size / 1e6), 1):,}MB"
