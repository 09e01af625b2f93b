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
from spacelang.runtime.errors import BuildError
from spacelang.runtime.executors._processes import system, worker
from spacelang.runtime.executors._processes.channel import Channel
from spacelang.runtime.executors._processes.memory import ProcessTrees, certain, resident
from spacelang.runtime.executors._processes.messages import Garbled, Load
from spacelang.runtime.executors._processes.nursery import STARTING, Child, Nursery
from spacelang.runtime.executors._processes.shared import shared_numbers
from spacelang.runtime.failures import LENGTH, Failure, described, ended, killed, raised, too_large, too_long
from spacelang.testing.misbehaving import in_a_child, wanted, well


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    pair = tuple(Channel(end, 0.2) for end in socket.socketpair())
    yield pair
    for channel in pair:
        channel.close()


def test_messages_arrive_whole_and_in_order(ends: tuple[Channel, Channel]) -> None:
    here, there = ends
    assert there.arrived() == []
    messages = [b"", b"x", b"y" * 1000, b""]
    for message in messages:
        here.send(message)
    assert there.receive() == b""
    assert there.arrived() == messages[1:]
    assert not there.is_over


def test_a_long_message_is_sent_while_it_is_read() -> None:
    # Patient ones: on a busy machine it may take long until the reader comes to it.
    here, there = (Channel(end) for end in socket.socketpair())
    long = os.urandom(3_000_000)
    thread = threading.Thread(target=here.send, args=[long])
    thread.start()
    found: list[bytes] = []
    while not found:
        found = there.arrived()
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
    assert there.arrived() == [b"whole"]
    assert there.is_over
    with pytest.raises(EOFError):
        there.receive()


def test_files_come_along(ends: tuple[Channel, Channel], tmp_path: Path) -> None:
    here, there = ends
    for name in "ab":
        (tmp_path / name).write_text(name)
        with (tmp_path / name).open() as file:
            here.send(name.encode(), file.fileno())
    assert there.arrived() == [b"a", b"b"]
    for name in "ab":
        with os.fdopen(there.files.popleft()) as file:
            assert file.read() == name


def test_a_slot_is_seen_by_a_fork() -> None:
    shared = shared_numbers()

    def write() -> None:
        shared.begun, shared.since, shared.finished, shared.held = 7, 0.1, 2**40, 12

    os.waitpid(in_a_child(write), 0)
    assert (shared.begun, shared.since, shared.finished, shared.held) == (7, 0.1, 2**40, 12)


def test_a_worker_may_be_ahead_of_what_the_nursery_was_told() -> None:
    child = Child(1, psutil.Process(), shared_numbers())
    assert not child.is_busy
    child.sequence = child.shared.begun = 3
    assert child.is_busy
    child.shared.finished = 3
    assert not child.is_busy
    child.shared.begun = child.shared.finished = 4
    assert not child.is_busy


def test_a_limit_runs_from_when_a_job_was_begun(ends: tuple[Channel, Channel]) -> None:
    """A process that has to be forked first takes some time for that; one that never begins is ended all the same."""
    nursery = Nursery(ends[0], 0, well, Load(UNLIMITED, isolates=False))
    now = time.monotonic()
    child = Child(1, psutil.Process(), shared_numbers(), sequence=3, given=now - 1, allowed=0.5)
    assert nursery._timed(child) is None
    assert 1.4 < child.left(0.5) <= 1.5
    child.given = now - 0.5 - STARTING
    assert nursery._timed(child) is not None
    child.shared.since, child.shared.begun = now - 0.25, 3
    assert nursery._timed(child) is None
    assert 0 < child.left(0.5) <= 0.25
    child.shared.since = now - 0.75
    late = nursery._timed(child)
    assert late is not None
    assert late.seconds >= 0.75
    for each in (nursery._deaths, nursery._death):
        each.close()


def test_only_the_job_for_which_a_worker_was_killed_is_to_blame(ends: tuple[Channel, Channel]) -> None:
    nursery = Nursery(ends[0], 0, well, Load(UNLIMITED, isolates=False))
    late = Failure(Status.TIMEOUT, "late")
    child = Child(1, psutil.Process(), shared_numbers(), sequence=3, verdict=late, judged=3)
    assert nursery._epitaph(child, -9) is None, "it had not begun the job"
    child.shared.begun = 3
    assert nursery._epitaph(child, -9) is late
    child.sequence = child.shared.begun = 4
    assert nursery._epitaph(child, -9) is None, "it was killed for another job"
    child.shared.finished = 4
    assert nursery._epitaph(child, -9) is None
    for each in (nursery._deaths, nursery._death):
        each.close()


def test_what_a_fork_shares_is_counted_once() -> None:
    held = bytearray(b"x") * 100_000_000
    ready, done = os.pipe()
    child = in_a_child(lambda: (os.write(done, b"x"), time.sleep(30)))
    try:
        os.read(ready, 1)
        here, there = psutil.Process(), psutil.Process(child)
        alone = resident(here)
        assert alone > len(held)
        assert alone <= certain(here, [there]) < alone + 50_000_000
        assert resident(there) > len(held)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(done)
    assert resident(there) == 0


def test_trees_have_those_below_children() -> None:
    ready, done = os.pipe()

    def grow() -> None:
        grandchild = in_a_child(lambda: (bytearray(b"x") * 50_000_000, os.write(done, b"x"), time.sleep(30)))
        os.waitpid(grandchild, 0)

    child = in_a_child(grow)
    try:
        os.read(ready, 1)
        trees, root = ProcessTrees(), psutil.Process(child)
        assert trees.taken(root, 0) == resident(root)
        trees.look()
        assert trees.taken(root, 1e12) > resident(root)
        trees.look()
    finally:
        for process in [*psutil.Process(child).children(), psutil.Process(child)]:
            process.kill()
        os.waitpid(child, 0)
        os.close(ready)
        os.close(done)


def test_kills_for_memory_are_those_since_they_were_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    number = 3
    monkeypatch.setattr(system, "_memory_kills", lambda: number)
    monkeypatch.setattr(system, "NOTED", 0)
    kills = system.MemoryKills()
    assert not kills.are_more()
    number = 4
    assert kills.are_more()
    assert not kills.are_more()
    number = 5
    kills.note()
    assert not kills.are_more()


def test_failures_say_what_happened() -> None:
    assert raised(ValueError("no\nyes"), 2.5) == Failure(Status.ERROR, "ValueError: no", 2.5)
    assert raised(MemoryError()) == Failure(Status.MEMORY, "MemoryError")
    assert raised(SystemExit()) == Failure(Status.CRASH, "it exited with code 0")
    assert raised(SystemExit(7)) == Failure(Status.CRASH, "it exited with code 7")
    assert raised(SystemExit("why")).reason == "it exited with SystemExit: why"
    assert described(ValueError("\n  \n x ")) == "ValueError: x"
    assert len(described(ValueError("x" * 1000))) == LENGTH
    assert too_long(90, 91) == Failure(Status.TIMEOUT, "it took longer than 90s", 91)
    assert too_long(0.6147620476682882, 1).reason == "it took longer than 615ms"
    assert too_long(2.33333333, 3).reason == "it took longer than 2333ms"
    assert too_large(2e9, 2.34567e9, 1).reason == "it took 2,346MB of memory, more than 2GB"
    assert ended(-11, 1).reason == "its process was ended by signal 11 (SIGSEGV)"
    assert ended(-99, 1).reason == "its process was ended by signal 99"
    assert ended(1, 1) == Failure(Status.CRASH, "its process exited with code 1", 1)
    assert ended(-15, 3).of(wanted(1)) == Trial(wanted(1), None, 3, Status.CRASH, ended(-15, 3).reason)


def test_whoever_was_killed_is_out_of_memory_where_its_last_sample_or_the_system_says_so() -> None:
    for limit, taken, status in [(1e9, 0.95e9, "memory"), (1e9, 0.85e9, "crash"), (None, 5e9, "crash")]:
        assert killed(limit, taken, 1).status.value == status
    assert killed(None, 0, 1, is_memory_out=True).status is Status.MEMORY
    assert (
        killed(1e9, 0.95e9, 1).reason
        == "its process was ended by signal 9 (SIGKILL) when it took 950MB of memory, of 1GB"
    )


def test_an_answer_is_a_trial_a_failure_or_a_mistake() -> None:
    request = pickle.dumps(wanted(2))
    assert worker.answered(well, request) == well(wanted(2))
    assert worker.answered(lambda _: 1 / 0, request).reason == "ZeroDivisionError: division by zero"

    def mistaken(_: object) -> Trial:
        raise BuildError("so", "do")

    mistake = pickle.loads(worker.packed(worker.answered(mistaken, request)))
    assert (type(mistake), mistake.message, mistake.help) == (BuildError, "so", "do")
    unread = worker.answered(well, b"nonsense")
    assert isinstance(unread, Garbled)
    assert "its request cannot be read by the worker" in unread.failure.reason
    unsent = pickle.loads(worker.packed(Trial(wanted(1), 0.5, 3.0, predictions=threading.Lock())))
    assert isinstance(unsent, Garbled)
    assert (unsent.failure.status, unsent.failure.seconds) == (Status.ERROR, 3.0)


def test_what_is_kept_is_asked_of_the_object_of_a_method() -> None:
    class Keeping:
        kept_bytes = 5

        def evaluate(self, request: object) -> None: ...

        def __call__(self, request: object) -> None: ...

    assert worker.kept_bytes(Keeping()) == worker.kept_bytes(Keeping().evaluate) == 5
    assert worker.kept_bytes(well) == worker.kept_bytes(print) == 0
