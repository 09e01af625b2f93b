"""Process trees: measure their memory, kill them until no process is left, and reap what a killed zygote leaves."""

import os
import signal
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Final, NoReturn

import psutil

from spacelang.runtime.executors._processes import operating_system

KILL_TIMEOUT: Final = 1.0
"""The maximum wait for killed processes to end, in seconds. A process that hangs in the kernel may take longer."""
SEARCH_TIME_DIVISOR: Final = 20
"""The search for new processes takes at most 1 / (`SEARCH_TIME_DIVISOR` + 1) of the time."""


def kill_tree(process: psutil.Process) -> None:
    """Kill a process and its descendants; the caller must kill orphaned ones that it adopts meanwhile."""
    with suppress(psutil.NoSuchProcess):
        # Kill the parent first, so that it cannot restart its children.
        for member in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                member.kill()


def reap_and_check_for_children() -> bool:
    """Return True if this process has a running child; reap those that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return False
    return True


def kill_children(spared: Collection[int] = ()) -> None:
    """Kill all children except those in `spared`, and the orphans that they leave, within `KILL_TIMEOUT` seconds.

    This process must adopt orphans (`adopt_orphans`).
    """
    until = time.monotonic() + KILL_TIMEOUT
    while time.monotonic() < until:
        doomed = [child for child in psutil.Process().children() if child.pid not in spared]
        if not doomed:
            return
        for child in doomed:
            kill_tree(child)
        for child in doomed:
            _reap(child.pid, until)


def _reap(pid: int, until: float) -> None:
    """Wait for a killed child, which otherwise remains as a zombie."""
    with suppress(ChildProcessError):
        while os.waitpid(pid, os.WNOHANG) == (0, 0) and time.monotonic() < until:
            time.sleep(0.001)


def kill_processes_with_environment_variable(name: str, value: str) -> None:
    """Kill all processes that were started with this environment variable, and wait until they are gone."""
    until = time.monotonic() + KILL_TIMEOUT
    while time.monotonic() < until:
        doomed = [each for each in psutil.process_iter() if is_alive_with_environment_variable(each, name, value)]
        if not doomed:
            return
        for process in doomed:
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                process.kill()
        psutil.wait_procs(doomed, timeout=0.1)


def is_alive_with_environment_variable(process: psutil.Process, name: str, value: str) -> bool:
    """Return True if a process is alive and was started with this environment variable."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE and process.environ().get(name) == value)
    except (psutil.Error, OSError):
        return False


def resident_bytes(process: psutil.Process) -> int:
    """Return the resident memory of a process in bytes, 0 if it has ended."""
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def memory_lower_bound(root: psutil.Process, below: Iterable[psutil.Process]) -> int:
    """Return a lower bound of the memory of a process and its descendants, in bytes.

    Resident memory counts pages shared after a fork several times. The bound is the larger one of two figures: that of
    the root plus what each descendant shares with nobody, and the sum of the proportional shares of all.
    """
    own, shares = resident_bytes(root), 0
    for process in (root, *below):
        with suppress(psutil.Error):
            full = process.memory_full_info()
            own += 0 if process is root else full.uss
            shares += getattr(full, "pss", 0)
    return max(own, shares)


class ProcessTrees:
    """A cache of the descendants of each child of this process, which are looked up together and not too often."""

    def __init__(self) -> None:
        self._descendants: dict[int, list[psutil.Process]] = {}
        self._next_refresh = 0.0

    def measure_memory(self, root: psutil.Process, limit: float) -> int:
        """Return the memory of a child and its descendants, in bytes.

        Above the limit it is exactly `memory_lower_bound`; below it may be too high, because pages shared after a fork
        count several times.
        """
        below = self._descendants.get(root.pid, ())
        total = resident_bytes(root) + sum(map(resident_bytes, below))
        return memory_lower_bound(root, below) if below and total > limit else total

    def refresh(self) -> None:
        """Look up the descendants again, unless the last look-up was a moment ago."""
        started = time.monotonic()
        if started < self._next_refresh:
            return
        self._descendants = {}
        roots: dict[int, int] = {}
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                # Parents are listed before their children. An unknown parent is this process.
                parent = process.ppid()
                root = roots.get(parent)
                roots[process.pid] = process.pid if root is None else root
                if root is not None:
                    self._descendants.setdefault(root, []).append(process)
        ended = time.monotonic()
        self._next_refresh = ended + SEARCH_TIME_DIVISOR * (ended - started)


STANDARD_ERROR: Final = 2  # The descriptor of the standard error, the last one of the standard streams


def fork_zygote() -> None:
    """Fork the zygote, in which this function returns; this process becomes its reaper, and exits as the zygote does.

    The kernel makes the reaper the parent of each process whose parents have ended, also of one that has left its
    session and cleared its environment. A trial that kills the zygote, its parent, therefore leaves no process behind.
    The caller must have only one thread.
    """
    operating_system.adopt_orphans()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    zygote = os.fork()
    if zygote != 0:
        try:
            _reap_until_end_of(zygote)
        finally:
            os._exit(1)


def _reap_until_end_of(zygote: int) -> NoReturn:
    # The data of the zygote is freed, and its connections are closed, when it ends, not when this process does.
    for descriptor in map(int, operating_system.inodes_by_descriptor()):
        if descriptor > STANDARD_ERROR:
            os.close(descriptor)
    while True:
        ended, status = os.wait()
        if ended == zygote:
            break
    kill_children()
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        operating_system.disable_core_dumps()
        with suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
