"""Dask plugins of a session: one evaluates trials on every worker, one removes them from the cluster at the end.

A trial is evaluated by a process of the executor `processes` below the dask worker, which stays alive: it has the same
limits as on this machine, and a crash does not kill the dask worker.
"""

import asyncio
import pickle
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, TypeAlias

from distributed import Scheduler, SchedulerPlugin, Worker, WorkerPlugin, get_worker

from spacelang.ir.task import Limits
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import Job
from spacelang.runtime.executors.processes import Processes

POLL_INTERVAL: Final = 0.1
"""The interval at which a thread that waits for a trial checks whether it was stopped, in seconds."""
TEARDOWN_TIMEOUT: Final = 1.0  # The maximum wait for those threads at teardown, in seconds
Answer: TypeAlias = Any  # The result of a job, or an InputError
STOPPED: Final = InputError("the run is over")  # The answer to a job that was stopped; nobody reads it
PACKAGES: Final = ("spacelang", "scikit-learn", "numpy", "scipy")
"""The packages whose versions affect the score of a configuration."""
Versions: TypeAlias = Mapping[str, str | None]
"""Versions by package, with `python`; None for a package that is not installed."""


@dataclass(frozen=True, slots=True)
class JobReport:
    """The report of a job from the dask worker `name` at `address`: its pickled `answer`, and its number of starts."""

    address: str
    name: str
    attempts: int
    answer: bytes  # The pickled answer, which the scheduler passes on as bytes


def evaluate_on_worker(
    run: str, slot: str, request: bytes, seconds: float | None = None, generation: int = 0
) -> JobReport:
    """Evaluate pickled work; this is the function that a dask task runs.

    The work is dropped if its slot has a later `generation` by now, because its job was stopped.
    """
    worker = get_worker()
    plugin = worker.plugins.get(run)
    attempts, answer = 0, STOPPED
    if isinstance(plugin, EvaluationPlugin):
        attempts, answer = plugin.evaluate(slot, request, seconds, generation)
    packed = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    return JobReport(worker.address, worker_label(worker.name, worker.address), attempts, packed)


def worker_label(name: object, address: str) -> str:
    """Return the name of a dask worker: its name if that is a string, else its address."""
    return name if isinstance(name, str) else address


async def prepare_worker(run: str, slots: dict[str, Sequence[str]], dask_worker: Worker) -> InputError | None:
    """Start the processes for the slots at one dask worker; return the error if that fails, else None."""
    plugin = dask_worker.plugins[run]
    assert isinstance(plugin, EvaluationPlugin)
    return await plugin.start_processes(slots[dask_worker.address])


def stop_slot_trials(run: str, generations: Mapping[str, int], dask_worker: Worker) -> None:
    """Stop the trials of older generations of these slots at one dask worker; it stays ready for others."""
    plugin = dask_worker.plugins[run]
    assert isinstance(plugin, EvaluationPlugin)
    plugin.generations.update(generations)


class EvaluationPlugin(WorkerPlugin):
    """A plugin, sent to all dask workers, also later ones, that evaluates with at most one process for each thread."""

    def __init__(self, payload: bytes, limits: Limits, *, isolate: bool = False) -> None:
        self._payload, self._limits, self._isolates = payload, limits, isolate
        self._versions: Versions = installed_versions()

    def setup(self, worker: Worker) -> None:
        """Initialize the plugin on a dask worker, and compare its versions with those of the search."""
        self._version_error = describe_version_difference(
            self._versions, installed_versions(), f"the dask worker {worker.address}"
        )
        self._max_processes = max(worker.state.nthreads, 1)
        self._lock = threading.Lock()
        self._idle: list[_SlotProcess] = []
        self._busy = 0
        self._is_closing = False
        self.generations: dict[str, int] = {}
        """The generation of each slot: how often its trials were stopped."""

    async def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - required by dask
        """End the trials and all processes."""
        self._is_closing = True
        until = time.monotonic() + TEARDOWN_TIMEOUT
        while self._busy and time.monotonic() < until:
            await asyncio.sleep(POLL_INTERVAL / 10)
        with self._lock:
            benches, self._idle = self._idle, []
        for bench in benches:
            await asyncio.to_thread(bench.processes.close)

    async def start_processes(self, slots: Sequence[str]) -> InputError | None:
        """Start processes that can evaluate; return the first error, None without one."""
        starts = (asyncio.to_thread(self._prepare_slot, slot) for slot in slots[: self._max_processes])
        return next(filter(None, await asyncio.gather(*starts)), None)

    def _prepare_slot(self, slot: str) -> InputError | None:
        try:
            with self._process_of(slot) as bench:
                bench.processes.wait_until_ready()
                bench.is_reusable = True
        except InputError as error:
            return error
        return None

    def evaluate(
        self, slot: str, request: bytes, seconds: float | None = None, generation: int = 0
    ) -> tuple[int, Answer]:
        """Return how often a request was started here, and the answer: `STOPPED` in an older generation of the slot."""
        try:
            with self._process_of(slot) as bench:
                bench.processes.start(bench.worker, Job(0, pickle.loads(request), seconds))
                while not (finished := bench.processes.wait(POLL_INTERVAL)):
                    if self._is_closing or self.generations.get(slot, 0) > generation:
                        return 1, STOPPED
                bench.is_reusable = True
                return finished[0].attempts, finished[0].result
        except InputError as error:
            return 1, error

    @contextmanager
    def _process_of(self, slot: str) -> Iterator["_SlotProcess"]:
        """Lend a process; keep it for the next trial if the block makes it reusable and the plugin is not closing."""
        if self._version_error:
            raise InputError(self._version_error, "install the same package versions on all machines of the cluster")
        bench = self._acquire_process(slot)
        bench.is_reusable = False
        try:
            yield bench
        finally:
            try:
                with self._lock:
                    is_kept = bench.is_reusable and not self._is_closing
                    if is_kept:
                        self._idle.append(bench)
                if not is_kept:
                    bench.processes.close()
            finally:
                with self._lock:
                    self._busy -= 1

    def _acquire_process(self, slot: str) -> "_SlotProcess":
        """Return an idle process: the one that this slot used last, else a new one.

        If there are as many processes as allowed, return any idle one instead of a new one.
        """
        with self._lock:
            self._busy += 1
            reused = next((bench for bench in self._idle if bench.slot == slot), None)
            if reused is None and self._busy + len(self._idle) > self._max_processes and self._idle:
                reused = self._idle[0]
            if reused is not None:
                self._idle.remove(reused)
                reused.slot = slot
                return reused
        try:
            evaluate: Any = PickledEvaluation(self._payload)
            return _SlotProcess(slot, Processes(evaluate, limits=self._limits, isolate=self._isolates))
        except BaseException:
            with self._lock:
                self._busy -= 1
            raise


class _SlotProcess:
    """A limited process and the slot whose trials it caches."""

    def __init__(self, slot: str, processes: Processes) -> None:
        self.slot = slot
        self.processes = processes
        self.is_reusable = False
        (self.worker,) = processes.free


class PickledEvaluation:
    """A wrapper of a pickled evaluation; unpickling the wrapper gives the evaluation itself."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return pickle.loads, (self._payload,)


class CleanupPlugin(SchedulerPlugin):
    """A scheduler plugin that removes the plugins of a run when its client has disconnected for any reason."""

    idempotent = True

    def __init__(self, run: str, client: str) -> None:
        self._run = run
        self._client = client
        self._removal: asyncio.Task[Any] | None = None

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """Remove the plugins of the run if the client that has disconnected is that of the run."""
        if client != self._client:
            return
        scheduler.plugins.pop(self._run, None)
        if self._run in scheduler.worker_plugins:
            removal = scheduler.unregister_worker_plugin(comm=None, name=self._run)
            self._removal = asyncio.get_running_loop().create_task(removal)


@dataclass(slots=True)
class Slot:
    """A slot for one of the concurrent trials."""

    name: str
    home_worker: str  # The name of the dask worker that the slot was named after; empty if there were too few workers
    last_address: str  # The address of the dask worker that evaluated its last job


def make_slots(names: Mapping[str, str], threads: Mapping[str, int], workers: int) -> tuple[Slot, ...]:
    """Return as many slots as there are `workers`; `names` and `threads` are those of the dask workers by address.

    Each dask worker gets one slot first, then each with at least two threads a second one, and so on. Slots beyond the
    threads of the cluster have no worker.
    """
    ranked = sorted((number, name, place) for place, name in names.items() for number in range(1, threads[place] + 1))
    slots = [Slot(name if number == 1 else f"{name} ({number})", name, place) for number, name, place in ranked]
    further = [Slot(f"slot {number}", "", "") for number in range(len(slots) + 1, workers + 1)]
    return (*slots[:workers], *further)


def installed_versions() -> Versions:
    """Return the versions of Python and of `PACKAGES` in this process, by name; None for those not installed."""
    found: dict[str, str | None] = {"python": ".".join(map(str, sys.version_info)), **dict.fromkeys(PACKAGES)}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def describe_version_difference(here: Versions, there: Versions, place: str) -> str:
    """Return the first difference that affects scores between the versions here and `there`, as a clause with `place`.

    Return an empty string if there is none.
    """
    for name in ("python", *PACKAGES):
        ours, theirs = (_comparable(name, each.get(name)) for each in (here, there))
        if theirs is None and ours is not None:
            return f"`{name}` is not installed on {place}"
        if ours != theirs:
            return f"the version of `{name}` is {ours} here, but {theirs} on {place}"
    return ""


def _comparable(name: str, found: str | None) -> str | None:
    # Pickled code works between Python releases that differ only in the third number.
    return ".".join(found.split(".")[:2]) if found is not None and name == "python" else found
