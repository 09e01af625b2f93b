"""Draws by priors and declared weights: values of domains and cells, members of grids, weights of alternatives.

A prior is a distribution on the scale of a range (of natural logarithms under `log`). A range of floats has the
distribution truncated to it. A member of a grid has the probability of the interval of half a step around it, as in
draws without a prior. In a set, the numbers share their probability in proportion to the density; other values keep
theirs. Each part of a union keeps its probability.
"""

import math
import sys
from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np
from numpy.random import Generator

from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, parts
from spacelang.ir.prior import Ends, Prior, Uniform
from spacelang.ir.space import Hyperparameter, Space
from spacelang.ir.value import is_number
from spacelang.sampling.value_codes import (
    Array,
    CodeSampler,
    code_dtype,
    codes_of_members_at,
    nearest_float,
    part_index_and_code,
)

LARGEST: Final = sys.float_info.max


def prior_of(hyperparameter: Hyperparameter, *, advised: bool) -> Prior | None:
    """Return the prior by which a hyperparameter is drawn.

    Return None, for uniform or log-uniform draws, if draws are not `advised` or the prior is uniform.
    """
    return hyperparameter.prior if advised and hyperparameter.prior != Uniform() else None


def prior_of_address(space: Space, address: str) -> Prior | None:
    """Return the prior by which the variable at an address is drawn.

    Return None for a decision, without a prior or with a uniform one, and if the draws of the space ignore priors.
    """
    node = space.variables[address].node
    return prior_of(node, advised=not space.plain_draws) if isinstance(node, Hyperparameter) else None


def prior_code_sampler(cell: SimpleDomain, part: SimpleDomain, prior: Prior) -> CodeSampler:
    """Return a function that draws codes of a cell of a part of a domain; the codes are those of the part."""
    if cell.size == 1:
        code = part_index_and_code(part, cell.value_at(0))[1]
        return lambda count, rng: np.full(count, code, code_dtype(part))  # noqa: ARG005 - a single value
    if isinstance(cell, Categorical):
        assert isinstance(part, Categorical)
        places = np.array([part.index_of(value) for value in cell.values])
        weights = _weights_of_values(part, prior)[places]
        codes, shares = places.astype(code_dtype(part)), weights / weights.sum()
        return lambda count, rng: rng.choice(codes, size=count, p=shares)
    assert isinstance(part, Real | Grid)
    return partial(_draw_numbers, cell, part, prior)


def probability_by_prior(cell: SimpleDomain, domain: Domain, prior: Prior) -> float:
    """Return the probability of a cell if a value of the domain is drawn by the prior."""
    place, _ = part_index_and_code(domain, cell.representative)
    part = parts(domain)[place]
    return _share_of_part(cell, part, prior) / len(parts(domain))


def prior_quantile_indices(shares: Array, part: Categorical | Grid, prior: Prior) -> Array:
    """Return the indices of members of a finite domain, as floats; uniform shares in [0, 1] give draws by the prior."""
    if isinstance(part, Categorical):
        sums = np.cumsum(_weights_of_values(part, prior)[:-1])
        return np.searchsorted(sums, shares, "right").astype(float)
    indices = (prior_quantiles(shares, part, prior) - float(part.lower)) / float(part.step)
    return np.rint(indices).clip(0, part.last_index)


def prior_quantiles(shares: Array, part: Real | Grid, prior: Prior, cell: SimpleDomain | None = None) -> Array:
    """Return the quantiles of a prior on a range, or on a cell of it; they are not rounded to members of a grid."""
    places = prior.quantiles(shares, *_ends(part if cell is None else cell, part), _ends(part, part))
    return np.exp(places) if part.log else places


def log_masses_of_members(part: Grid, prior: Prior) -> Array:
    """Return the logarithms of the probabilities of the members of a grid, up to a constant."""
    ends = _ends(part, part)
    between = codes_of_members_at(part, np.arange(part.last_index)) + part.step / 2
    edges = np.concatenate((ends[:1], np.log(between) if part.log else between, ends[1:]))
    return prior.log_masses(edges[:-1], edges[1:], ends)


def _share_of_part(cell: SimpleDomain, part: SimpleDomain, prior: Prior) -> float:
    if isinstance(part, Categorical):
        assert isinstance(cell, Categorical)
        weights = _weights_of_values(part, prior)
        return float(sum(weights[part.index_of(value)] for value in cell.values))
    ends = _ends(part, part)
    starts, stops = np.transpose([_ends(cell, part), ends])
    inside, whole = prior.log_masses(starts, stops, ends).tolist()
    return math.exp(inside - whole) if inside > -math.inf else 0.0


def _weights_of_values(values: Categorical, prior: Prior) -> Array:
    """Return the probabilities of the values of a set, shape (n,).

    Values that are not numbers have 1/n each; the numbers share the rest in proportion to their density.
    """
    weights = np.ones(values.size)
    mine = [place for place, value in enumerate(values.values) if is_number(value)]
    if mine:
        numbers = [nearest_float(values.values[place]) for place in mine]
        ends = (min(numbers), max(numbers))
        logs = np.array([prior.log_density(number, ends) for number in numbers])
        densities = np.exp(logs - logs.max())
        weights[mine] = len(mine) * densities / densities.sum()
    total: Array = weights / weights.sum()
    return total


def _ends(cell: SimpleDomain, part: Real | Grid) -> Ends:
    """Return the ends of a cell on the scale of its part; a member of a grid stands for the interval around it."""
    ends = (cell.lower, cell.upper) if isinstance(cell, Real) else (cell.value_at(0), cell.value_at(cell.last_index))
    lower, upper = (min(max(nearest_float(end), -LARGEST), LARGEST) for end in ends)
    if isinstance(part, Grid):
        below = min(part.step, part.lower) if part.log and ends[0] == part.least else part.step
        lower, upper = lower - below / 2, upper + part.step / 2
    return (math.log(lower), math.log(upper)) if part.log else (lower, upper)


def _draw_numbers(cell: Real | Grid, part: Real | Grid, prior: Prior, count: int, rng: Generator) -> Array:
    numbers = prior_quantiles(rng.random(count), part, prior, cell)
    if isinstance(part, Real):
        assert isinstance(cell, Real)
        return numbers.clip(cell.least, cell.greatest)
    assert isinstance(cell, Grid)
    first, last = part.index_of(cell.least), part.index_of(cell.greatest)
    indices = np.rint((numbers - float(part.lower)) / float(part.step))
    if code_dtype(part) is object:
        exact = [part.value_at(min(max(int(index), first), last)) for index in indices.tolist()]
        return np.array(exact, dtype=object)
    return codes_of_members_at(part, np.clip(indices, first, last)).astype(code_dtype(part))


def member_log_weights(grid: Grid, prior: Prior | None) -> Array:
    """Return the logarithm of the probability of each member, up to a constant.

    With a prior, the probabilities are those of the prior. Without one they are equal, or under `log` those of the
    interval of half a step around each member.
    """
    if prior is not None:
        return log_masses_of_members(grid, prior)
    if not grid.log:
        return np.zeros(grid.size)
    values = codes_of_members_at(grid, np.arange(grid.size)).astype(float)
    below = np.full(grid.size, grid.step / 2)
    below[0] = min(grid.step, grid.lower) / 2
    found: Array = np.log(np.log1p((grid.step / 2 + below) / (values - below)))
    return found


class LogSumTree:
    """A segment tree of weights: sums over intervals, and draws from them, in logarithms.

    Nothing is subtracted, so a small sum next to large weights is as exact as any other, and nothing underflows.
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
