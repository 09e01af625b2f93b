"""An executor with persistent worker processes on this machine, one job at a time each, with enforced limits.

A *zygote*, usually a fresh interpreter, loads the evaluation once and forks the workers from itself. Starting a worker
again takes milliseconds, and workers share the memory of the loaded data. The zygote watches the deadline and the
memory of every job. It kills a worker that exceeds them, with all its descendants and the processes that they have
orphaned. The parent of the zygote, its *reaper*, kills what a killed zygote leaves.

Linux leaves no process behind, whatever is killed. On macOS a process that detaches itself from its parents may outlive
a trial.
"""

import os
import pickle
import selectors
import socket
import time
import weakref
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, assert_never

from spacelang.deprecation import renamed_attributes
from spacelang.ir.task import BYTES, UNLIMITED, Limits, format_quantity
from spacelang.ir.trial import Status
from spacelang.runtime.errors import Failure, InputError, describe_exception, format_megabytes
from spacelang.runtime.executors import Evaluate, FinishedJob, Job, WorkerSettings
from spacelang.runtime.executors._processes import communication, operating_system
from spacelang.runtime.executors._processes.communication import Answer, Channel, ConfigureWorkers, JobStartNotice
from spacelang.runtime.executors._processes.zygote_connection import NO_WORKERS_HELP, ZygoteConnection
from spacelang.text import count_with_noun

MAX_ATTEMPTS: Final = 3
"""The maximum number of starts of a job whose worker may have died for a reason outside of the job."""
MAX_FAILED_LOADS: Final = 3  # The number of zygotes in a row that may end before they have loaded the evaluation
MIN_TRIAL_BYTES: Final = 16_000_000  # The minimum memory of a trial on top of that of an idle worker, in bytes
SPARE_FILES: Final = 16  # The number of files, besides one for each worker, that a run opens at a time
CHECK_INTERVAL: Final = 1.0  # The interval at which a silent zygote is checked, in seconds
RESPONSE_TIMEOUT: Final = 10.0
"""The maximum time for a worker to read a job, and for the zygote to report a timeout, in seconds."""


@renamed_attributes(ready="wait_until_ready")
class Processes:
    """An executor with `workers` worker processes, each within `limits`.

    `evaluate` is sent to the zygote once, serialized by cloudpickle; results come back by pickle. An exception in it
    makes a failed trial, except for InputError: that is a mistake of the user, and `wait` raises it.

    If the evaluation has a number `cached_bytes`, a worker may keep that much memory between trials, as a cache does. A
    worker that holds much more is replaced. So is a worker whose global state a trial has changed. Memory that a worker
    held before a trial does not count as memory of the trial. With `isolate` every trial has a process of its own, and
    nothing is cached between trials.

    A trial is started again, up to `MAX_ATTEMPTS` times in all, if another program has killed its process or if its
    answer cannot be read. The other program may be a trial: the last attempt of a job runs alone, and so do all further
    attempts of jobs whose zygote was killed while several jobs ran. So only a job that ran alone can fail because its
    process was killed.

    With `forks` the zygote is a fork of this process if that has used only one thread so far. Then `evaluate` need not
    be sent, and nothing is imported twice.

    There may be more workers than cores; each uses one thread.

    Raises InputError if the platform has no such processes, if this process may open too few files to connect to them,
    or if the evaluation cannot be sent to one. `wait_until_ready` raises InputError if the evaluation cannot be loaded,
    or if the memory limit is too small for an idle worker.
    """

    @classmethod
    def create(cls, evaluate: Evaluate, workers: WorkerSettings, *, forks: bool = False) -> "Processes":
        """Create an executor with the number, the limits and the isolation of these workers."""
        return cls(evaluate, workers=workers.count, limits=workers.limits, isolate=workers.isolate, forks=forks)

    def __init__(
        self,
        evaluate: Evaluate,
        *,
        workers: int = 1,
        limits: Limits = UNLIMITED,
        isolate: bool = False,
        forks: bool = False,
    ) -> None:
        if os.name != "posix":
            raise InputError("worker processes are supported on Linux and macOS only", NO_WORKERS_HELP)
        if workers < 1:
            raise ValueError(f"the number of workers must be at least 1, not {workers}")
        needed = len(operating_system.inodes_by_descriptor()) + workers + SPARE_FILES
        if needed > (limit := operating_system.max_open_files()):
            help_ = f"raise the limit: `ulimit -n {2 * needed}`; {NO_WORKERS_HELP}"
            counted = count_with_noun(workers, "worker")
            what = f"{counted} need {needed} open files, but the limit of this process is {limit:.0f}"
            raise InputError(what, help_)
        self._evaluate, self._limits, self._isolates, self._forks = evaluate, limits, isolate, forks
        self._workers = {name: _WorkerState(name) for name in map(str, range(1, workers + 1))}
        self._next_number = count(1)
        self._finished: list[FinishedJob[Any]] = []
        self._error: InputError | None = None
        self._loaded_at: float | None = None
        self._failed_loads = 0
        self._selector = selectors.DefaultSelector()
        self._connections: list[ZygoteConnection] = []
        self._finalizer = weakref.finalize(self, _close_all, self._connections, self._workers, self._selector)
        self._start_zygote()

    def wait_until_ready(self) -> None:
        """Block until workers can be forked. Raises InputError, with the reason, if they never can."""
        while self._loaded_at is None:
            self._raise_error()
            self._process_events(None)
        self._raise_error()

    @property
    def free(self) -> Sequence[str]:
        """The names of the workers without a job: "1", "2" and so on."""
        return tuple(worker.name for worker in self._workers.values() if worker.job is None)

    def start(self, worker: str, job: Job[Any]) -> None:
        """Give a job to a free worker, without waiting for the worker."""
        assert self._finalizer.alive, "the executor is closed"
        chosen = self._workers[worker]
        self._process_events(0)  # the worker may have been killed while it was idle
        assert chosen.job is None
        chosen.job, chosen.attempts, chosen.must_be_alone = job, 0, False
        self._send_waiting_jobs()

    def wait(self, seconds: float | None = None) -> Sequence[FinishedJob[Any]]:
        """Return finished jobs as in `Executor`; raise the InputError of an evaluation or of `wait_until_ready`."""
        until = None if seconds is None else time.monotonic() + seconds
        while not self._finished and any(worker.job for worker in self._workers.values()):
            self._raise_error()
            left = None if until is None else max(until - time.monotonic(), 0)
            if not self._process_events(left) and left == 0:
                break
        if not self._finished:
            self._raise_error()
        finished, self._finished = self._finished, []
        return tuple(finished)

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Kill these workers, or all busy ones, with all descendants; the next jobs start new processes."""
        stopped = self._workers.keys() if workers is None else set(workers)
        self._finished = [each for each in self._finished if each.worker not in stopped]
        for worker in self._workers.values():
            if worker.job is not None and worker.name in stopped:
                worker.job, worker.is_running = None, False
                self._abandon_worker(worker)
        self._send_waiting_jobs()

    def close(self) -> None:
        """Kill all workers with their descendants, and the zygote, without waiting for any job."""
        for worker in self._workers.values():
            worker.job = None
        # If this is interrupted, the next call or the exit of the program completes it.
        _close_all(self._connections, self._workers, self._selector)
        self._finalizer.detach()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _start_zygote(self) -> None:
        self._loaded_at = None
        order = ConfigureWorkers(self._limits, self._isolates)
        self._connections[:] = [ZygoteConnection(self._evaluate, order, forks=self._forks)]
        self._forks = False  # files may be open by now that a fork must not inherit
        self._selector.register(self._connections[0].channel, selectors.EVENT_READ)

    def _send_waiting_jobs(self) -> None:
        """Send the waiting jobs; one that must be alone is sent before others, and only while no other one runs."""
        if self._error is not None:
            return
        waiting = [worker for worker in self._workers.values() if worker.job is not None and not worker.is_running]
        lone = [worker for worker in waiting if worker.must_be_alone]
        running = [worker for worker in self._workers.values() if worker.is_running]
        if lone and not running:
            self._send_job(lone[0])
        elif not lone and not any(worker.must_be_alone for worker in running):
            for worker in waiting:
                self._send_job(worker)

    def _send_job(self, worker: "_WorkerState") -> None:
        assert worker.job is not None
        request = pickle.dumps(worker.job.work, pickle.HIGHEST_PROTOCOL)
        channel = worker.channel or self._fork_worker(worker)
        worker.is_running = True
        worker.attempts += 1
        worker.sequence = next(self._next_number)
        worker.started_at = time.monotonic()
        seconds = worker.job.allowed_seconds(self._limits)
        self._connections[0].send(JobStartNotice(worker.process_token, worker.sequence, seconds))
        try:
            channel.send(communication.REQUEST_HEADER.pack(worker.sequence) + request)
        except OSError:
            self._abandon_worker(worker)

    def _fork_worker(self, worker: "_WorkerState") -> Channel:
        """Order the zygote to fork a process for a worker, and return the connection to the process at once.

        Messages that are sent before the process runs wait in the connection.
        """
        worker.process_token = next(self._next_number)
        ours, theirs = socket.socketpair()
        worker.channel = Channel(ours, RESPONSE_TIMEOUT)
        self._selector.register(worker.channel, selectors.EVENT_READ, worker)
        with theirs:
            self._connections[0].send(communication.ForkWorker(worker.process_token), theirs.fileno())
        return worker.channel

    def _process_events(self, seconds: float | None) -> bool:
        """Wait for events, up to `seconds` or `CHECK_INTERVAL`, and handle them; return True if there were any."""
        events = self._selector.select(CHECK_INTERVAL if seconds is None else min(seconds, CHECK_INTERVAL))
        for key, _ in events:
            if key.data is not None:
                self._read_results(key.data)
        if any(key.data is None for key, _ in events):
            self._read_zygote_messages()
        if not events:
            self._kill_hanging_zygote()
        self._send_waiting_jobs()
        return bool(events)

    def _read_results(self, worker: "_WorkerState") -> None:
        channel = worker.channel
        if channel is None:
            return
        for message in channel.receive_available():
            sequence, exits = communication.ANSWER_HEADER.unpack_from(message)
            if exits:
                self._forget_process(worker)
            if worker.is_running and sequence == worker.sequence:
                self._handle_answer(worker, _unpickle_answer(memoryview(message)[communication.ANSWER_HEADER.size :]))
            if worker.channel is not channel:
                return
        if channel.is_closed_by_peer:
            self._abandon_worker(worker)

    def _handle_answer(self, worker: "_WorkerState", answer: Answer) -> None:
        """Handle an answer; start a job whose answer cannot be read again in another process."""
        if not isinstance(answer, communication.TransmissionFailure):
            self._finish_job(worker, answer)
            return
        if worker.channel is not None:
            self._connections[0].send(communication.EndUnreachableWorker(worker.process_token))
            self._forget_process(worker)
        self._retry(worker, answer.failure)

    def _abandon_worker(self, worker: "_WorkerState") -> None:
        """Have the zygote end a worker that cannot be reached; its job then fails or is retried like any other."""
        self._connections[0].send(communication.EndUnreachableWorker(worker.process_token))
        if not worker.is_running:
            self._forget_process(worker)
        elif worker.channel is not None:
            with suppress(KeyError):
                self._selector.unregister(worker.channel)

    def _forget_process(self, worker: "_WorkerState") -> None:
        worker.process_token, channel, worker.channel = 0, worker.channel, None
        if channel is not None:
            with suppress(KeyError):
                self._selector.unregister(channel)
            channel.close()

    def _read_zygote_messages(self) -> None:
        link = self._connections[0]
        for news in link.receive_messages():
            self._handle_message(news)
        if link.channel.is_closed_by_peer:
            self._selector.unregister(link.channel)
            if self._error is None:
                self._restart_zygote(link)

    def _handle_message(self, news: communication.ZygoteMessage) -> None:
        match news:
            case communication.EvaluationLoaded(idle):
                self._loaded_at, self._failed_loads = time.monotonic(), 0
                self._error = self._error or _memory_limit_error(self._limits, idle)
            case communication.EvaluationLoadFailed(reason):
                what = f"the evaluation cannot be loaded by another process: {reason}"
                self._error = InputError(what, NO_WORKERS_HELP)
            case communication.WorkerEnded(token):
                for worker in self._workers.values():
                    if worker.process_token == token:
                        self._handle_worker_end(worker, news)
            case _:
                assert_never(news)

    def _handle_worker_end(self, worker: "_WorkerState", news: communication.WorkerEnded) -> None:
        """Handle the end of a worker: what it sent before counts, else its job fails or is started again."""
        self._read_results(worker)
        if worker.process_token != news.token:
            return
        self._forget_process(worker)
        if not worker.is_running:
            return
        if news.failure is not None and news.sequence == worker.sequence and news.is_final:
            self._finish_job(worker, news.failure)
        else:
            early_end = Failure(Status.CRASH, "the worker process ended before the evaluation began")
            self._retry(worker, news.failure or early_end)

    def _restart_zygote(self, link: ZygoteConnection) -> None:
        """Start a new zygote, and have the running jobs started again one at a time: one may have killed the old."""
        for worker in self._workers.values():
            self._read_results(worker)
        link.shut_down()
        reason = f"the process that starts the workers {link.describe_exit()}"
        had_loaded = self._loaded_at is not None
        if not had_loaded:
            self._failed_loads += 1
        if self._failed_loads == MAX_FAILED_LOADS:
            self._error = InputError(f"{reason} before it had loaded the evaluation", NO_WORKERS_HELP)
            return
        try:
            self._start_zygote()
        except InputError as error:
            self._error = error
            return
        running = [worker for worker in self._workers.values() if worker.is_running]
        for worker in self._workers.values():
            self._forget_process(worker)
        for worker in running:
            if had_loaded:
                worker.must_be_alone = worker.must_be_alone or len(running) > 1
                self._retry(worker, Failure(Status.CRASH, reason))
            else:
                worker.is_running, worker.attempts = False, worker.attempts - 1

    def _kill_hanging_zygote(self) -> None:
        """Kill a zygote that hangs: one that should have ended a job long ago."""
        if self._loaded_at is None:
            return
        for worker in self._workers.values():
            limit = None if worker.job is None or not worker.is_running else worker.job.allowed_seconds(self._limits)
            since = max(worker.started_at, self._loaded_at)
            if limit is not None and time.monotonic() - since > limit + RESPONSE_TIMEOUT:
                self._connections[0].kill()
                return

    def _retry(self, worker: "_WorkerState", failure: Failure) -> None:
        """Have a job that lost its worker started again, the last time alone; fail it if it was started too often."""
        if worker.attempts < MAX_ATTEMPTS:
            worker.is_running = False
            worker.must_be_alone = worker.must_be_alone or worker.attempts == MAX_ATTEMPTS - 1
        else:
            self._finish_job(worker, failure)

    def _finish_job(self, worker: "_WorkerState", answer: Answer) -> None:
        job, worker.job, worker.is_running = worker.job, None, False
        assert job is not None
        if isinstance(answer, InputError):
            self._error = self._error or answer
            return
        result = answer.make_result(job.work) if isinstance(answer, Failure) else answer
        self._finished.append(FinishedJob(job, result, worker.name, worker.attempts))


@dataclass(slots=True)
class _WorkerState:
    """A worker as the coordinator knows it; it keeps its name when its process is replaced."""

    name: str
    process_token: int = 0  # The number by which the zygote identifies its process; 0 without a process
    channel: Channel | None = None  # The connection to its process; None without a process
    job: Job[Any] | None = None
    is_running: bool = False  # True if its job was sent; a job that was not sent waits
    must_be_alone: bool = False  # True if its job is to run while no other job runs
    attempts: int = 0
    sequence: int = 0  # The number by which its process identifies the job
    started_at: float = 0.0


def _unpickle_answer(answer: memoryview) -> Answer:
    try:
        return pickle.loads(answer)
    except Exception as error:  # noqa: BLE001 - unpickling a user's result can raise anything
        reason = f"the result of the trial cannot be read by the search: {describe_exception(error)}"
        return communication.TransmissionFailure(Failure(Status.ERROR, reason))


def _memory_limit_error(limits: Limits, idle: int) -> InputError | None:
    """Return an error if the memory limit leaves too little for a trial besides an idle worker, else None."""
    if limits.trial_bytes is None or limits.trial_bytes >= idle + MIN_TRIAL_BYTES:
        return None
    limit = format_quantity(limits.trial_bytes, BYTES)
    message = f"a limit of {limit} leaves too little for a trial: an idle worker process takes {format_megabytes(idle)}"
    return InputError(message, f"set the limit to {format_megabytes(idle + 4 * MIN_TRIAL_BYTES)} or more")


def _close_all(
    links: Sequence[ZygoteConnection], workers: dict[str, _WorkerState], selector: selectors.BaseSelector
) -> None:
    """Close the connections and end all processes; can be called again while the interpreter lives."""
    selector.close()
    for worker in workers.values():
        if worker.channel is not None:
            worker.channel.close()
    for link in links:
        link.shut_down()
