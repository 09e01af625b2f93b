"""Conformance suites for executors, and for executors that enforce limits on trials."""

import os
import random
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar

import psutil
import pytest

from spacelang.deprecation import make_module_getattr, warn_renamed
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import UNLIMITED, Limits
from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.errors import BuildError
from spacelang.runtime.executors import Evaluate, Executor, FinishedJob, Job, wait_until_ready
from spacelang.runtime.executors._processes.process_tree import is_alive_with_environment_variable
from spacelang.testing.faults import (
    FAULTS,
    LIMITS,
    MAX_SECONDS,
    NUISANCES,
    Fault,
    evaluate,
    make_request,
    successful_trial,
)

MakeExecutor = Callable[..., Executor]


class MarkedProcesses:
    """The processes of a test, recognized by an environment variable that only they inherit."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def __call__(self) -> list[psutil.Process]:
        """Return the marked processes that are alive; a terminated child that was not waited for is not."""
        processes = psutil.process_iter()
        return [each for each in processes if is_alive_with_environment_variable(each, MARK_VARIABLE, self._mark)]

    def wait_until_gone(self, seconds: float = 1.0) -> bool:
        """Wait at most `seconds` and return True if no marked process is left."""
        until = time.monotonic() + seconds
        while self():
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True


class ExecutorTests:
    """Base class of the suites. A suite overrides `executor`; the fixture `make_executor` creates and closes them."""

    runs_apart: ClassVar[bool] = True  # True if jobs run while nobody calls `wait`; False if `wait` itself runs them

    def executor(self, evaluate: Evaluate, limits: Limits) -> Executor:
        """Create an executor with at least one worker; one that does not enforce limits may ignore `limits`."""
        raise NotImplementedError

    @pytest.fixture
    def marked_processes(self) -> Iterator[MarkedProcesses]:
        """Provide the processes that the test has started."""
        with mark_processes() as found:
            yield found

    @pytest.fixture
    def make_executor(self, marked_processes: MarkedProcesses) -> Iterator[MakeExecutor]:
        """Provide a function that creates executors, which are closed after the test and leave no processes."""
        made: list[Executor] = []

        def new(evaluate: Evaluate, limits: Limits = UNLIMITED) -> Executor:
            made.append(self.executor(evaluate, limits))
            return made[-1]

        yield new
        for executor in made:
            executor.close()
        assert not marked_processes()

    @pytest.fixture(name="make")
    def _make(self, make_executor: MakeExecutor) -> MakeExecutor:
        warn_renamed("make", "make_executor")
        return make_executor

    @pytest.fixture(name="marked")
    def _marked(self, marked_processes: MarkedProcesses) -> MarkedProcesses:
        warn_renamed("marked", "marked_processes")
        return marked_processes


class ExecutorConformance(ExecutorTests):
    """Conformance suite for executors: each job is returned once, as from a direct call, but not after a stop."""

    def test_every_job_is_answered_once(self, make_executor: MakeExecutor) -> None:
        executor = make_executor(evaluate)
        finished = evaluate_all(executor, [make_request(number) for number in range(50)])
        assert Counter(each.job.number for each in finished) == Counter(range(1, 51))
        assert all(each.result == successful_trial(each.job.work) for each in finished)
        assert all(each.attempts == 1 for each in finished)
        assert {each.worker for each in finished} <= set(executor.free)
        assert executor.wait() == ()

    def test_results_equal_those_of_a_direct_call(self, make_executor: MakeExecutor) -> None:
        base = 7.5
        requests = [
            Request(Configuration({"a": number, "b": text, "c": None}), fidelity)
            for number, text, fidelity in [(1, "x", None), (0.1, "ä\n", 3), (True, "", 10**9), (2**70, "y", 1)]
        ]

        def closure(request: Request) -> Trial:
            size = len(str(request.configuration["b"])) + (request.fidelity or 0)
            return Trial(
                request, base + size, 0.25, metrics=(("size", size),), training_loss=0.5, predictions=[1.0, size]
            )

        answers = {each.job.work: each.result for each in evaluate_all(make_executor(closure), requests)}
        for request in requests:
            called = closure(request)
            assert answers[request] == called
            assert answers[request].predictions == called.predictions

    def test_a_lambda_can_be_evaluated(self, make_executor: MakeExecutor) -> None:
        (finished,) = evaluate_all(make_executor(lambda request: Trial(request, 1.5)), [make_request(0)])
        assert finished.result.loss == 1.5

    def test_a_worker_with_a_job_is_not_free(self, make_executor: MakeExecutor) -> None:
        executor = make_executor(evaluate)
        wait_until_ready(executor)
        names = tuple(executor.free)
        assert names
        assert len(set(names)) == len(names)
        for number, name in enumerate(names):
            assert name in executor.free
            executor.start(name, Job(number, make_request(number)))
            assert name not in executor.free
        assert not executor.free
        finished: list[FinishedJob[Trial]] = []
        while len(finished) < len(names):
            finished.extend(executor.wait())
        assert tuple(executor.free) == names
        expected = [(name, number) for number, name in enumerate(names)]
        assert sorted((each.worker, each.job.number) for each in finished) == expected

    def test_waiting_without_jobs_returns_at_once(self, make_executor: MakeExecutor) -> None:
        executor = make_executor(evaluate)
        wait_until_ready(executor)
        assert executor.wait() == ()
        assert executor.wait(60) == ()

    def test_an_input_error_of_the_evaluation_is_raised(self, make_executor: MakeExecutor) -> None:
        def mistaken(_: Request) -> Trial:
            raise BuildError("no such thing", "ask for another")

        executor = make_executor(mistaken)
        executor.start(executor.free[0], Job(1, make_request(1)))
        with pytest.raises(BuildError, match="no such thing") as caught:
            executor.wait()
        assert caught.value.help == "ask for another"

    def test_closing_twice_does_nothing(self, make_executor: MakeExecutor, marked_processes: MarkedProcesses) -> None:
        executor = make_executor(evaluate)
        executor.close()
        assert not marked_processes()
        executor.close()

    def test_closing_drops_running_jobs(self, make_executor: MakeExecutor, marked_processes: MarkedProcesses) -> None:
        executor = make_executor(evaluate)
        for number, name in enumerate(executor.free):
            executor.start(name, Job(number, make_request(number, "sleep")))
        executor.close()
        assert not marked_processes()
        assert executor.wait() == ()

    def test_stopped_jobs_are_never_returned(self, make_executor: MakeExecutor) -> None:
        executor = make_executor(evaluate)
        names = tuple(executor.free)
        for number, name in enumerate(names):
            executor.start(name, Job(number, make_request(number, "sleep")))
        if self.runs_apart:
            assert executor.wait(0.2) == ()
        started = time.monotonic()
        executor.stop()
        assert tuple(executor.free) == names
        assert executor.wait(0) == ()
        finished = evaluate_all(executor, [make_request(number) for number in range(4)])
        assert sorted(each.result.loss for each in finished if each.result.loss is not None) == [0, 1, 2, 3]
        executor.stop()
        assert len(evaluate_all(executor, [make_request(7)])) == 1
        assert time.monotonic() - started < MAX_SECONDS, "a stopped job was still running"

    def test_stopping_one_worker_leaves_the_others_running(self, make_executor: MakeExecutor) -> None:
        executor = make_executor(evaluate)
        wait_until_ready(executor)
        names = tuple(executor.free)
        stopped, *others = names
        for number, name in enumerate(names):
            executor.start(name, Job(number, make_request(number, "sleep" if name == stopped else "well")))
        executor.stop(())
        assert not executor.free
        answered = [*executor.wait(0.2)] if self.runs_apart else []
        started = time.monotonic()
        executor.stop((stopped,))
        assert stopped in executor.free
        executor.start(stopped, Job(99, make_request(99)))
        while not {stopped, *others} <= {*executor.free}:
            answered.extend(executor.wait(20))
        assert sorted(each.job.number for each in answered) == [*range(1, len(names)), 99]
        assert all(each.result.loss == each.job.number and each.attempts == 1 for each in answered)
        assert len(evaluate_all(executor, [make_request(number) for number in range(3)])) == 3
        assert time.monotonic() - started < MAX_SECONDS, "a stopped job was still running"


class ExecutorLimitsConformance(ExecutorTests):
    """Conformance suite for executors with limits: a fault fails only its own trial, in time, and leaves no process."""

    many: ClassVar[int] = 120  # The number of trials in the longest test; a tenth of them misbehave

    def test_a_job_can_have_its_own_time_limit(self, make_executor: MakeExecutor) -> None:
        executor = make_executor(evaluate, Limits(trial_seconds=0.1))
        (name, *_) = executor.free
        for request, seconds in (
            (make_request(1, "share_memory_with_children"), 20.0),
            (make_request(2, "sleep"), 0.3),
        ):
            executor.start(name, Job(1, request, seconds))
            (finished,) = executor.wait(20)
            if seconds == 20:
                assert finished.result.loss == 1, finished.result.reason
            else:
                assert finished.result.reason == "the evaluation took longer than 300ms"
        (finished,) = evaluate_all(executor, [make_request(3, "sleep")])
        assert finished.result.reason == "the evaluation took longer than 100ms"

    def test_a_request_can_shorten_the_time_limit_but_not_extend_it(self, make_executor: MakeExecutor) -> None:
        executor = make_executor(evaluate, Limits(trial_seconds=0.3))
        sleeps = make_request(1, "sleep")
        for seconds, limit in ((0.1, "100ms"), (20.0, "300ms"), (None, "300ms")):
            (finished,) = evaluate_all(executor, [replace(sleeps, seconds=seconds)])
            assert finished.result.reason == f"the evaluation took longer than {limit}"
            assert finished.result.is_answer_to(sleeps) == (seconds != 0.1)
            assert finished.result.is_answer_to(replace(sleeps, seconds=0.05))

    def test_a_tiny_time_limit_gives_a_timeout_and_not_a_crash(self, make_executor: MakeExecutor) -> None:
        """Check that limits shorter than the start of a process give timeouts, and a single attempt each."""
        executor = make_executor(evaluate, Limits(trial_seconds=20))
        for number in range(10):
            limit = 1e-4 * 4 ** (number % 4)
            (finished,) = evaluate_all(executor, [replace(make_request(number, "sleep"), seconds=limit)])
            assert finished.result.status is Status.TIMEOUT, finished.result.reason
            assert finished.result.cost >= limit
            assert finished.attempts == 1

    def test_waiting_returns_after_its_timeout(self, make_executor: MakeExecutor) -> None:
        executor = make_executor(evaluate, Limits(trial_seconds=20))
        wait_until_ready(executor)
        executor.start(executor.free[0], Job(1, make_request(1, "sleep")))
        assert executor.wait(0) == ()
        started = time.monotonic()
        assert executor.wait(0.2) == ()
        assert 0.15 < time.monotonic() - started < MAX_SECONDS / 3

    def test_closing_is_quick_whatever_jobs_do(
        self, make_executor: MakeExecutor, marked_processes: MarkedProcesses
    ) -> None:
        for action in ("sleep_in_c", "ignore_signals", "hang_in_a_child", "stop_own_process"):
            executor = make_executor(evaluate)
            wait_until_ready(executor)
            for number, name in enumerate(executor.free):
                executor.start(name, Job(number, make_request(number, action)))
            assert executor.wait(0.2) == ()
            started = time.monotonic()
            executor.close()
            assert time.monotonic() - started < MAX_SECONDS / 3
            assert not marked_processes()

    @pytest.mark.parametrize("faults", [FAULTS[::2], FAULTS[1::2]], ids=["even", "odd"])
    def test_a_fault_ends_only_its_own_trial(
        self, make_executor: MakeExecutor, marked_processes: MarkedProcesses, faults: Sequence[Fault]
    ) -> None:
        executor = make_executor(evaluate, Limits(trial_seconds=MAX_SECONDS / 3, trial_bytes=LIMITS.trial_bytes))
        wait_until_ready(executor)
        around = len(marked_processes())
        for fault in faults:
            started = time.monotonic()
            # Only faults that hang have a short limit; for others the speed of the machine does not matter.
            seconds = LIMITS.trial_seconds if fault.status is Status.TIMEOUT else None
            (failed,) = evaluate_all(executor, [replace(make_request(1, fault.action), seconds=seconds)])
            check_failure(failed, fault, time.monotonic() - started)
            assert len(marked_processes()) <= around + len(executor.free), (
                f"`{fault.action}` left more processes than workers"
            )
            after = evaluate_all(executor, [make_request(number) for number in range(4)])
            assert [each.result.loss for each in sorted(after, key=lambda each: each.job.number)] == [0, 1, 2, 3], fault

    @pytest.mark.parametrize("actions", [NUISANCES[::2], NUISANCES[1::2]], ids=["even", "odd"])
    def test_a_nuisance_succeeds_and_leaves_no_processes(
        self, make_executor: MakeExecutor, marked_processes: MarkedProcesses, actions: Sequence[str]
    ) -> None:
        executor = make_executor(evaluate, Limits(trial_seconds=20, trial_bytes=LIMITS.trial_bytes))
        wait_until_ready(executor)
        around = len(marked_processes())
        for action in actions:
            for finished in evaluate_all(executor, [make_request(number, action) for number in range(6)]):
                assert finished.result.status is Status.SUCCESS, action
                assert finished.result.loss == finished.job.number - 1
                assert finished.attempts == 1, action
            assert len(marked_processes()) <= around + len(executor.free), action

    def test_a_fault_does_not_affect_other_trials(self, make_executor: MakeExecutor) -> None:
        executor = make_executor(evaluate, Limits(trial_seconds=20, trial_bytes=LIMITS.trial_bytes))
        actions = ["well", "segfault", "well", "exit_at_once", "leave_a_daemon", "well"] * 3
        finished = evaluate_all(executor, [make_request(number, action) for number, action in enumerate(actions)])
        for each in finished:
            failed = each.job.work.configuration["action"] in ("segfault", "exit_at_once")
            assert each.result.status is (Status.CRASH if failed else Status.SUCCESS)

    def test_each_of_many_trials_ends_exactly_once(
        self, make_executor: MakeExecutor, marked_processes: MarkedProcesses
    ) -> None:
        chance = random.Random(5)
        faults = {fault.action: fault for fault in FAULTS}
        actions = [chance.choice([*faults, *NUISANCES]) if chance.random() < 0.1 else "well" for _ in range(self.many)]
        # Only faults that hang have a short limit; for others the speed of the machine does not matter.
        hang = {action for action, fault in faults.items() if fault.status is Status.TIMEOUT}
        limits = [LIMITS.trial_seconds if action in hang else None for action in actions]
        executor = make_executor(evaluate, Limits(trial_seconds=MAX_SECONDS / 3, trial_bytes=LIMITS.trial_bytes))
        wait_until_ready(executor)
        around = len(marked_processes())
        made = [make_request(number, action) for number, action in enumerate(actions)]
        requests = [replace(each, seconds=limit) for each, limit in zip(made, limits, strict=True)]
        finished = evaluate_all(executor, requests)
        assert Counter(each.job.number for each in finished) == Counter(range(1, self.many + 1))
        for each in finished:
            fault = faults.get(str(each.job.work.configuration["action"]))
            assert each.result.status is (Status.SUCCESS if fault is None else fault.status), each
        assert len(marked_processes()) <= around + len(executor.free)


def check_failure(failed: FinishedJob[Trial], fault: Fault, seconds: float) -> None:
    """Check that a trial has failed as its fault says, and in time; `seconds` is the elapsed time."""
    assert failed.result.status is fault.status, fault
    assert fault.reason in failed.result.reason
    assert "\n" not in failed.result.reason
    assert failed.result.loss is None
    assert failed.attempts == fault.attempts, fault
    assert seconds < MAX_SECONDS / 3, fault
    assert failed.result.cost <= seconds
    if fault.status is Status.TIMEOUT:
        assert LIMITS.trial_seconds is not None
        assert failed.result.cost >= LIMITS.trial_seconds


def evaluate_all(executor: Executor, requests: Sequence[Request]) -> list[FinishedJob[Trial]]:
    """Evaluate all requests on all workers, as the run loop does, and return the finished jobs."""
    jobs = [Job(number, request) for number, request in enumerate(requests, 1)]
    todo, finished = jobs[::-1], list[FinishedJob[Trial]]()
    while len(finished) < len(jobs):
        while todo and (free := executor.free):
            executor.start(free[0], todo.pop())
        answers = executor.wait(60)
        assert answers, "no job finished within 60 s"
        finished.extend(answers)
    return finished


MARK_VARIABLE = "SPACELANG_TEST"


@contextmanager
def mark_processes() -> Iterator[MarkedProcesses]:
    """Mark all processes that are started in the context, and kill those that even a failing test has left."""
    before, mark = os.environ.get(MARK_VARIABLE), uuid.uuid4().hex
    os.environ[MARK_VARIABLE] = mark
    marked = MarkedProcesses(mark)
    try:
        yield marked
    finally:
        os.environ.pop(MARK_VARIABLE)
        if before is not None:
            os.environ[MARK_VARIABLE] = before
        for process in marked():
            process.kill()


__getattr__ = make_module_getattr(
    __name__, {"BoundingConformance": "ExecutorLimitsConformance", "Make": "MakeExecutor"}
)
