"""Trials cannot touch each other: whatever one leaves behind, the others end as they do alone, in any order."""

import os
import platform
import sys
from collections.abc import Iterator, Sequence

import pytest
from leftovers import LEFTOVERS, break_pickles_of_trials, leave_a_pool_of_threads

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Limits
from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.executors import Finished, Job
from spacelang.runtime.executors.processes import Processes

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="some leftovers need this system"
)
DEEDS = {
    **LEFTOVERS,
    "broken pickles": break_pickles_of_trials,
    "a pool of threads": leave_a_pool_of_threads,
    "nothing": lambda: None,
}


def do(request: Request) -> Trial:
    """Do it and tell in which process."""
    DEEDS[str(request.configuration["deed"])]()
    return Trial(request, 0.5, predictions=os.getpid())


def doing(*deeds: str) -> list[Request]:
    return [Request(Configuration({"deed": deed, "number": number})) for number, deed in enumerate(deeds)]


def ended(executor: Processes, requests: Sequence[Request]) -> list[Finished]:
    """All that has ended, in the order in which it was asked for."""
    todo = [Job(number, request) for number, request in enumerate(requests)][::-1]
    finished: list[Finished] = []
    while len(finished) < len(requests):
        while todo and (free := executor.free):
            executor.start(free[0], todo.pop())
        finished.extend(executor.wait(60))
    return sorted(finished, key=lambda each: each.job.number)


@pytest.fixture(scope="module")
def one() -> Iterator[Processes]:
    """One worker at a time, which does what it is told to."""
    executor = Processes(do, limits=Limits(trial_seconds=20))
    yield executor
    executor.close()


def test_a_worker_that_is_not_as_it_was_is_replaced_and_the_answer_stands(one: Processes) -> None:
    finished = ended(one, doing(*(deed for leftover in LEFTOVERS for deed in ("nothing", leftover, "nothing"))))
    assert [each.trial.reason for each in finished if each.trial.status is not Status.SUCCESS] == []
    assert all(each.attempts == 1 for each in finished)
    workers = [each.trial.predictions for each in finished]
    stayed = {leftover: workers[3 * number : 3 * number + 3] for number, leftover in enumerate(LEFTOVERS)}
    assert [leftover for leftover, (before, guilty, _) in stayed.items() if before != guilty] == []
    assert [leftover for leftover, (_, guilty, after) in stayed.items() if after == guilty] == []
    assert len(set(workers)) == len(LEFTOVERS) + 1


def test_who_breaks_the_way_to_the_search_fails_alone(one: Processes) -> None:
    finished = ended(one, doing("nothing", "broken pickles", "nothing", "nothing"))
    assert [each.trial.status.value for each in finished] == ["success", "error", "success", "success"]
    assert [each.attempts for each in finished] == [1, 3, 1, 1]


def test_a_pool_of_threads_that_waits_is_no_reason(one: Processes) -> None:
    finished = ended(one, doing("nothing", "a pool of threads", "nothing"))
    assert len({each.trial.predictions for each in finished}) == 1
