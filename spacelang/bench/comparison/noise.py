"""What of a rank may be chance: 95 % intervals by bootstrap over data sets or, where these are too few, seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import inf, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from spacelang.bench.comparison.curves import Array
from spacelang.bench.comparison.ranks import ROUNDING, Ranking, ranks, ranks_by_data

LEVEL: Final = 0.95
"""What an interval is to have in it, it has in so many of all comparisons that might have been made instead."""

TAIL: Final = (1 - LEVEL) / 2
"""What is beyond either end of it."""

RESAMPLES: Final = 1000
"""So many comparisons are drawn, with replacement, from the one that was made."""

FEWEST: Final = 3
"""Fewer data sets or seeds say next to nothing of how much others differ from them."""

BLOCK: Final = 16
"""So many times are ranked together: all of them with all resamples would take much memory."""


class ResamplingUnit(StrEnum):
    """From what resamples are drawn."""

    DATA = "data set"
    SEEDS = "seed"


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are made: resamples of `number` data sets or seeds."""

    drawn: ResamplingUnit
    number: int

    @property
    def unseen(self) -> float:
        """On what share of all others something may be so that is so on none of these."""
        return float(1 - TAIL ** (1 / self.number))


def resampling(data: int, seeds: int) -> Resampling | None:
    """Over data sets; over seeds, which tell nothing of other data, where there are too few; None: of both."""
    if data >= FEWEST:
        return Resampling(ResamplingUnit.DATA, data)
    return Resampling(ResamplingUnit.SEEDS, seeds) if seeds >= FEWEST else None


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Figures with the bounds of their intervals, in arrays of one shape; bounds are NaN where there are none.

    Each interval is by itself: of a hundred figures about five are beyond theirs.
    """

    value: Array
    low: Array
    high: Array

    @property
    def within_noise(self) -> npt.NDArray[np.bool_]:
        """Whether a difference may be one of the other sign or none; without an interval it always may."""
        beyond = (self.low > ROUNDING) | (self.high < -ROUNDING)
        return np.asarray(~beyond)


@dataclass(frozen=True, slots=True, eq=False)
class RankEstimates:
    """Average ranks, optimizers x times, and by how much those of one are above those of another, pairs x times.

    The pairs are those of `itertools.combinations`.
    """

    ranks: Estimate
    differences: Estimate


def ranked(losses: Array, ranking: Ranking, tolerance: float, resampling: Resampling | None) -> RankEstimates:
    """The average ranks of losses by data, optimizer, seed and time."""
    value = ranks_by_data(losses, ranking, tolerance).mean(axis=0)
    first, second = np.array([*combinations(range(len(value)), 2)], dtype=np.intp).reshape(-1, 2).T
    if resampling is None:
        return RankEstimates(_unbounded(value), _unbounded(value[first] - value[second]))
    drawn = _drawn(losses, ranking, tolerance, resampling)
    most, grain = len(value), resampling.unseen
    differences = [
        # Two that change places change their difference by twice a rank.
        estimate(
            value[one] - value[other], drawn[one] - drawn[other], resampling.number, 2 * grain, (1 - most, most - 1)
        )
        for one, other in zip(first, second, strict=True)
    ]
    ranks = estimate(value, drawn, resampling.number, grain, (1, most))
    return RankEstimates(ranks, _stacked(differences, value.shape[1]))


def estimate(
    value: Array, drawn: Array, number: int, margin: float = 0.0, bounds: tuple[float, float] = (-inf, inf)
) -> Estimate:
    """Figures with their intervals, of what they are in resamples of so many, along the last axis of `drawn`.

    Resamples are too much like each other: intervals are wider than their quantiles by as much as Student's t and an
    unbiased variance make those of a mean. Ranks are whole numbers, of which a few are easily all the same as if they
    were never different: their intervals are wider by a margin, too, and end where ranks do.
    """
    wider = sqrt(number / (number - 1)) * stdtrit(number - 1, 1 - TAIL) / ndtri(1 - TAIL)
    low, high = np.quantile(drawn, (TAIL, 1 - TAIL), axis=-1)
    low = value + wider * np.minimum(low - value, 0) - margin
    high = value + wider * np.maximum(high - value, 0) + margin
    return Estimate(value, np.maximum(low, bounds[0]), np.minimum(high, bounds[1]))


def mean_over_seeds(losses: Array) -> Estimate:
    """Means over the last axis, with their intervals over seeds; without these where there are too few."""
    mean, seeds = losses.mean(axis=-1), losses.shape[-1]
    if seeds < FEWEST:
        return _unbounded(mean)
    # Losses of nearly all metrics end at 0: an interval goes on below it only where a loss does.
    bounds = (0.0 if losses.min() >= 0 else -inf, inf)
    return estimate(mean, np.tensordot(losses, _counts(seeds), (-1, 0)) / seeds, seeds, bounds=bounds)


def _drawn(losses: Array, ranking: Ranking, tolerance: float, resampling: Resampling) -> Array:
    """Average ranks in every resample: optimizers x times x resamples."""
    number = resampling.number
    counts = _counts(number)
    match resampling.drawn:
        case ResamplingUnit.DATA:
            return np.tensordot(ranks_by_data(losses, ranking, tolerance), counts, (0, 0)) / number
        case ResamplingUnit.SEEDS if ranking is Ranking.RUNS:
            return np.tensordot(ranks(losses, 1, tolerance).mean(axis=0), counts, (1, 0)) / number
        case ResamplingUnit.SEEDS:
            blocks = [losses[..., start : start + BLOCK] for start in range(0, losses.shape[-1], BLOCK)]
            means = (np.tensordot(block, counts, (2, 0)) / number for block in blocks)
            return np.concatenate([ranks(block, 1, tolerance).mean(axis=0) for block in means], axis=1)


def _counts(number: int) -> Array:
    """How often each data set or seed is in each resample, number x resamples: always the same."""
    counts = np.random.default_rng(0).multinomial(number, [1 / number] * number, size=RESAMPLES)
    return counts.T.astype(float)


def _unbounded(value: Array) -> Estimate:
    nowhere = np.full_like(value, np.nan)
    return Estimate(value, nowhere, nowhere)


def _stacked(estimates: Sequence[Estimate], times: int) -> Estimate:
    parts = ([getattr(each, name) for each in estimates] for name in Estimate.__slots__)
    return Estimate(*(np.array(part).reshape(-1, times) for part in parts))
