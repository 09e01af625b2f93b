"""Weights of the members of a grid by the law of draws, and random members of intervals in proportion to weights."""

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from spacelang.ir.domain import Grid
from spacelang.ir.prior import Prior
from spacelang.sampling.prior_draws import log_masses_of_members
from spacelang.sampling.value_codes import Array, codes_at


def member_log_weights(grid: Grid, prior: Prior | None) -> Array:
    """Return the logarithm of the probability of each member, up to a constant.

    Members have equal probabilities, those of the intervals of half a step around them under `log`, or those of the
    prior.
    """
    if prior is not None:
        return log_masses_of_members(grid, prior)
    if not grid.log:
        return np.zeros(grid.size)
    values = codes_at(grid, np.arange(grid.size)).astype(float)
    below = np.full(grid.size, grid.step / 2)
    below[0] = min(grid.step, grid.lower) / 2
    found: Array = np.log(np.log1p((grid.step / 2 + below) / (values - below)))
    return found


class LogSumTree:
    """A segment tree of weights: sums over intervals, and draws from them, in logarithms.

    Nothing is subtracted, so a small sum beside large weights is as exact as any other, and nothing underflows.
    """

    def __init__(self, logs: Array) -> None:
        """Compute the sums of all nodes from the logarithms of the weights, shape (n,)."""
        level = np.full(1 << (len(logs) - 1).bit_length(), -np.inf)
        level[: len(logs)] = logs
        self._levels = [level]
        while len(level) > 1:
            level = np.logaddexp(level[::2], level[1::2])
            self._levels.append(level)

    def sums(self, first: Array, end: Array) -> Array:
        """Return the logarithm of the sum over each interval from `first` to `end - 1`, both of shape (k,)."""
        found = np.full(len(first), -np.inf)
        for _, rows, _, weights in self._nodes(first, end):
            found[rows] = np.logaddexp(found[rows], weights)
        return found

    def draw(self, first: Array, end: Array, rng: Generator) -> Array:
        """Return one index from each interval, shape (k,), in proportion to the weights."""
        best, depths, places = np.full(len(first), -np.inf), np.zeros(len(first), np.int8), first.copy()
        for depth, rows, nodes, weights in self._nodes(first, end):
            # The greatest sum of a logarithm of a weight and a Gumbel variable belongs to a node in proportion to it.
            keys = weights + rng.gumbel(size=len(rows))
            is_better = keys > best[rows]
            mine = rows[is_better]
            best[mine], depths[mine], places[mine] = keys[is_better], depth, nodes[is_better]
        for depth in range(len(self._levels) - 1, 0, -1):
            rows = np.flatnonzero(depths >= depth)
            left = 2 * places[rows]
            below, whole = self._levels[depth - 1], self._levels[depth][places[rows]]
            places[rows] = left + (np.log1p(-rng.random(len(rows))) > below[left] - whole)
        return places

    def _nodes(self, first: Array, end: Array) -> Iterator[tuple[int, Array, Array, Array]]:
        """Yield the nodes that cover the intervals: the depth, the rows of the intervals, the nodes and their sums."""
        for depth, level in enumerate(self._levels):
            rows = np.flatnonzero((first < end) & (first & 1 == 1))
            yield depth, rows, first[rows], level[first[rows]]
            first = (first + 1) >> 1
            rows = np.flatnonzero((first <= end >> 1) & (end & 1 == 1))
            yield depth, rows, end[rows] - 1, level[end[rows] - 1]
            end = end >> 1
