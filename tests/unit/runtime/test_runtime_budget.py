import pytest

from spacelang.runtime.budget import Budget, parse_duration


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
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(("seconds", "trials"), [(0, None), (-1, None), (float("nan"), None), (None, 0), (None, -3)])
def test_budgets_that_allow_nothing(seconds, trials):
    with pytest.raises(ValueError, match="allows nothing"):
        Budget(seconds, trials)


def test_a_budget_is_exhausted_by_whichever_limit_comes_first():
    budget = Budget(seconds=10, trials=3)
    assert not budget.is_exhausted(9.99, 2)
    assert budget.is_exhausted(10, 0)
    assert budget.is_exhausted(0, 3)
    assert not Budget().is_exhausted(1e9, 10**9)
