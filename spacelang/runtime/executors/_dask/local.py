"""A cluster on this machine: the scheduler in the process of the search, each dask worker in one of its own.

Dask's own local cluster starts its workers by `multiprocessing`, which runs the main module of the user's program
again in each of them and leaves a process behind that tracks resources. These are started afresh, and again as often
as they end. All of it listens on the loopback address only.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import dask
import psutil
from distributed import Scheduler

from spacelang.runtime.errors import InputError
from spacelang.runtime.executors._processes.family import kill_tree

GLANCE: Final = 0.05
"""How often it is looked whether a worker has ended, in seconds."""

STARTS: Final = 3
"""How often in a row a worker may end before it has joined the scheduler."""

PATIENCE: Final = 1.0
"""How long killed processes are waited for, in seconds."""

BOOT: Final = """
import json, sys
given = json.loads(sys.argv[1])
sys.path[:] = given.pop("path")
from spacelang.runtime.executors._dask.member import main
main(**given)
"""
"""What a worker runs: it sees the modules that the search sees, and knows nothing of its `__main__`."""


class LocalCluster:
    """So many dask workers of one thread each; `fail` is told once what keeps them from working."""

    def __init__(self, workers: int, fail: Callable[[InputError], None]) -> None:
        self._names = [f"dask {number}" for number in range(1, workers + 1)]
        self._fail = fail
        self._folder = tempfile.TemporaryDirectory(prefix="spacelang-dask-", ignore_cleanup_errors=True)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._keepers: list[asyncio.Task[None]] = []
        self._scheduler: Scheduler | None = None

    async def start(self) -> str:
        """The address of the scheduler; its workers join it when they can."""
        self._scheduler = self._made()
        await self._scheduler
        self._keepers = [asyncio.create_task(self._keep(name, self._scheduler)) for name in self._names]
        return str(self._scheduler.address)

    async def close(self) -> None:
        """Kill all workers and what is below them, end the scheduler and remove all files."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        family = _family(list(self._processes.values()))
        for process in family:
            kill_tree(process)
        for started in self._processes.values():
            _leave(started)
        if self._scheduler is not None:
            await self._scheduler.close()
        await asyncio.to_thread(psutil.wait_procs, family, PATIENCE)
        self._folder.cleanup()

    def _made(self) -> Scheduler:
        with dask.config.set({"temporary-directory": self._folder.name}):
            scheduler = Scheduler(host="127.0.0.1", port=0, dashboard_address="127.0.0.1:0", dashboard=False)
        # It looks for modules that are sent to it, which nobody does, in a folder that will be gone.
        with suppress(ValueError):
            sys.path.remove(scheduler.local_directory)
        return scheduler

    async def _keep(self, name: str, scheduler: Scheduler) -> None:
        """Start a worker again and again."""
        in_vain = 0
        while in_vain < STARTS:
            try:
                process = self._processes[name] = self._started(name, str(scheduler.address))
            except OSError as error:
                self._fail(InputError(f"no dask worker can be started: {error}"))
                return
            has_joined = False
            while process.poll() is None:
                has_joined = has_joined or name in scheduler.aliases
                await asyncio.sleep(GLANCE)
            _leave(process)
            in_vain = 0 if has_joined else in_vain + 1
        self._fail(InputError(f"the dask workers of this machine end before they begin: {self._last_words(name)}"))

    def _started(self, name: str, address: str) -> "subprocess.Popen[bytes]":
        given = {"path": sys.path, "address": address, "name": name, "folder": self._folder.name}
        with self._log(name).open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-P", "-c", BOOT, json.dumps(given)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )

    def _log(self, name: str) -> Path:
        return Path(self._folder.name) / f"{name}.log"

    def _last_words(self, name: str) -> str:
        with suppress(OSError):
            lines = self._log(name).read_text(errors="replace").splitlines()
            return next((line.strip() for line in reversed(lines) if line.strip()), "they say nothing")
        return "they say nothing"


def _family(started: "list[subprocess.Popen[bytes]]") -> list[psutil.Process]:
    """The processes and all below them."""
    found = []
    for process in started:
        if process.poll() is not None:
            continue
        with suppress(psutil.NoSuchProcess):
            parent = psutil.Process(process.pid)
            found += [parent, *parent.children(recursive=True)]
    return found


def _leave(process: "subprocess.Popen[bytes]") -> None:
    """Take leave of a process that has ended or was killed."""
    assert process.stdin is not None
    process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE)
