"""The session of a run with a dask cluster. All of it runs on one event loop.

A job is a task of the cluster. The task prefers the dask worker that evaluated the last job of its slot, because that
worker caches what trials of the slot share; any other worker will do, too. If a worker ends, dask runs its tasks again,
and some of them twice; the session requests one result and takes one.

A trial that kills a dask worker with several threads takes the trials of other threads along. All of them then run one
at a time: only a job that was alone on its dask worker is taken for the cause of its end.

Dask forgets a task with a preferred worker if the last of all workers has ended: even if a new one joins, the task is
not run. The session therefore submits such tasks again.
"""

import asyncio
import pickle
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Final

from distributed import Client, KilledWorker
from distributed.client import FutureCancelledError

from spacelang.grouping import group_by_key
from spacelang.ir.task import Limits
from spacelang.ir.trial import Status
from spacelang.runtime.errors import Failure, InputError, describe_exception
from spacelang.runtime.executors import FinishedJob, Job
from spacelang.runtime.executors._dask import cluster, silence_dask_loggers, worker_plugin
from spacelang.runtime.executors._dask.cluster import AnyClient, LocalCluster
from spacelang.runtime.executors._dask.worker_plugin import JobReport, Slot

JOIN_TIMEOUT: Final = 60.0  # The maximum time for the first dask worker to join the scheduler, in seconds
CLOSE_TIMEOUT: Final = 1.5  # The maximum time for the cluster to stop the trials of a run, in seconds
WATCH_INTERVAL: Final = 2.0  # The interval at which the cluster is checked for workers, in seconds
POLL_INTERVAL: Final = 0.05  # The interval at which a starting cluster is polled, in seconds
TASK_RETRIES: Final = 2  # The retries of a task that failed outside of the process of its trial
RELEASE_DELAY: Final = 0.02  # The delay before a result that has arrived is released on the cluster, in seconds
KEY_COUNT: Final = 4096  # The number of distinct task keys; they are reused in turn
MAX_LOSSES: Final = 3  # The number of dask workers that may end while they have this job alone, before it is the cause
RESUME_HELP: Final = "start workers, then continue the run with `--resume`"


class _LostTaskError(Exception):
    """A task was lost and must be submitted again or given up."""


@dataclass(slots=True)
class _RunningJob:
    report: "asyncio.Future[JobReport] | None" = None  # The future result of its task
    task_number: int = 0  # The number of its task among those submitted to the cluster, counted from 1
    preferred_address: str = ""  # The address of the preferred dask worker; empty for none
    starts: int = 1  # The number of times that a dask worker started it
    losses: int = 0  # The number of dask workers that ended unexpectedly while they had it alone
    must_be_alone: bool = False  # True if a dask worker ended while it had this job and others of the run
    is_submitted: bool = False  # True while the cluster has its task


class ClusterSession:
    """A connection to the cluster at `address`, or to a local cluster for None.

    `fail` is called with errors that end the run, such as no dask worker for `patience` seconds.
    """

    def __init__(
        self,
        payload: bytes,
        limits: Limits,
        *,
        isolate: bool,
        workers: int,
        address: str | None,
        patience: float,
        fail: Callable[[BaseException], None],
    ) -> None:
        self._run = f"spacelang-{uuid.uuid4().hex}"
        self._payload, self._limits, self._isolates, self._workers = payload, limits, isolate, workers
        self._address, self._patience, self._fail = address, patience, fail
        self._local: LocalCluster | None = None
        self._client: AnyClient | None = None
        self._log = ExitStack()
        self._connection: Any = None
        """The connection to the scheduler over which the plugins were registered."""
        self._registering = asyncio.Lock()
        self._task_numbers = count(1)
        self._running_jobs: dict[int, _RunningJob] = {}
        """The running jobs by number."""
        self._task_ended = asyncio.Condition()
        self._thread_counts: dict[str, int] = {}
        """The number of threads of each known dask worker, by address."""
        self._recently_ended: deque[str] = deque(maxlen=100)
        """The addresses of the dask workers that ended most recently."""
        self._generations: Counter[str] = Counter()
        """How often the trials of each slot were stopped."""
        self._error: InputError | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._counting: asyncio.Task[bool | None] | None = None

    async def open(self, thread: int) -> tuple[Slot, ...]:
        """Connect, prepare everything for trials and return the slots. Raises InputError if that fails."""
        self._log.enter_context(silence_dask_loggers(thread))
        address = self._address
        if address is None:
            self._local = LocalCluster(self._workers, self._report_error)
            address = await self._local.start()
        client: AnyClient = Client(  # type: ignore[no-untyped-call]
            address, asynchronous=True, set_as_default=False, timeout=cluster.CONNECT_TIMEOUT, direct_to_workers=False
        )
        self._client = client
        await cluster.connect_to_scheduler(client, address)
        await self._await_workers(client, address)
        await cluster.check_cluster_versions(client, address)
        await self._register_plugins(client)
        found = (await client.scheduler.identity(n_workers=-1))["workers"]
        self._thread_counts = {place: max(int(each["nthreads"]), 1) for place, each in found.items()}
        labels = {place: worker_plugin.worker_label(each["name"], place) for place, each in found.items()}
        slots = worker_plugin.make_slots(labels, self._thread_counts, self._workers)
        names = group_by_key((slot.last_address, slot.name) for slot in slots if slot.last_address)
        prepare = worker_plugin.prepare_worker
        errors = await client.run(prepare, self._run, names, workers=list(names), on_error="return")
        for each in errors.values():
            # A worker that ends meanwhile does not matter: the others continue.
            if isinstance(each, InputError):
                raise each
        self._watcher = asyncio.create_task(self._watch_for_workers(client, address))
        return slots

    async def evaluate(self, slot: Slot, job: Job[Any]) -> FinishedJob[Any]:
        """Have a job evaluated, again if dask workers end; raise errors of the cluster or the InputError of a trial."""
        assert self._client is not None
        running = self._running_jobs[job.number] = _RunningJob()
        request = pickle.dumps(job.work, pickle.HIGHEST_PROTOCOL)
        try:
            while running.losses <= MAX_LOSSES:
                await self._ensure_connected(self._client)
                await self._await_turn(running)
                try:
                    report = await self._run_task(self._client, job, slot, request)
                except _LostTaskError:
                    continue
                except FutureCancelledError:
                    # The connection to the scheduler was lost, or another user restarted the cluster.
                    running.starts += 1
                except KilledWorker:
                    # Dask also blames tasks that only waited on the worker that died.
                    continue
                else:
                    return _make_finished(job, slot, report, running.starts)
                finally:
                    running.is_submitted = False
                    async with self._task_ended:
                        self._task_ended.notify_all()
            reason = f"{running.losses} dask workers ended one after another while they evaluated this trial"
            return FinishedJob(job, Failure(Status.CRASH, reason).make_result(job.work), slot.name, running.starts - 1)
        finally:
            del self._running_jobs[job.number]
            async with self._task_ended:
                self._task_ended.notify_all()

    async def stop_slots(self, slots: Sequence[str]) -> None:
        """Stop the trials of slots whose jobs are no longer wanted, also those that have not started yet."""
        self._generations.update(slots)
        if self._client is not None:
            generations = {each: self._generations[each] for each in slots}
            await self._client.run(worker_plugin.stop_slot_trials, self._run, generations, on_error="ignore")

    async def close(self) -> None:
        """Stop all trials, remove everything from the cluster, and end a local cluster."""
        for task in (self._watcher, self._counting):
            if task is not None:
                task.cancel()
        try:
            if self._client is not None:
                # If the cluster does not answer, the cleanup plugin removes the rest, or the local cluster is killed.
                with suppress(Exception):
                    await asyncio.wait_for(self._unregister_plugins(self._client), CLOSE_TIMEOUT)
                with suppress(Exception):
                    await asyncio.wait_for(self._client.close(), CLOSE_TIMEOUT)
        finally:
            if self._local is not None:
                await self._local.close()
            self._log.close()

    def _report_error(self, error: InputError) -> None:
        self._error = error
        self._fail(error)

    async def _await_turn(self, running: _RunningJob) -> None:
        """Wait until a job may be submitted, and mark it as submitted.

        A job that must be alone waits until no other job is submitted, and any other job until no job must be alone.
        """

        def is_next() -> bool:
            others = [each for each in self._running_jobs.values() if each is not running]
            if running.must_be_alone:
                return not any(each.is_submitted for each in others)
            return not any(each.must_be_alone for each in others)

        async with self._task_ended:
            await self._task_ended.wait_for(is_next)
            running.is_submitted = True

    async def _run_task(self, client: AnyClient, job: Job[Any], slot: Slot, request: bytes) -> JobReport:
        running = self._running_jobs[job.number]
        running.task_number = next(self._task_numbers)
        running.preferred_address = self._preferred_address(slot, running)
        running.report = asyncio.get_running_loop().create_future()
        task = client.submit(
            worker_plugin.evaluate_on_worker,
            self._run,
            slot.name,
            request,
            job.seconds,
            self._generations[slot.name],
            # Keys are reused once the cluster has forgotten them: it would remember 100,000 distinct ones.
            key=(self._run, running.task_number % KEY_COUNT),
            workers=[running.preferred_address] if running.preferred_address else None,
            allow_other_workers=bool(running.preferred_address),
            pure=False,
            retries=TASK_RETRIES,
        )
        # Do not await `gathering` itself: if a worker ends just then, the scheduler retries it for 30 seconds.
        gathering = asyncio.ensure_future(client.gather(task, asynchronous=True))
        gathering.add_done_callback(partial(_copy_outcome, running.report))
        try:
            report = await running.report
        except BaseException:
            task.release()
            raise
        # Dask's client sends at most one message in ten milliseconds: let the next task go first.
        asyncio.get_running_loop().call_later(RELEASE_DELAY, task.release)
        return report

    def _preferred_address(self, slot: Slot, running: _RunningJob) -> str:
        """Return the address of the dask worker that evaluated the last job of a slot.

        Return an empty string if the dask worker has ended or is busy.
        """
        address = slot.last_address
        if address in self._recently_ended:
            return ""
        busy = sum(each.preferred_address == address for each in self._running_jobs.values() if each is not running)
        return address if busy < self._thread_counts.get(address, 1) else ""

    async def _await_workers(self, client: AnyClient, address: str) -> None:
        """Wait for all local workers, or for one that a scheduler starts on demand; raise InputError after a while."""
        demand = client.submit(int, key=f"{self._run}-demand", pure=False)
        wanted = 1 if self._local is None else self._workers
        seconds = min(JOIN_TIMEOUT, self._patience)
        until = time.monotonic() + seconds
        while len(await client.scheduler.ncores()) < wanted:
            if self._error is not None:
                raise self._error
            if time.monotonic() > until:
                raise cluster.no_workers_error(address, seconds)
            await asyncio.sleep(POLL_INTERVAL)
        demand.release()

    async def _register_plugins(self, client: AnyClient) -> None:
        client.subscribe_topic("all", self._handle_cluster_event)
        try:
            await client.register_plugin(worker_plugin.CleanupPlugin(self._run, client.id), name=self._run)
            plugin = worker_plugin.EvaluationPlugin(self._payload, self._limits, isolate=self._isolates)
            await client.register_plugin(plugin, name=self._run)
        except Exception as error:
            message = f"the cluster cannot evaluate trials: {describe_exception(error)}"
            raise InputError(message, cluster.SAME_VERSIONS_HELP) from error
        self._connection = client.scheduler_comm

    async def _unregister_plugins(self, client: AnyClient) -> None:
        client.unsubscribe_topic("all")
        await client.unregister_worker_plugin(self._run)
        await client.unregister_scheduler_plugin(self._run)

    def _handle_cluster_event(self, event: tuple[float, Any]) -> None:
        """Have the jobs of a dask worker that has ended submitted again."""
        _, news = event
        if news.get("action") == "add-worker":
            self._counting = asyncio.create_task(self._count_threads(self._client))
        if news.get("action") != "remove-worker":
            return
        address = news["worker"]
        self._recently_ended.append(address)
        # A dask worker starts tasks in submission order. Those still waiting are not the cause.
        started = self._own_jobs(news["processing-tasks"])[: self._thread_counts.get(address)]
        is_in_company = len(started) > 1
        lost_results = self._own_jobs(news["lost-computed-tasks"])
        for number, running in self._running_jobs.items():
            running.starts += number in started or number in lost_results
            is_suspect = number in started and not news["expected"]
            running.losses += is_suspect and not is_in_company
            running.must_be_alone = running.must_be_alone or (is_suspect and is_in_company)
            is_lost = (
                running.preferred_address == address
                or number in lost_results
                or running.losses > MAX_LOSSES
                or (is_suspect and is_in_company)
            )
            if is_lost and running.report is not None and not running.report.done():
                running.report.set_exception(_LostTaskError())

    def _own_jobs(self, keys: Iterable[Any]) -> list[int]:
        """Return the numbers of this run's jobs among the tasks with these keys, in the order of submission."""
        ours = {key[1] for key in keys if isinstance(key, tuple) and key[0] == self._run}
        jobs = sorted((job.task_number, number) for number, job in self._running_jobs.items())
        return [number for task, number in jobs if task % KEY_COUNT in ours]

    async def _ensure_connected(self, client: AnyClient) -> None:
        """Wait until tasks can be submitted; raise InputError if the connection stays lost.

        After a reconnection it registers the plugins again, because the scheduler has forgotten them.
        """
        async with self._registering:
            until = time.monotonic() + cluster.CONNECT_TIMEOUT
            while client.status != "running":
                if client.status == "closed" or time.monotonic() > until:
                    raise InputError(f"the scheduler at `{self._address}` is no longer reachable", RESUME_HELP)
                await asyncio.sleep(POLL_INTERVAL)
            if client.scheduler_comm is not self._connection:
                await self._register_plugins(client)

    async def _count_threads(self, client: AnyClient) -> bool | None:
        """Learn how many threads the dask workers have; return True if there are any, None without a connection."""
        try:
            counts = await client.scheduler.ncores()
        except Exception:  # noqa: BLE001 - a lost connection is handled by the coroutines that wait for a result
            return None
        self._thread_counts |= {place: max(int(number), 1) for place, number in counts.items()}
        return bool(counts)

    async def _watch_for_workers(self, client: AnyClient, address: str) -> None:
        seen = time.monotonic()
        while True:
            await asyncio.sleep(min(WATCH_INTERVAL, self._patience / 4))
            has_workers = await self._count_threads(client)
            if has_workers:
                seen = time.monotonic()
            elif has_workers is False and time.monotonic() - seen > self._patience:
                self._report_error(cluster.no_workers_error(address, self._patience))
                return


def _copy_outcome(report: "asyncio.Future[JobReport]", gathering: "asyncio.Future[JobReport]") -> None:
    """Copy the result or the exception of `gathering` to `report`, unless `report` is done already.

    If `gathering` was cancelled, cancel `report`.
    """
    if gathering.cancelled():
        report.cancel()
        return
    error = gathering.exception()
    if report.done():
        return
    if error is None:
        report.set_result(gathering.result())
    else:
        report.set_exception(error)


def _make_finished(job: Job[Any], slot: Slot, report: JobReport, starts: int) -> FinishedJob[Any]:
    answer = pickle.loads(report.answer)
    if isinstance(answer, InputError):
        raise answer
    slot.last_address = report.address
    worker = slot.name if report.name == slot.home_worker else report.name
    return FinishedJob(job, answer, worker, starts + report.attempts - 1)
