"""Trials cannot touch each other: whatever one leaves behind, the others end as they do alone, in any order."""

import os
import platform
import signal
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leftovers import LEFTOVERS, break_pickles_of_trials, leave_a_pool_of_threads

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import SKIPPED_STEP, Branch, Choice, Operator, Product, ProductKind, Space
from spacelang.ir.task import Limits
from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.data.labels import check_and_encode_labels
from spacelang.runtime.data.loading import load_dataset
from spacelang.runtime.evaluation.folds import EvaluationSettings
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.executors import FinishedJob, Job
from spacelang.runtime.executors.processes import Processes

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux" or platform.machine() != "x86_64", reason="some leftovers need this system"
    ),
    pytest.mark.usefixtures("quick_zygotes_of_all"),
]
DEEDS = {
    **LEFTOVERS,
    "broken pickles": break_pickles_of_trials,
    "a pool of threads": leave_a_pool_of_threads,
    "nothing": lambda: None,
    "a crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "a kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "an exit": lambda: os._exit(3),
}


def do(request: Request) -> Trial:
    """Do it and tell in which process; or fit and score a pipeline."""
    deed = request.configuration.get("deed")
    if deed is None:
        return objective().evaluate(request)
    DEEDS[str(deed)]()
    return Trial(request, 0.5, predictions=os.getpid())


def stage(name: str, *alternatives: str) -> Choice:
    branches = (
        Branch(each, SKIPPED_STEP if each == "none" else Operator(each, package(each), ())) for each in alternatives
    )
    return Choice(name, name, name, tuple(branches))


def package(operator: str) -> str:
    return "strange_estimators" if operator.startswith("Noisy") else "sklearn"


SPACE = Space(
    "apart",
    Product(
        ProductKind.SEQUENCE,
        (
            stage("first", "none", "StandardScaler", "Noisy"),
            stage("second", "none", "PCA", "NoisyInPython"),
            stage("last", "GaussianNB", "MLPClassifier", "DecisionTreeClassifier"),
        ),
    ),
)


@cache
def objective() -> DataObjective:
    return DataObjective(
        SPACE,
        check_and_encode_labels(load_dataset("sklearn:wine"), "classification"),
        EvaluationSettings(predictions=True),
    )


class Doing:
    """What the workers do: all that they need is loaded before they are forked."""

    def __reduce__(self) -> Any:
        return ready_to_do, ()

    def __call__(self, request: Request) -> Trial:
        return do(request)


def ready_to_do() -> Doing:
    objective()
    return Doing()


def doing(*deeds: str) -> list[Request]:
    return [Request(Configuration({"deed": deed, "number": number})) for number, deed in enumerate(deeds)]


def ended(executor: Processes, requests: Sequence[Request]) -> list[FinishedJob]:
    """All that has ended, in the order in which it was asked for."""
    todo = [Job(number, request) for number, request in enumerate(requests)][::-1]
    finished: list[FinishedJob] = []
    while len(finished) < len(requests):
        while todo and (free := executor.free):
            executor.start(free[0], todo.pop())
        finished.extend(executor.wait(60))
    return sorted(finished, key=lambda each: each.job.number)


@pytest.fixture(scope="module")
def one() -> Iterator[Processes]:
    """One worker at a time, which does what it is told to."""
    executor = Processes(Doing(), limits=Limits(trial_seconds=20))
    yield executor
    executor.close()


@pytest.fixture(scope="module")
def two() -> Iterator[Processes]:
    executor = Processes(Doing(), workers=2, limits=Limits(trial_seconds=20))
    yield executor
    executor.close()


@pytest.fixture(scope="module")
def isolated() -> Iterator[Processes]:
    executor = Processes(Doing(), workers=2, limits=Limits(trial_seconds=20), isolate=True)
    yield executor
    executor.close()


@pytest.fixture(scope="module")
def alone(isolated: Processes) -> dict[Request, tuple[Any, ...]]:
    """What the trials come to of which each has a process of its own."""
    return {each.job.work: told(each.result) for each in ended(isolated, [*INNOCENT, *GUILTY])}


INNOCENT = [
    Request(Configuration({"first": first, "second": second, "last": last}), fidelity)
    for first in ("none", "StandardScaler", "Noisy")
    for second in ("none", "PCA", "NoisyInPython")
    for last in ("GaussianNB", "MLPClassifier", "DecisionTreeClassifier")
    for fidelity in ((40,) if last == "MLPClassifier" else (40, None))
]
GUILTY = doing(
    "numpy's errors", "a thread", "broken pickles", "the working directory", "a crash", "a kill", "an exit", "an alarm"
)


def told(trial: Trial) -> tuple[Any, ...]:
    predicted = None if trial.loss == 0.5 or trial.predictions is None else trial.predictions.tobytes()
    return trial.status, trial.loss, trial.reason, predicted


@given(st.data())
@settings(max_examples=60 if os.environ.get("SPACELANG_FULL") else 2, deadline=None)
def test_in_any_order_over_any_number_of_workers_trials_end_as_alone(
    one: Processes, two: Processes, alone: dict[Request, tuple[Any, ...]], data: st.DataObject
) -> None:
    executor = data.draw(st.sampled_from((one, two)))
    wanted = data.draw(st.permutations([*data.draw(st.permutations(INNOCENT))[:20], *GUILTY]))
    for each in ended(executor, wanted):
        assert told(each.result) == alone[each.job.work], each.job.work


def test_isolated_trials_have_a_process_each(isolated: Processes) -> None:
    finished = ended(isolated, doing(*["nothing"] * 9))
    assert len({each.result.predictions for each in finished}) == 9
    assert {each.attempts for each in finished} == {1}


def test_a_worker_that_is_not_as_it_was_is_replaced_and_the_answer_stands(one: Processes) -> None:
    finished = ended(one, doing(*(deed for leftover in LEFTOVERS for deed in ("nothing", leftover, "nothing"))))
    assert [each.result.reason for each in finished if each.result.status is not Status.SUCCESS] == []
    assert all(each.attempts == 1 for each in finished)
    workers = [each.result.predictions for each in finished]
    stayed = {leftover: workers[3 * number : 3 * number + 3] for number, leftover in enumerate(LEFTOVERS)}
    assert [leftover for leftover, (before, guilty, _) in stayed.items() if before != guilty] == []
    assert [leftover for leftover, (_, guilty, after) in stayed.items() if after == guilty] == []
    assert len(set(workers)) == len(LEFTOVERS) + 1


def test_who_breaks_the_way_to_the_search_fails_alone(one: Processes) -> None:
    finished = ended(one, doing("nothing", "broken pickles", "nothing", "nothing"))
    assert [each.result.status.value for each in finished] == ["success", "error", "success", "success"]
    assert [each.attempts for each in finished] == [1, 3, 1, 1]


def test_a_pool_of_threads_that_waits_is_no_reason(one: Processes) -> None:
    finished = ended(one, doing("nothing", "a pool of threads", "nothing"))
    assert len({each.result.predictions for each in finished}) == 1
