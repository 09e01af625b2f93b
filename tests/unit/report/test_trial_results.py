from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Status, Trial
from spacelang.report.trial_results import (
    REASONS,
    count_failures_by_reason,
    describe_failure_counts,
    most_frequent_failure_reasons,
    shown_reason_by_reason,
    sum_failures_by_status,
)
from spacelang.runtime.errors import timeout_failure
from spacelang.runtime.history import TrialRecord


def record(status: Status, reason: str = "") -> TrialRecord:
    loss = 0.5 if status is Status.SUCCESS else None
    return TrialRecord(1, Trial(Request(Configuration({})), loss, status=status, reason=reason), 0.0, 1.0)


def test_failures_are_told_by_their_kind_in_one_order():
    records = [record(status) for status in (*Status, Status.CRASH, Status.ERROR, Status.MEMORY)]
    assert (
        describe_failure_counts(sum_failures_by_status(count_failures_by_reason(records)))
        == "2 errors, 1 invalid, 1 timeout, 2 out of memory, 2 crashes"
    )
    assert count_failures_by_reason([record(Status.SUCCESS)]) == Counter()


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.SUCCESS])
def test_every_kind_of_failure_has_words(status):
    assert describe_failure_counts(Counter([status])).startswith("1 ")


def test_every_kind_is_shown_by_its_most_frequent_reason_and_the_most_frequent_ones_of_all():
    errors = [record(Status.ERROR, reason) for reason in "aaaabbbccd"]
    rare = [record(Status.TIMEOUT, "the evaluation took longer than 1 s"), record(Status.CRASH, "signal 11")]
    shown = most_frequent_failure_reasons(count_failures_by_reason([*errors, *rare, record(Status.SUCCESS)]))
    assert shown == ([("a", 4), ("b", 3), ("c", 2), ("the evaluation took longer than 1 s", 1), ("signal 11", 1)], 1)
    assert most_frequent_failure_reasons(count_failures_by_reason(errors)) == ([("a", 4), ("b", 3), ("c", 2)], 1)
    assert REASONS == 3


@given(st.lists(st.floats(1e-6, 1e5), min_size=1), st.lists(st.sampled_from("ab")))
def test_limits_of_time_are_one_reason_with_their_ends(limits: list[float], others: list[str]) -> None:
    """What each arm of a bandit has left is another one; nothing else is put together, and no trial is lost."""
    timeouts = [record(Status.TIMEOUT, timeout_failure(limit, 0.0).reason) for limit in limits]
    counts = count_failures_by_reason([*timeouts, *(record(Status.ERROR, other) for other in others)])
    shown, left = most_frequent_failure_reasons(counts)
    assert left == 0
    assert sum(count for _, count in shown) == len(limits) + len(others)
    (said,) = [reason for reason, _ in shown if reason not in others]
    if len({each.trial.reason for each in timeouts}) == 1:
        assert said == timeouts[0].trial.reason
    else:
        ends = [
            timeout_failure(limit, 0.0).reason.removeprefix("the evaluation took longer than ")
            for limit in (min(limits), max(limits))
        ]
        assert said == f"the evaluation took longer than its limit, which was between {' and '.join(ends)}"


def test_what_only_looks_like_a_limit_is_left_alone() -> None:
    said = "the evaluation took longer than"
    strange = {(Status.TIMEOUT, f"{said} ever"), (Status.ERROR, f"{said} 3s")}
    limits = {(Status.TIMEOUT, f"{said} 3s"), (Status.TIMEOUT, "it took longer than 40ms")}  # as it was stored once
    found = shown_reason_by_reason(strange | limits)
    assert {found[each] for each in strange} == strange
    assert {found[each] for each in limits} == {
        (Status.TIMEOUT, "the evaluation took longer than its limit, which was between 40ms and 3s")
    }
