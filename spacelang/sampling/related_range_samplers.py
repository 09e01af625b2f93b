"""Draws of related ranges, each given those before it.

Large ranges that comparisons connect to a tree are drawn from the root on, each given its parent. Of ranges with a
limited sum, the total is drawn first, then one range after another, given the rest of the total.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.random import Generator

from spacelang.ir.prior import Prior
from spacelang.sampling.prior_draws import LogSumTree, member_log_weights
from spacelang.sampling.value_codes import Array, ValueCodes, grid_member_codes
from spacelang.solver.range_forest import RangeForest, RangeInForest
from spacelang.solver.summed_ranges import SummedRange, SummedRanges


class RangeForestSampler:
    """A sampler of the values of ranges from their own distributions, given that their relations hold.

    The weight of a value is multiplied by the sums over the ranges that depend on it.
    """

    def __init__(self, relations: RangeForest, priors: Mapping[str, Prior | None]) -> None:
        """Compute the weights of each range; `priors` are the priors that draws follow, by address."""
        self._ranges = tuple(reversed(relations.ranges))
        weights = {
            each.address: np.where(
                relations.allowed_member_flags(each), member_log_weights(each.grid, priors[each.address]), -np.inf
            )
            for each in relations.ranges
        }
        self._steps: dict[str, _ConditionalDraw] = {}
        for each in relations.ranges:
            parents = len(weights.get(each.parent, (0,)))
            step = self._steps[each.address] = _ConditionalDraw(each, weights[each.address], parents)
            if each.parent:
                weights[each.parent] = weights[each.parent] + step.log_sums

    def draw(self, count: int, rng: Generator) -> Iterator[tuple[str, Array, ValueCodes]]:
        """Yield each address with the rows in which it is active, which are all `count` rows, and its values."""
        places: dict[str, Array] = {"": np.zeros(count, np.int64)}
        rows = np.arange(count)
        for each in self._ranges:
            mine = places[each.address] = self._steps[each.address].draw(places[each.parent], rng)
            yield each.address, rows, ValueCodes(grid_member_codes(each.grid, mine))


class _ConditionalDraw:
    """Draws of the index of a range, given the index of its parent."""

    def __init__(self, related: RangeInForest, log_weights: Array, parents: int) -> None:
        lower, upper = related.intervals(parents)
        self._first = np.zeros(parents, np.int64) if lower is None else np.array(lower, np.int64)
        self._end = np.full(parents, related.grid.size, np.int64) if upper is None else np.array(upper, np.int64)
        self._tree = LogSumTree(log_weights)

    @property
    def log_sums(self) -> Array:
        """The logarithm of the sum of the weights for each index of the parent."""
        return self._tree.sums(self._first, self._end)

    def draw(self, parents: Array, rng: Generator) -> Array:
        """Return one index for each index of the parent."""
        return self._tree.draw(self._first[parents], self._end[parents], rng)


MAX_CHUNK = 1_000_000  # The maximum number of weights that are compared at once
MAX_TILT = 40  # The greatest tilt of ranges whose values have equal weights
TILT_STEPS = 60  # The number of halvings in the search for the best tilt


class SummedRangeSampler:
    """A sampler of the values of ranges from their own distributions, given the limits of their sum.

    The table of a range has the weight of each total of this range and those before it. All weights are sums of
    positive numbers, so nothing cancels. Weights are multiplied by `exp(tilt * total)` (exponential tilting). This
    changes no conditional probability given the total, but gives allowed totals the largest weights in every table, so
    that they do not underflow in a sum of hundreds of ranges.
    """

    def __init__(self, summed: SummedRanges, priors: Mapping[str, Prior | None]) -> None:
        """Compute the tables of all ranges; `priors` are the priors that draws follow, by address."""
        logs = [_log_weights_of_units(each, priors[each.address]) for each in summed.ranges]
        tilt = _best_tilt(summed, logs)
        self._ranges = summed.ranges
        self._weights = [_tilted(each, mine, tilt) for each, mine in zip(summed.ranges, logs, strict=True)]
        totals = np.zeros(summed.greatest + 1)
        totals[0] = 1.0
        self._tables = [totals]
        for each, weights in zip(summed.ranges, self._weights, strict=True):
            totals = _convolved(totals, each.unit, weights)
            totals = totals / totals.max()
            self._tables.append(totals)
        first = max(summed.least, 0)
        with np.errstate(divide="ignore"):
            logs = np.log(totals[first:]) - tilt * np.arange(first, len(totals))
        self._sums = np.cumsum(np.exp(logs - logs.max()))
        self._first = first

    def draw(self, count: int, rng: Generator) -> Iterator[tuple[str, Array, ValueCodes]]:
        """Yield each address with the rows in which it is active, which are all `count` rows, and its values."""
        rows = np.arange(count)
        left = self._first + np.searchsorted(self._sums, self._sums[-1] * rng.random(count), "right")
        left = np.minimum(left, len(self._tables[-1]) - 1)
        for place in reversed(range(len(self._ranges))):
            each = self._ranges[place]
            units = self._draw_units(place, left, rng)
            left = left - each.unit * units
            yield (
                each.address,
                rows,
                ValueCodes(grid_member_codes(each.grid, each.grid.last_index - units if each.reversed else units)),
            )

    def _draw_units(self, place: int, left: Array, rng: Generator) -> Array:
        """Return the numbers of units of a range, given the totals `left` of this range and those before it."""
        weights, table, unit = self._weights[place], self._tables[place], self._ranges[place].unit
        weights = weights[: (len(table) - 1) // unit + 1]
        padding = unit * (len(weights) - 1)
        before = np.concatenate((np.zeros(padding), table))
        shares = rng.random(len(left))
        found = np.empty(len(left), np.int64)
        offsets = padding - unit * np.arange(len(weights))
        size = max(1, MAX_CHUNK // len(weights))
        for start in range(0, len(left), size):
            mine = slice(start, start + size)
            sums = np.cumsum(before[left[mine, None] + offsets] * weights, axis=1)
            wanted = np.minimum(shares[mine] * sums[:, -1], np.nextafter(sums[:, -1], 0))
            found[mine] = (sums <= wanted[:, None]).sum(axis=1)
        return found


def _log_weights_of_units(each: SummedRange, prior: Prior | None) -> Array:
    """Return the logarithm of the weight of each number of units; -inf for those that are not allowed."""
    allowed = np.zeros(each.grid.size, bool)
    for start, end in each.allowed:
        allowed[start:end] = True
    found: Array = np.where(allowed, member_log_weights(each.grid, prior), -np.inf)
    return found[::-1] if each.reversed else found


def _best_tilt(summed: SummedRanges, logs: Sequence[Array]) -> float:
    """Return the tilt that moves the mean total to the nearest allowed total."""
    mean = _mean_total(summed, logs, 0.0)
    wanted = min(max(mean, summed.least), summed.greatest)
    if wanted == mean:
        return 0.0
    finite = [mine[np.isfinite(mine)] for mine in logs]
    high = MAX_TILT + sum(float(np.ptp(mine)) for mine in finite)
    low = -high
    for _ in range(TILT_STEPS):
        middle = (low + high) / 2
        if _mean_total(summed, logs, middle) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _mean_total(summed: SummedRanges, logs: Sequence[Array], tilt: float) -> float:
    total = 0.0
    for each, mine in zip(summed.ranges, logs, strict=True):
        weights = _tilted(each, mine, tilt)
        total += each.unit * float((np.arange(len(weights)) * weights).sum() / weights.sum())
    return total


def _tilted(each: SummedRange, logs: Array, tilt: float) -> Array:
    """Return weights, given their logarithms, times `exp(tilt * unit * index)`, scaled to a maximum of 1."""
    found = logs + tilt * each.unit * np.arange(len(logs))
    weights: Array = np.exp(found - found.max())
    return weights


def _convolved(totals: Array, unit: int, weights: Array) -> Array:
    """Return the weights of the totals of the ranges so far and one more."""
    spread = np.zeros(min(len(totals), unit * (len(weights) - 1) + 1))
    kept = weights[: (len(spread) - 1) // unit + 1]
    spread[: unit * (len(kept) - 1) + 1 : unit] = kept
    found: Array = np.convolve(totals, spread)[: len(totals)]
    return found
