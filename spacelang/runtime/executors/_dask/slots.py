"""Slots: the concurrent trials of a run, and the dask worker that each one prefers."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(slots=True)
class Slot:
    """A slot for one of the concurrent trials."""

    name: str
    home_worker: str
    """The name of the dask worker that the slot was named after; empty if there were too few workers."""
    last_address: str
    """The address of the dask worker that evaluated its last job."""


def make_slots(names: Mapping[str, str], threads: Mapping[str, int], workers: int) -> tuple[Slot, ...]:
    """Return as many slots as there are concurrent trials.

    Each dask worker gets one slot first, then each with at least two threads a second one, and so on. Slots beyond the
    threads of the cluster have no worker.

    Parameters
    ----------
    names
        The names of the dask workers by address.
    threads
        The number of threads of each dask worker by address.
    workers
        The number of slots.
    """
    ranked = sorted((number, name, place) for place, name in names.items() for number in range(1, threads[place] + 1))
    slots = [Slot(name if number == 1 else f"{name} ({number})", name, place) for number, name, place in ranked]
    further = [Slot(f"slot {number}", "", "") for number in range(len(slots) + 1, workers + 1)]
    return (*slots[:workers], *further)
