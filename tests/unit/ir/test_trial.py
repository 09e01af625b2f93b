"""Where a loss stands between 0 and 1."""

from sys import float_info

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import UNIT_SCALE, LossScale, Request, Status, Trial, describe_scale, sort_key

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def trial(loss: float | None, scale: LossScale = UNIT_SCALE) -> Trial:
    status = Status.ERROR if loss is None else Status.SUCCESS
    return Trial(Request(Configuration({"x": 1})), loss, status=status, training_loss=loss, scale=scale)


@given(FINITE, FINITE, FINITE)
def test_a_standing_lies_between_0_and_1_and_never_falls_with_the_loss(first: float, one: float, other: float) -> None:
    scale = LossScale.centered_on(first)
    lower, upper = sorted((one, other))
    assert 0 <= scale.normalize(lower) <= scale.normalize(upper) <= 1


@given(st.floats(-1e300, 1e300))
def test_the_first_success_stands_in_the_middle(first: float) -> None:
    assert LossScale.centered_on(first).normalize(first) == pytest.approx(0.5)


def test_losses_that_differ_from_the_first_by_its_size_stand_at_the_ends() -> None:
    assert [LossScale.centered_on(40.0).normalize(loss) for loss in (0, 20, 40, 60, 80, 90)] == [
        0,
        0.25,
        0.5,
        0.75,
        1,
        1,
    ]
    assert [LossScale.centered_on(-40.0).normalize(loss) for loss in (-90, -80, -40, 0, 1)] == [0, 0, 0.5, 1, 1]
    assert [LossScale.centered_on(0.0).normalize(loss) for loss in (-1, -0.5, 0, 0.25, 0.5)] == [0, 0, 0.5, 0.75, 1]
    assert LossScale.centered_on(float_info.max).normalize(-float_info.max) == 0


@given(FINITE, FINITE)
def test_a_place_is_the_standing_between_the_ends_and_goes_on_beyond_them(first: float, loss: float) -> None:
    scale = LossScale.centered_on(first)
    assert min(max(scale.normalize_unclipped(loss), 0.0), 1.0) == scale.normalize(loss)
    assert abs(scale.normalize_unclipped(loss)) <= 1e6


def test_losses_beyond_the_ends_of_a_scale_are_told_apart() -> None:
    assert [LossScale.centered_on(-1.0).normalize_unclipped(loss) for loss in (-100, -3, -1, 0, 9)] == [
        -49,
        -0.5,
        0.5,
        1,
        5.5,
    ]


@given(st.none() | FINITE, FINITE)
def test_a_failure_stands_at_1_and_behind_every_success(loss: float | None, first: float) -> None:
    failed, succeeded = trial(None, LossScale.centered_on(first)), trial(loss or 0.0)
    assert failed.normalized_loss == 1
    assert failed.normalized_training_loss is None
    assert sort_key(succeeded) < sort_key(failed) == sort_key(trial(None))


def test_a_loss_between_0_and_1_is_its_own_standing() -> None:
    assert [trial(loss).normalized_loss for loss in (0.0, 0.25, 1.0, 1.5)] == [0, 0.25, 1, 1]
    assert trial(30.0, LossScale(0.0, 40.0)).normalized_training_loss == 0.75


def test_what_a_trial_came_to_does_not_depend_on_the_scale() -> None:
    assert trial(0.5) == trial(0.5, LossScale(0.0, 2.0))


@pytest.mark.parametrize(
    ("scale", "text"),
    [
        (UNIT_SCALE, "the loss itself"),
        (LossScale(0.0, 74.25), "loss / 74.25"),
        (LossScale(-4.0, 4.0), "(loss - -4) / 4"),
        (None, "around the first success"),
    ],
)
def test_a_scale_in_words(scale: LossScale | None, text: str) -> None:
    assert describe_scale(scale) == text
