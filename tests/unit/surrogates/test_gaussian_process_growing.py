"""Data that grow: the model of n of them is the same whatever was made before, and has at most 500 points."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.sampling.value_codes import Array
from spacelang.surrogates import MAX_POINTS, POINTS_WHEN_FITTED, gaussian_process, limit_to_one_thread
from spacelang.surrogates.gaussian_process import (
    IncrementalGaussianProcess,
    Matern,
    StandardisedGaussianProcess,
    choose_training_rows,
    row_count_at_last_fit,
)

LAW = settings(max_examples=25, deadline=None)


def data(count: int, dimensions: int = 2) -> tuple[Array, Array]:
    points = np.random.default_rng(count).random((count, dimensions))
    return points, np.sin(7 * points[:, 0]) + points.sum(axis=1)


def predicted(model: StandardisedGaussianProcess) -> bytes:
    mean, deviation = model.process.posterior(np.random.default_rng(5).random((4, 2)))
    return mean.tobytes() + deviation.tobytes()


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(1, 32), max_size=4), st.integers(20, 32), st.integers(0, 3))
def test_what_was_modelled_before_does_not_matter(before: list[int], count: int, under_way: int) -> None:
    points, numbers = data(32)
    growing, pending = IncrementalGaussianProcess(), np.random.default_rng(0).random((under_way, 2))
    with limit_to_one_thread():
        for size in before:
            growing.fit(points[:size], numbers[:size], pending)
        found = growing.fit(points[:count], numbers[:count], pending)
        anew = IncrementalGaussianProcess().fit(points[:count], numbers[:count], pending)
    assert predicted(found) == predicted(anew)


def test_other_data_make_another_model() -> None:
    points, numbers = data(20)
    growing = IncrementalGaussianProcess()
    with limit_to_one_thread():
        growing.fit(points, numbers, points[:0])
        other = growing.fit(points, numbers[::-1].copy(), points[:0])
        anew = IncrementalGaussianProcess().fit(points, numbers[::-1].copy(), points[:0])
    assert predicted(other) == predicted(anew)


def test_it_is_fitted_again_after_a_tenth_more() -> None:
    sizes = [count for count in range(1, 3_000) if row_count_at_last_fit(count) == count]
    assert sizes[:22] == [*range(1, 21), 22, 24]
    assert all(more - size <= max(size / 10, 1) for size, more in pairwise(sizes))
    assert {more - size for size, more in pairwise(sizes) if size >= 1_000} == {100}


@LAW
@given(st.lists(st.integers(0, 9), max_size=2_000).map(np.array))
def test_of_too_many_the_best_and_the_latest_are_chosen(numbers: Array) -> None:
    rows = choose_training_rows(numbers)
    assert (np.diff(rows) > 0).all()
    assert len(rows) == min(len(numbers), POINTS_WHEN_FITTED)
    if len(numbers):
        assert rows[-1] == len(numbers) - 1, "what comes next goes on from there"
        left = np.delete(numbers, rows)
        assert not len(left) or np.sort(numbers[rows])[POINTS_WHEN_FITTED // 2 - 1] <= left.min()


@pytest.mark.parametrize("count", [POINTS_WHEN_FITTED, POINTS_WHEN_FITTED + 1, 499, 550, 700])
def test_no_model_has_more_points_than_it_may(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian_process, "fit_kernel", lambda *_: growth_kernel())
    points, numbers = data(count)
    growing = IncrementalGaussianProcess()
    growing.fit(points, numbers, np.random.default_rng(0).random((200, 2)))
    assert growing._last is not None
    latest = growing._last.rows
    assert len(latest) <= MAX_POINTS
    assert latest[-1] == count - 1


def test_the_constant_liar_keeps_others_away() -> None:
    points, numbers = data(15)
    pending = np.array([[0.5, 0.5]])
    plain = IncrementalGaussianProcess().fit(points, numbers, points[:0]).process.posterior(pending)
    lied = IncrementalGaussianProcess().fit(points, numbers, pending)
    mean, deviation = lied.process.posterior(pending)
    assert deviation < plain[1]
    assert mean == pytest.approx(float(lied.standardise(np.median(numbers))), abs=0.1)


def test_equal_numbers_are_modelled() -> None:
    model = IncrementalGaussianProcess().fit(data(5)[0], np.full(5, 3.0), np.empty((0, 2)))
    mean, deviation = model.process.posterior(np.full((1, 2), 0.5))
    assert mean == pytest.approx(0)
    assert np.isfinite(deviation)


def growth_kernel() -> Matern:
    return Matern(1.0, np.ones(2), 1e-3)
