"""An evaluation for tests that performs the action named in a configuration, such as crashing, within safe limits."""

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

from spacelang.deprecation import make_module_getattr
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Limits
from spacelang.ir.trial import Request, Status, Trial

LIMITS = Limits(trial_seconds=0.5, trial_bytes=250e6)
"""Limits that suit the faults. A process that has loaded this module takes about 50 MB."""
MAX_BYTES = 800_000_000
MAX_SECONDS = 30.0


def make_request(number: int, action: str = "well", fidelity: int | None = None) -> Request:
    """Return a request for a trial that performs `action`; if the trial succeeds, its loss is `number`."""
    return Request(Configuration({"number": number, "action": action}), fidelity)


def evaluate(request: Request) -> Trial:
    """Perform the action of a request; return what it returns, or the successful trial if that is None."""
    action = str(request.configuration["action"])
    returned = None if action == "well" else ACTIONS[action](request)
    return successful_trial(request) if returned is None else returned


def successful_trial(request: Request) -> Trial:
    """Return the successful trial of a request; its loss is the configuration's `number`."""
    return Trial(request, float(str(request.configuration["number"])))


@dataclass(frozen=True)
class Fault:
    """An action that fails: the status of its trial, and a part of the trial's reason."""

    action: str
    status: Status
    reason: str
    attempts: int = 1  # How often the trial is started: more than once if something else may have caused the failure


def segfault(_: Request) -> None:
    ctypes.string_at(0)


def abort(_: Request) -> NoReturn:
    os.abort()


def exit_at_once(_: Request) -> NoReturn:
    """Exit without cleaning up."""
    os._exit(3)


def exit_with_status(_: Request) -> NoReturn:
    sys.exit(4)


def exit_with_message(_: Request) -> NoReturn:
    sys.exit("enough of this")


def kill_own_process(_: Request) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stop_own_process(_: Request) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def sleep(_: Request) -> None:
    time.sleep(MAX_SECONDS)


def sleep_in_c(_: Request) -> None:
    """Sleep in C while holding the GIL, so that no other thread and no Python signal handler can run."""
    ctypes.PyDLL(None).sleep(int(MAX_SECONDS))


def spin(_: Request) -> None:
    until = time.monotonic() + MAX_SECONDS
    while time.monotonic() < until:
        pass


def ignore_signals(_: Request) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(MAX_SECONDS)


def allocate_beyond_limit(_: Request | None = None) -> None:
    eaten: list[bytearray] = []
    while sum(map(len, eaten)) < MAX_BYTES:
        eaten.append(bytearray(b"x") * 10_000_000)
    time.sleep(MAX_SECONDS)


def allocate_in_several_children(_: Request) -> None:
    """Allocate memory in several children: each stays below the limit, all together exceed it."""
    for _child in range(6):
        run_in_child(lambda: hold_memory(60_000_000))
    time.sleep(MAX_SECONDS)


def hold_memory(size: int) -> None:
    held = bytearray(b"x") * size
    time.sleep(MAX_SECONDS)
    assert held


def share_memory_with_children(_: Request) -> None:
    """Allocate memory below the limit and fork children that share it without allocating more."""
    held = bytearray(b"x") * 60_000_000
    children = [run_in_child(lambda: time.sleep(0.2)) for _ in range(8)]
    for child in children:
        os.waitpid(child, 0)
    assert held


def allocate_beyond_limit_in_a_child(_: Request) -> None:
    os.waitpid(run_in_child(allocate_beyond_limit), 0)


def hang_in_a_child(_: Request) -> None:
    os.waitpid(run_in_child(lambda: time.sleep(MAX_SECONDS)), 0)


def crash_with_children(request: Request) -> None:
    """Crash while children and a daemon are running."""
    leave_a_daemon(request)
    run_in_child(lambda: time.sleep(MAX_SECONDS))
    segfault(request)


def raise_an_error(_: Request) -> NoReturn:
    """Raise an error with a message of two lines."""
    raise ValueError("the number is wrong\nand here is a long story")


def interrupt(_: Request) -> NoReturn:
    raise KeyboardInterrupt


def run_out_of_memory(_: Request) -> None:
    """Request more memory than the machine has."""
    bytearray(1 << 60)


class UnpicklableError(Exception):
    """An error that cannot be pickled."""

    def __init__(self, number: int, *, lock: Any) -> None:
        super().__init__(number, lock)

    def __reduce__(self) -> NoReturn:
        raise TypeError("never")


def raise_the_unpicklable(_: Request) -> NoReturn:
    raise UnpicklableError(3, lock=threading.Lock())


class UnprintableError(Exception):
    """An error whose `str` raises."""

    def __str__(self) -> str:
        raise RuntimeError("not a word")


def raise_unprintable_error(_: Request) -> NoReturn:
    raise UnprintableError


def recurse(request: Request) -> None:
    recurse(request)


def return_the_unpicklable(request: Request) -> Trial:
    return Trial(request, 0.0, predictions=threading.Lock())


class UnreadablePickle:
    """An object that can be pickled but not unpickled."""

    def __reduce__(self) -> Any:
        return (raise_import_error, ())


def raise_import_error() -> NoReturn:
    raise ImportError("no such thing")


def return_unreadable_pickle(request: Request) -> Trial:
    return Trial(request, 0.0, predictions=UnreadablePickle())


def return_wrong_type(_: Request) -> Any:
    """Return an object that is not a `Trial`."""
    return "done"


def close_file_descriptors(_: Request) -> None:
    """Close all file descriptors above standard error, and sleep."""
    os.closerange(3, 1000)
    time.sleep(MAX_SECONDS)


def write_large_output(_: Request) -> None:
    for _time in range(20):
        os.write(1, b"x" * 1_000_000)
        print("y" * 1_000_000, file=sys.stderr)
        print("z" * 1_000_000)


def return_large_trial(request: Request) -> Trial:
    return Trial(request, float(str(request.configuration["number"])), predictions=b"x" * 20_000_000)


def fork_and_both_return(_: Request) -> None:
    os.fork()


def leave_a_child(_: Request) -> None:
    run_in_child(lambda: time.sleep(MAX_SECONDS))


def leave_a_program(_: Request) -> None:
    """Leave another program running that ignores SIGTERM."""
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(30)"
    program = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    program.returncode = 0  # to suppress the warning about a running process


def leave_a_daemon(_: Request) -> None:
    """Leave a process running in a session of its own, orphaned: its parent and grandparent have exited."""

    def detach() -> None:
        os.setsid()
        run_in_child(lambda: run_in_child(lambda: time.sleep(MAX_SECONDS)) and None)

    os.waitpid(run_in_child(detach), 0)


def run_in_child(act: Callable[[], Any]) -> int:
    """Call a function in a forked child, which then exits; return the child's process id."""
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(0)
    return child


def leak_memory(_: Request) -> None:
    LEAKED.append(bytearray(b"x") * 60_000_000)


LEAKED: list[bytearray] = []
HANGS = ("stop_own_process", "sleep", "sleep_in_c", "spin", "ignore_signals", "hang_in_a_child")
ALLOCATIONS = ("allocate_beyond_limit", "allocate_beyond_limit_in_a_child", "allocate_in_several_children")
UNREADABLE = "the result of the trial cannot be read by the search"
FAULTS = (
    Fault("segfault", Status.CRASH, "signal 11 (SIGSEGV)"),
    Fault("abort", Status.CRASH, "signal 6 (SIGABRT)"),
    Fault("exit_at_once", Status.CRASH, "exited with code 3"),
    Fault("exit_with_status", Status.CRASH, "exited with code 4"),
    Fault("exit_with_message", Status.CRASH, "enough of this"),
    Fault("kill_own_process", Status.CRASH, "signal 9 (SIGKILL), which the system sends when memory runs out", 3),
    Fault("crash_with_children", Status.CRASH, "signal 11 (SIGSEGV)"),
    Fault("close_file_descriptors", Status.CRASH, "closed the connection"),
    *(Fault(action, Status.TIMEOUT, "the evaluation took longer than 500ms") for action in HANGS),
    *(Fault(action, Status.MEMORY, "more than 250MB") for action in ALLOCATIONS),
    Fault("run_out_of_memory", Status.MEMORY, "MemoryError"),
    Fault("raise_an_error", Status.ERROR, "ValueError: the number is wrong"),
    Fault("interrupt", Status.ERROR, "KeyboardInterrupt"),
    Fault("raise_the_unpicklable", Status.ERROR, "UnpicklableError"),
    Fault("raise_unprintable_error", Status.ERROR, UnprintableError.__name__),
    Fault("recurse", Status.ERROR, "RecursionError"),
    Fault("return_the_unpicklable", Status.ERROR, "the result of the trial cannot be sent to the search: TypeError", 3),
    Fault("return_unreadable_pickle", Status.ERROR, f"{UNREADABLE}: ImportError: no such thing", 3),
    Fault("return_wrong_type", Status.ERROR, "the evaluation returned `str` instead of a trial"),
)
"""Actions whose trials fail within `LIMITS`."""
NUISANCES = (
    "write_large_output", "return_large_trial", "share_memory_with_children", "fork_and_both_return", "leave_a_child",
    "leave_a_program", "leave_a_daemon", "leak_memory",
)  # fmt: skip
"""Actions whose trials succeed, although they leave something behind or interfere."""
ACTIONS: dict[str, Callable[[Request], Trial | None]] = {
    name: globals()[name] for name in (*(fault.action for fault in FAULTS), *NUISANCES)
}
"""All actions by name, which is the name of the function."""
__getattr__ = make_module_getattr(__name__, {
    "DEEDS": "ACTIONS", "LONG": "MAX_SECONDS", "MOST": "MAX_BYTES", "MuteError": "UnprintableError",
    "OneWay": "UnreadablePickle", "in_a_child": "run_in_child", "leave": "exit_with_status",
    "refuse": "raise_import_error", "wanted": "make_request", "well": "successful_trial",
})  # fmt: skip
