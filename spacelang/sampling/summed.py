"""Draws of ranges whose sum is limited: first the total, then one range after another, given the rest of the total."""

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from spacelang.sampling.ordered import value_weights
from spacelang.sampling.value_codes import Array, ValueCodes, code_type, codes_at
from spacelang.solver.summed_ranges import SummedRange, SummedRanges

MAX_PRODUCTS = 1_000_000_000  # The maximum number of products of weights for the tables of one sum
MAX_CHUNK = 1_000_000  # The maximum number of weights that are compared at once
TILT_STEPS = 60  # The number of halvings in the search for the best tilt


class SummedSampler:
    """A sampler of the values of ranges with a limited sum, uniform or log-uniform given the limits.

    The table of a range has the weight of each total of this range and those before it. All weights are sums of
    positive numbers, so nothing cancels. Weights are multiplied by `exp(tilt * total)` (exponential tilting). This
    changes no conditional probability given the total, but gives allowed totals the largest weights in every table, so
    that they do not underflow in a sum of hundreds of ranges.
    """

    def __init__(self, summed: SummedRanges) -> None:
        """Compute the tables of all ranges."""
        plain = [_weights_of_units(each) for each in summed.ranges]
        tilt = _best_tilt(summed, plain)
        self._ranges = summed.ranges
        self._weights = [
            found * np.exp(tilt * each.unit * (np.arange(len(found)) - (len(found) - 1) * (tilt > 0)))
            for each, found in zip(summed.ranges, plain, strict=True)
        ]
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
        """Yield each address with its rows (all of them) and values."""
        rows = np.arange(count)
        left = self._first + np.searchsorted(self._sums, self._sums[-1] * rng.random(count), "right")
        left = np.minimum(left, len(self._tables[-1]) - 1)
        for place in reversed(range(len(self._ranges))):
            each = self._ranges[place]
            units = self._draw_units(place, left, rng)
            left = left - each.unit * units
            indices = each.grid.last_index - units if each.reversed else units
            yield (
                each.address,
                rows,
                ValueCodes(codes_at(each.grid, indices).astype(code_type(each.grid), copy=False)),
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


def can_draw_sum(summed: SummedRanges) -> bool:
    """Return True if `SummedSampler` can draw a sum: its tables are small enough."""
    totals = summed.greatest + 1
    return totals > 0 and sum(totals * min(totals, each.grid.size) for each in summed.ranges) <= MAX_PRODUCTS


def _weights_of_units(each: SummedRange) -> Array:
    """Return the weight of each number of units; 0 for those that are not allowed."""
    allowed = np.zeros(each.grid.size)
    for start, end in each.allowed:
        allowed[start:end] = 1.0
    weights = value_weights(each.grid) * allowed
    found: Array = weights / weights.max()
    return found[::-1] if each.reversed else found


def _best_tilt(summed: SummedRanges, weights: list[Array]) -> float:
    """Return the tilt that moves the mean total to the nearest allowed total."""
    wanted = min(max(_mean_total(summed, weights, 0.0), summed.least), summed.greatest)
    low, high = -40.0, 40.0
    if wanted == _mean_total(summed, weights, 0.0):
        return 0.0
    for _ in range(TILT_STEPS):
        middle = (low + high) / 2
        if _mean_total(summed, weights, middle) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _mean_total(summed: SummedRanges, weights: list[Array], tilt: float) -> float:
    total = 0.0
    for each, mine in zip(summed.ranges, weights, strict=True):
        units = each.unit * np.arange(len(mine))
        tilted = mine * np.exp(tilt * (units - units[-1] * (tilt > 0)))
        total += float((units * tilted).sum() / max(float(tilted.sum()), 1e-300))
    return total


def _convolved(totals: Array, unit: int, weights: Array) -> Array:
    """Return the weights of the totals of the ranges so far and one more."""
    spread = np.zeros(min(len(totals), unit * (len(weights) - 1) + 1))
    kept = weights[: (len(spread) - 1) // unit + 1]
    spread[: unit * (len(kept) - 1) + 1 : unit] = kept
    found: Array = np.convolve(totals, spread)[: len(totals)]
    return found
