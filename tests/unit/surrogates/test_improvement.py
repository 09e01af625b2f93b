"""Expected improvement: worked numbers, its logarithm far out, and the point that promises most.

See spacelang/optimizers/README.md, section "Expected improvement".
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.sampling.value_codes import Array
from spacelang.surrogates.gaussian_process import (
    IncrementalGaussianProcess,
    expected_improvement,
    log_expected_improvement,
    make_closeness_test,
    maximise_expected_improvement,
)

LAW = settings(max_examples=25, deadline=None)

NOBODY = np.empty((0, 1))
NUMBERS = st.floats(-100, 100)


@pytest.mark.parametrize(
    ("best", "mean", "deviation", "value"),
    [
        (0, 0, 1, 0.3989423),
        (1, 0, 1, 1.0833155),
        (0, 1, 1, 0.0833155),
        (0.2, 0.25, 0.1, 0.0197797),
        (1, 0.4, 0, 0.6),
        (0.4, 1, 0, 0),
    ],
)
def test_worked_numbers(best: float, mean: float, deviation: float, value: float) -> None:
    found = expected_improvement(best, np.array([mean]), np.array([deviation]))
    assert found == pytest.approx(value, abs=5e-8)
    with np.errstate(divide="ignore"):
        expected = np.log(found)
    assert log_expected_improvement(best, np.array([mean]), np.array([deviation])) == pytest.approx(expected)


@LAW
@given(NUMBERS, NUMBERS, st.floats(0, 10), st.floats(0, 10))
def test_it_is_at_least_nothing_and_grows_with_the_deviation(best: float, mean: float, one: float, two: float) -> None:
    less, more = expected_improvement(best, np.full(2, mean), np.sort([one, two]))
    assert 0 <= less <= more + 1e-12


def test_its_logarithm_tells_apart_what_no_float_does() -> None:
    margins = np.concatenate([np.linspace(1, -1, 41), -np.geomspace(1, 1e8, 200)])
    assert (np.diff(log_expected_improvement(0.0, -margins, np.ones(len(margins)))) <= 0).all()
    near = np.linspace(-6, 6, 200)
    plain = np.log(expected_improvement(0.0, -near, np.ones(200)))
    assert log_expected_improvement(0.0, -near, np.ones(200)) == pytest.approx(plain, rel=1e-6)


def proposal(points: Array, numbers: Array, seed: int, known: Array) -> Array:
    model = IncrementalGaussianProcess().fit(points, numbers, np.empty((0, points.shape[1])))
    best = float(model.standardise(numbers.min()))
    return maximise_expected_improvement(
        model.process, best, points[numbers.argmin()], np.random.default_rng(seed), make_closeness_test(known)
    )


def test_it_goes_where_the_least_number_must_be() -> None:
    points = np.linspace(0, 1, 9)[:, None]
    found = proposal(points, (points[:, 0] - 0.3) ** 2, 0, points)
    assert found == pytest.approx(0.3, abs=0.01)


def test_it_keeps_to_the_cube_and_proposes_nothing_known() -> None:
    rng = np.random.default_rng(1)
    points = np.vstack([rng.random((12, 2)), [[0.0, 0.0]]])
    found = proposal(points, points.sum(axis=1), 2, points)
    assert ((found >= 0) & (found <= 1)).all()
    assert not make_closeness_test(points)(found[None]).any()


def test_where_everything_is_known_it_proposes_that() -> None:
    points = np.array([[0.2], [0.6]])
    model = IncrementalGaussianProcess().fit(points, np.array([1.0, 2.0]), NOBODY)
    found = maximise_expected_improvement(
        model.process, 0.0, points[0], np.random.default_rng(0), lambda others: np.ones(len(others), bool)
    )
    assert found.shape == (1,)
