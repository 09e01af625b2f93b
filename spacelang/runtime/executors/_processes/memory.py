"""How much memory processes take, those below them included."""

import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import psutil

SHARE: Final = 20
"""The search for new processes may take one part in so many of the time."""


def resident(process: psutil.Process) -> int:
    """The bytes of a process that are in memory; 0 where it has ended."""
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def certain(root: psutil.Process, below: Iterable[psutil.Process]) -> int:
    """The most bytes that a process and those below it take for certain.

    The sum of what is resident counts pages more than once that a fork has left to share. These do not: all that the
    first process has, and what each of the others has for itself; or the proportional share of every one.
    """
    own, shares = resident(root), 0
    for process in (root, *below):
        with suppress(psutil.Error):
            full = process.memory_full_info()
            own += 0 if process is root else full.uss
            shares += getattr(full, "pss", 0)
    return max(own, shares)


class ProcessTrees:
    """The processes below the children of this process, looked up together and no more often than is cheap."""

    def __init__(self) -> None:
        self._below: dict[int, list[psutil.Process]] = {}
        self._next = 0.0

    def taken(self, root: psutil.Process, limit: float) -> int:
        """The bytes that a child and all below it take; where they keep to the limit, it may be too large a figure."""
        below = self._below.get(root.pid, ())
        total = resident(root) + sum(map(resident, below))
        return certain(root, below) if below and total > limit else total

    def look(self) -> None:
        """Find the processes that there are, unless it was done a moment ago."""
        started = time.monotonic()
        if started < self._next:
            return
        self._below = {}
        roots: dict[int, int] = {}
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                # Parents come before their children: one that is not known is a child of this process.
                parent = process.ppid()
                root = roots.get(parent)
                roots[process.pid] = process.pid if root is None else root
                if root is not None:
                    self._below.setdefault(root, []).append(process)
        ended = time.monotonic()
        self._next = ended + SHARE * (ended - started)
