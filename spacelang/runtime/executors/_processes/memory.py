"""Measure the memory of process trees."""

import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import psutil

SEARCH_TIME_DIVISOR: Final = 20
"""The search for new processes takes at most 1 / (`SEARCH_TIME_DIVISOR` + 1) of the time."""


def resident_bytes(process: psutil.Process) -> int:
    """Return the resident memory of a process in bytes, 0 if it has ended."""
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def memory_lower_bound(root: psutil.Process, below: Iterable[psutil.Process]) -> int:
    """Return a lower bound of the memory of a process and its descendants, in bytes.

    The sum of the resident memory counts pages that are shared after a fork several times. The bound is the larger one
    of two figures. One is the resident memory of the root plus the memory that each descendant shares with nobody. The
    other is the sum of the proportional shares of all.
    """
    own, shares = resident_bytes(root), 0
    for process in (root, *below):
        with suppress(psutil.Error):
            full = process.memory_full_info()
            own += 0 if process is root else full.uss
            shares += getattr(full, "pss", 0)
    return max(own, shares)


class ProcessTrees:
    """The descendants of each child of this process.

    They are looked up for all children together, and only as often as is cheap.
    """

    def __init__(self) -> None:
        self._descendants: dict[int, list[psutil.Process]] = {}
        self._next_refresh = 0.0

    def measure(self, root: psutil.Process, limit: float) -> int:
        """Return the memory of a child and its descendants, in bytes.

        Below the limit it may be too large, because shared pages count several times; above the limit it is
        `memory_lower_bound`.
        """
        below = self._descendants.get(root.pid, ())
        total = resident_bytes(root) + sum(map(resident_bytes, below))
        return memory_lower_bound(root, below) if below and total > limit else total

    def refresh(self) -> None:
        """Look up all descendants, unless that was done a moment ago."""
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
