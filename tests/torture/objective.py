"""The objective that all tools minimize; it needs the standard library only.

An evaluation takes some milliseconds. Its process and its end are noted in a folder, so that a fault can strike it, and
its result can be compared with what the tool has stored. With `TORTURE_MISBEHAVES` a tenth of the trials do the worst
that a trial can do.
"""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from zlib import crc32

SECONDS: Final = 0.02  # The time of an evaluation, in seconds
LIMIT_SECONDS: Final = 2.0  # The time limit of a trial, for tools that have one, in seconds
LIMIT_MEGABYTES: Final = 1_000  # The memory limit of a trial, for tools that have one
ALLOCATED_BYTES: Final = 1_500_000_000
MISBEHAVES: Final = "TORTURE_MISBEHAVES"
NOTES: Final = "TORTURE_NOTES"
HARNESS: Final = "TORTURE_HARNESS"
SLOWNESS: Final = "TORTURE_SLOWNESS"
"""Variables of the environment: the folder of the notes, the process of the suite, which no trial may kill, and a
factor of the time limits that include the start of an interpreter."""


def loss_of(x: float) -> float:
    """Return the loss of a number from 0 to 1."""
    return (x - 0.3) ** 2


def evaluate(x: float) -> float:
    """Return the loss after some milliseconds, or misbehave."""
    Path(os.environ[NOTES], f"process-{os.getpid()}").touch()
    time.sleep(SECONDS)
    if os.environ.get(MISBEHAVES) and (action := misbehaviour_of(x)):
        return ACTIONS[action]()
    note("evaluated", x)
    return loss_of(x)


def evaluate_configuration(configuration: Any, seed: int = 0) -> float:
    """Return the loss of a configuration that has the number as `x`: the objective as SMAC calls it."""
    return evaluate(float(configuration["x"]))


def misbehaviour_of(x: float) -> str:
    """Return what the trial of a number does if trials misbehave: the empty string for nine of ten."""
    number = crc32(repr(x).encode())
    return list(ACTIONS)[number // 10 % len(ACTIONS)] if number % 10 == 0 else ""


def note(name: str, x: float) -> None:
    """Append a number to a file of the notes; what was written survives the death of the process."""
    descriptor = os.open(Path(os.environ[NOTES], name), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{x!r}\n".encode())
    os.close(descriptor)


def raise_an_error() -> float:
    raise ValueError("the number is wrong")


def return_no_number() -> float:
    return float("nan")


def exit_at_once() -> float:
    os._exit(3)


def crash() -> float:
    os.kill(os.getpid(), signal.SIGSEGV)
    return 0.0


def hang() -> float:
    time.sleep(3600)
    return 0.0


def allocate() -> float:
    held = bytearray(b"x") * ALLOCATED_BYTES
    time.sleep(0.5)
    return float(len(held) > ALLOCATED_BYTES)


def kill_the_parent() -> float:
    parent = os.getppid()
    if str(parent) != os.environ.get(HARNESS):
        os.kill(parent, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


ACTIONS: Final[dict[str, Callable[[], Any]]] = {
    each.__name__: each
    for each in (raise_an_error, return_no_number, exit_at_once, crash, hang, allocate, kill_the_parent)
}
"""What misbehaving trials do. None of them succeeds, unless memory is not limited: then `allocate` returns 0."""
