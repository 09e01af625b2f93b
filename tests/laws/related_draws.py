"""The law of draws of related grids by brute force, to compare random configurations with it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import log
from typing import Any

import numpy as np
from scipy import stats

import spacelang as sl
from spacelang.ir.domain import Grid
from spacelang.ir.prior import Normal
from spacelang.testing.small_spaces import draw_integer, draw_one

DRAWS = 1_000
LEAST_P_VALUE = 1e-6
"""Far below the number of examples of a law: a correct sampler fails in one of a million examples."""


def prior_or_none(draw: Any, middle: int) -> str:
    """Return a prior near some value as text, or no text."""
    mean, deviation = middle + draw_integer(draw, -2, 2), draw_one(draw, (0.7, 3))
    return draw_one(draw, ("", f" @prior(normal, {mean}, {deviation})"))


def member_weights(space: sl.Space, key: str, *, advised: bool) -> dict[Any, float]:
    """Return the weight of each member of a grid: that of the interval of half a step around it on its scale."""
    node = next(each for each in space.checked.hyperparameters if each.key == key)
    grid, prior = node.domain, node.prior if advised else None
    assert isinstance(grid, Grid)
    below = min(grid.step, grid.lower) / 2 if grid.log else grid.step / 2
    values = [grid.value_at(place) for place in range(grid.size)]
    edges = [grid.lower - below, *(value + grid.step / 2 for value in values)]
    places = [log(edge) if grid.log else edge for edge in edges]
    if prior is not None:
        assert isinstance(prior, Normal)
        masses = np.diff(stats.norm(prior.mean, prior.deviation).cdf(places))
    else:
        masses = np.diff(places)
    return dict(zip(values, masses.tolist(), strict=True))


def assert_draws_follow_the_law(
    space: sl.Space, keys: Sequence[str], members: Iterable[tuple[Any, ...]], *, advised: bool
) -> None:
    """Compare draws with all members, each weighted by the product of the weights of its values."""
    weights = [member_weights(space, key, advised=advised) for key in keys]
    shares = {each: float(np.prod([w[v] for w, v in zip(weights, each, strict=True)])) for each in members}
    if sum(shares.values()) < 1e-9:  # brute force by differences of probabilities is not exact so far from the mean
        return
    drawn = Counter(tuple(each[key] for key in keys) for each in space.sample(DRAWS, seed=0, advised=advised))
    assert drawn.keys() <= shares.keys()
    assert chi_square_p_value(drawn, shares) > LEAST_P_VALUE


def assert_nearest_are_members(space: sl.Space) -> None:
    """Ask for the member that is nearest to each combination of ends of the ranges."""
    nodes = space.checked.hyperparameters
    for ends in product(*((each.domain.lower, each.domain.upper) for each in nodes)):
        given = {each.key: end for each, end in zip(nodes, ends, strict=True)}
        assert space.nearest({**space.default(), **given}).member in space


def chi_square_p_value(drawn: Mapping[Any, int], shares: Mapping[Any, float]) -> float:
    """Return the p-value of counts; members that are expected fewer than 5 times are counted together."""
    count, total = sum(drawn.values()), sum(shares.values())
    expected = {each: count * share / total for each, share in shares.items()}
    common = [each for each, number in expected.items() if number >= 5]
    found, wanted = [drawn.get(each, 0) for each in common], [expected[each] for each in common]
    rare = count - sum(wanted)
    if rare >= 5 or not common:
        found, wanted = [*found, count - sum(found)], [*wanted, rare]
    return float(stats.chisquare(found, np.array(wanted) * sum(found) / sum(wanted)).pvalue) if len(found) > 1 else 1.0
