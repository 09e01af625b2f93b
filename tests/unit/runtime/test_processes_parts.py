"""The parts of the executor `processes`, each by itself."""

import os
import pickle
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from spacelang.ir.task import UNLIMITED
from spacelang.ir.trial import Status, Trial
from spacelang.runtime.errors import (
    MAX_REASON_LENGTH,
    BuildError,
    Failure,
    describe_exception,
    exception_failure,
    exit_failure,
    kill_failure,
    memory_failure,
    timeout_failure,
)
from spacelang.runtime.executors._processes import operating_system, worker
from spacelang.runtime.executors._processes.communication import (
    Channel,
    ConfigureWorkers,
    TransmissionFailure,
    make_shared_worker_state,
)
from spacelang.runtime.executors._processes.process_tree import ProcessTrees, memory_lower_bound, resident_bytes
from spacelang.runtime.executors._processes.zygote import START_ALLOWANCE, Zygote, ZygoteChild
from spacelang.testing.faults import make_request, run_in_child, successful_trial


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    pair = tuple(Channel(end, 0.2) for end in socket.socketpair())
    yield pair
    for channel in pair:
        channel.close()


def test_messages_arrive_whole_and_in_order(ends: tuple[Channel, Channel]) -> None:
    here, there = ends
    assert there.receive_available() == []
    messages = [b"", b"x", b"y" * 1000, b""]
    for message in messages:
        here.send(message)
    assert there.receive() == b""
    assert there.receive_available() == messages[1:]
    assert not there.is_closed_by_peer


def test_a_long_message_is_sent_while_it_is_read() -> None:
    # Patient ones: on a busy machine it may take long until the reader comes to it.
    here, there = (Channel(end) for end in socket.socketpair())
    long = os.urandom(3_000_000)
    thread = threading.Thread(target=here.send, args=[long])
    thread.start()
    found: list[bytes] = []
    while not found:
        found = there.receive_available()
    thread.join()
    assert found == [long]
    here.close()
    there.close()


def test_half_a_message_is_none(ends: tuple[Channel, Channel]) -> None:
    here, there = ends
    here.send(b"whole")
    with pytest.raises(OSError, match="timed out"):
        here.send(b"x" * 10_000_000)
    here.close()
    assert there.receive_available() == [b"whole"]
    assert there.is_closed_by_peer
    with pytest.raises(EOFError):
        there.receive()


def test_files_come_along(ends: tuple[Channel, Channel], tmp_path: Path) -> None:
    here, there = ends
    for name in "ab":
        (tmp_path / name).write_text(name)
        with (tmp_path / name).open() as file:
            here.send(name.encode(), file.fileno())
    assert there.receive_available() == [b"a", b"b"]
    for name in "ab":
        with os.fdopen(there.received_files.popleft()) as file:
            assert file.read() == name


def test_a_slot_is_seen_by_a_fork() -> None:
    shared = make_shared_worker_state()

    def write() -> None:
        shared.begun, shared.since, shared.finished, shared.held = 7, 0.1, 2**40, 12

    os.waitpid(run_in_child(write), 0)
    assert (shared.begun, shared.since, shared.finished, shared.held) == (7, 0.1, 2**40, 12)


def test_a_worker_may_be_ahead_of_what_the_zygote_was_told() -> None:
    child = ZygoteChild(1, psutil.Process(), make_shared_worker_state())
    assert not child.is_busy
    child.sequence = child.shared.begun = 3
    assert child.is_busy
    child.shared.finished = 3
    assert not child.is_busy
    child.shared.begun = child.shared.finished = 4
    assert not child.is_busy


def test_a_limit_runs_from_when_a_job_was_begun(ends: tuple[Channel, Channel]) -> None:
    """A process that has to be forked first takes some time for that; one that never begins is ended all the same."""
    zygote = Zygote(ends[0], 0, successful_trial, ConfigureWorkers(UNLIMITED, isolates=False))
    now = time.monotonic()
    child = ZygoteChild(
        1, psutil.Process(), make_shared_worker_state(), sequence=3, sent_at=now - 1, allowed_seconds=0.5
    )
    assert zygote._check_time(child) is None
    assert 1.4 < child.seconds_left(0.5) <= 1.5
    child.sent_at = now - 0.5 - START_ALLOWANCE
    assert zygote._check_time(child) is not None
    child.shared.since, child.shared.begun = now - 0.25, 3
    assert zygote._check_time(child) is None
    assert 0 < child.seconds_left(0.5) <= 0.25
    child.shared.since = now - 0.75
    late = zygote._check_time(child)
    assert late is not None
    assert late.seconds >= 0.75
    for each in (zygote._wakeup_reader, zygote._wakeup_writer):
        each.close()


def test_only_the_job_for_which_a_worker_was_killed_is_to_blame(ends: tuple[Channel, Channel]) -> None:
    zygote = Zygote(ends[0], 0, successful_trial, ConfigureWorkers(UNLIMITED, isolates=False))
    late = Failure(Status.TIMEOUT, "late")
    child = ZygoteChild(
        1, psutil.Process(), make_shared_worker_state(), sequence=3, kill_reason=late, killed_sequence=3
    )
    assert zygote._failure_at_end(child, -9) is None, "it had not begun the job"
    child.shared.begun = 3
    assert zygote._failure_at_end(child, -9) is late
    child.sequence = child.shared.begun = 4
    assert zygote._failure_at_end(child, -9) is None, "it was killed for another job"
    child.shared.finished = 4
    assert zygote._failure_at_end(child, -9) is None
    for each in (zygote._wakeup_reader, zygote._wakeup_writer):
        each.close()


def test_what_a_fork_shares_is_counted_once() -> None:
    held = bytearray(b"x") * 100_000_000
    ready, done = os.pipe()
    child = run_in_child(lambda: (os.write(done, b"x"), time.sleep(30)))
    try:
        os.read(ready, 1)
        here, there = psutil.Process(), psutil.Process(child)
        alone = resident_bytes(here)
        assert alone > len(held)
        assert alone <= memory_lower_bound(here, [there]) < alone + 50_000_000
        assert resident_bytes(there) > len(held)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(done)
    assert resident_bytes(there) == 0


def test_trees_have_those_below_children() -> None:
    ready, done = os.pipe()

    def grow() -> None:
        grandchild = run_in_child(lambda: (bytearray(b"x") * 50_000_000, os.write(done, b"x"), time.sleep(30)))
        os.waitpid(grandchild, 0)

    child = run_in_child(grow)
    try:
        os.read(ready, 1)
        trees, root = ProcessTrees(), psutil.Process(child)
        assert trees.measure_memory(root, 0) == resident_bytes(root)
        trees.refresh()
        assert trees.measure_memory(root, 1e12) > resident_bytes(root)
        trees.refresh()
    finally:
        for process in [*psutil.Process(child).children(), psutil.Process(child)]:
            process.kill()
        os.waitpid(child, 0)
        os.close(ready)
        os.close(done)


def test_kills_for_memory_are_those_since_they_were_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    number = 3
    monkeypatch.setattr(operating_system, "_oom_kill_count", lambda: number)
    monkeypatch.setattr(operating_system, "COUNT_LIFETIME", 0)
    kills = operating_system.OomKillCounter()
    assert not kills.has_increased()
    number = 4
    assert kills.has_increased()
    assert not kills.has_increased()
    number = 5
    kills.record()
    assert not kills.has_increased()


def test_failures_say_what_happened() -> None:
    assert exception_failure(ValueError("no\nyes"), 2.5) == Failure(Status.ERROR, "ValueError: no", 2.5)
    assert exception_failure(MemoryError()) == Failure(Status.MEMORY, "MemoryError")
    assert exception_failure(SystemExit()) == Failure(Status.CRASH, "the evaluation exited with code 0")
    assert exception_failure(SystemExit(7)) == Failure(Status.CRASH, "the evaluation exited with code 7")
    assert exception_failure(SystemExit("why")).reason == "the evaluation exited with SystemExit: why"
    assert describe_exception(ValueError("\n  \n x ")) == "ValueError: x"
    assert len(describe_exception(ValueError("x" * 1000))) == MAX_REASON_LENGTH
    assert timeout_failure(90, 91) == Failure(Status.TIMEOUT, "the evaluation took longer than 90s", 91)
    assert timeout_failure(0.6147620476682882, 1).reason == "the evaluation took longer than 615ms"
    assert timeout_failure(2.33333333, 3).reason == "the evaluation took longer than 2333ms"
    assert memory_failure(2e9, 2.34567e9, 1).reason == "the evaluation took 2,346MB of memory, more than 2GB"
    assert exit_failure(-11, 1).reason == "the worker process was ended by signal 11 (SIGSEGV)"
    assert exit_failure(-99, 1).reason == "the worker process was ended by signal 99"
    assert exit_failure(1, 1) == Failure(Status.CRASH, "the worker process exited with code 1", 1)
    assert exit_failure(-15, 3).make_result(make_request(1)) == Trial(
        make_request(1), None, 3, Status.CRASH, exit_failure(-15, 3).reason
    )


def test_whoever_was_killed_is_out_of_memory_where_its_last_sample_or_the_system_says_so() -> None:
    for limit, taken, status in [(1e9, 0.95e9, "memory"), (1e9, 0.85e9, "crash"), (None, 5e9, "crash")]:
        assert kill_failure(limit, taken, 1).status.value == status
    assert kill_failure(None, 0, 1, is_memory_out=True).status is Status.MEMORY
    assert (
        kill_failure(1e9, 0.95e9, 1).reason
        == "the worker process was ended by signal 9 (SIGKILL) when it took 950MB of memory, close to the limit of 1GB"
    )


def test_an_answer_is_a_trial_a_failure_or_a_mistake() -> None:
    request = pickle.dumps(make_request(2))
    assert worker.evaluate_request(successful_trial, request) == successful_trial(make_request(2))
    assert worker.evaluate_request(lambda _: 1 / 0, request).reason == "ZeroDivisionError: division by zero"

    def mistaken(_: object) -> Trial:
        raise BuildError("so", "do")

    mistake = pickle.loads(worker.pickle_answer(worker.evaluate_request(mistaken, request)))
    assert (type(mistake), mistake.message, mistake.help) == (BuildError, "so", "do")
    unread = worker.evaluate_request(successful_trial, b"nonsense")
    assert isinstance(unread, TransmissionFailure)
    assert "the request of the trial cannot be read by the worker" in unread.failure.reason
    unsent = pickle.loads(worker.pickle_answer(Trial(make_request(1), 0.5, 3.0, predictions=threading.Lock())))
    assert isinstance(unsent, TransmissionFailure)
    assert (unsent.failure.status, unsent.failure.seconds) == (Status.ERROR, 3.0)


def test_what_is_kept_is_asked_of_the_object_of_a_method() -> None:
    class Keeping:
        cached_bytes = 5

        def evaluate(self, request: object) -> None: ...

        def __call__(self, request: object) -> None: ...

    assert worker.cached_bytes(Keeping()) == worker.cached_bytes(Keeping().evaluate) == 5
    assert worker.cached_bytes(successful_trial) == worker.cached_bytes(print) == 0
