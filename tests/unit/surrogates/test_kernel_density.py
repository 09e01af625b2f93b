"""Kernel densities over mixed dimensions against their formulas and scikit-learn's, and the model of BOHB."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from spacelang.surrogates import Dimension
from spacelang.surrogates.kernel_density import (
    GoodAndBadDensities,
    KernelDensity,
    good_and_bad_counts,
    has_enough_points,
    impute,
)

NUMBER = Dimension()
THREE = Dimension((0.0, 0.5, 1.0), is_ordered=False)
STEPS = Dimension((0.0, 0.25, 0.5, 0.75, 1.0))


@pytest.mark.parametrize(
    ("count", "width", "expected", "enough"),
    [
        (10, 3, (4, 8), True),
        (100, 5, (15, 85), True),
        (7, 3, (4, 5), False),
        (8, 3, (4, 6), True),
        (50, 0, (7, 42), False),
    ],
)
def test_how_many_are_good_and_bad(count: int, width: int, expected: tuple[int, int], enough: bool) -> None:
    assert good_and_bad_counts(count, width) == expected
    assert has_enough_points(count, width) is enough


def test_of_ten_points_in_three_dimensions_four_are_good_and_all_others_are_bad() -> None:
    points = np.arange(30).reshape(10, 3) / 30
    numbers = np.array([9, 0, 8, 1, 7, 2, 6, 3, np.inf, np.inf])
    model = GoodAndBadDensities.from_points([NUMBER] * 3, points, numbers, default_rng(0))
    assert sorted(model.good.points[:, 0]) == sorted(points[[1, 3, 5, 7], 0])
    assert sorted(model.bad.points[:, 0]) == sorted(points[[0, 2, 4, 6, 8, 9], 0])


def test_numbers_alone_have_the_density_of_scikit_learn() -> None:
    from sklearn.neighbors import KernelDensity as Reference

    rng = default_rng(0)
    points, values, widths = rng.random((20, 3)), rng.random((7, 3)), np.array([0.1, 0.2, 0.7])
    found = KernelDensity([NUMBER, STEPS, NUMBER], points, widths).log_density(values)
    # scikit-learn has one width for all dimensions, so that these are stretched.
    expected = Reference(bandwidth=1.0).fit(points / widths).score_samples(values / widths) - np.log(widths).sum()
    assert found == pytest.approx(expected)


def test_categories_have_probabilities() -> None:
    found = KernelDensity([THREE], np.array([[0.0], [0.0], [1.0]]), np.array([0.3]))
    assert np.exp(found.log_density(np.array([[0.0], [0.5], [1.0]]))) == pytest.approx([1.55 / 3, 0.45 / 3, 1.0 / 3])


@given(st.integers(0, 99), st.integers(2, 12))
@settings(deadline=None, max_examples=8)
def test_a_density_integrates_to_one(seed: int, count: int) -> None:
    rng = default_rng(seed)
    points = np.column_stack([rng.random(count), rng.choice(THREE.members, count), rng.choice((0.0, 1.0), count)])
    dimensions = [NUMBER, THREE, Dimension((0.0, 1.0), is_ordered=False)]
    grid = np.linspace(-4, 5, 20_001)
    found = KernelDensity.from_points(dimensions, points)
    total = 0.0
    for each in product(THREE.members, (0.0, 1.0)):
        rows = np.column_stack([grid, *(np.full(len(grid), value) for value in each)])
        total += np.trapezoid(np.exp(found.log_density(rows)), grid)
    # Below the least width of 1e-3 the grid is too coarse; points that are all alike are as narrow as that.
    assert total == pytest.approx(1.0, abs=1e-3)


def test_widths_are_those_of_the_normal_reference_rule() -> None:
    points = np.array([[0.0, 0.0, 0.3], [0.4, 1.0, 0.3], [0.8, 0.0, 0.3], [1.0, 1.0, 0.3]])
    found = KernelDensity.from_points([NUMBER, Dimension((0.0, 1.0), is_ordered=False), NUMBER], points).widths
    rule = 1.06 * points.std(axis=0) * 4 ** (-1 / 7)
    assert found == pytest.approx([rule[0], rule[1], 1e-3])
    assert points.std(axis=0)[1] == 0.5, "two categories deviate as 0 and 1 do"


@given(st.permutations(range(4)), st.integers(0, 99))
@settings(deadline=None, max_examples=20)
def test_the_order_of_categories_changes_nothing(order: list[int], seed: int) -> None:
    four = Dimension((0.0, 1 / 3, 2 / 3, 1.0), is_ordered=False)
    rng, members = default_rng(seed), np.array(four.members)
    points, values = rng.integers(4, size=(9, 2)), rng.integers(4, size=(5, 2))
    ones, others = (
        KernelDensity.from_points([four, four], members[taken]) for taken in (points, np.array(order)[points])
    )
    assert ones.widths == pytest.approx(others.widths)
    assert ones.log_density(members[values]) == pytest.approx(others.log_density(members[np.array(order)[values]]))


def test_no_category_is_less_likely_where_it_was_seen() -> None:
    """However different the data are: at most all are alike."""
    found = KernelDensity.from_points([THREE], np.array([[0.0], [0.5], [1.0]]))
    assert found.widths[0] <= 2 / 3
    assert np.exp(found.log_density(np.array([[0.0], [0.5], [1.0]]))) == pytest.approx([1 / 3] * 3)


def test_what_is_drawn_lies_near_the_points() -> None:
    points = np.array([[0.2, 0.0], [0.2, 0.0], [0.2, 0.5]])
    found = KernelDensity([NUMBER, THREE], points, np.array([0.01, 0.3])).draw(20_000, default_rng(0))
    assert found.min() >= 0
    assert found.max() <= 1
    assert found[:, 0].mean() == pytest.approx(0.2, abs=0.002)
    assert found[:, 0].std() == pytest.approx(0.03, rel=0.05), "three times as wide as the kernel"
    kept = np.array([(found[:, 1] == each).mean() for each in THREE.members])
    assert kept == pytest.approx([0.7 * 2 / 3 + 0.1, 0.7 / 3 + 0.1, 0.1], abs=0.01)


def test_what_is_wide_is_drawn_from_the_whole_unit() -> None:
    found = KernelDensity([NUMBER], np.array([[0.0], [1.0]]), np.array([10.0])).draw(20_000, default_rng(0))
    assert np.quantile(found, [0.25, 0.5, 0.75]) == pytest.approx([0.25, 0.5, 0.75], abs=0.02)


def test_the_first_proposal_is_where_the_good_ones_are() -> None:
    rng = default_rng(0)
    points = rng.random((60, 2))
    numbers = ((points - 0.3) ** 2).sum(axis=1)
    model = GoodAndBadDensities.from_points([NUMBER, NUMBER], points, numbers, rng)
    found = np.array([model.propose(64, default_rng(seed))[0] for seed in range(20)])
    assert np.abs(found - 0.3).mean() < 0.15, "anywhere it would be 0.29"
    ratios = model.bad.log_density(model.propose(64, rng)) - model.good.log_density(model.propose(64, rng))
    assert len(ratios) == 64


def test_proposals_are_in_the_order_of_their_ratios() -> None:
    rng = default_rng(1)
    model = GoodAndBadDensities.from_points(
        [NUMBER, THREE], np.column_stack([rng.random(30), rng.choice(THREE.members, 30)]), rng.random(30), rng
    )
    found = model.propose(64, rng)
    ratios = model.bad.log_density(found) - model.good.log_density(found)
    assert (np.diff(ratios) >= 0).all()


# ---- what is not active


def test_what_is_not_active_is_taken_from_one_where_it_is() -> None:
    nan = np.nan
    points = np.array([[0.1, nan, nan], [0.2, 0.5, 0.6], [0.3, 0.7, 0.8], [nan, 0.9, nan]])
    for seed in range(20):
        found = impute([NUMBER] * 3, points, default_rng(seed))
        known = ~np.isnan(points)
        assert (found[known] == points[known]).all()
        assert not np.isnan(found).any()
        assert tuple(found[0, 1:]) in {(0.5, 0.6), (0.7, 0.8), (0.9, 0.6), (0.9, 0.8)}, (
            "of one row, as far as it has it"
        )


def test_what_is_active_nowhere_is_any_value() -> None:
    found = impute([NUMBER, THREE], np.full((400, 2), np.nan), default_rng(0))
    assert set(found[:, 1]) == set(THREE.members)
    assert found[:, 0].mean() == pytest.approx(0.5, abs=0.1)


def test_a_row_takes_all_that_it_lacks_from_the_same_row() -> None:
    rng = default_rng(0)
    values = rng.random(50)
    points = np.column_stack([np.append(values, [np.nan] * 50), np.append(values + 1, [np.nan] * 50)])
    found = impute([NUMBER, NUMBER], points, rng)
    assert found[:, 1] - found[:, 0] == pytest.approx(1.0)
