"""Trials on the workers of a dask cluster: one that is started on this machine, or one that is running elsewhere.

Each dask worker evaluates in a bounded process below it, as the executor `processes` does, so the same holds for a
trial there. Whatever ends a dask worker, its trials are begun again.
"""

import pickle
import re
import time
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from spacelang.ir.task import UNLIMITED, Limits
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import Evaluate, Finished, Job, Workers
from spacelang.runtime.failures import described

if TYPE_CHECKING:
    from spacelang.runtime.executors._dask.seats import Seat

ADDRESS: Final = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[^\s/:@\[\]]+):(\d{1,5})")

PATIENCE: Final = 300.0
"""How long a run waits for dask workers where none is left, in seconds."""

NAME: Final = "dask"
"""What is named for a cluster of its own; all else is an address."""

CLOSING: Final = 5.0
"""How long the cluster is given to be closed, in seconds, before it is left to itself."""


class Dask:
    """`workers` trials in flight on a cluster of dask, each within `limits`.

    Without an `address` the cluster is started on this machine, with so many workers, and ended by `close`; else it is
    that of the scheduler at `tcp://HOST:PORT` or `tls://HOST:PORT`, with the certificates that dask's configuration
    names. `evaluate` goes once to each dask worker, by cloudpickle. What it raises makes a failed trial, but for an
    InputError, which `wait` raises. A job whose dask worker ends is begun again; it has crashed when that has happened
    more often than the scheduler allows. With `isolate` every trial has a process of its own below its dask worker.
    Where no dask worker is left for `patience` seconds, `wait` raises InputError.

    Raises InputError where dask is not installed, the address is none or the evaluation cannot be sent. `ready` raises
    it where no scheduler answers, no worker joins it, the machines differ in their versions of what decides a score,
    or a limit is below what an idle worker takes.
    """

    @classmethod
    def hired(cls, evaluate: Evaluate, workers: Workers, *, forks: bool = False) -> "Dask":  # noqa: ARG003 - not here
        """So many of a cluster of this machine, or of the one at an address."""
        address = None if workers.executor == NAME else workers.executor
        count, limits, isolate = workers.count, workers.limits, workers.isolate
        return cls(evaluate, workers=count, limits=limits, isolate=isolate, address=address)

    def __init__(
        self,
        evaluate: Evaluate,
        *,
        workers: int = 1,
        limits: Limits = UNLIMITED,
        isolate: bool = False,
        address: str | None = None,
        patience: float = PATIENCE,
    ) -> None:
        if workers < 1:
            raise ValueError(f"{workers} workers are none at all")
        if address is not None:
            _check_address(address)
        try:
            from spacelang.runtime.executors._dask.loop import Loop
            from spacelang.runtime.executors._dask.session import ClusterSession
        except ImportError as error:
            message = f"this executor needs dask, which is not installed: {described(error)}"
            raise InputError(message, "pip install 'spacelang[dask]'") from error
        payload = _pickled(evaluate)
        self._places: dict[str, _Place] | None = None
        self._answers: SimpleQueue[tuple[str, Future[Finished]] | BaseException] = SimpleQueue()
        self._error: Exception | None = None
        self._is_closed = False
        self._loop = Loop()
        self._session = ClusterSession(
            payload,
            limits,
            isolate=isolate,
            workers=workers,
            address=address,
            patience=patience,
            fail=self._answers.put,
        )
        self._opening = self._loop.submit(self._session.open(self._loop.thread))

    def ready(self) -> None:
        """Return once there is a cluster that can evaluate. Raises InputError where there is none, and why."""
        if self._places is None and not self._is_closed:
            self._places = {seat.name: _Place(seat) for seat in self._opening.result()}

    @property
    def free(self) -> Sequence[str]:
        """The names of those places in the cluster that have no job; it waits until the cluster is ready."""
        self.ready()
        return tuple(name for name, place in (self._places or {}).items() if place.task is None)

    def start(self, worker: str, job: Job) -> None:
        """Give a job to a place that is free; it does not wait for the cluster."""
        assert not self._is_closed, "the executor is closed"
        self.ready()
        assert self._places is not None
        place = self._places[worker]
        assert place.task is None
        place.task = self._loop.submit(self._session.evaluate(place.seat, job))
        place.task.add_done_callback(lambda task: self._answers.put((worker, task)))

    def wait(self, seconds: float | None = None) -> Sequence[Finished]:
        """The jobs that have ended since: at least one, unless `seconds` go by before; at once where none is started.

        Raises the InputError that an evaluation has raised, or what is wrong with the cluster.
        """
        until = None if seconds is None else time.monotonic() + seconds
        finished: list[Finished] = []
        while self._error is None and any(place.task for place in (self._places or {}).values()):
            left = None if until is None else max(until - time.monotonic(), 0)
            try:
                answer = self._answers.get(timeout=0 if finished else left)
                finished += self._taken(answer)
            except Empty:
                break
            except Exception as error:  # noqa: BLE001 - it is raised as soon as what has ended is told
                self._error = error
        if self._error is not None and not finished:
            raise self._error
        return tuple(finished)

    def stop(self, workers: Collection[str] | None = None) -> None:
        """End the jobs of these places, or all; a cluster that does not answer is found out by the next job."""
        places = self._places or {}
        going = {name: place for name, place in places.items() if place.task and (workers is None or name in workers)}
        for place in going.values():
            task, place.task = place.task, None
            if task is not None:
                task.cancel()
        if going and not self._is_closed:
            with suppress(Exception):
                self._loop.submit(self._session.halt([*going])).result(CLOSING)

    def close(self) -> None:
        """Stop all trials at once and take back all that the cluster was given; no process of this machine is left."""
        if self._is_closed:
            return
        for task in (self._opening, *(place.task for place in (self._places or {}).values())):
            if task is not None:
                task.cancel()
        # Interrupted, it is done the next time.
        with suppress(Exception):
            self._loop.submit(self._session.close()).result(CLOSING)
        self._loop.close()
        self._places, self._error, self._is_closed = None, None, True

    def _taken(self, answer: "tuple[str, Future[Finished]] | BaseException") -> tuple[Finished, ...]:
        if isinstance(answer, BaseException):
            raise answer
        worker, task = answer
        assert self._places is not None
        if self._places[worker].task is not task:
            return ()  # it was stopped
        self._places[worker].task = None
        return (task.result(),)


@dataclass(slots=True)
class _Place:
    seat: "Seat"
    task: "Future[Finished] | None" = None
    """What its job will come to."""


def _check_address(address: str) -> None:
    found = ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found[3]) < 1 << 16:
        message = f"`{address}` is neither an executor nor the address of a dask scheduler"
        raise InputError(message, "`dask` starts workers on this machine, `tcp://HOST:PORT` uses a running scheduler")


def _pickled(evaluate: Evaluate) -> bytes:
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(evaluate, protocol=pickle.HIGHEST_PROTOCOL))
    except Exception as error:
        raise InputError(f"the evaluation cannot be sent to another process: {described(error)}") from error
