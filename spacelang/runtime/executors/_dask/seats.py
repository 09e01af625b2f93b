"""Seats: the trials in flight, and where each of them is at home in a cluster."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(slots=True)
class Seat:
    """One of the trials in flight."""

    name: str
    home: str
    """The name of the dask worker that it has its own from; empty if there was none for it."""
    place: str
    """The address of the dask worker where its last job was done."""


def make_seats(names: Mapping[str, str], threads: Mapping[str, int], workers: int) -> tuple[Seat, ...]:
    """As many seats as there are trials in flight: one at each dask worker, a second at each that has two threads..."""
    ranked = sorted((number, name, place) for place, name in names.items() for number in range(1, threads[place] + 1))
    seats = [Seat(name if number == 1 else f"{name} ({number})", name, place) for number, name, place in ranked]
    further = [Seat(f"seat {number}", "", "") for number in range(len(seats) + 1, workers + 1)]
    return (*seats[:workers], *further)
