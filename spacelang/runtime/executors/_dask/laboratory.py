"""What a session leaves with a cluster: a laboratory with every dask worker, and a steward with the scheduler.

A trial is evaluated by a process of the executor `processes` below the dask worker, so that it has the same limits
there as here, and so that a trial that crashes takes no dask worker along. That process stays between trials.
"""

import asyncio
import pickle
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from distributed import Scheduler, SchedulerPlugin, Worker, WorkerPlugin, get_worker

from spacelang.ir.task import Limits
from spacelang.ir.trial import Trial
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import Job
from spacelang.runtime.executors._dask.versions import Versions, difference, versions
from spacelang.runtime.executors.processes import Processes

GLANCE: Final = 0.1
"""How often a thread that waits for a trial looks whether the run is over, in seconds."""

PATIENCE: Final = 1.0
"""How long the laboratory waits for those threads when it is closed, in seconds."""

Answer: TypeAlias = Trial | InputError

OVER: Final = InputError("the run is over")
"""The answer that nobody waits for any more."""


@dataclass(frozen=True, slots=True)
class JobReport:
    """What became of a job at the dask worker at the address `place`, where it was begun `attempts` times."""

    place: str
    name: str
    attempts: int
    answer: bytes
    """Pickled, so that the scheduler passes it on without a look at it."""

    def read(self) -> Answer:
        """The answer itself."""
        return pickle.loads(self.answer)  # type: ignore[no-any-return]


def assess(run: str, seat: str, request: bytes, seconds: float | None = None, era: int = 0) -> JobReport:
    """Evaluate a pickled request, in so many seconds if it has a limit of its own; this is what the tasks do.

    It is of no use any more where the `era` of its seat in which it was given to the cluster has ended.
    """
    worker = get_worker()
    laboratory = worker.plugins.get(run)
    found: tuple[int, Answer] = (0, OVER)
    if isinstance(laboratory, Laboratory):
        found = laboratory.evaluate(seat, request, seconds, era)
    attempts, answer = found
    return JobReport(
        worker.address, label(worker.name, worker.address), attempts, pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    )


def label(name: object, address: str) -> str:
    """What a dask worker is called: some have a number only, or their address, for a name."""
    return name if isinstance(name, str) else address


async def prepare(run: str, seats: dict[str, Sequence[str]], dask_worker: Worker) -> InputError | None:
    """Have the processes ready for the seats at one dask worker; what is wrong where they cannot be."""
    laboratory = dask_worker.plugins[run]
    assert isinstance(laboratory, Laboratory)
    return await laboratory.prepare(seats[dask_worker.address])


def halt(run: str, eras: Mapping[str, int], dask_worker: Worker) -> None:
    """End the trials of seats in earlier eras of theirs at one dask worker, and leave it ready for others."""
    laboratory = dask_worker.plugins[run]
    assert isinstance(laboratory, Laboratory)
    laboratory.eras.update(eras)


class Laboratory(WorkerPlugin):
    """Evaluates, with one process for each seat at this dask worker: as many as it has threads.

    It is made once and sent to every dask worker of the cluster, also to those that join it later.
    """

    def __init__(self, payload: bytes, limits: Limits, *, isolate: bool = False) -> None:
        self._payload = payload
        self._limits = limits
        self._isolates = isolate
        self._versions: Versions = versions()

    def setup(self, worker: Worker) -> None:
        """Begin the work at a dask worker."""
        self._unfit = difference(self._versions, versions(), f"the dask worker {worker.address}")
        self._most = max(worker.state.nthreads, 1)
        self._lock = threading.Lock()
        self._idle: list[_Bench] = []
        self._busy = 0
        self._is_closing = False
        self.eras: dict[str, int] = {}
        """The era of each seat in which trials were stopped."""

    async def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - it has only been at one
        """End the trials and all processes."""
        self._is_closing = True
        until = time.monotonic() + PATIENCE
        while self._busy and time.monotonic() < until:
            await asyncio.sleep(GLANCE / 10)
        with self._lock:
            benches, self._idle = self._idle, []
        for bench in benches:
            await asyncio.to_thread(bench.processes.close)

    async def prepare(self, seats: Sequence[str]) -> InputError | None:
        """Have processes that can evaluate; what is wrong where there cannot be any."""
        found = await asyncio.gather(*(asyncio.to_thread(self._prepared, seat) for seat in seats[: self._most]))
        return next(filter(None, found), None)

    def _prepared(self, seat: str) -> InputError | None:
        try:
            self._check()
            bench = self._taken(seat)
        except InputError as error:
            return error
        is_sound = False
        try:
            bench.processes.ready()
            is_sound = True
        except InputError as error:
            return error
        finally:
            self._give_back(bench, is_sound)
        return None

    def evaluate(self, seat: str, request: bytes, seconds: float | None = None, era: int = 0) -> tuple[int, Answer]:
        """How often a request was begun here, and what came of it; those of eras that have ended are dropped."""
        try:
            self._check()
            bench = self._taken(seat)
        except InputError as error:
            return 1, error
        is_sound = False
        try:
            bench.processes.start(bench.worker, Job(0, pickle.loads(request), seconds))
            while not (finished := bench.processes.wait(GLANCE)):
                if self._is_closing or self.eras.get(seat, 0) > era:
                    return 1, OVER
            is_sound = True
            return finished[0].attempts, finished[0].trial
        except InputError as error:
            return 1, error
        finally:
            self._give_back(bench, is_sound)

    def _check(self) -> None:
        if self._unfit:
            raise InputError(self._unfit, "all machines of the cluster must have the same versions")

    def _taken(self, seat: str) -> "_Bench":
        """The bench that this seat had before, else a new one, else any other that nobody uses."""
        with self._lock:
            self._busy += 1
            mine = next((bench for bench in self._idle if bench.seat == seat), None)
            if mine is None and self._busy + len(self._idle) > self._most and self._idle:
                mine = self._idle[0]
            if mine is not None:
                self._idle.remove(mine)
                mine.seat = seat
                return mine
        try:
            evaluate: Any = PickledEvaluation(self._payload)
            return _Bench(seat, Processes(evaluate, limits=self._limits, isolate=self._isolates))
        except BaseException:
            with self._lock:
                self._busy -= 1
            raise

    def _give_back(self, bench: "_Bench", is_sound: bool) -> None:
        """Keep a bench for the next trial, unless something is wrong with it or all is over."""
        try:
            with self._lock:
                if is_sound and not self._is_closing:
                    self._idle.append(bench)
                    return
            bench.processes.close()
        finally:
            with self._lock:
                self._busy -= 1


class _Bench:
    """A bounded process and the seat that it evaluated for last: what it remembers can be of use to that one."""

    def __init__(self, seat: str, processes: Processes) -> None:
        self.seat = seat
        self.processes = processes
        (self.worker,) = processes.free


class PickledEvaluation:
    """An evaluation that is pickled already: who unpickles this has the evaluation itself."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return pickle.loads, (self._payload,)


class Steward(SchedulerPlugin):
    """Removes the laboratories of a run from the cluster when its client is gone, whatever that died of."""

    idempotent = True

    def __init__(self, run: str, client: str) -> None:
        self._run = run
        self._client = client
        self._removing: asyncio.Task[Any] | None = None

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """A client has left."""
        if client != self._client:
            return
        scheduler.plugins.pop(self._run, None)
        if self._run in scheduler.worker_plugins:
            removal = scheduler.unregister_worker_plugin(comm=None, name=self._run)
            self._removing = asyncio.get_running_loop().create_task(removal)
