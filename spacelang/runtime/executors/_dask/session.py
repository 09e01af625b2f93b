"""The session: the search's end of a cluster. All of it runs on one event loop.

A job is a task of the cluster that wants the dask worker which had the last job of its seat, because that one remembers
what the trials of this seat can share; it is content with any other. Dask runs a task again whose worker has ended, and
some twice; the session asks for one result, and takes one. But dask forgets a task that wants a worker when the last of
all has ended (a new one joins, and the task stays where it is), so such tasks are given anew.
"""

import asyncio
import pickle
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, Final, TypeAlias

from distributed import Client, KilledWorker
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError

from spacelang.grouping import grouped
from spacelang.ir.task import SECONDS, Limits, quantity
from spacelang.ir.trial import Status
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import Finished, Job
from spacelang.runtime.executors._dask.laboratory import JobReport, Laboratory, Steward, assess, halt, label, prepare
from spacelang.runtime.executors._dask.local import LocalCluster
from spacelang.runtime.executors._dask.log import quiet
from spacelang.runtime.executors._dask.seats import Seat, make_seats
from spacelang.runtime.executors._dask.versions import PACKAGES, difference
from spacelang.runtime.failures import Failure, described

CONNECTING: Final = 5.0
"""How long a scheduler may take to answer, in seconds, at first and when it is lost later."""

JOINING: Final = 60.0
"""How long the first dask worker may take to join the scheduler, in seconds."""

LEAVING: Final = 1.5
"""How long the cluster may take to stop the trials of a run, in seconds."""

GLANCE: Final = 2.0
"""How often it is looked whether the cluster has workers, in seconds."""

BLINK: Final = 0.05
"""How often it is looked whether the cluster has come up, in seconds."""

ERRORS: Final = 2
"""How often a task is tried again that failed where no trial can: between the cluster and the trial's process."""

RELEASING: Final = 0.02
"""How long a result stays with the cluster after it has arrived, in seconds."""

KEYS: Final = 4096
"""How many tasks have different keys, one after the other."""

LOSSES: Final = 3
"""How often a job may lose its dask worker before it is taken for the reason."""

SAME: Final = "all machines of the cluster must have spacelang, and the same versions"

RESUME: Final = "start workers, and go on with the run by `--resume`"


AnyClient: TypeAlias = Any
"""A client of dask's that is used on an event loop; its types know it only as it is without one."""


class _LostTaskError(Exception):
    """A task must be given anew, or given up."""


@dataclass(slots=True)
class _Flight:
    """A job on its way."""

    report: "asyncio.Future[JobReport] | None" = None
    """What its task will come to."""
    order: int = 0
    """How many tasks were given to the cluster before this one."""
    wants: str = ""
    """The dask worker that the task is for, if it may be had."""
    begun: int = 1
    """How often it was given to a dask worker."""
    losses: int = 0
    """How many of them have ended unexpectedly while they had it."""

    def lose(self) -> None:
        """Have whoever waits for the task look after it."""
        if self.report is not None and not self.report.done():
            self.report.set_exception(_LostTaskError())


class ClusterSession:
    """Connected to the cluster at `address`, or to one of its own.

    `fail` is told what ends the run: at most a few mistakes of the cluster as a whole. Without any dask worker for
    `patience` seconds there is one.
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
        self._payload = payload
        self._limits = limits
        self._isolates = isolate
        self._workers = workers
        self._address = address
        self._patience = patience
        self._fail = fail
        self._local: LocalCluster | None = None
        self._client: AnyClient | None = None
        self._log = ExitStack()
        self._connection: Any = None
        """The one by which the laboratory was registered."""
        self._registering = asyncio.Lock()
        self._orders = count(1)
        self._flights: dict[int, _Flight] = {}
        """The jobs in flight, by their numbers."""
        self._threads: dict[str, int] = {}
        """How many each dask worker had at the beginning, by address."""
        self._lately_gone: deque[str] = deque(maxlen=100)
        """The dask workers that have ended last."""
        self._eras: Counter[str] = Counter()
        """How often the trials of each seat were stopped."""
        self._broken: InputError | None = None
        self._watcher: asyncio.Task[None] | None = None

    async def open(self, thread: int) -> tuple[Seat, ...]:
        """Connect, and have everything ready for trials; the seats that there are. Raises InputError where it fails."""
        self._log.enter_context(quiet(thread))
        address = self._address
        if address is None:
            self._local = LocalCluster(self._workers, self._break)
            address = await self._local.start()
        client: AnyClient = Client(  # type: ignore[no-untyped-call]
            address, asynchronous=True, set_as_default=False, timeout=CONNECTING, direct_to_workers=False
        )
        self._client = client
        await _connect(client, address)
        await self._await_workers(client, address)
        await _check_versions(client, address)
        await self._register(client)
        found = (await client.scheduler.identity(n_workers=-1))["workers"]
        self._threads = {place: max(int(each["nthreads"]), 1) for place, each in found.items()}
        seats = make_seats(
            {place: label(each["name"], place) for place, each in found.items()}, self._threads, self._workers
        )
        await self._prepare(client, seats)
        self._watcher = asyncio.create_task(self._watch(client, address))
        return seats

    async def evaluate(self, seat: Seat, job: Job) -> Finished:
        """Have a job done, again where dask workers end; the seat moves to where it was done.

        Raises what is wrong with the cluster, or the InputError that the evaluation has raised.
        """
        assert self._client is not None
        flight = self._flights[job.number] = _Flight()
        request = pickle.dumps(job.request, pickle.HIGHEST_PROTOCOL)
        try:
            while flight.losses <= LOSSES:
                await self._stay_connected(self._client)
                try:
                    report = await self._reported(self._client, job, seat, request)
                except _LostTaskError:
                    continue
                except FutureCancelledError:
                    # The scheduler is gone, or another user of the cluster had it begin afresh.
                    flight.begun += 1
                except KilledWorker:
                    # Dask counts also those that had to wait for the guilty one.
                    continue
                else:
                    return _finished(job, seat, report, flight.begun)
            reason = f"{flight.losses} dask workers ended one after the other while they had it"
            return Finished(job, Failure(Status.CRASH, reason).of(job.request), seat.name, flight.losses)
        finally:
            del self._flights[job.number]

    async def halt(self, seats: Sequence[str]) -> None:
        """Stop the trials of seats whose jobs nobody waits for any more, also those that were not begun yet."""
        self._eras.update(seats)
        if self._client is not None:
            await self._client.run(halt, self._run, {each: self._eras[each] for each in seats}, on_error="ignore")

    async def close(self) -> None:
        """Stop all trials, take everything back from the cluster, and end it if it is the session's own."""
        if self._watcher is not None:
            self._watcher.cancel()
        try:
            if self._client is not None:
                # A cluster that does not answer is left to its steward, or ended with what is below it.
                with suppress(Exception):
                    await asyncio.wait_for(self._take_back(self._client), LEAVING)
                with suppress(Exception):
                    await asyncio.wait_for(self._client.close(), LEAVING)
        finally:
            if self._local is not None:
                await self._local.close()
            self._log.close()

    def _break(self, error: InputError) -> None:
        """Say what is wrong with the cluster as a whole."""
        self._broken = error
        self._fail(error)

    async def _reported(self, client: AnyClient, job: Job, seat: Seat, request: bytes) -> JobReport:
        """Give the cluster a task for a job and wait for what comes of it."""
        flight = self._flights[job.number]
        flight.order = next(self._orders)
        flight.wants = self._wanted(seat, flight)
        flight.report = asyncio.get_running_loop().create_future()
        task = client.submit(
            assess,
            self._run,
            seat.name,
            request,
            job.seconds,
            self._eras[seat.name],
            # A key that the cluster has forgotten since: it remembers a hundred thousand that it has not.
            key=(self._run, flight.order % KEYS),
            workers=[flight.wants] if flight.wants else None,
            allow_other_workers=bool(flight.wants),
            pure=False,
            retries=ERRORS,
        )
        # It is not waited for itself: when a dask worker ends just then, the scheduler calls it for another 30 seconds.
        gathering = asyncio.ensure_future(client.gather(task, asynchronous=True))
        gathering.add_done_callback(partial(_pass_on, flight.report))
        try:
            report = await flight.report
        except BaseException:
            task.release()
            raise
        # Dask's client sends no two messages within ten milliseconds: the next task goes first.
        asyncio.get_running_loop().call_later(RELEASING, task.release)
        return report

    def _wanted(self, seat: Seat, flight: _Flight) -> str:
        """The dask worker of the last job, unless it has ended or has enough to do."""
        place = seat.place
        if place in self._lately_gone:
            return ""
        busy = sum(each.wants == place for each in self._flights.values() if each is not flight)
        return place if busy < self._threads.get(place, 1) else ""

    async def _await_workers(self, client: AnyClient, address: str) -> None:
        """Wait for the workers of an own cluster, or for one at a scheduler's, which may start some on demand."""
        demand = client.submit(int, key=f"{self._run}-demand", pure=False)
        wanted = 1 if self._local is None else self._workers
        seconds = min(JOINING, self._patience)
        until = time.monotonic() + seconds
        while len(await client.scheduler.ncores()) < wanted:
            if self._broken is not None:
                raise self._broken
            if time.monotonic() > until:
                raise _without_workers(address, seconds)
            await asyncio.sleep(BLINK)
        demand.release()

    async def _register(self, client: AnyClient) -> None:
        """Leave a laboratory with each dask worker, and have them removed when the client is gone."""
        client.subscribe_topic("all", self._notice)
        try:
            await client.register_plugin(Steward(self._run, client.id), name=self._run)
            laboratory = Laboratory(self._payload, self._limits, isolate=self._isolates)
            await client.register_plugin(laboratory, name=self._run)
        except Exception as error:
            raise InputError(f"the cluster cannot evaluate: {described(error)}", SAME) from error
        self._connection = client.scheduler_comm

    async def _prepare(self, client: AnyClient, seats: Sequence[Seat]) -> None:
        places = grouped((seat.place, seat.name) for seat in seats if seat.place)
        found = await client.run(prepare, self._run, places, workers=list(places), on_error="return")
        for each in found.values():
            # A worker that ends meanwhile is none of our business: others go on.
            if isinstance(each, InputError):
                raise each

    async def _take_back(self, client: AnyClient) -> None:
        client.unsubscribe_topic("all")
        await client.unregister_worker_plugin(self._run)
        await client.unregister_scheduler_plugin(self._run)

    def _notice(self, event: tuple[float, Any]) -> None:
        """A dask worker has ended: what it had is begun again."""
        _, news = event
        if news.get("action") != "remove-worker":
            return
        gone = news["worker"]
        self._lately_gone.append(gone)
        # A dask worker begins its tasks in the order in which they were given; those that had to wait are innocent.
        begun = self._ours(news["processing-tasks"])[: self._threads.get(gone, 1)]
        done_in_vain = self._ours(news["lost-computed-tasks"])
        for number, flight in self._flights.items():
            flight.begun += number in begun or number in done_in_vain
            flight.losses += number in begun and not news["expected"]
            if flight.wants == gone or number in done_in_vain or flight.losses > LOSSES:
                flight.lose()

    def _ours(self, keys: Iterable[Any]) -> list[int]:
        """The numbers of our jobs among tasks of the cluster, those first that were given to it first."""
        ours = {key[1] for key in keys if isinstance(key, tuple) and key[0] == self._run}
        found = [(flight.order, number) for number, flight in self._flights.items() if flight.order % KEYS in ours]
        return [number for _, number in sorted(found)]

    async def _stay_connected(self, client: AnyClient) -> None:
        """Return once the scheduler can be given tasks: at once unless it was lost, and has forgotten all of ours."""
        async with self._registering:
            until = time.monotonic() + CONNECTING
            while client.status != "running":
                if client.status == "closed" or time.monotonic() > until:
                    raise InputError(f"the scheduler at `{self._address}` is gone", RESUME)
                await asyncio.sleep(BLINK)
            if client.scheduler_comm is not self._connection:
                await self._register(client)

    async def _watch(self, client: AnyClient, address: str) -> None:
        """Fail when there has been no dask worker for too long."""
        seen = time.monotonic()
        while True:
            await asyncio.sleep(min(GLANCE, self._patience / 4))
            try:
                has_workers = bool(await client.scheduler.ncores())
            except Exception:  # noqa: BLE001 - a lost connection is the business of those who wait for a result
                continue
            if has_workers:
                seen = time.monotonic()
            elif time.monotonic() - seen > self._patience:
                self._break(_without_workers(address, self._patience))
                return


async def _connect(client: AnyClient, address: str) -> None:
    try:
        # The client waits for ever for one that takes the call and says nothing.
        async with asyncio.timeout(CONNECTING + 1):
            await client
    except OSError as error:
        if isinstance(error, CommClosedError):
            message = f"what listens at `{address}` hangs up: {described(error.__cause__ or error)}"
            raise InputError(message, "the address of a scheduler with certificates begins with `tls://`") from error
        message = f"no scheduler answers at `{address}` within {quantity(CONNECTING, SECONDS)}"
        raise InputError(message, "`dask scheduler` starts one and shows its address") from error
    except Exception as error:
        certified = "dask's configuration names the certificates, under `distributed.comm.tls`"
        help_ = certified if address.startswith("tls:") else ""
        raise InputError(f"the scheduler at `{address}` cannot be used: {described(error)}", help_) from error


def _pass_on(report: "asyncio.Future[JobReport]", gathering: "asyncio.Future[JobReport]") -> None:
    """Have one future end as the other one has, unless nobody waits for it any more."""
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


async def _check_versions(client: AnyClient, address: str) -> None:
    found = await client.get_versions(packages=list(PACKAGES))
    here = found["client"]["packages"]
    places = {f"the dask worker {place}": each["packages"] for place, each in found["workers"].items()}
    # The scheduler passes on what it need not understand, but for the names of ours.
    known = {name: here[name] for name in PACKAGES if name != "spacelang"}
    places[f"the scheduler {address}"] = {**found["scheduler"]["packages"], **known}
    for place, packages in places.items():
        if differing := difference(here, packages, place):
            raise InputError(differing, SAME)


def _finished(job: Job, seat: Seat, report: JobReport, begun: int) -> Finished:
    answer = report.read()
    if isinstance(answer, InputError):
        raise answer
    # One request for both: a run keeps thousands.
    trial = replace(answer, request=job.request) if answer.request == job.request else answer
    seat.place = report.place
    worker = seat.name if report.name == seat.home else report.name
    return Finished(job, trial, worker, begun + report.attempts - 1)


def _without_workers(address: str, seconds: float) -> InputError:
    message = f"the scheduler at `{address}` has had no worker for {quantity(seconds, SECONDS)}"
    return InputError(message, f"`dask worker {address}` starts one")
