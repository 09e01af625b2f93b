"""Kill process trees: a process and all its descendants, until none is left."""

import os
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Final

import psutil

KILL_TIMEOUT: Final = 1.0
"""The maximum wait for killed processes to end, in seconds. A process that hangs in the kernel may take longer."""


def kill_tree(process: psutil.Process) -> None:
    """Kill a process and all its descendants.

    Processes that are orphaned meanwhile must be killed by the process that adopts them.
    """
    with suppress(psutil.NoSuchProcess):
        # Kill the parent first, so that it cannot restart its children.
        for member in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                member.kill()


def has_children() -> bool:
    """Return True if this process has a running child; reap those that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return False
    return True


def kill_children(spared: Collection[int] = ()) -> None:
    """Kill all children of this process but those in `spared`, with their descendants, and wait until they are gone.

    When a child dies, this process adopts its children (`kernel.adopt_orphans`). So this takes one round for each level
    of the tree. It gives up after `KILL_TIMEOUT` seconds.
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
        doomed = [
            process for process in psutil.process_iter() if is_alive_with_environment_variable(process, name, value)
        ]
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
