import pytest

from spacelang.ir.task import Limits
from spacelang.runtime.budget import Budget, parse_duration, parse_trial_limits


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("2m", 120),
        ("2min", 120),
        ("1.5h", 5400),
        ("500ms", 0.5),
        ("7", 7),
        ("0.25", 0.25),
        (" .5 m ", 30),
        ("1.s", 1),
    ],
)
def test_durations(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "1x", "-1s", "1h30m", "1e3", "nan", "inf", "1 2", "0", "0ms", "9" * 400])
def test_what_is_no_duration(text):
    with pytest.raises(ValueError, match=r"is not a (positive, finite )?duration"):
        parse_duration(text)


@pytest.mark.parametrize(("seconds", "trials"), [(0, None), (-1, None), (float("nan"), None), (None, 0), (None, -3)])
def test_budgets_that_allow_nothing(seconds, trials):
    with pytest.raises(ValueError, match=r"must be (positive|at least 1)"):
        Budget(seconds, trials)


def test_what_is_left_of_a_budget():
    budget = Budget(seconds=10, trials=3, answer_seconds=20)
    assert [budget.seconds_left(each) for each in (0, 9.5, 10, 11)] == [10, 0.5, 0, 0]
    assert [budget.seconds_left(each, 15) for each in (0, 4, 5, 6)] == [5, 1, 0, 0]
    assert [budget.trials_left(each) for each in (0, 3, 4)] == [3, 0, 0]
    assert (Budget().seconds_left(1e9), Budget().trials_left(10**9)) == (None, None)


@pytest.mark.parametrize(
    ("text", "seconds", "size"),
    [
        ("300s", 300, None),
        ("4GB", None, 4e9),
        ("300s 4GB", 300, 4e9),
        (" 1.5min  500MB ", 90, 5e8),
        ("250ms", 0.25, None),
        ("2 h", 7200, None),
    ],
)
def test_limits_of_a_trial(text, seconds, size):
    assert parse_trial_limits(text) == Limits(seconds, size)


@pytest.mark.parametrize(
    "text", ["", "300", "4", "4GB 3GB", "1s 2s", "5 parsecs", "300s and 4GB", "-3s", "s", "0s", "1e9999GB"]
)
def test_what_is_no_limit_of_a_trial(text):
    with pytest.raises(ValueError, match=r"is not a (positive, finite )?limit"):
        parse_trial_limits(text)
