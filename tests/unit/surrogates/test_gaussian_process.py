"""The Gaussian process: worked numbers; rows, slopes and likelihoods are what they must be.

See spacelang/optimizers/README.md, section "Gaussian process".
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from spacelang.sampling.value_codes import Array
from spacelang.surrogates.gaussian_process import (
    CholeskyFactor,
    GaussianProcess,
    Matern,
    deviance_and_gradient,
    fit_kernel,
)

LAW = settings(max_examples=25, deadline=None)

SEEDS = st.integers(0, 2**32 - 1)
UNIT = Matern(1.0, np.ones(1), 1e-6)


def data(seed: int, count: int = 12, dimensions: int = 3) -> tuple[Array, Array]:
    """Points, and numbers with mean 0 and deviation 1."""
    points = np.random.default_rng(seed).random((count, dimensions))
    numbers = np.sin(5 * points[:, 0]) + points @ np.arange(dimensions)
    return points, (numbers - numbers.mean()) / numbers.std()


@pytest.mark.parametrize(("distance", "value"), [(0, 1), (0.5, 0.8286491), (1, 0.5239941), (2, 0.1386602)])
def test_values_of_the_kernel(distance: float, value: float) -> None:
    assert UNIT.covariance(np.zeros((1, 1)), np.array([[distance]])).item() == pytest.approx(value, abs=5e-8)


def test_one_datum() -> None:
    process = GaussianProcess(CholeskyFactor.from_points(UNIT, np.zeros((1, 1))), np.array([1.0]))
    mean, deviation = process.posterior(np.array([[1.0], [0.0]]))
    assert mean[0] == pytest.approx(0.5239936, abs=5e-8)
    assert deviation[0] ** 2 == pytest.approx(0.7254304, abs=5e-8)
    assert deviation[1] ** 2 == pytest.approx(1e-6, rel=1e-3)


@LAW
@given(SEEDS)
def test_a_row_that_is_added_makes_the_factor_of_all(seed: int) -> None:
    points, _ = data(seed)
    kernel = Matern(1.7, np.array([0.2, 1.0, 3.0]), 1e-3)
    grown = CholeskyFactor.from_points(kernel, points[:5])
    for point in points[5:]:
        grown = grown.with_point(point)
    assert np.allclose(grown.lower, CholeskyFactor.from_points(kernel, points).lower, atol=1e-9)
    assert np.array_equal(grown.points, points)


def test_what_is_known_may_be_known_twice() -> None:
    kernel = Matern(1.0, np.ones(2), 1e-8)
    point = np.array([0.5, 0.5])
    factor = CholeskyFactor.from_points(kernel, np.array([point] * 40)).with_point(point).with_point(point)
    mean, deviation = GaussianProcess(factor, np.ones(42)).posterior(point[None])
    assert mean == pytest.approx(1, abs=1e-4)
    assert deviation < 1e-3


@LAW
@given(SEEDS)
def test_slopes_are_those_of_what_is_predicted(seed: int) -> None:
    points, numbers = data(seed)
    process = GaussianProcess(CholeskyFactor.from_points(Matern(1.7, np.array([0.4, 1.0, 3.0]), 1e-3), points), numbers)
    places = np.random.default_rng([seed, 1]).random((4, 3))
    found = process.posterior_with_gradients(places)
    means, deviations = process.posterior(places)
    assert found[:2] == (pytest.approx(means), pytest.approx(deviations))
    means_change = [
        approx_fprime(place, lambda at: process.posterior_with_gradients(at[None])[0][0]) for place in places
    ]
    deviations_change = [
        approx_fprime(place, lambda at: process.posterior_with_gradients(at[None])[1][0]) for place in places
    ]
    assert found[2] == pytest.approx(np.array(means_change), abs=1e-4)
    assert found[3] == pytest.approx(np.array(deviations_change), abs=1e-4)


@LAW
@given(SEEDS)
def test_the_surprise_is_that_of_the_formula_and_has_its_slopes(seed: int) -> None:
    points, numbers = data(seed)
    parameters = np.log([1.3, 0.4, 0.8, 2.0, 1e-2])
    surprise, slopes = deviance_and_gradient(points, numbers, parameters)
    covariance = Matern(1.3, np.array([0.4, 0.8, 2.0]), 0.0).covariance(points, points) + 1e-2 * np.eye(len(points))
    expected = np.linalg.slogdet(covariance)[1] + numbers @ np.linalg.solve(covariance, numbers)
    assert surprise == pytest.approx(expected)
    assert slopes == pytest.approx(
        approx_fprime(parameters, lambda at: deviance_and_gradient(points, numbers, at)[0]), rel=1e-3
    )


def test_the_likeliest_kernel_tells_what_matters_from_what_does_not() -> None:
    points = np.random.default_rng(0).random((60, 2))
    numbers = np.sin(9 * points[:, 0])
    kernel = fit_kernel(points, (numbers - numbers.mean()) / numbers.std())
    assert kernel.lengths[0] < 1
    assert kernel.lengths[1] > 3
    assert kernel.noise < 1e-3


def test_of_few_data_no_length_is_as_long_or_as_short_as_it_may_be() -> None:
    points = np.random.default_rng(0).random((12, 10))
    numbers = np.random.default_rng(1).normal(size=12)
    lengths = fit_kernel(points, (numbers - numbers.mean()) / numbers.std()).lengths
    assert (lengths > 0.05).all()
    assert (lengths < 20).all()


@pytest.mark.parametrize("count", [1, 2])
def test_few_data_and_equal_ones_have_a_kernel(count: int) -> None:
    kernel = fit_kernel(np.full((count, 2), 0.5), np.zeros(count))
    assert np.isfinite([kernel.variance, *kernel.lengths, kernel.noise]).all()


def test_points_without_coordinates_have_a_kernel() -> None:
    points = np.empty((3, 0))
    process = GaussianProcess(CholeskyFactor.from_points(fit_kernel(points, np.zeros(3)), points), np.zeros(3))
    assert np.isfinite(process.posterior(points[:1])[1]).all()
