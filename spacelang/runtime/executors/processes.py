"""Trials in processes of this machine: persistent workers with one job at a time each, bounded from outside.

A *nursery*, a fresh interpreter, loads the evaluation once and forks the workers, so that starting one again costs
milliseconds and its data is there once. The nursery watches the deadline and the memory of every job and kills without
grace; the worker, all processes below it, and all that it has orphaned. Linux knows how to leave nothing behind
whatever is killed; on macOS a process that leaves its parents behind may outlive a trial.
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
"""How often a job is begun when something else than the job may have ended its worker."""

LOADS: Final = 3
"""How often in a row the nursery may end before it is loaded."""

MARGIN: Final = 16_000_000
"""The bytes that a trial must be allowed beyond those of an idle worker."""

REST: Final = 1.0
"""How often a nursery is looked after that tells nothing, in seconds."""

PATIENCE: Final = 10.0
"""How long a worker may take to read a job, and the nursery to say that one was too long, in seconds."""


def cores() -> int:
    """How many cores this process may use: of the machine, of its own affinity, and of its container's share."""
    import joblib

    return int(joblib.cpu_count())


class Processes:
    """`workers` processes that evaluate, each within `limits`.

    `evaluate` goes to them once, by cloudpickle; results come back by pickle. What it raises makes a failed trial,
    but for an InputError, which `wait` raises: it is a mistake of who asked. If the evaluation has a number
    `kept_bytes`, so much memory may stay with a worker from one trial to the next, as a cache does; a worker that holds
    much more is replaced, as is one in which a trial has changed what all trials of a process have in common. What a
    worker held before a trial is not counted as the trial's. With `isolate` every trial has a process of its own, and
    nothing that an evaluation keeps is there for the next one. A trial whose process somebody else has killed, or whose
    answer cannot be read, is begun again, up to `ATTEMPTS` times. With `forks` the nursery is a fork of this process
    where that has used one thread alone: then `evaluate` is there without being sent, and nothing is imported twice.

    There may be more workers than `cores()`; each is told to use one thread. Raises InputError where there are no such
    processes or the evaluation cannot be sent to one; `ready` raises where it cannot be loaded or where the limit of
    memory is below what an idle worker takes.
    """

    @classmethod
    def hired(cls, evaluate: Evaluate, workers: Workers, *, forks: bool = False) -> "Processes":
        """So many of this machine."""
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
            raise InputError("trials have processes of their own on Linux and macOS only", HERE)
        if workers < 1:
            raise ValueError(f"{workers} workers are none at all")
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
        """Return once workers can be forked. Raises InputError where they never can, and why."""
        while self._loaded_at is None:
            self._raise_broken()
            self._attend(None)
        self._raise_broken()

    @property
    def free(self) -> Sequence[str]:
        """The names of the workers without a job: "1", "2" and so on."""
        return tuple(worker.name for worker in self._workers.values() if worker.job is None)

    def start(self, worker: str, job: Job) -> None:
        """Give a job to a worker that is free; it does not wait for the worker."""
        assert self._end.alive, "the executor is closed"
        chosen = self._workers[worker]
        self._attend(0)  # it may have been killed while it waited
        assert chosen.job is None
        chosen.job, chosen.attempts = job, 0
        self._begin(chosen)

    def wait(self, seconds: float | None = None) -> Sequence[Finished]:
        """The jobs that have ended since: at least one, unless `seconds` go by before; at once where none is started.

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
        """Kill those of the workers that have a job, and all processes below them; others take their places."""
        stopped = self._workers.keys() if workers is None else set(workers)
        self._finished = [each for each in self._finished if each.worker not in stopped]
        for worker in self._workers.values():
            if worker.job is not None and worker.name in stopped:
                worker.job = None
                self._lose(worker)

    def close(self) -> None:
        """Kill all workers, all processes below them and the nursery, without waiting for any job."""
        for worker in self._workers.values():
            worker.job = None
        # Interrupted, it is done the next time, or at the end of the program.
        _end(self._links, self._workers, self._selector)
        self._end.detach()

    def _raise_broken(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _link(self) -> None:
        """Start a nursery."""
        self._loaded_at = None
        self._links[:] = [Link(self._evaluate, Load(self._limits, self._isolates), forks=self._forks)]
        self._forks = False  # by now files may be open that are no other process's business
        self._selector.register(self._links[0].channel, selectors.EVENT_READ)

    def _begin(self, worker: "_Worker") -> None:
        """Send a worker the job that it has; first fork it if there is none."""
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
        """Order a new process for a worker; what is sent to it before there is one waits for it."""
        worker.token = next(self._numbers)
        ours, theirs = socket.socketpair()
        worker.channel = Channel(ours, PATIENCE)
        self._selector.register(worker.channel, selectors.EVENT_READ, worker)
        with theirs:
            self._links[0].tell(ForkWorker(worker.token), theirs.fileno())
        return worker.channel

    def _attend(self, seconds: float | None) -> bool:
        """Wait for something to happen and deal with it; whether anything has."""
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
        """Take the results of a worker; end one that has hung up."""
        channel = worker.channel
        if channel is None:
            return
        for message in channel.arrived():
            sequence, retires = RESULT.unpack_from(message)
            if retires:
                self._drop(worker)
            if worker.job is not None and sequence == worker.sequence:
                self._receive(worker, _unpacked(memoryview(message)[RESULT.size :]))
            if worker.channel is not channel:
                return
        if channel.is_over:
            self._lose(worker)

    def _receive(self, worker: "_Worker", answer: Answer) -> None:
        """Take an answer; a job whose answer cannot be read is begun again, by another process."""
        if not isinstance(answer, Garbled):
            self._answer(worker, answer)
            return
        if worker.channel is not None:
            self._links[0].tell(Lost(worker.token))
            self._drop(worker)
        self._again(worker, answer.failure)

    def _lose(self, worker: "_Worker") -> None:
        """Have a worker ended that cannot be talked to; how it ended is the answer to its job, if it has one."""
        self._links[0].tell(Lost(worker.token))
        if worker.job is None:
            self._drop(worker)
        elif worker.channel is not None:
            with suppress(KeyError):
                self._selector.unregister(worker.channel)

    def _drop(self, worker: "_Worker") -> None:
        """Forget the process of a worker."""
        worker.token, channel, worker.channel = 0, worker.channel, None
        if channel is not None:
            with suppress(KeyError):
                self._selector.unregister(channel)
            channel.close()

    def _hear(self) -> None:
        """Take the news of the nursery; replace one that has ended."""
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
        """A worker has ended: what it had sent before counts, else how it ended answers the job that it was at."""
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
        """Start another nursery and begin the jobs again that went down with the old one."""
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
        """End a nursery that should have ended a job long ago: it hangs."""
        if self._loaded_at is None:
            return
        for worker in self._workers.values():
            limit = self._allowed(worker.job)
            if limit is not None and time.monotonic() - max(worker.begun, self._loaded_at) > limit + PATIENCE:
                self._links[0].kill()
                return

    def _allowed(self, job: Job | None) -> float | None:
        """The seconds that a job may take."""
        return None if job is None else job.allowed(self._limits)

    def _again(self, worker: "_Worker", failure: Failure) -> None:
        """Begin a job again that has lost its worker; that is its failure if it has happened too often."""
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
                # One request for both: a run keeps thousands.
                trial = replace(answer, request=job.request) if answer.request == job.request else answer
            case _:
                assert_never(answer)
        self._finished.append(Finished(job, trial, worker.name, worker.attempts))


@dataclass(slots=True)
class _Worker:
    """A worker as the coordinator knows it: it keeps its name when its process is replaced."""

    name: str
    token: int = 0
    """By which the nursery knows its process."""
    channel: Channel | None = None
    """To its process; None where it has none."""
    job: Job | None = None
    attempts: int = 0
    sequence: int = 0
    """By which its process knows the job."""
    begun: float = 0.0


def _unpacked(answer: memoryview) -> Answer:
    try:
        return pickle.loads(answer)  # type: ignore[no-any-return]
    except Exception as error:  # noqa: BLE001 - whatever stands in a stranger's result
        return Garbled(Failure(Status.ERROR, f"its result cannot be read by the search: {described(error)}"))


def _too_little(limits: Limits, idle: int) -> InputError | None:
    """What is wrong with a limit of memory that leaves no room for a trial."""
    if limits.trial_bytes is None or limits.trial_bytes >= idle + MARGIN:
        return None
    limit = quantity(limits.trial_bytes, BYTES)
    message = f"a trial may take {limit}, and a process takes {megabytes(idle)} before it begins one"
    return InputError(message, f"allow {megabytes(idle + 4 * MARGIN)} or more")


def _end(links: Sequence[Link], workers: dict[str, _Worker], selector: selectors.BaseSelector) -> None:
    """End everything; it may be called again, as long as the interpreter lives."""
    selector.close()
    for worker in workers.values():
        if worker.channel is not None:
            worker.channel.close()
    for link in links:
        link.end()
