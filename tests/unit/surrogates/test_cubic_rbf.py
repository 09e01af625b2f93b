"""The cubic spline (spacelang/optimizers/README.md, section "Cubic spline")."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats.qmc import LatinHypercube

from spacelang.surrogates.cubic_rbf import CubicRbf, propose_point

LAW = settings(max_examples=25, deadline=None)

SEEDS = st.integers(0, 2**32 - 1)


@LAW
@given(SEEDS, st.integers(1, 40), st.integers(1, 5))
def test_it_goes_through_its_data(seed: int, count: int, dimensions: int) -> None:
    """Also where there are fewer than d + 1 points."""
    rng = np.random.default_rng(seed)
    points, numbers = LatinHypercube(dimensions, scramble=False, rng=rng).random(count), rng.random(count)
    assert np.abs(CubicRbf(points, numbers)(points) - numbers).max() < 1e-8


@LAW
@given(SEEDS, st.integers(1, 5))
def test_it_is_a_plane_where_the_data_are_one(seed: int, dimensions: int) -> None:
    rng = np.random.default_rng(seed)
    points, slopes, others = rng.random((15, dimensions)), rng.normal(size=dimensions), rng.random((9, dimensions))
    assert CubicRbf(points, points @ slopes + 2)(others) == pytest.approx(others @ slopes + 2)


def test_points_twice_and_points_in_a_plane_are_no_trouble() -> None:
    points = np.array([[0.1, 0.5], [0.1, 0.5], [0.7, 0.5], [0.9, 0.5]])
    found = CubicRbf(points, np.array([1.0, 3.0, 0.0, 1.0]))(points)
    assert found == pytest.approx([2, 2, 0, 1], abs=1e-6)


def test_forty_evaluations_of_a_sphere() -> None:
    reached = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        points = LatinHypercube(2, rng=rng).random(6)
        while len(points) < 40:
            numbers = ((points - [0.3, 0.6]) ** 2).sum(axis=1)
            points = np.vstack([points, propose_point(points, numbers, points[:0], rng)])
        reached += ((points - [0.3, 0.6]) ** 2).sum(axis=1).min() < 1e-3
    assert reached >= 8


def test_what_is_under_way_keeps_others_away() -> None:
    points = np.random.default_rng(0).random((9, 2))
    numbers = points.sum(axis=1)
    first = propose_point(points, numbers, points[:0], np.random.default_rng(1))
    second = propose_point(points, numbers, first[None], np.random.default_rng(1))
    assert not np.array_equal(first, second)
