"""A dask cluster on this machine, the connection to any cluster, and the reasons for which one cannot be used.

Dask's own local cluster runs the main module of the user's program again in each worker, and leaves a resource tracker
behind. The local cluster here is a scheduler in the process of the search, and worker processes, on loopback only. The
workers are fresh interpreters, and are restarted whenever they end.
"""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import dask
import psutil
from distributed import Scheduler
from distributed.comm.core import CommClosedError

from spacelang.ir.task import SECONDS, format_quantity
from spacelang.runtime.errors import InputError, describe_exception
from spacelang.runtime.executors._dask import worker_plugin
from spacelang.runtime.executors._processes.communication import start_interpreter
from spacelang.runtime.executors._processes.process_tree import kill_tree

CONNECT_TIMEOUT: Final = 5.0  # The maximum time to connect or reconnect to a scheduler, in seconds
SAME_VERSIONS_HELP: Final = "install spacelang and the same package versions on all machines of the cluster"
AnyClient: TypeAlias = Any  # An asynchronous dask client. Its type hints describe only the synchronous one


async def connect_to_scheduler(client: AnyClient, address: str) -> None:
    """Connect to the scheduler; raise InputError, with the reason, if that fails."""
    try:
        # The client would wait forever for a server that accepts the connection and sends nothing.
        async with asyncio.timeout(CONNECT_TIMEOUT + 1):
            await client
    except OSError as error:
        if isinstance(error, CommClosedError):
            cause = describe_exception(error.__cause__ or error)
            message = f"the program at `{address}` closed the connection: {cause}"
            raise InputError(message, "the address of a scheduler with certificates starts with `tls://`") from error
        message = f"no scheduler answers at `{address}` within {format_quantity(CONNECT_TIMEOUT, SECONDS)}"
        raise InputError(message, "start a scheduler with `dask scheduler`, which shows its address") from error
    except Exception as error:
        certificates = "set the certificates in dask's configuration, under `distributed.comm.tls`"
        help_ = certificates if address.startswith("tls:") else ""
        raise InputError(f"the scheduler at `{address}` cannot be used: {describe_exception(error)}", help_) from error


async def check_cluster_versions(client: AnyClient, address: str) -> None:
    """Raise InputError if a machine of the cluster has other versions of what affects scores."""
    found = await client.get_versions(packages=list(worker_plugin.PACKAGES))
    here = found["client"]["packages"]
    places = {f"the dask worker {place}": each["packages"] for place, each in found["workers"].items()}
    # The scheduler needs spacelang itself, but passes other data on as bytes: their versions may differ there.
    known = {name: here[name] for name in worker_plugin.PACKAGES if name != "spacelang"}
    places[f"the scheduler {address}"] = {**found["scheduler"]["packages"], **known}
    for place, packages in places.items():
        if differing := worker_plugin.describe_version_difference(here, packages, place):
            raise InputError(differing, SAME_VERSIONS_HELP)


def no_workers_error(address: str, seconds: float) -> InputError:
    """Return the error for a cluster without workers."""
    message = f"the scheduler at `{address}` has had no worker for {format_quantity(seconds, SECONDS)}"
    return InputError(message, f"start a worker with `dask worker {address}`")


POLL_INTERVAL: Final = 0.05  # The interval at which a worker is polled for its end, in seconds
MAX_FAILED_STARTS: Final = 3  # The number of times in a row that a worker may end before it has joined the scheduler
KILL_TIMEOUT: Final = 1.0  # The maximum wait for killed processes, in seconds


class LocalCluster:
    """A cluster of `workers` dask workers with one thread each; `fail` is called if one can't start or keeps ending."""

    def __init__(self, workers: int, fail: Callable[[InputError], None]) -> None:
        self._names = [f"dask {number}" for number in range(1, workers + 1)]
        self._fail = fail
        self._folder = tempfile.TemporaryDirectory(prefix="spacelang-dask-", ignore_cleanup_errors=True)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._supervisors: list[asyncio.Task[None]] = []
        self._scheduler: Scheduler | None = None

    async def start(self) -> str:
        """Start the scheduler and the workers, which join it later; return the address of the scheduler."""
        with dask.config.set({"temporary-directory": self._folder.name}):
            self._scheduler = Scheduler(host="127.0.0.1", port=0, dashboard_address="127.0.0.1:0", dashboard=False)
        # The scheduler adds a folder for uploaded modules to the path. Nothing is uploaded, and the folder is removed.
        with suppress(ValueError):
            sys.path.remove(self._scheduler.local_directory)
        await self._scheduler
        self._supervisors = [asyncio.create_task(self._supervise(name, self._scheduler)) for name in self._names]
        return str(self._scheduler.address)

    async def close(self) -> None:
        """Kill all workers and their descendants, end the scheduler and remove all files."""
        for keeper in self._supervisors:
            keeper.cancel()
        await asyncio.gather(*self._supervisors, return_exceptions=True)
        trees = _process_trees(list(self._processes.values()))
        for process in trees:
            kill_tree(process)
        for started in self._processes.values():
            _reap(started)
        if self._scheduler is not None:
            await self._scheduler.close()
        await asyncio.to_thread(psutil.wait_procs, trees, KILL_TIMEOUT)
        self._folder.cleanup()

    async def _supervise(self, name: str, scheduler: Scheduler) -> None:
        failed_starts = 0
        while failed_starts < MAX_FAILED_STARTS:
            try:
                process = self._processes[name] = self._start_worker(name, str(scheduler.address))
            except OSError as error:
                self._fail(InputError(f"a dask worker cannot be started: {error}"))
                return
            has_joined = False
            while process.poll() is None:
                has_joined = has_joined or name in scheduler.aliases
                await asyncio.sleep(POLL_INTERVAL)
            _reap(process)
            failed_starts = 0 if has_joined else failed_starts + 1
        what = "the dask workers on this machine exit before they join the scheduler"
        self._fail(InputError(f"{what}: {self._last_log_line(name)}"))

    def _start_worker(self, name: str, address: str) -> "subprocess.Popen[bytes]":
        given = {"address": address, "name": name, "folder": self._folder.name}
        with self._log_path(name).open("wb") as log:
            return start_interpreter("_dask", given, stdin=subprocess.PIPE, stderr=log)

    def _log_path(self, name: str) -> Path:
        return Path(self._folder.name) / f"{name}.log"

    def _last_log_line(self, name: str) -> str:
        with suppress(OSError):
            lines = self._log_path(name).read_text(errors="replace").splitlines()
            return next((line.strip() for line in reversed(lines) if line.strip()), "they printed nothing")
        return "they printed nothing"


def _process_trees(started: "list[subprocess.Popen[bytes]]") -> list[psutil.Process]:
    found = []
    for process in started:
        if process.poll() is not None:
            continue
        with suppress(psutil.NoSuchProcess):
            parent = psutil.Process(process.pid)
            found += [parent, *parent.children(recursive=True)]
    return found


def _reap(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(KILL_TIMEOUT)
