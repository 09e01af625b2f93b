"""Clusters of dask on which everything goes wrong: each job is answered once, and nothing is left of a run."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from dask_clusters import cluster

from spacelang.ir.task import Limits
from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import Executor, FinishedJob, Job
from spacelang.runtime.executors.dask import Dask
from spacelang.testing.executors import MarkedProcesses, mark_processes
from spacelang.testing.faults import LIMITS, MAX_SECONDS, evaluate, make_request

TESTS = Path(__file__).parent.parent
ENOUGH = 60.0
"""More seconds than anything here takes, on whatever machine."""


@pytest.fixture
def marked() -> Iterator[MarkedProcesses]:
    with mark_processes() as found:
        yield found


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    """A cluster that somebody else has started."""
    with cluster() as made:
        yield made


def work(executor: Executor, jobs: Sequence[Job], after: Callable[[int], None] | None = None) -> list[FinishedJob]:
    """Have the jobs done; `after` is called with how many have ended, whenever more have."""
    todo, finished = list(jobs)[::-1], list[FinishedJob]()
    while len(finished) < len(jobs):
        while todo and (free := executor.free):
            executor.start(free[0], todo.pop())
        ended = executor.wait(ENOUGH)
        assert ended, "it took too long"
        finished.extend(ended)
        if after is not None:
            after(len(finished))
    return finished


def jobs(number: int, deed: str = "well") -> list[Job]:
    return [Job(each, make_request(each, deed)) for each in range(number)]


def answered_once(finished: Sequence[FinishedJob], number: int) -> None:
    assert Counter(each.job.number for each in finished) == Counter(range(number))
    assert all(each.result.status is Status.SUCCESS for each in finished)
    assert all(each.result.loss == each.job.number for each in finished)


def members() -> list[psutil.Process]:
    """The dask workers that this process has started."""
    children = psutil.Process().children()
    return [each for each in children if any("executors._dask import main" in word for word in words_of(each))]


def words_of(process: psutil.Process) -> list[str]:
    """What a process was started with; nothing for one that has ended, as others of this process may at any time."""
    with suppress(psutil.NoSuchProcess):  # zombies are among these
        return list(process.cmdline())
    return []


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def short(request: Request) -> Trial:
    """Two of them, one after the other, take longer: time enough for a misfortune in the midst of both."""
    number = float(str(request.configuration["number"]))
    time.sleep(1.0 if number in (20, 21) else 0.02)
    return Trial(request, number)


def patient(request: Request) -> Trial:
    number = float(str(request.configuration["number"]))
    time.sleep(0.5 if number == 2 else 0.0)
    return Trial(request, number)


def where(request: Request) -> Trial:
    """Say which process has evaluated it."""
    return Trial(request, float(os.getpid()))


def kill_the_dask_worker(request: Request) -> Trial:
    """A trial's process is below the zygote, that below its reaper, and that below the dask worker."""
    if request.configuration["action"] == "kill":
        _zygote, _reaper, worker, *_ = psutil.Process().parents()
        worker.kill()
        time.sleep(ENOUGH)
    return Trial(request, float(str(request.configuration["number"])))


@pytest.mark.parametrize("number", [pytest.param(1, marks=pytest.mark.full), 2], ids=["one of two", "both"])
def test_killed_dask_workers_lose_nothing(
    marked: MarkedProcesses, capfd: pytest.CaptureFixture[str], number: int
) -> None:
    executor = Dask(short, workers=2)
    killed: list[int] = []

    def kill(ended: int) -> None:
        if ended == 20:
            threading.Timer(0.4, kill_now).start()

    def kill_now() -> None:
        for member in members()[:number]:
            killed.append(member.pid)
            member.kill()

    try:
        executor.wait_until_ready()
        finished = work(executor, jobs(60), kill)
        answered_once(finished, 60)
        assert len(killed) == number
        assert number <= sum(each.attempts - 1 for each in finished) <= 3 * number
        assert {each.worker for each in finished} <= set(executor.free)
        assert eventually(lambda: len(members()) == 2), "a worker is started for one that has ended"
        answered_once(work(executor, jobs(4)), 4)
        started = time.monotonic()
    finally:
        executor.close()
    assert time.monotonic() - started < MAX_SECONDS / 3
    assert not marked()
    assert capfd.readouterr() == ("", "")


@pytest.mark.full
def test_a_job_that_ends_every_dask_worker_has_crashed(marked: MarkedProcesses) -> None:
    executor = Dask(kill_the_dask_worker, workers=2)
    try:
        finished = work(
            executor, [Job(0, make_request(0, "kill")), *(Job(each, make_request(each)) for each in range(1, 8))]
        )
    finally:
        executor.close()
    answers = {each.job.number: each for each in finished}
    assert len(answers) == len(finished) == 8
    assert answers[0].result.status is Status.CRASH
    assert answers[0].result.reason == "4 dask workers ended one after another while they evaluated this trial"
    assert answers[0].attempts == 4
    assert all(answers[each].result.loss == each for each in range(1, 8))
    assert not marked()


@pytest.mark.full
def test_a_job_that_ends_dask_workers_of_two_threads_takes_no_neighbours_along() -> None:
    with cluster(2, threads=2) as wide:
        executor = Dask(kill_the_dask_worker, workers=4, address=wide.scheduler_address)
        try:
            kinds = ["well", "kill", *["well"] * 10]
            finished = work(executor, [Job(each, make_request(each, kind)) for each, kind in enumerate(kinds)])
        finally:
            executor.close()
    answers = {each.job.number: each for each in finished}
    assert len(answers) == len(finished) == 12
    assert answers.pop(1).result.status is Status.CRASH
    assert all(each.result.loss == number for number, each in answers.items())


@pytest.mark.parametrize(
    ("deed", "status", "seconds"),
    [
        ("segfault", Status.CRASH, 30),
        ("sleep_in_c", Status.TIMEOUT, 0.5),
        ("allocate_in_several_children", Status.MEMORY, 30),
    ],
)
def test_limits_hold_below_dask_workers(running: Any, deed: str, status: Status, seconds: float) -> None:
    limits = Limits(trial_seconds=seconds, trial_bytes=LIMITS.trial_bytes)
    executor = Dask(evaluate, workers=2, limits=limits, address=running.scheduler_address)
    try:
        finished = work(
            executor,
            [Job(0, make_request(0, deed)), Job(1, make_request(1)), Job(2, make_request(2)), Job(3, make_request(3))],
        )
    finally:
        executor.close()
    found = {each.job.number: each.result.status for each in finished}
    assert found == {0: status, **dict.fromkeys((1, 2, 3), Status.SUCCESS)}
    assert all(each.attempts == 1 for each in finished)
    assert nothing_is_left(running)


def test_a_limit_that_no_worker_can_keep_is_refused(running: Any) -> None:
    executor = Dask(evaluate, limits=Limits(trial_bytes=1e6), address=running.scheduler_address)
    try:
        with pytest.raises(InputError, match="a limit of 1MB leaves too little for a trial: an idle worker"):
            executor.wait_until_ready()
    finally:
        executor.close()
    assert nothing_is_left(running)


@pytest.mark.full
def test_two_runs_do_not_disturb_each_other(running: Any) -> None:
    runs = [Dask(short, workers=2, address=running.scheduler_address) for _ in range(2)]
    results: dict[int, list[FinishedJob]] = {}

    def go(index: int) -> None:
        results[index] = work(runs[index], jobs(20 + index * 20))
        runs[index].close()

    threads = [threading.Thread(target=go, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(ENOUGH)
    for index in range(2):
        answered_once(results[index], 20 + index * 20)
    assert nothing_is_left(running)


def nothing_is_left(running: Any) -> bool:
    """Whether a cluster has nothing of any run: no plugin, no task, no process below its workers."""
    scheduler = running.scheduler

    def is_clean() -> bool:
        names = (*scheduler.worker_plugins, *scheduler.plugins)
        below = [each for worker in scheduler.workers.values() for each in psutil.Process(worker.pid).children()]
        return not any(name.startswith("spacelang") for name in names) and not scheduler.tasks and not below

    return eventually(is_clean)


def test_a_seat_stays_where_it_is(running: Any) -> None:
    executor = Dask(where, workers=1, address=running.scheduler_address)
    try:
        one_at_a_time = [work(executor, [job])[0] for job in jobs(8)]
    finally:
        executor.close()
    assert len({each.result.loss for each in one_at_a_time}) == 1
    assert len({each.worker for each in one_at_a_time}) == 1


class Weighty:
    """An evaluation that counts how often it is read."""

    def __init__(self, notes: Path) -> None:
        self._notes = notes
        self._data = os.urandom(3_000_000)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        with self._notes.open("a") as file:
            file.write(f"{os.getpid()}\n")

    def __call__(self, request: Request) -> Trial:
        return Trial(request, float(str(request.configuration["number"])))


def test_the_evaluation_is_read_once_for_each_dask_worker(running: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    executor = Dask(Weighty(notes), workers=2, address=running.scheduler_address)
    try:
        answered_once(work(executor, jobs(20)), 20)
    finally:
        executor.close()
    readers = notes.read_text().split()
    assert len(readers) == len(set(readers)) == 2


@pytest.mark.full
def test_a_dask_worker_that_joins_later_takes_part(marked: MarkedProcesses) -> None:
    with cluster(1, processes=False) as growing:
        executor = Dask(where, workers=2, address=growing.scheduler_address)
        try:
            executor.wait_until_ready()
            before = {each.result.loss for each in work(executor, jobs(4))}
            growing.scale(2)
            assert eventually(lambda: len(growing.scheduler.workers) == 2, ENOUGH)
            after = {each.result.loss for each in work(executor, jobs(40))}
            assert len(before) == 1
            assert len(after) == 2
        finally:
            executor.close()
        assert not marked()


def test_a_dask_worker_of_two_threads_has_two_places() -> None:
    with cluster(1, threads=2, processes=False) as wide:
        executor = Dask(where, workers=2, address=wide.scheduler_address)
        try:
            (first, second) = executor.free
            assert second == f"{first} (2)"
            pids = {each.result.loss for each in work(executor, jobs(12))}
            assert len(pids) == 2
        finally:
            executor.close()


@pytest.mark.full
def test_what_a_cluster_forgets_is_given_to_it_again(running: Any) -> None:
    executor = Dask(short, workers=2, address=running.scheduler_address)
    forgotten: list[int] = []

    def forget(ended: int) -> None:
        if ended >= 10 and not forgotten:
            forgotten.append(ended)
            # It is what another user of the cluster may do at any time.
            running.sync(running.scheduler.restart, stimulus_id="test", timeout=ENOUGH)

    try:
        answered_once(work(executor, jobs(30), forget), 30)
    finally:
        executor.close()
    assert forgotten
    assert nothing_is_left(running)


def test_a_scheduler_that_is_gone_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacelang.runtime.executors._dask.cluster.CONNECT_TIMEOUT", 1.0)
    with cluster(1, processes=False) as lost:
        executor = Dask(evaluate, address=lost.scheduler_address)
        executor.start(executor.free[0], Job(0, make_request(0, "sleep")))
        assert executor.wait(0.2) == ()
    try:
        with pytest.raises(InputError, match=r"scheduler at `tcp://127\.0\.0\.1:\d+` is no longer reachable") as caught:
            executor.wait(ENOUGH)
        assert "--resume" in caught.value.help
    finally:
        executor.close()


@pytest.mark.full
def test_a_scheduler_that_went_between_two_jobs_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacelang.runtime.executors._dask.cluster.CONNECT_TIMEOUT", 1.0)
    with cluster(1, processes=False) as lost:
        executor = Dask(evaluate, address=lost.scheduler_address)
        answered_once(work(executor, jobs(2)), 2)
    try:
        executor.start(executor.free[0], Job(2, make_request(2)))
        with pytest.raises(InputError, match="is no longer reachable"):
            executor.wait(ENOUGH)
    finally:
        executor.close()


@pytest.mark.parametrize(
    "is_waiting", [True, pytest.param(False, marks=pytest.mark.full)], ids=["during a job", "between two"]
)
def test_a_scheduler_that_comes_back_is_given_all_again(is_waiting: bool, marked: MarkedProcesses) -> None:
    with cluster(1, processes=False) as first:
        address, port = first.scheduler_address, first.scheduler.port
        executor = Dask(patient, address=address)
        answered_once(work(executor, jobs(2)), 2)
        if is_waiting:
            executor.start(executor.free[0], Job(2, make_request(2)))
    try:
        with cluster(1, processes=False, port=port):
            if not is_waiting:
                executor.start(executor.free[0], Job(2, make_request(2)))
            (finished,) = executor.wait(ENOUGH)
            assert finished.result.loss == 2
            # Its worker may be seen to go before the scheduler.
            assert finished.attempts in ((2, 3) if is_waiting else (1,))
            executor.close()
            assert not marked()
    finally:
        executor.close()


def test_a_cluster_without_workers_ends_the_run_in_the_end() -> None:
    with cluster(1, processes=False) as dwindling:
        executor = Dask(evaluate, address=dwindling.scheduler_address, patience=1.0)
        try:
            executor.start(executor.free[0], Job(0, make_request(0, "sleep")))
            dwindling.scale(0)
            with pytest.raises(InputError, match="has had no worker for 1s") as caught:
                executor.wait(ENOUGH)
            assert "dask worker tcp://" in caught.value.help
        finally:
            executor.close()


def test_a_scheduler_that_never_has_workers_is_refused() -> None:
    with cluster(0, processes=False) as empty:
        executor = Dask(evaluate, address=empty.scheduler_address, patience=0.5)
        try:
            with pytest.raises(InputError, match="has had no worker for 500ms"):
                executor.wait_until_ready()
        finally:
            executor.close()


def test_machines_with_other_versions_are_refused(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def differing(here: object, there: object, place: str) -> str:
        return f"`scikit-learn` is another at {place}"

    monkeypatch.setattr("spacelang.runtime.executors._dask.worker_plugin.describe_version_difference", differing)
    executor = Dask(evaluate, address=running.scheduler_address)
    try:
        with pytest.raises(InputError, match="`scikit-learn` is another at the dask worker tcp://") as caught:
            executor.wait_until_ready()
        assert "all machines of the cluster" in caught.value.help
    finally:
        executor.close()
    assert nothing_is_left(running)


def test_control_c_interrupts_waiting_and_closing_is_quick(marked: MarkedProcesses) -> None:
    executor = Dask(evaluate, workers=2)
    executor.wait_until_ready()
    for number, name in enumerate(executor.free):
        executor.start(name, Job(number, make_request(number, "ignore_signals")))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        executor.wait(ENOUGH)
    timer.join()
    started = time.monotonic()
    executor.close()
    assert time.monotonic() - started < MAX_SECONDS / 3
    assert not marked()
    executor.close()
    assert executor.wait() == ()


def test_an_own_cluster_listens_on_the_loopback_address_only_and_leaves_no_file(
    marked: MarkedProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    executor = Dask(evaluate)
    try:
        executor.wait_until_ready()
        assert list(tmp_path.iterdir())
        sockets = [each for process in (psutil.Process(), *marked()) for each in process.net_connections()]
        listening = {each.laddr.ip for each in sockets if each.status == psutil.CONN_LISTEN}
    finally:
        executor.close()
    assert listening == {"127.0.0.1"}
    assert not list(tmp_path.iterdir())


SEARCH = """
    import sys
    sys.path[:0] = json_path
    from spacelang.testing.faults import evaluate, make_request
    from spacelang.runtime.executors import Job
    from spacelang.runtime.executors.dask import Dask
    executor = Dask(evaluate, workers=2, address=address)
    for number, name in enumerate(executor.free):
        executor.start(name, Job(number, make_request(number, deed)))
    print("begun", flush=True)
    for _ in executor.free or range(2):
        executor.wait()
    executor.close()
"""


def a_search(folder: Path, address: str | None, deed: str) -> "subprocess.Popen[str]":
    """A program without a guard of its main module that evaluates something; it has begun when this returns."""
    program = folder / "search.py"
    given = f"json_path, address, deed = {[str(TESTS)]!r}, {address!r}, {deed!r}\n"
    program.write_text(given + textwrap.dedent(SEARCH))
    search = subprocess.Popen(
        [sys.executable, "-W", "error", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert search.stdout is not None
    assert search.stdout.readline() == "begun\n"
    return search


def test_a_program_needs_no_guard_and_nothing_is_said(tmp_path: Path, marked: MarkedProcesses) -> None:
    search = a_search(tmp_path, None, "well")
    assert search.communicate(timeout=ENOUGH) == ("", "")
    assert search.returncode == 0
    assert not marked()


def test_of_a_killed_search_nothing_is_left_on_this_machine(
    tmp_path: Path, marked: MarkedProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    with a_search(tmp_path, None, "sleep_in_c") as search:
        assert len(marked()) >= 5
        assert list(folder.iterdir())
        search.kill()
    assert marked.wait_until_gone(3)
    assert not list(folder.iterdir())


@pytest.mark.full
def test_of_a_killed_search_nothing_is_left_on_a_cluster(tmp_path: Path, running: Any) -> None:
    with a_search(tmp_path, running.scheduler_address, "sleep_in_c") as search:
        has_begun = eventually(lambda: bool(running.scheduler.tasks))
        search.kill()
    assert has_begun
    assert nothing_is_left(running)
