"""A nursery that the search forks off itself, where that is as good as a fresh one: no import is paid for twice.

A fork lacks the threads of its parent, and libraries that have used some wait for them forever. So a process may fork
a nursery as long as it has used one thread alone, which a command sees to before it imports anything.
"""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Final, NoReturn

ONE_THREAD: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)
"""What tells libraries how many threads to use, and how many cores there are for whom wants all."""

HARMLESS: Final = frozenset({"jemalloc_bg_thd"})
"""Threads of allocators: these know of forks."""

POLL: Final = 0.002
"""How often it is looked whether a child has ended, in seconds."""


def use_one_thread() -> None:
    """Have this process, and all that it starts, use one thread; what is loaded already goes on as it is."""
    if "numpy" not in sys.modules:
        os.environ.update(dict.fromkeys(ONE_THREAD, "1"))


def may_fork() -> bool:
    """Whether a fork of this process lacks nothing that it has: no thread but this one lives."""
    mine = str(threading.get_native_id())
    try:
        others = [Path(entry.path, "comm") for entry in os.scandir("/proc/self/task") if entry.name != mine]
        return all(name.read_text().strip() in HARMLESS for name in others)
    except OSError:
        return False


class Forked:
    """A child of this process, as `subprocess.Popen` shows those that it has started."""

    def __init__(self, serve: Callable[[], NoReturn]) -> None:
        """Fork a process that serves until it ends itself; of the signals that stop a run it knows none before."""
        for stream in (sys.stdout, sys.stderr):
            # What is not written yet would be written by both.
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        # What the collector does not visit it does not write to either: such pages are not copied for the child.
        gc.freeze()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.pid = os.fork()
        if self.pid == 0:
            try:
                serve()
            finally:
                os._exit(1)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """How it has ended, as Python says it; raises subprocess.TimeoutExpired where it has not within the time."""
        until = inf if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            gone, status = os.waitpid(self.pid, os.WNOHANG)
            if gone:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > until:
                raise subprocess.TimeoutExpired("the nursery", until)
            else:
                time.sleep(POLL)
        return self.returncode

    def kill(self) -> None:
        """Kill it, unless it is known to have ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
