"""Features of the kernel (all on Linux, some elsewhere) that keep processes under control; missing ones are skipped."""

import ctypes
import os
import platform
import resource
import signal
import sys
import time
from contextlib import suppress
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, Final

PR_SET_PDEATHSIG: Final = 1
PR_SET_CHILD_SUBREAPER: Final = 36
OOM_SCORE: Final = 500  # The `oom_score_adj` of workers: as if each took half of the memory of the machine in addition
DESCRIPTOR_FOLDER: Final = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
STATUS_FIELDS: Final = ("Umask:", "SigBlk:", "SigIgn:", "SigCgt:", "Cpus_allowed:")
FUTEX_CALLS: Final = {"x86_64": "202", "aarch64": "98"}
"""The number of the `futex` system call, in which a thread waits for another one, by machine."""
TIMEOUT_INDEX: Final = 4
"""The index of the time limit among the number and the arguments of that call; it is 0 without a limit."""
COUNT_LIFETIME: Final = 1.0  # The time for which a recorded number of kills counts as current, in seconds


def adopt_orphans() -> None:
    """Adopt all descendants whose parent ends, on Linux. This holds for this process only, not for its forks."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Have the kernel kill this process, on Linux, when the thread that forked it ends.

    The parent may have ended before this call, so callers must compare `os.getppid()` afterwards.
    """
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def prefer_oom_kill() -> None:
    """Have the kernel kill this process and its children before others if memory runs out."""
    score = Path("/proc/self/oom_score_adj")
    with suppress(OSError, ValueError):
        if int(score.read_text()) < OOM_SCORE:
            score.write_text(f"{OOM_SCORE}\n")


def disable_core_dumps() -> None:
    """Disable core dumps: writing that of a large process takes too long."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    # With a limit of one byte a program that collects core dumps gets none either; with 0 it would.
    least = 1 if most == resource.RLIM_INFINITY else min(1, most)
    resource.setrlimit(resource.RLIMIT_CORE, (least, most))


class OomKillCounter:
    """A counter of the processes that the kernel has killed because memory ran out; always 0 outside of Linux."""

    def __init__(self) -> None:
        self._recorded_at = -inf
        self._previous_count = 0
        self.record()

    def record(self) -> None:
        """Record the current count as the previous one, unless that was done a moment ago, as reading it takes time."""
        now = time.monotonic()
        if now >= self._recorded_at + COUNT_LIFETIME:
            self._recorded_at, self._previous_count = now, _oom_kill_count()

    def has_increased(self) -> bool:
        """Return True if the count has increased since the last call or `record`."""
        before, self._previous_count = self._previous_count, _oom_kill_count()
        return self._previous_count > before


def _oom_kill_count() -> int:
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            name, _, number = line.partition(" ")
            if name == "oom_kill":
                return int(number)
    return 0


def trim_memory() -> None:
    """Return freed memory to the system, if the C library supports that."""
    trim = getattr(_c_library(), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        _c_library().prctl(option, value, 0, 0, 0)


@cache
def _c_library() -> Any:
    return ctypes.CDLL(None)


def inodes_by_descriptor() -> dict[str, tuple[int, int]]:
    """Return the device and the inode of each open file of this process, by descriptor."""
    found = {}
    for name in [entry.name for entry in os.scandir(DESCRIPTOR_FOLDER)]:
        # The descriptor of the folder itself is closed by now.
        with suppress(OSError):
            status = os.fstat(int(name))
            found[name] = status.st_dev, status.st_ino
    return found


def max_open_files() -> float:
    """Return how many files this process may have open, infinite if unlimited."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return inf if limit == resource.RLIM_INFINITY else limit


def umask_signal_and_core_settings() -> list[str]:
    """Return the lines of `/proc/self/status` on the umask, the signals and the cores that this process may use."""
    with suppress(OSError):
        return [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(STATUS_FIELDS)]
    return []


def thread_ids() -> frozenset[str]:
    """Return the identifiers of all threads of this process, also of those not started by Python."""
    with suppress(OSError):
        return frozenset(entry.name for entry in os.scandir("/proc/self/task"))
    return frozenset(map(str, sys._current_frames()))


def is_idle_thread(thread: str) -> bool:
    """Return True if a thread of this process sleeps until another one wakes it, as in an idle thread pool."""
    with suppress(OSError):
        call = Path(f"/proc/self/task/{thread}/syscall").read_text().split()
        is_futex = len(call) > TIMEOUT_INDEX and call[0] == FUTEX_CALLS.get(platform.machine())
        return is_futex and call[TIMEOUT_INDEX] == "0x0"
    return False


def is_runnable_thread(thread: str) -> bool:
    """Return True if a thread of this process is running or ready to run."""
    with suppress(OSError):
        state = Path(f"/proc/self/task/{thread}/stat").read_text().rpartition(")")[2].split()
        return state[0] == "R"
    return False
