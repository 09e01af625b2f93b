"""Ranks with a tolerance, of two kinds, and who is ahead when."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from spacelang.bench.comparison.curves import Array

TOLERANCE: Final = 0.001
"""Losses that are no farther apart share a rank (spacelang/optimizers/README.md, section "Comparisons")."""

ROUNDING: Final = 1e-12
"""What the difference of two losses may be off by: 0.101 and 0.1 are no farther apart than 0.001."""


class Ranking(StrEnum):
    """What is ranked on a data set; one run that goes badly can turn the order of one kind round, and not the other."""

    MEAN_LOSSES = "mean_losses"
    """The mean loss of an optimizer over its runs, as in the papers."""
    RUNS = "runs"
    """Each run among those with the same seed; the ranks of an optimizer's runs are averaged."""

    def __str__(self) -> str:
        return f"ranks of {self.value.replace('_', ' ')}"


def ranks_by_data(losses: Array, ranking: Ranking, tolerance: float = TOLERANCE) -> Array:
    """The ranks on each data set, data x optimizers x times, of losses by data, optimizer, seed and time."""
    match ranking:
        case Ranking.MEAN_LOSSES:
            return ranks(losses.mean(axis=2), 1, tolerance)
        case Ranking.RUNS:
            found: Array = ranks(losses, 1, tolerance).mean(axis=2)
            return found


def ranks(losses: Array, axis: int = 0, tolerance: float = TOLERANCE) -> Array:
    """The ranks, from 1 for the smallest, of losses along an axis; an array of the same shape.

    In ascending order a group begins with the smallest loss that belongs to none, and has all that are within the
    tolerance of it: compared with the best of the group, so that no chain of small steps makes a large one. A group
    shares the average of its places. The average of all ranks is (n + 1) / 2.
    """
    columns = np.moveaxis(losses, axis, 0)
    order = np.argsort(columns, axis=0, kind="stable")
    first = _first_of_group(np.take_along_axis(columns, order, axis=0), tolerance)
    # A group has the places from its first one to the one before the next group.
    places = np.arange(len(columns), dtype=float).reshape(-1, *[1] * (columns.ndim - 1))
    size = np.sum(first[:, None] == first[None, :], axis=1)
    shared = np.take_along_axis(np.broadcast_to(places, columns.shape), first, axis=0) + (size + 1) / 2
    found = np.empty_like(shared)
    np.put_along_axis(found, order, shared, axis=0)
    return np.moveaxis(found, 0, axis)


def _first_of_group(ascending: Array, tolerance: float) -> npt.NDArray[np.intp]:
    """For every place along the first axis, that of the best of its group."""
    first = np.zeros(ascending.shape, dtype=np.intp)
    best = ascending[0]
    for place in range(1, len(ascending)):
        begins = ascending[place] - best > tolerance + ROUNDING
        best = np.where(begins, ascending[place], best)
        first[place] = np.where(begins, place, first[place - 1])
    return first


@dataclass(frozen=True, slots=True)
class Lead:
    """From `start` to `end`, in seconds, these were ahead; nobody is where nobody has a score."""

    start: float
    end: float
    ahead: tuple[str, ...]


def ahead_by(values: Array, names: Sequence[str], tolerance: float) -> list[tuple[str, ...]]:
    """For every column, the names of the rows whose value is within the tolerance of the smallest one."""
    near = values <= values.min(axis=0) + tolerance + ROUNDING
    return [tuple(name for name, is_near in zip(names, column, strict=True) if is_near) for column in near.T]


def intervals(seconds: Array, ahead: Sequence[tuple[str, ...]]) -> tuple[Lead, ...]:
    """The longest intervals in which the same were ahead; each begins where the one before ends."""
    starts = [place for place, names in enumerate(ahead) if place == 0 or names != ahead[place - 1]]
    ends = [*starts[1:], len(seconds) - 1]
    return tuple(
        Lead(float(seconds[start]), float(seconds[end]), ahead[start]) for start, end in zip(starts, ends, strict=True)
    )
