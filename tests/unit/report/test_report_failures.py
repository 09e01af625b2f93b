from collections import Counter

import pytest

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Status, Trial
from spacelang.report.failures import REASONS, by_kind, most_frequent, reasons, told
from spacelang.runtime.history import Record


def record(status: Status, reason: str = "") -> Record:
    loss = 0.5 if status is Status.SUCCESS else None
    return Record(1, Trial(Request(Configuration({})), loss, status=status, reason=reason), 0.0, 1.0)


def test_failures_are_told_by_their_kind_in_one_order():
    records = [record(status) for status in (*Status, Status.CRASH, Status.ERROR, Status.MEMORY)]
    assert told(by_kind(records)) == "2 errors, 1 invalid, 1 timeout, 2 out of memory, 2 crashes"
    assert told(by_kind([record(Status.SUCCESS)])) == ""


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.SUCCESS])
def test_every_kind_of_failure_has_words(status):
    assert told(Counter([status])).startswith("1 ")


def test_every_kind_is_shown_by_its_most_frequent_reason_and_the_most_frequent_ones_of_all():
    errors = [record(Status.ERROR, reason) for reason in "aaaabbbccd"]
    rare = [record(Status.TIMEOUT, "it took longer than 1 s"), record(Status.CRASH, "signal 11")]
    shown = most_frequent(reasons([*errors, *rare, record(Status.SUCCESS)]))
    assert shown == [("a", 4), ("b", 3), ("c", 2), ("it took longer than 1 s", 1), ("signal 11", 1)]
    assert most_frequent(reasons(errors)) == [("a", 4), ("b", 3), ("c", 2)]
    assert REASONS == 3
