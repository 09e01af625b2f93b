"""Incumbent curves: step functions, exact at every time, that never rise."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.bench.comparison.results import (
    Curve,
    incumbent_curve,
    logarithmic_times,
    loss_before_first_score,
    sample_curves,
)

MOMENTS = st.floats(0, 100, allow_nan=False)
LOSSES = st.floats(-2, 3, allow_nan=False)
SCORES = st.lists(st.tuples(MOMENTS, LOSSES), max_size=12)


def brute(scores: list[tuple[float, float]], second: float, before: float, until: float = inf) -> float:
    """The smallest loss that is known at a time."""
    return min([loss for seconds, loss in scores if seconds <= min(second, until)], default=before)


@given(SCORES, MOMENTS)
def test_a_curve_is_the_running_minimum(scores: list[tuple[float, float]], until: float) -> None:
    curve = incumbent_curve(scores, until)
    moments = np.array(sorted({*(seconds for seconds, _ in scores), 0.0, until, 101.0}))
    (found,) = sample_curves([curve], moments, before=9.0)
    assert found.tolist() == [brute(scores, second, 9.0, until) for second in moments]
    assert list(curve.seconds) == sorted(curve.seconds)
    assert all(left > right for left, right in zip(curve.losses, curve.losses[1:], strict=False))


@given(st.lists(SCORES, min_size=1, max_size=4))
def test_curves_never_rise(runs: list[list[tuple[float, float]]]) -> None:
    curves = [incumbent_curve(scores) for scores in runs]
    before = loss_before_first_score(curves)
    found = sample_curves(curves, np.linspace(0, 101, 57), before)
    assert (np.diff(found, axis=1) <= 0).all()
    assert (found <= before).all()
    assert before >= 1


def test_two_scores_at_the_same_time_count_as_the_better_one() -> None:
    assert sample_curves([incumbent_curve([(1.0, 0.5), (1.0, 0.3)])], np.array([0.9, 1.0]), 1.0).tolist() == [
        [1.0, 0.3]
    ]


def test_the_order_in_which_scores_are_listed_does_not_count() -> None:
    assert incumbent_curve([(3.0, 0.2), (1.0, 0.4), (2.0, 0.3)]) == Curve((1.0, 2.0, 3.0), (0.4, 0.3, 0.2))


def test_losses_beyond_one_begin_with_the_worst_first_score() -> None:
    assert loss_before_first_score([Curve((1.0, 2.0), (7.5, 2.0)), Curve((1.0,), (30.0,)), Curve()]) == 30.0
    assert loss_before_first_score([Curve((1.0,), (0.2,))]) == 1.0
    assert loss_before_first_score([]) == 1.0


@given(st.lists(SCORES, min_size=1, max_size=4), st.floats(1e-3, 1e6))
def test_times_are_logarithmic_up_to_the_very_end(runs: list[list[tuple[float, float]]], end: float) -> None:
    found = logarithmic_times([incumbent_curve(scores, end) for scores in runs], end)
    assert len(found) == 256
    assert found[-1] == end
    assert (np.diff(found) > 0).all()
    assert np.allclose(np.diff(np.log(found)), np.log(found[1] / found[0]))


def test_times_begin_with_the_first_score_of_anybody() -> None:
    assert logarithmic_times([Curve((0.5, 2.0), (0.4, 0.3)), Curve((0.25,), (0.9,)), Curve()], 60.0)[0] == 0.25
    assert logarithmic_times([Curve()], 60.0)[0] == pytest.approx(0.06)
    assert logarithmic_times([Curve((60.0,), (0.1,))], 60.0)[0] == pytest.approx(0.06)
