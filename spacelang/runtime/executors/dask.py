"""An executor on a dask cluster, a local or a running one, with processes, limits and guarantees as in `processes`."""

import pickle
import re
import time
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from spacelang.deprecation import renamed_attributes
from spacelang.ir.task import UNLIMITED, Limits
from spacelang.runtime.errors import InputError, describe_exception
from spacelang.runtime.executors import Evaluate, FinishedJob, Job, WorkerSettings

if TYPE_CHECKING:
    from spacelang.runtime.executors._dask.worker_plugin import Slot

ADDRESS_PATTERN: Final = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[^\s/:@\[\]]+):(\d{1,5})")
NO_WORKER_TIMEOUT: Final = 300.0  # The maximum time that a run waits when the cluster has no dask worker, in seconds
LOCAL_CLUSTER: Final = "dask"
"""The executor name for a cluster on this machine; any other name is the address of a scheduler."""
CLOSE_TIMEOUT: Final = 5.0  # The maximum time to wait for the cluster to close, in seconds


@renamed_attributes(ready="wait_until_ready")
class Dask:
    """An executor that runs `workers` trials at a time on a dask cluster, each within `limits`.

    Without an `address` it starts a cluster with `workers` workers on this machine, which `close` ends. Otherwise it
    uses the scheduler at `tcp://HOST:PORT` or `tls://HOST:PORT`, with the certificates in dask's configuration.

    `evaluate` is sent once to each dask worker, serialized by cloudpickle. An exception in it makes a failed trial,
    except for InputError, which `wait` raises. A job whose dask worker ends is started again; it counts as crashed if
    that happens too often. With `isolate` every trial has a process of its own below its dask worker. `wait` raises
    InputError if the cluster has had no dask worker for `patience` seconds.

    Raises InputError if dask is not installed, if the address is invalid, or if the evaluation cannot be sent.
    `wait_until_ready` raises InputError if no scheduler answers, if no worker joins it, if the machines have different
    versions of packages that affect scores, or if the memory limit is too small for an idle worker.
    """

    @classmethod
    def create(cls, evaluate: Evaluate, workers: WorkerSettings, *, forks: bool = False) -> "Dask":  # noqa: ARG003 - it never forks
        """Create an executor on a local cluster, or on the cluster at the address in `workers.executor`."""
        address = None if workers.executor == LOCAL_CLUSTER else workers.executor
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
        patience: float = NO_WORKER_TIMEOUT,
    ) -> None:
        if workers < 1:
            raise ValueError(f"the number of workers must be at least 1, not {workers}")
        if address is not None:
            found = ADDRESS_PATTERN.fullmatch(address)
            if found is None or not 0 < int(found[3]) < 1 << 16:
                help_ = "`dask` starts workers on this machine, `tcp://HOST:PORT` uses a running scheduler"
                raise InputError(f"`{address}` is neither an executor nor the address of a dask scheduler", help_)
        try:
            from spacelang.runtime.executors._dask import EventLoopThread
            from spacelang.runtime.executors._dask.session import ClusterSession
        except ImportError as error:
            message = f"this executor needs dask, which is not installed: {describe_exception(error)}"
            raise InputError(message, "pip install 'spacelang[dask]'") from error
        payload = _pickle_evaluation(evaluate)
        self._slots: dict[str, _SlotTask] | None = None
        self._answers: SimpleQueue[tuple[str, Future[FinishedJob[Any]]] | BaseException] = SimpleQueue()
        self._error: Exception | None = None
        self._is_closed = False
        self._loop = EventLoopThread()
        self._session = ClusterSession(
            payload,
            limits,
            isolate=isolate,
            workers=workers,
            address=address,
            patience=patience,
            fail=self._answers.put,
        )
        self._opened_slots = self._loop.submit(self._session.open(self._loop.thread_id))

    def wait_until_ready(self) -> None:
        """Block until a cluster can evaluate. Raises InputError, with the reason, if there is none."""
        if self._slots is None and not self._is_closed:
            self._slots = {seat.name: _SlotTask(seat) for seat in self._opened_slots.result()}

    @property
    def free(self) -> Sequence[str]:
        """The names of the slots without a job; reading it blocks until the cluster is ready."""
        self.wait_until_ready()
        return tuple(name for name, place in (self._slots or {}).items() if place.task is None)

    def start(self, worker: str, job: Job[Any]) -> None:
        """Give a job to a free slot, without waiting for the cluster."""
        assert not self._is_closed, "the executor is closed"
        self.wait_until_ready()
        assert self._slots is not None
        place = self._slots[worker]
        assert place.task is None
        place.task = self._loop.submit(self._session.evaluate(place.slot, job))
        place.task.add_done_callback(lambda task: self._answers.put((worker, task)))

    def wait(self, seconds: float | None = None) -> Sequence[FinishedJob[Any]]:
        """Return finished jobs as in `Executor`; raise the InputError of an evaluation or the error of the cluster."""
        until = None if seconds is None else time.monotonic() + seconds
        finished: list[FinishedJob[Any]] = []
        while self._error is None and any(place.task for place in (self._slots or {}).values()):
            left = None if until is None else max(until - time.monotonic(), 0)
            try:
                answer = self._answers.get(timeout=0 if finished else left)
                finished += self._collect(answer)
            except Empty:
                break
            except Exception as error:  # noqa: BLE001 - raised once the finished jobs were returned
                self._error = error
        if self._error is not None and not finished:
            raise self._error
        return tuple(finished)

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Stop the jobs of these slots, or all for None; only the next job notices a cluster that does not answer."""
        places = self._slots or {}
        busy = {name: place for name, place in places.items() if place.task and (workers is None or name in workers)}
        for place in busy.values():
            task, place.task = place.task, None
            if task is not None:
                task.cancel()
        if busy and not self._is_closed:
            with suppress(Exception):
                self._loop.submit(self._session.stop_slots([*busy])).result(CLOSE_TIMEOUT)

    def close(self) -> None:
        """Stop all trials at once and remove everything from the cluster; leave no process on this machine."""
        if self._is_closed:
            return
        for task in (self._opened_slots, *(place.task for place in (self._slots or {}).values())):
            if task is not None:
                task.cancel()
        # If this is interrupted, the next call completes it.
        with suppress(Exception):
            self._loop.submit(self._session.close()).result(CLOSE_TIMEOUT)
        self._loop.close()
        self._slots, self._error, self._is_closed = None, None, True

    def _collect(self, answer: "tuple[str, Future[FinishedJob[Any]]] | BaseException") -> tuple[FinishedJob[Any], ...]:
        if isinstance(answer, BaseException):
            raise answer
        worker, task = answer
        assert self._slots is not None
        if self._slots[worker].task is not task:
            return ()  # the job was stopped
        self._slots[worker].task = None
        return (task.result(),)


@dataclass(slots=True)
class _SlotTask:
    slot: "Slot"
    task: "Future[FinishedJob[Any]] | None" = None  # The future result of its job; None without a job


def _pickle_evaluation(evaluate: Evaluate) -> bytes:
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(evaluate, protocol=pickle.HIGHEST_PROTOCOL))
    except Exception as error:
        raise InputError(f"the evaluation cannot be sent to another process: {describe_exception(error)}") from error
