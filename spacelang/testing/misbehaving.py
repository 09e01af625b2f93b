"""An evaluation that does as the configuration says: well, or one of the worst things that a pipeline can do.

What a fault takes is bounded (`MOST` bytes, `LONG` seconds), should nobody else bound it.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Limits
from spacelang.ir.trial import Request, Status, Trial

LIMITS = Limits(trial_seconds=0.5, trial_bytes=250e6)
"""What suits the faults; a process that has loaded this module takes some 50 MB."""

MOST = 800_000_000
LONG = 30.0


def wanted(number: int, deed: str = "well", fidelity: int | None = None) -> Request:
    """A request for a trial whose loss is `number`, once the deed is done."""
    return Request(Configuration({"number": number, "deed": deed}), fidelity)


def evaluate(request: Request) -> Trial:
    """Do the deed; if that leaves anything to be returned, return it, else the trial of a deed done well."""
    deed = str(request.configuration["deed"])
    returned = None if deed == "well" else DEEDS[deed](request)
    return well(request) if returned is None else returned


def well(request: Request) -> Trial:
    return Trial(request, float(str(request.configuration["number"])))


@dataclass(frozen=True)
class Fault:
    """A deed that fails: how such a trial ends, and what its reason says."""

    deed: str
    status: Status
    reason: str
    attempts: int = 1
    """How often it is begun: more than once where somebody else may be the reason."""


def segfault(_: Request) -> None:
    ctypes.string_at(0)


def abort(_: Request) -> NoReturn:
    os.abort()


def exit_at_once(_: Request) -> NoReturn:
    os._exit(3)


def leave(_: Request) -> NoReturn:
    sys.exit(4)


def leave_with_words(_: Request) -> NoReturn:
    sys.exit("enough of this")


def be_killed(_: Request) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def be_stopped(_: Request) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def sleep(_: Request) -> None:
    time.sleep(LONG)


def sleep_in_c(_: Request) -> None:
    """In C and with the interpreter's lock, so that no other thread and no signal handler of Python's ever runs."""
    ctypes.PyDLL(None).sleep(int(LONG))


def spin(_: Request) -> None:
    until = time.monotonic() + LONG
    while time.monotonic() < until:
        pass


def ignore_signals(_: Request) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(LONG)


def eat(_: Request | None = None) -> None:
    """Take memory and keep it."""
    eaten: list[bytearray] = []
    while sum(map(len, eaten)) < MOST:
        eaten.append(bytearray(b"x") * 10_000_000)
    time.sleep(LONG)


def eat_in_children(_: Request) -> None:
    """None of them takes as much as a trial may, all of them do."""
    for _child in range(6):
        in_a_child(lambda: hold(60_000_000))
    time.sleep(LONG)


def hold(size: int) -> None:
    held = bytearray(b"x") * size
    time.sleep(LONG)
    assert held


def share_with_children(_: Request) -> None:
    """Less than a trial may take, which every child has as well without taking any more."""
    held = bytearray(b"x") * 60_000_000
    children = [in_a_child(lambda: time.sleep(0.2)) for _ in range(8)]
    for child in children:
        os.waitpid(child, 0)
    assert held


def eat_in_a_child(_: Request) -> None:
    os.waitpid(in_a_child(eat), 0)


def hang_in_a_child(_: Request) -> None:
    os.waitpid(in_a_child(lambda: time.sleep(LONG)), 0)


def crash_with_children(request: Request) -> None:
    leave_a_daemon(request)
    in_a_child(lambda: time.sleep(LONG))
    segfault(request)


def raise_an_error(_: Request) -> NoReturn:
    raise ValueError("the number is wrong\nand here is a long story")


def interrupt(_: Request) -> NoReturn:
    raise KeyboardInterrupt


def run_out_of_memory(_: Request) -> None:
    bytearray(1 << 60)


class LocalError(Exception):
    """It cannot be pickled, and what it says can hardly be had."""

    def __init__(self, number: int, *, lock: Any) -> None:
        super().__init__(number, lock)

    def __reduce__(self) -> NoReturn:
        raise TypeError("never")


def raise_the_unpicklable(_: Request) -> NoReturn:
    raise LocalError(3, lock=threading.Lock())


class MuteError(Exception):
    """It cannot be said."""

    def __str__(self) -> str:
        raise RuntimeError("not a word")


def raise_the_unspeakable(_: Request) -> NoReturn:
    raise MuteError


def recurse(request: Request) -> None:
    recurse(request)


def return_the_unpicklable(request: Request) -> Trial:
    return Trial(request, 0.0, predictions=threading.Lock())


class OneWay:
    """It can be pickled, but not be read again."""

    def __reduce__(self) -> Any:
        return (refuse, ())


def refuse() -> NoReturn:
    raise ImportError("no such thing")


def return_one_way(request: Request) -> Trial:
    return Trial(request, 0.0, predictions=OneWay())


def return_nothing_of_use(_: Request) -> Any:
    return "done"


def close_everything(_: Request) -> None:
    os.closerange(3, 1000)
    time.sleep(LONG)


def flood(_: Request) -> None:
    for _time in range(20):
        os.write(1, b"x" * 1_000_000)
        print("y" * 1_000_000, file=sys.stderr)
        print("z" * 1_000_000)


def return_much(request: Request) -> Trial:
    return Trial(request, float(str(request.configuration["number"])), predictions=b"x" * 20_000_000)


def fork_and_both_return(_: Request) -> None:
    os.fork()


def leave_a_child(_: Request) -> None:
    in_a_child(lambda: time.sleep(LONG))


def leave_a_program(_: Request) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(30)"
    program = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    program.returncode = 0  # so that nobody warns of it


def leave_a_daemon(_: Request) -> None:
    """A process in a session of its own, whose parents have ended."""

    def detach() -> None:
        os.setsid()
        in_a_child(lambda: in_a_child(lambda: time.sleep(LONG)) and None)

    os.waitpid(in_a_child(detach), 0)


def in_a_child(act: Callable[[], Any]) -> int:
    """Do something in a child, which ends then; the child's number."""
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(0)
    return child


def leak(_: Request) -> None:
    """Keep memory for good without saying so."""
    LEAKED.append(bytearray(b"x") * 60_000_000)


LEAKED: list[bytearray] = []


FAULTS = (
    Fault("segfault", Status.CRASH, "signal 11 (SIGSEGV)"),
    Fault("abort", Status.CRASH, "signal 6 (SIGABRT)"),
    Fault("exit_at_once", Status.CRASH, "exited with code 3"),
    Fault("leave", Status.CRASH, "exited with code 4"),
    Fault("leave_with_words", Status.CRASH, "enough of this"),
    Fault("be_killed", Status.CRASH, "signal 9 (SIGKILL), which the system sends when memory runs out", 3),
    Fault("crash_with_children", Status.CRASH, "signal 11 (SIGSEGV)"),
    Fault("close_everything", Status.CRASH, "hung up"),
    Fault("be_stopped", Status.TIMEOUT, "it took longer than 500ms"),
    Fault("sleep", Status.TIMEOUT, "it took longer than 500ms"),
    Fault("sleep_in_c", Status.TIMEOUT, "it took longer than 500ms"),
    Fault("spin", Status.TIMEOUT, "it took longer than 500ms"),
    Fault("ignore_signals", Status.TIMEOUT, "it took longer than 500ms"),
    Fault("hang_in_a_child", Status.TIMEOUT, "it took longer than 500ms"),
    Fault("eat", Status.MEMORY, "more than 250MB"),
    Fault("eat_in_a_child", Status.MEMORY, "more than 250MB"),
    Fault("eat_in_children", Status.MEMORY, "more than 250MB"),
    Fault("run_out_of_memory", Status.MEMORY, "MemoryError"),
    Fault("raise_an_error", Status.ERROR, "ValueError: the number is wrong"),
    Fault("interrupt", Status.ERROR, "KeyboardInterrupt"),
    Fault("raise_the_unpicklable", Status.ERROR, "LocalError"),
    Fault("raise_the_unspeakable", Status.ERROR, "MuteError"),
    Fault("recurse", Status.ERROR, "RecursionError"),
    Fault("return_the_unpicklable", Status.ERROR, "its result cannot be sent to the search: TypeError", 3),
    Fault("return_one_way", Status.ERROR, "its result cannot be read by the search: ImportError: no such thing", 3),
    Fault("return_nothing_of_use", Status.ERROR, "it returned no trial but `str`"),
)
"""All that fail, within `LIMITS`."""

NUISANCES = (
    "flood",
    "return_much",
    "share_with_children",
    "fork_and_both_return",
    "leave_a_child",
    "leave_a_program",
    "leave_a_daemon",
    "leak",
)
"""All that succeed, though they leave something behind or get in the way."""

DEEDS: dict[str, Callable[[Request], Trial | None]] = {
    name: globals()[name] for name in (*(fault.deed for fault in FAULTS), *NUISANCES)
}
"""What is done by a name: the function that is called so."""
