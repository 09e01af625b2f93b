"""What is asked of the kernel so that no process is left behind: Linux answers all of it, others what they know.

Where a request is not known or not allowed it is skipped: what depends on it works less well, and says so here.
"""

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

FIRST_TO_GO: Final = 500
"""The `oom_score_adj` of workers: half of the machine's memory more than they take."""

FILES: Final = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"

SETTINGS: Final = ("Umask:", "SigBlk:", "SigIgn:", "SigCgt:", "Cpus_allowed:")

FUTEX: Final = {"x86_64": "202", "aarch64": "98"}
"""The number of the system call in which a thread waits for another one, by the machine."""

FOREVER: Final = 4
"""Where among that call and its arguments the time limit stands: without one it is 0."""

NOTED: Final = 1.0
"""For how many seconds a number of kills is taken for the present one."""


def adopt_orphans() -> None:
    """Become the parent of all processes below this one whose own parent ends; else the system's first process does.

    It holds for this process alone, not for those that it forks.
    """
    _control(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Have this process killed as soon as the thread that forked it ends; the caller looks whether it has already."""
    _control(PR_SET_PDEATHSIG, signal.SIGKILL)


def go_first() -> None:
    """Have this process killed before others when memory runs out, its children as well."""
    score = Path("/proc/self/oom_score_adj")
    with suppress(OSError, ValueError):
        if int(score.read_text()) < FIRST_TO_GO:
            score.write_text(f"{FIRST_TO_GO}\n")


def leave_no_core() -> None:
    """Write no memory image when this process crashes: that of a large one takes longer than a trial's last second."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    # A limit of one byte also keeps images from a program that collects them, which 0 does not.
    least = 1 if most == resource.RLIM_INFINITY else min(1, most)
    resource.setrlimit(resource.RLIMIT_CORE, (least, most))


class MemoryKills:
    """How often the kernel has ended a process because memory ran out; it says so on Linux only."""

    def __init__(self) -> None:
        self._noted = -inf
        self._before = 0
        self.note()

    def note(self) -> None:
        """Take the present number for what it was before, unless that was done a moment ago: reading it costs time."""
        now = time.monotonic()
        if now >= self._noted + NOTED:
            self._noted, self._before = now, _memory_kills()

    def are_more(self) -> bool:
        """Whether there are more than there were when it was noted."""
        before, self._before = self._before, _memory_kills()
        return self._before > before


def _memory_kills() -> int:
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            name, _, number = line.partition(" ")
            if name == "oom_kill":
                return int(number)
    return 0


def give_back_memory() -> None:
    """Return what was freed to the system, where the C library can."""
    trim = getattr(_c_library(), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _control(option: int, value: int) -> None:
    if sys.platform == "linux":
        _c_library().prctl(option, value, 0, 0, 0)


@cache
def _c_library() -> Any:
    return ctypes.CDLL(None)


def open_files() -> dict[str, tuple[int, int]]:
    """The open files of this process, by their descriptors: the device, and the number that the file has there."""
    found = {}
    for name in [entry.name for entry in os.scandir(FILES)]:
        # The one for the folder itself is closed by now.
        with suppress(OSError):
            status = os.fstat(int(name))
            found[name] = status.st_dev, status.st_ino
    return found


def settings() -> list[str]:
    """What the kernel keeps for this process of its umask, its signals and its cores."""
    with suppress(OSError):
        return [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(SETTINGS)]
    return []


def threads() -> frozenset[str]:
    """The numbers of all threads of this process, also of those that Python knows nothing of."""
    with suppress(OSError):
        return frozenset(entry.name for entry in os.scandir("/proc/self/task"))
    return frozenset(map(str, sys._current_frames()))


def waits_for_work(thread: str) -> bool:
    """Whether a thread of this process sleeps until another one wakes it, as those of a pool without work do."""
    with suppress(OSError):
        call = Path(f"/proc/self/task/{thread}/syscall").read_text().split()
        return len(call) > FOREVER and call[0] == FUTEX.get(platform.machine()) and call[FOREVER] == "0x0"
    return False


def wants_a_core(thread: str) -> bool:
    """Whether a thread of this process computes, or would if it had a core."""
    with suppress(OSError):
        state = Path(f"/proc/self/task/{thread}/stat").read_text().rpartition(")")[2].split()
        return state[0] == "R"
    return False
