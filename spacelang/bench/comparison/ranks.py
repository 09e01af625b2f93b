"""Ranks with a tolerance, of mean losses or of single runs, and who is ahead when."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from spacelang.bench.comparison.curves import Array

TOLERANCE: Final = 0.001
"""Losses that differ by at most this share a rank (spacelang/optimizers/README.md, section "Comparisons")."""

ROUNDING: Final = 1e-12
"""The allowed rounding error of a difference of losses, so that 0.101 and 0.1 count as 0.001 apart."""


class Ranking(StrEnum):
    """The two ways to rank optimizers on a data set.

    A single bad run can change the order of one and not of the other.
    """

    MEAN_LOSSES = "mean_losses"
    """Rank the mean loss of each optimizer over its runs, as in the papers."""
    RUNS = "runs"
    """Rank each run among those with the same seed, and average the ranks of each optimizer."""

    def __str__(self) -> str:
        return f"ranks of {self.value.replace('_', ' ')}"


def ranks_by_data(losses: Array, ranking: Ranking, tolerance: float = TOLERANCE) -> Array:
    """Return the ranks on each data set, of shape (data, optimizers, times).

    `losses` has the axes data, optimizer, seed, time.
    """
    match ranking:
        case Ranking.MEAN_LOSSES:
            return ranks(losses.mean(axis=2), 1, tolerance)
        case Ranking.RUNS:
            found: Array = ranks(losses, 1, tolerance).mean(axis=2)
            return found


def ranks(losses: Array, axis: int = 0, tolerance: float = TOLERANCE) -> Array:
    """Return the ranks of losses along an axis, 1 for the smallest, as an array of the same shape.

    Losses within the tolerance share a rank. In ascending order, a group starts with the smallest loss that is in no
    group yet, and takes in all losses within the tolerance of that one. Comparing with the best of the group prevents a
    chain of small steps from becoming one group. Each member gets the average rank of its group, so the average of all
    ranks is (n + 1) / 2.
    """
    columns = np.moveaxis(losses, axis, 0)
    order = np.argsort(columns, axis=0, kind="stable")
    first = _first_of_group(np.take_along_axis(columns, order, axis=0), tolerance)
    # A group covers the positions from its first member up to the next group.
    places = np.arange(len(columns), dtype=float).reshape(-1, *[1] * (columns.ndim - 1))
    size = np.sum(first[:, None] == first[None, :], axis=1)
    shared = np.take_along_axis(np.broadcast_to(places, columns.shape), first, axis=0) + (size + 1) / 2
    found = np.empty_like(shared)
    np.put_along_axis(found, order, shared, axis=0)
    return np.moveaxis(found, 0, axis)


def _first_of_group(ascending: Array, tolerance: float) -> npt.NDArray[np.intp]:
    """Return, for every position along the first axis, the position of the best of its group."""
    first = np.zeros(ascending.shape, dtype=np.intp)
    best = ascending[0]
    for place in range(1, len(ascending)):
        begins = ascending[place] - best > tolerance + ROUNDING
        best = np.where(begins, ascending[place], best)
        first[place] = np.where(begins, place, first[place - 1])
    return first


@dataclass(frozen=True, slots=True)
class LeadInterval:
    """An interval, from `start` to `end` in seconds, in which the optimizers in `leaders` led.

    `leaders` is empty where no optimizer has a score, or where a difference is within noise.
    """

    start: float
    end: float
    leaders: tuple[str, ...]


def leaders_by_column(values: Array, names: Sequence[str], tolerance: float) -> list[tuple[str, ...]]:
    """Return, for every column, the names of the rows whose value is within the tolerance of the smallest one."""
    near = values <= values.min(axis=0) + tolerance + ROUNDING
    return [tuple(name for name, is_near in zip(names, column, strict=True) if is_near) for column in near.T]


def lead_intervals(seconds: Array, ahead: Sequence[tuple[str, ...]]) -> tuple[LeadInterval, ...]:
    """Return the longest intervals with the same leaders; each starts where the one before ends."""
    starts = [place for place, names in enumerate(ahead) if place == 0 or names != ahead[place - 1]]
    ends = [*starts[1:], len(seconds) - 1]
    return tuple(
        LeadInterval(float(seconds[start]), float(seconds[end]), ahead[start])
        for start, end in zip(starts, ends, strict=True)
    )
