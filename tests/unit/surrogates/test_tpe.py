"""Parzen estimators, on ranges, irregular members and categories.

See spacelang/optimizers/README.md, section "Parzen estimators".
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.sampling.value_codes import Array
from spacelang.surrogates import Dimension, round_to_members
from spacelang.surrogates.tpe import CategoricalDensity, NormalMixture, TreeParzenEstimator

LAW = settings(max_examples=25, deadline=None)

RANGE = Dimension()
LOGARITHMIC = Dimension(tuple(np.log([1, 2, 3, 5, 8, 13]) / np.log(13)))
SETS = Dimension((0.0, 0.5, 1.0), is_ordered=False)
VALUES = st.lists(st.floats(0, 1), max_size=60).map(np.array)


def test_how_many_are_good() -> None:
    sizes = (20, 64, 65, 100, 400, 10_000)
    assert [int(TreeParzenEstimator().good_mask(np.arange(size)).sum()) for size in sizes] == [2, 2, 3, 3, 5, 25]


def test_equal_numbers_are_good_in_their_order() -> None:
    assert TreeParzenEstimator().good_mask(np.zeros(20)).tolist() == [True] * 2 + [False] * 18
    assert not TreeParzenEstimator().good_mask(np.array([np.inf] * 3 + [1.0] * 20))[:3].any()


@LAW
@given(VALUES)
def test_densities_sum_to_one(values: Array) -> None:
    density = TreeParzenEstimator().fit_density(RANGE, values)
    assert isinstance(density, NormalMixture)
    middles = (np.arange(2_000) + 0.5) / 2_000
    assert np.exp(density.log_density(middles)).mean() == pytest.approx(1, abs=1e-4)
    for dimension in (LOGARITHMIC, SETS):
        cells = TreeParzenEstimator().fit_density(dimension, round_to_members([dimension], values.reshape(-1, 1))[:, 0])
        assert isinstance(cells, CategoricalDensity)
        assert cells.probabilities.sum() == pytest.approx(1)
        assert cells.log_density(np.array(dimension.members)) == pytest.approx(np.log(cells.probabilities))


def test_draws_are_as_dense_as_it_says() -> None:
    mixture = TreeParzenEstimator().fit_density(RANGE, np.random.default_rng(0).random(40) ** 2)
    drawn = mixture.draw(50_000, np.random.default_rng(1))
    found = np.histogram(drawn, 20, (0, 1))[0] / len(drawn)
    middles = (np.arange(20) + 0.5) / 20
    assert found == pytest.approx(np.exp(mixture.log_density(middles)) / 20, abs=0.01)


@LAW
@given(st.integers(0, 2**32 - 1), st.integers(0, 80))
def test_every_proposal_is_inside(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    dimensions = (RANGE, LOGARITHMIC, SETS, Dimension((0.25,)))
    points = round_to_members(dimensions, rng.random((count, 4)))
    point = TreeParzenEstimator().suggest(dimensions, points, rng.random(count), rng)
    assert 0 <= point[0] <= 1
    assert point[1] in LOGARITHMIC.members
    assert point[2] in SETS.members
    assert point[3] == 0.25


def test_the_first_points_depend_on_no_number() -> None:
    def first(numbers: Array) -> list[float]:
        points = np.zeros((len(numbers), 1))
        return [
            TreeParzenEstimator().suggest([RANGE], points[:count], numbers[:count], np.random.default_rng(count)).item()
            for count in range(20)
        ]

    assert first(np.zeros(20)) == first(np.arange(20.0))


def test_the_better_of_two_arms_is_proposed() -> None:
    hits = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        points, numbers = np.empty((0, 1)), np.empty(0)
        for _ in range(41):
            point = TreeParzenEstimator().suggest([Dimension((0.0, 1.0), is_ordered=False)], points, numbers, rng)
            points, numbers = np.vstack([points, point]), np.append(numbers, point[0] + rng.random() / 10)
        hits += point[0] == 0
    assert hits > 70


def test_what_was_not_active_is_not_modelled() -> None:
    points = np.random.default_rng(0).random((40, 2))
    points[::2, 1] = np.nan
    found = TreeParzenEstimator().suggest([RANGE, RANGE], points, points[:, 0], np.random.default_rng(1))
    assert np.isfinite(found).all()


@LAW
@given(st.lists(st.floats(0, 1), min_size=1, unique=True).map(sorted), st.floats(0, 1))
def test_what_lies_between_two_members_is_the_nearer_one(members: list[float], value: float) -> None:
    place = Dimension(tuple(members)).member_indices(np.array([value])).item()
    distances = np.abs(np.array(members) - value)
    assert distances[place] <= distances.min() + 1e-12
