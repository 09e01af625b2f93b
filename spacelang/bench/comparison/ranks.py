"""Ranks of optimizers with a tolerance, leaders over time, and bootstrap intervals over data sets or seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import inf, sqrt
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

Array: TypeAlias = npt.NDArray[np.float64]
TOLERANCE: Final = 0.001
"""Losses that differ by at most this share a rank (spacelang/optimizers/README.md, section "Comparisons")."""
ROUNDING: Final = 1e-12
"""The allowed rounding error of a difference of losses, so that 0.101 and 0.1 count as 0.001 apart."""


class RankingMethod(StrEnum):
    """A way to rank optimizers on a data set: by the mean loss over their runs, or each run among those of its seed."""

    MEAN_LOSSES = "mean_losses"  # Rank the mean loss of each optimizer over its runs, as in the papers
    RUNS = "runs"  # Rank each run among those with the same seed, and average the ranks of each optimizer

    def __str__(self) -> str:
        return f"ranks of {self.value.replace('_', ' ')}"


def rank_optimizers_by_data(losses: Array, ranking: RankingMethod, tolerance: float = TOLERANCE) -> Array:
    """Return ranks of shape (data, optimizers, times) from losses of shape (data, optimizers, seeds, times).

    As `ranking` says, the mean losses over the seeds are ranked, or the losses of each seed, whose ranks are averaged.
    Losses within the tolerance share a rank.
    """
    if ranking is RankingMethod.MEAN_LOSSES:
        return rank_losses(losses.mean(axis=2), 1, tolerance)
    found: Array = rank_losses(losses, 1, tolerance).mean(axis=2)
    return found


def rank_losses(losses: Array, axis: int = 0, tolerance: float = TOLERANCE) -> Array:
    """Return the ranks of losses along an axis, 1 for the smallest, as an array of the same shape.

    Losses within the tolerance share a rank. In ascending order, a group starts with the smallest loss that is in no
    group yet, and takes in all losses within the tolerance of that one. Comparing with the best of the group prevents a
    chain of small steps from becoming one group. Each member gets the average rank of its group.
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
    """Return, for every position along the first axis of ascending losses, the first position of its tied group."""
    first = np.zeros(ascending.shape, dtype=np.intp)
    best = ascending[0]
    for place in range(1, len(ascending)):
        begins = ascending[place] - best > tolerance + ROUNDING
        best = np.where(begins, ascending[place], best)
        first[place] = np.where(begins, place, first[place - 1])
    return first


@dataclass(frozen=True, slots=True)
class LeadInterval:
    """An interval in seconds with the optimizers that lead in it; no `leaders` before a score or within noise."""

    start: float
    end: float
    leaders: tuple[str, ...]


def leaders_by_column(values: Array, names: Sequence[str], tolerance: float) -> list[tuple[str, ...]]:
    """Return, for every column, the names of the rows whose value is within the tolerance of the smallest one."""
    near = values <= values.min(axis=0) + tolerance + ROUNDING
    return [tuple(name for name, is_near in zip(names, column, strict=True) if is_near) for column in near.T]


def lead_intervals(seconds: Array, ahead: Sequence[tuple[str, ...]]) -> tuple[LeadInterval, ...]:
    """Merge successive times with the same leaders into intervals.

    `ahead` has the leaders at each of the `seconds`, in the same order. Each interval starts where the one before ends.
    """
    starts = [place for place, names in enumerate(ahead) if place == 0 or names != ahead[place - 1]]
    places = zip(starts, [*starts[1:], len(seconds) - 1], strict=True)
    return tuple(LeadInterval(float(seconds[start]), float(seconds[end]), ahead[start]) for start, end in places)


LEVEL: Final = 0.95
"""The confidence level: the share of repeated comparisons whose interval would contain the true value."""
TAIL_PROBABILITY: Final = (1 - LEVEL) / 2  # The probability beyond either end of an interval
RESAMPLES: Final = 1000  # The number of bootstrap resamples
MIN_UNITS: Final = 3
"""The smallest number of data sets or seeds for intervals; fewer say almost nothing about the variation."""
TIMES_PER_BLOCK: Final = 16
"""The number of times that are ranked together; all times with all resamples would take much memory."""


class BootstrapUnit(StrEnum):
    """The unit that resamples are drawn from."""

    DATA = "data set"
    SEEDS = "seed"


@dataclass(frozen=True, slots=True)
class BootstrapScheme:
    """The bootstrap of the intervals: its `unit` is data sets or seeds, and `number` is how many of them there are."""

    unit: BootstrapUnit
    number: int

    @property
    def largest_undetected_share(self) -> float:
        """The largest share of data sets (or seeds) that may show an effect although none of this sample does."""
        return float(1 - TAIL_PROBABILITY ** (1 / self.number))


def choose_bootstrap(data: int, seeds: int) -> BootstrapScheme | None:
    """Return a bootstrap over data sets, or over seeds if there are fewer than `MIN_UNITS` data sets, else None."""
    if data >= MIN_UNITS:
        return BootstrapScheme(BootstrapUnit.DATA, data)
    return BootstrapScheme(BootstrapUnit.SEEDS, seeds) if seeds >= MIN_UNITS else None


@dataclass(frozen=True, slots=True, eq=False)
class IntervalEstimate:
    """Values with the bounds of their confidence intervals, arrays of the same shape.

    Bounds are NaN where there is no interval. Intervals are not corrected for multiple comparisons: about five of a
    hundred miss the true value.
    """

    value: Array
    low: Array
    high: Array

    @property
    def is_within_noise(self) -> npt.NDArray[np.bool_]:
        """True where an interval includes 0, or where there is no interval."""
        return np.asarray(~((self.low > ROUNDING) | (self.high < -ROUNDING)))


@dataclass(frozen=True, slots=True, eq=False)
class RankEstimates:
    """Average ranks, of shape (optimizers, times), and their pairwise differences, of shape (pairs, times).

    A difference is the rank of the first optimizer minus that of the second. Pairs are in the order of
    `itertools.combinations`.
    """

    ranks: IntervalEstimate
    differences: IntervalEstimate


def estimate_ranks(
    losses: Array, ranking: RankingMethod, tolerance: float, resampling: BootstrapScheme | None
) -> RankEstimates:
    """Return average ranks and their pairwise differences with intervals.

    `losses` has the shape (data, optimizers, seeds, times). Without a `resampling` all bounds are NaN.
    """
    value = rank_optimizers_by_data(losses, ranking, tolerance).mean(axis=0)
    first, second = np.array([*combinations(range(len(value)), 2)], dtype=np.intp).reshape(-1, 2).T
    if resampling is None:
        return RankEstimates(_without_interval(value), _without_interval(value[first] - value[second]))
    drawn = _resampled_ranks(losses, ranking, tolerance, resampling)
    most, number, share = len(value), resampling.number, resampling.largest_undetected_share
    differences = [
        # If two optimizers swap ranks, their difference changes by two ranks.
        bootstrap_estimate(
            value[one] - value[other], drawn[one] - drawn[other], number, 2 * share, (1 - most, most - 1)
        )
        for one, other in zip(first, second, strict=True)
    ]
    ranks = bootstrap_estimate(value, drawn, number, share, (1, most))
    return RankEstimates(ranks, _stack(differences, value.shape[1]))


def bootstrap_estimate(
    value: Array,
    resampled_values: Array,
    number: int,
    least_distance: float = 0.0,
    bounds: tuple[float, float] = (-inf, inf),
) -> IntervalEstimate:
    """Return values with bootstrap intervals, from the values in resamples along the last axis of `resampled_values`.

    Quantiles of few units are too narrow. So the distance of the bounds from the value is multiplied by the ratio that
    Student's t and an unbiased variance give for a mean of `number` units. It is at least `least_distance`: a few ranks
    are easily equal by chance, and then all resamples are equal, too. The intervals are clipped to `bounds`. The
    coverage of these intervals is measured by `tests/benchmarks/rank_intervals.py`.
    """
    wider = sqrt(number / (number - 1)) * stdtrit(number - 1, 1 - TAIL_PROBABILITY) / ndtri(1 - TAIL_PROBABILITY)
    low, high = np.quantile(resampled_values, (TAIL_PROBABILITY, 1 - TAIL_PROBABILITY), axis=-1)
    low = value + np.minimum(wider * (low - value), -least_distance)
    high = value + np.maximum(wider * (high - value), least_distance)
    return IntervalEstimate(value, np.maximum(low, bounds[0]), np.minimum(high, bounds[1]))


def bootstrap_mean(values: Array, bounds: tuple[float, float] = (-inf, inf)) -> IntervalEstimate:
    """Return means over the last axis, with bootstrap intervals, or without if there are fewer than `MIN_UNITS`."""
    mean, number = values.mean(axis=-1), values.shape[-1]
    if number < MIN_UNITS:
        return _without_interval(mean)
    return bootstrap_estimate(
        mean, np.tensordot(values, resample_counts(number), (-1, 0)) / number, number, bounds=bounds
    )


def mean_over_seeds(losses: Array) -> IntervalEstimate:
    """Return means over the last axis, with intervals over seeds, or without if there are too few seeds."""
    # The losses of most metrics are at least 0, so an interval extends below 0 only if a loss is negative.
    return bootstrap_mean(losses, (0.0 if losses.min() >= 0 else -inf, inf))


def _resampled_ranks(losses: Array, ranking: RankingMethod, tolerance: float, resampling: BootstrapScheme) -> Array:
    """Return average ranks in every resample, of shape (optimizers, times, resamples)."""
    number = resampling.number
    counts = resample_counts(number)
    match resampling.unit:
        case BootstrapUnit.DATA:
            return np.tensordot(rank_optimizers_by_data(losses, ranking, tolerance), counts, (0, 0)) / number
        case BootstrapUnit.SEEDS if ranking is RankingMethod.RUNS:
            return np.tensordot(rank_losses(losses, 1, tolerance).mean(axis=0), counts, (1, 0)) / number
        case BootstrapUnit.SEEDS:
            starts = range(0, losses.shape[-1], TIMES_PER_BLOCK)
            blocks = (losses[..., start : start + TIMES_PER_BLOCK] for start in starts)
            means = (np.tensordot(block, counts, (2, 0)) / number for block in blocks)
            return np.concatenate([rank_losses(block, 1, tolerance).mean(axis=0) for block in means], axis=1)


def resample_counts(number: int) -> Array:
    """Return how often each unit occurs in each resample, shape (number, resamples), from a fixed random seed."""
    counts = np.random.default_rng(0).multinomial(number, [1 / number] * number, size=RESAMPLES)
    return counts.T.astype(float)


def _without_interval(value: Array) -> IntervalEstimate:
    nowhere = np.full_like(value, np.nan)
    return IntervalEstimate(value, nowhere, nowhere)


def _stack(estimates: Sequence[IntervalEstimate], times: int) -> IntervalEstimate:
    parts = ([getattr(each, name) for each in estimates] for name in IntervalEstimate.__slots__)
    return IntervalEstimate(*(np.array(part).reshape(-1, times) for part in parts))
