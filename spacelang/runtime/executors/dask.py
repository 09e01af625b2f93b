"""An executor on the workers of a dask cluster: one started on this machine, or a running one.

Each dask worker evaluates in a limited process below it, as the executor `processes` does, with the same guarantees. If
a dask worker dies, its trials are started again.
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
"""The maximum time that a run waits when the cluster has no dask worker, in seconds."""

NAME: Final = "dask"
"""The executor name for a cluster on this machine; any other name is the address of a scheduler."""

CLOSING: Final = 5.0
"""The maximum time to wait for the cluster to close, in seconds."""


class Dask:
    """An executor that runs `workers` trials at a time on a dask cluster, each within `limits`.

    Without an `address` it starts a cluster with `workers` workers on this machine, which `close` ends. Otherwise it
    uses the scheduler at `tcp://HOST:PORT` or `tls://HOST:PORT`, with the certificates in dask's configuration.

    `evaluate` is sent once to each dask worker, serialized by cloudpickle. An exception in it makes a failed trial,
    except for InputError, which `wait` raises. A job whose dask worker ends is started again; it counts as crashed if
    that happens too often. With `isolate` every trial has a process of its own below its dask worker. `wait` raises
    InputError if the cluster has had no dask worker for `patience` seconds.

    Raises InputError if dask is not installed, if the address is invalid, or if the evaluation cannot be sent. `ready`
    raises InputError if no scheduler answers, if no worker joins it, if the machines have different versions of
    packages that affect scores, or if the memory limit is too small for an idle worker.
    """

    @classmethod
    def hired(cls, evaluate: Evaluate, workers: Workers, *, forks: bool = False) -> "Dask":  # noqa: ARG003 - it never forks
        """Create an executor on a local cluster, or on the cluster at the address in `workers.executor`."""
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
            raise ValueError(f"the number of workers must be at least 1, not {workers}")
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
        """Block until a cluster can evaluate. Raises InputError, with the reason, if there is none."""
        if self._places is None and not self._is_closed:
            self._places = {seat.name: _Place(seat) for seat in self._opening.result()}

    @property
    def free(self) -> Sequence[str]:
        """The names of the slots without a job; reading it blocks until the cluster is ready."""
        self.ready()
        return tuple(name for name, place in (self._places or {}).items() if place.task is None)

    def start(self, worker: str, job: Job) -> None:
        """Give a job to a free slot, without waiting for the cluster."""
        assert not self._is_closed, "the executor is closed"
        self.ready()
        assert self._places is not None
        place = self._places[worker]
        assert place.task is None
        place.task = self._loop.submit(self._session.evaluate(place.seat, job))
        place.task.add_done_callback(lambda task: self._answers.put((worker, task)))

    def wait(self, seconds: float | None = None) -> Sequence[Finished]:
        """Return the jobs that have ended since the last call.

        Without a pending job it returns at once. Else it blocks until at least one job has ended, or until `seconds`
        have passed.

        Raises the InputError that an evaluation has raised, or the error of the cluster.
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
            except Exception as error:  # noqa: BLE001 - raised once the finished jobs were returned
                self._error = error
        if self._error is not None and not finished:
            raise self._error
        return tuple(finished)

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Stop the jobs of these slots, or of all slots for None.

        A cluster that does not answer is noticed only by the next job.
        """
        places = self._places or {}
        busy = {name: place for name, place in places.items() if place.task and (workers is None or name in workers)}
        for place in busy.values():
            task, place.task = place.task, None
            if task is not None:
                task.cancel()
        if busy and not self._is_closed:
            with suppress(Exception):
                self._loop.submit(self._session.halt([*busy])).result(CLOSING)

    def close(self) -> None:
        """Stop all trials at once and remove everything from the cluster; leave no process on this machine."""
        if self._is_closed:
            return
        for task in (self._opening, *(place.task for place in (self._places or {}).values())):
            if task is not None:
                task.cancel()
        # If this is interrupted, the next call completes it.
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
            return ()  # the job was stopped
        self._places[worker].task = None
        return (task.result(),)


@dataclass(slots=True)
class _Place:
    """A slot of the cluster and the task that runs in it."""

    seat: "Seat"
    task: "Future[Finished] | None" = None
    """The future result of its job; None without a job."""


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
