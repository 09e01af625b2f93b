"""An executor with persistent worker processes on this machine, one job at a time each, with enforced limits.

A *zygote*, usually a fresh interpreter, loads the evaluation once and forks the workers from itself. Starting a worker
again takes milliseconds, and workers share the memory of the loaded data. The zygote watches the deadline and the
memory of every job. It kills a worker that exceeds them, with all its descendants and the processes that they have
orphaned.

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
from dataclasses import dataclass, replace
from itertools import count
from typing import Final, assert_never

from spacelang.ir.task import BYTES, UNLIMITED, Limits, quantity
from spacelang.ir.trial import Status, Trial
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import Evaluate, Finished, Job, Workers
from spacelang.runtime.executors._processes.channel import Channel
from spacelang.runtime.executors._processes.link import HERE, Link
from spacelang.runtime.executors._processes.messages import (
    RESULT,
    TASK,
    Answer,
    Begin,
    Ended,
    ForkWorker,
    Garbled,
    Load,
    Loaded,
    Lost,
    News,
    Refused,
)
from spacelang.runtime.failures import Failure, described, megabytes

ATTEMPTS: Final = 3
"""The maximum number of starts of a job whose worker may have died for a reason outside of the job."""

LOADS: Final = 3
"""The number of zygotes in a row that may end before they have loaded the evaluation."""

MARGIN: Final = 16_000_000
"""The minimum memory of a trial on top of that of an idle worker, in bytes."""

REST: Final = 1.0
"""The interval at which a silent zygote is checked, in seconds."""

PATIENCE: Final = 10.0
"""The maximum time for a worker to read a job, and for the zygote to report a timeout, in seconds."""


def cores() -> int:
    """Return the number of cores that this process may use.

    It is limited by the machine, the CPU affinity of the process and the CPU quota of its container.
    """
    import joblib

    return int(joblib.cpu_count())


class Processes:
    """An executor with `workers` worker processes, each within `limits`.

    `evaluate` is sent to the zygote once, serialized by cloudpickle; results come back by pickle. An exception in it
    makes a failed trial, except for InputError: that is a mistake of the user, and `wait` raises it.

    If the evaluation has a number `kept_bytes`, a worker may keep that much memory between trials, as a cache does. A
    worker that holds much more is replaced. So is a worker whose global state a trial has changed. Memory that a worker
    held before a trial does not count as memory of the trial. With `isolate` every trial has a process of its own, and
    nothing is cached between trials.

    A trial is started again, up to `ATTEMPTS` times in all, if another program has killed its process or if its answer
    cannot be read.

    With `forks` the zygote is a fork of this process if that has used only one thread so far. Then `evaluate` need not
    be sent, and nothing is imported twice.

    There may be more workers than `cores()`; each uses one thread.

    Raises InputError if the platform has no such processes, or if the evaluation cannot be sent to one. `ready` raises
    InputError if the evaluation cannot be loaded, or if the memory limit is too small for an idle worker.
    """

    @classmethod
    def hired(cls, evaluate: Evaluate, workers: Workers, *, forks: bool = False) -> "Processes":
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
            raise InputError("worker processes are supported on Linux and macOS only", HERE)
        if workers < 1:
            raise ValueError(f"the number of workers must be at least 1, not {workers}")
        self._evaluate = evaluate
        self._limits = limits
        self._isolates = isolate
        self._forks = forks
        self._workers = {name: _Worker(name) for name in map(str, range(1, workers + 1))}
        self._numbers = count(1)
        self._finished: list[Finished] = []
        self._broken: InputError | None = None
        self._loaded_at: float | None = None
        self._loads = 0
        self._selector = selectors.DefaultSelector()
        self._links: list[Link] = []
        self._end = weakref.finalize(self, _end, self._links, self._workers, self._selector)
        self._link()

    def ready(self) -> None:
        """Block until workers can be forked. Raises InputError, with the reason, if they never can."""
        while self._loaded_at is None:
            self._raise_broken()
            self._attend(None)
        self._raise_broken()

    @property
    def free(self) -> Sequence[str]:
        """The names of the workers without a job: "1", "2" and so on."""
        return tuple(worker.name for worker in self._workers.values() if worker.job is None)

    def start(self, worker: str, job: Job) -> None:
        """Give a job to a free worker, without waiting for the worker."""
        assert self._end.alive, "the executor is closed"
        chosen = self._workers[worker]
        self._attend(0)  # the worker may have been killed while it was idle
        assert chosen.job is None
        chosen.job, chosen.attempts = job, 0
        self._begin(chosen)

    def wait(self, seconds: float | None = None) -> Sequence[Finished]:
        """Return the jobs that have ended since the last call.

        Without a pending job it returns at once. Else it blocks until at least one job has ended, or until `seconds`
        have passed.

        Raises the InputError that an evaluation has raised, and what `ready` raises.
        """
        until = None if seconds is None else time.monotonic() + seconds
        while not self._finished and any(worker.job for worker in self._workers.values()):
            self._raise_broken()
            left = None if until is None else max(until - time.monotonic(), 0)
            if not self._attend(left) and left == 0:
                break
        if not self._finished:
            self._raise_broken()
        finished, self._finished = self._finished, []
        return tuple(finished)

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Kill the workers, among these or all, that have a job, with all their descendants.

        Their jobs are never answered. New processes replace them when the next jobs start.
        """
        stopped = self._workers.keys() if workers is None else set(workers)
        self._finished = [each for each in self._finished if each.worker not in stopped]
        for worker in self._workers.values():
            if worker.job is not None and worker.name in stopped:
                worker.job = None
                self._lose(worker)

    def close(self) -> None:
        """Kill all workers with their descendants, and the zygote, without waiting for any job."""
        for worker in self._workers.values():
            worker.job = None
        # If this is interrupted, the next call or the exit of the program completes it.
        _end(self._links, self._workers, self._selector)
        self._end.detach()

    def _raise_broken(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _link(self) -> None:
        """Start a zygote."""
        self._loaded_at = None
        self._links[:] = [Link(self._evaluate, Load(self._limits, self._isolates), forks=self._forks)]
        self._forks = False  # files may be open by now that a fork must not inherit
        self._selector.register(self._links[0].channel, selectors.EVENT_READ)

    def _begin(self, worker: "_Worker") -> None:
        """Send a worker its job; fork the worker first if it has no process."""
        assert worker.job is not None
        request = pickle.dumps(worker.job.request, pickle.HIGHEST_PROTOCOL)
        channel = worker.channel or self._fork(worker)
        worker.attempts += 1
        worker.sequence = next(self._numbers)
        worker.begun = time.monotonic()
        self._links[0].tell(Begin(worker.token, worker.sequence, self._allowed(worker.job)))
        try:
            channel.send(TASK.pack(worker.sequence) + request)
        except OSError:
            self._lose(worker)

    def _fork(self, worker: "_Worker") -> Channel:
        """Order the zygote to fork a process for a worker and return the connection to it.

        What is sent before the process exists waits in the connection.
        """
        worker.token = next(self._numbers)
        ours, theirs = socket.socketpair()
        worker.channel = Channel(ours, PATIENCE)
        self._selector.register(worker.channel, selectors.EVENT_READ, worker)
        with theirs:
            self._links[0].tell(ForkWorker(worker.token), theirs.fileno())
        return worker.channel

    def _attend(self, seconds: float | None) -> bool:
        """Wait for events, up to `seconds` or `REST`, and handle them; return True if there were any."""
        events = self._selector.select(REST if seconds is None else min(seconds, REST))
        for key, _ in events:
            if key.data is not None:
                self._listen(key.data)
        if any(key.data is None for key, _ in events):
            self._hear()
        if not events:
            self._suspect()
        return bool(events)

    def _listen(self, worker: "_Worker") -> None:
        """Read the results of a worker; end a worker that has closed its connection."""
        channel = worker.channel
        if channel is None:
            return
        for message in channel.arrived():
            sequence, exits = RESULT.unpack_from(message)
            if exits:
                self._drop(worker)
            if worker.job is not None and sequence == worker.sequence:
                self._receive(worker, _unpacked(memoryview(message)[RESULT.size :]))
            if worker.channel is not channel:
                return
        if channel.is_over:
            self._lose(worker)

    def _receive(self, worker: "_Worker", answer: Answer) -> None:
        """Handle an answer; start a job whose answer cannot be read again in another process."""
        if not isinstance(answer, Garbled):
            self._answer(worker, answer)
            return
        if worker.channel is not None:
            self._links[0].tell(Lost(worker.token))
            self._drop(worker)
        self._again(worker, answer.failure)

    def _lose(self, worker: "_Worker") -> None:
        """Have the zygote end a worker that cannot be reached.

        If it has a job, the way in which it ended becomes the answer to that job.
        """
        self._links[0].tell(Lost(worker.token))
        if worker.job is None:
            self._drop(worker)
        elif worker.channel is not None:
            with suppress(KeyError):
                self._selector.unregister(worker.channel)

    def _drop(self, worker: "_Worker") -> None:
        """Forget the process of a worker and close the connection to it."""
        worker.token, channel, worker.channel = 0, worker.channel, None
        if channel is not None:
            with suppress(KeyError):
                self._selector.unregister(channel)
            channel.close()

    def _hear(self) -> None:
        """Read the messages of the zygote; replace a zygote that has ended."""
        link = self._links[0]
        for news in link.news():
            self._take(news)
        if link.channel.is_over:
            self._selector.unregister(link.channel)
            if self._broken is None:
                self._replace(link)

    def _take(self, news: News) -> None:
        match news:
            case Loaded(idle):
                self._loaded_at, self._loads = time.monotonic(), 0
                self._broken = self._broken or _too_little(self._limits, idle)
            case Refused(reason):
                self._broken = InputError(f"the evaluation cannot be loaded by another process: {reason}", HERE)
            case Ended(token):
                for worker in self._workers.values():
                    if worker.token == token:
                        self._bury(worker, news)
            case _:
                assert_never(news)

    def _bury(self, worker: "_Worker", news: Ended) -> None:
        """Handle the end of a worker.

        Results that it sent before count. Otherwise the way in which it ended answers its job, or the job is started
        again.
        """
        self._listen(worker)
        if worker.token != news.token:
            return
        self._drop(worker)
        if worker.job is None:
            return
        if news.failure is not None and news.sequence == worker.sequence and news.is_final:
            self._answer(worker, news.failure)
        else:
            self._again(worker, news.failure or Failure(Status.CRASH, "its process ended before the evaluation began"))

    def _replace(self, link: Link) -> None:
        """Start a new zygote, and start the jobs again that the old one was running."""
        for worker in self._workers.values():
            self._listen(worker)
        link.end()
        reason = f"the process that starts the workers {link.how_it_ended()}"
        if self._loaded_at is None:
            self._loads += 1
        if self._loads == LOADS:
            self._broken = InputError(f"{reason} before it had loaded the evaluation", HERE)
            return
        try:
            self._link()
        except InputError as error:
            self._broken = error
            return
        for worker in self._workers.values():
            self._drop(worker)
            if worker.job is not None:
                self._again(worker, Failure(Status.CRASH, reason))

    def _suspect(self) -> None:
        """Kill a zygote that hangs: one that should have ended a job long ago."""
        if self._loaded_at is None:
            return
        for worker in self._workers.values():
            limit = self._allowed(worker.job)
            if limit is not None and time.monotonic() - max(worker.begun, self._loaded_at) > limit + PATIENCE:
                self._links[0].kill()
                return

    def _allowed(self, job: Job | None) -> float | None:
        """Return the time limit of a job in seconds, None for no job or no limit."""
        return None if job is None else job.allowed(self._limits)

    def _again(self, worker: "_Worker", failure: Failure) -> None:
        """Start a job again that has lost its worker; fail it if it was started too often."""
        if worker.attempts < ATTEMPTS:
            self._begin(worker)
        else:
            self._answer(worker, failure)

    def _answer(self, worker: "_Worker", answer: Trial | Failure | InputError) -> None:
        job, worker.job = worker.job, None
        assert job is not None
        match answer:
            case InputError():
                self._broken = self._broken or answer
                return
            case Failure():
                trial = answer.of(job.request)
            case Trial():
                # Share one request object: a run holds thousands of trials.
                trial = replace(answer, request=job.request) if answer.request == job.request else answer
            case _:
                assert_never(answer)
        self._finished.append(Finished(job, trial, worker.name, worker.attempts))


@dataclass(slots=True)
class _Worker:
    """A worker as the coordinator knows it; it keeps its name when its process is replaced."""

    name: str
    token: int = 0
    """The number by which the zygote identifies its process; 0 without a process."""
    channel: Channel | None = None
    """The connection to its process; None without a process."""
    job: Job | None = None
    attempts: int = 0
    sequence: int = 0
    """The number by which its process identifies the job."""
    begun: float = 0.0


def _unpacked(answer: memoryview) -> Answer:
    try:
        return pickle.loads(answer)  # type: ignore[no-any-return]
    except Exception as error:  # noqa: BLE001 - unpickling a user's result can raise anything
        return Garbled(Failure(Status.ERROR, f"its result cannot be read by the search: {described(error)}"))


def _too_little(limits: Limits, idle: int) -> InputError | None:
    """Return an error if the memory limit leaves too little for a trial besides an idle worker, else None."""
    if limits.trial_bytes is None or limits.trial_bytes >= idle + MARGIN:
        return None
    limit = quantity(limits.trial_bytes, BYTES)
    message = f"a limit of {limit} leaves too little for a trial: an idle worker process takes {megabytes(idle)}"
    return InputError(message, f"set the limit to {megabytes(idle + 4 * MARGIN)} or more")


def _end(links: Sequence[Link], workers: dict[str, _Worker], selector: selectors.BaseSelector) -> None:
    """Close the connections and end all processes; can be called again while the interpreter lives."""
    selector.close()
    for worker in workers.values():
        if worker.channel is not None:
            worker.channel.close()
    for link in links:
        link.end()
