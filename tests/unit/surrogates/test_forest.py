"""The forest (spacelang/optimizers/README.md, section "Forest")."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.sampling.value_codes import Array
from spacelang.surrogates.forest import Forest, balanced_weights

GROUPS = st.lists(st.integers(0, 4), min_size=1, max_size=40).map(np.array)


def data(count: int = 200) -> tuple[Array, Array]:
    points = np.random.default_rng(0).random((count, 4))
    return points, points[:, 0] + 0.2 * points[:, 1]


def test_it_has_the_numbers_of_its_data() -> None:
    points, numbers = data()
    mean, _ = Forest().fit(points, numbers, np.random.default_rng(1)).posterior(points)
    assert np.abs(mean - numbers).mean() < 0.05 * numbers.std() + 0.02


def test_away_from_its_data_it_is_not_sure() -> None:
    points, numbers = data()
    left = points[points[:, 0] < 0.5]
    trees = Forest().fit(left, numbers[points[:, 0] < 0.5], np.random.default_rng(1))
    _, deviation = trees.posterior(np.array([[0.95, 0.5, 0.5, 0.5]]))
    assert deviation > 0


def test_mean_and_deviation_are_those_of_its_trees() -> None:
    points, numbers = data(60)
    trees = Forest(7).fit(points, numbers, np.random.default_rng(1))
    assert len(trees.trees) == 7
    each = np.array([tree.predict(points[:5].astype(np.float32))[:, 0] for tree in trees.trees])
    mean, deviation = trees.posterior(points[:5])
    assert mean == pytest.approx(each.mean(axis=0))
    assert deviation == pytest.approx(each.std(axis=0))
    assert deviation.max() > 0


@settings(deadline=None)
@given(GROUPS)
def test_the_weights_of_a_group_sum_to_one(groups: Array) -> None:
    weights = balanced_weights(groups)
    assert [weights[groups == group].sum() for group in np.unique(groups)] == pytest.approx([1] * len(set(groups)))


def test_many_points_of_a_group_count_as_one() -> None:
    points = np.zeros((40, 1))
    numbers, groups = np.append(np.ones(39), 0.0), np.append(np.zeros(39), 1.0)
    rng = np.random.default_rng
    plain, _ = Forest(300).fit(points, numbers, rng(0)).posterior(points[:1])
    fair, _ = Forest(300).fit(points, numbers, rng(0), groups).posterior(points[:1])
    assert plain == pytest.approx(39 / 40, abs=0.03)
    assert fair < plain - 0.2


def test_the_same_data_and_generator_make_the_same_forest() -> None:
    points, numbers = data(50)
    first, second = (Forest(20).fit(points, numbers, np.random.default_rng(3)).posterior(points) for _ in range(2))
    assert np.array_equal(first, second)


def test_scikit_learn_is_imported_when_a_forest_is_fitted() -> None:
    code = "import sys, spacelang.surrogates.forest; print('sklearn' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_what_is_not_active_is_apart_from_all_values() -> None:
    """A coordinate that is not active is not taken for the least value."""
    points = np.array([[np.nan], [0.0], [1.0]] * 20)
    numbers = np.array([5.0, 0.0, 1.0] * 20)
    mean, _ = Forest(30).fit(points, numbers, np.random.default_rng(0)).posterior(points[:3])
    assert mean == pytest.approx([5, 0, 1], abs=0.2)
