"""Draws of large ranges that comparisons connect to a tree: first the root, then each range given its parent."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.random import Generator

from spacelang.ir.prior import Prior
from spacelang.sampling.member_weights import LogSumTree, member_log_weights
from spacelang.sampling.value_codes import Array, ValueCodes, member_codes
from spacelang.solver.ordered_relations import OrderedRelations, RelatedRange


class OrderedSampler:
    """A sampler of the values of related ranges by their law of draws, given the relations.

    The weight of a value is multiplied by the sums over the ranges that depend on it.
    """

    def __init__(self, relations: OrderedRelations, priors: Mapping[str, Prior | None]) -> None:
        """Compute the weights of each range; `priors` are the priors that draws follow, by address."""
        self._ranges = tuple(reversed(relations.ranges))
        weights = {
            each.address: np.where(
                relations.allowed(each), member_log_weights(each.grid, priors[each.address]), -np.inf
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
        """Yield each address with its rows (all of them) and values."""
        places: dict[str, Array] = {"": np.zeros(count, np.int64)}
        rows = np.arange(count)
        for each in self._ranges:
            mine = places[each.address] = self._steps[each.address].draw(places[each.parent], rng)
            yield each.address, rows, ValueCodes(member_codes(each.grid, mine))


class _ConditionalDraw:
    """Draws of the index of a range, given the index of its parent."""

    def __init__(self, related: RelatedRange, log_weights: Array, parents: int) -> None:
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
