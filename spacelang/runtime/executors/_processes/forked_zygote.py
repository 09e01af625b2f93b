"""A zygote that is a fork of the search, which saves importing everything twice.

A fork lacks the threads of its parent, and libraries that have started threads then wait for them forever. So a process
may fork a zygote only if it has used a single thread so far. A command ensures that before it imports anything.
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

THREAD_VARIABLES: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)
"""The environment variables that set the number of threads of libraries and the number of cores."""

FORK_SAFE_THREADS: Final = frozenset({"jemalloc_bg_thd"})
"""Names of allocator threads, which handle forks correctly."""

POLL_INTERVAL: Final = 0.002
"""The interval at which a child is polled for its end, in seconds."""


def use_one_thread() -> None:
    """Limit the libraries of this process and of its children to one thread.

    It does nothing if NumPy is loaded already.
    """
    if "numpy" not in sys.modules:
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))


def is_fork_safe() -> bool:
    """Return True if this process has a single thread, apart from harmless ones, so that forking it is safe."""
    mine = str(threading.get_native_id())
    try:
        others = [Path(entry.path, "comm") for entry in os.scandir("/proc/self/task") if entry.name != mine]
        return all(name.read_text().strip() in FORK_SAFE_THREADS for name in others)
    except OSError:
        return False


class ForkedProcess:
    """A forked child of this process, with the interface of `subprocess.Popen`."""

    def __init__(self, serve: Callable[[], NoReturn]) -> None:
        """Fork a process that runs `serve`, which must not return.

        The child starts with SIGINT and SIGTERM blocked, so that `serve` can set its handlers first.
        """
        for stream in (sys.stdout, sys.stderr):
            # Unwritten output would be written by both processes.
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        # The garbage collector does not write to frozen objects, so their pages stay shared with the child.
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
        """Wait for the child and return its exit code, which is negative for a signal.

        Raises `subprocess.TimeoutExpired` if it has not ended within the timeout.
        """
        until = inf if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            gone, status = os.waitpid(self.pid, os.WNOHANG)
            if gone:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > until:
                raise subprocess.TimeoutExpired("the zygote", until)
            else:
                time.sleep(POLL_INTERVAL)
        return self.returncode

    def kill(self) -> None:
        """Kill the child unless it is known to have ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
