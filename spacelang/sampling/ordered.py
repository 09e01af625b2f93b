"""Draws of large ranges that comparisons connect to a tree: first the root, then each range given its parent."""

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from spacelang.ir.domain import Domain, Grid
from spacelang.ir.prior import Prior
from spacelang.sampling.value_codes import Array, ValueCodes, code_type, codes_at
from spacelang.solver.ordered_relations import OrderedRelations, RelatedRange


class OrderedSampler:
    """A sampler of the values of related ranges, uniform or log-uniform given the relations.

    The weight of a value is multiplied by the sums over the ranges that depend on it. The weights of each range are
    scaled to a maximum of 1, so that the sums of long chains do not overflow or underflow.
    """

    def __init__(self, relations: OrderedRelations) -> None:
        """Compute the partial sums of the weights of each range."""
        self._ranges = tuple(reversed(relations.ranges))
        weights = {each.address: value_weights(each.grid) * relations.allowed(each) for each in relations.ranges}
        self._steps: dict[str, _ConditionalDraw] = {}
        for each in relations.ranges:
            mine = weights[each.address]
            above = weights.get(each.parent, np.ones(1))
            step = self._steps[each.address] = _ConditionalDraw(each, mine, len(above))
            if each.parent:
                found = above * step.sums_per_parent
                weights[each.parent] = found / found.max()

    def draw(self, count: int, rng: Generator) -> Iterator[tuple[str, Array, ValueCodes]]:
        """Yield each address with its rows (all of them) and values."""
        places: dict[str, Array] = {"": np.zeros(count, np.int64)}
        rows = np.arange(count)
        for each in self._ranges:
            mine = places[each.address] = self._steps[each.address].draw(places[each.parent], rng)
            yield (
                each.address,
                rows,
                ValueCodes(codes_at(each.grid, mine).astype(code_type(each.grid), copy=False)),
            )


class _ConditionalDraw:
    """Draws of the index of a range, given the index of its parent.

    If only the lower end depends on the parent, sums start at the upper end, because small sums have small errors.
    """

    def __init__(self, related: RelatedRange, weights: Array, parents: int) -> None:
        size = related.grid.size
        lower, upper = related.intervals(parents)
        first = np.zeros(parents, np.int64) if lower is None else np.array(lower, np.int64)
        end = np.full(parents, size, np.int64) if upper is None else np.array(upper, np.int64)
        self._is_reversed = upper is None and lower is not None
        self._last = size - 1
        if self._is_reversed:
            first, end, weights = size - end, size - first, weights[::-1]
        self._first, self._end = first, end
        self._sums = np.concatenate(([0.0], np.cumsum(weights)))
        self.sums_per_parent = np.maximum(self._sums[end] - self._sums[first], 0.0)

    def draw(self, parents: Array, rng: Generator) -> Array:
        """Return one index for each index of the parent."""
        first, end = self._first[parents], self._end[parents]
        low = self._sums[first]
        wanted = low + (self._sums[end] - low) * rng.random(len(parents))
        found: Array = np.clip(np.searchsorted(self._sums, wanted, "right") - 1, first, end - 1)
        places: Array = self._last - found if self._is_reversed else found
        return places


def can_draw(domain: Domain, prior: Prior | None) -> bool:
    """Return True if `OrderedSampler` can draw the values of a domain: a grid without a prior."""
    return isinstance(domain, Grid) and prior is None


def value_weights(grid: Grid) -> Array:
    """Return the weight of each value: 1, or under `log` the length, on the log scale, of half a step around it."""
    if not grid.log:
        return np.ones(grid.size)
    values = codes_at(grid, np.arange(grid.size)).astype(float)
    below = np.full(grid.size, grid.step / 2)
    below[0] = min(grid.step, grid.lower) / 2
    lengths: Array = np.log1p((grid.step / 2 + below) / (values - below))
    return lengths
