"""The process of a dask worker on this machine; it exits when the search does, for whatever reason."""

import asyncio
import logging
import os
import shutil
import signal
import threading
from typing import Any, NoReturn

from spacelang.runtime.executors._processes.communication import STOP_SIGNALS


def main(address: str, name: str, folder: str) -> NoReturn:
    """Run a dask worker for the scheduler at an address until the scheduler is gone."""
    for stop in STOP_SIGNALS:
        # The search handles them, and then ends this process.
        signal.signal(stop, signal.SIG_IGN)
    threading.Thread(target=_exit_with_search, args=(folder,), daemon=True).start()
    try:
        asyncio.run(_run_worker(address, name, folder))
    finally:
        # Do not wait for threads that still wait for a trial: the trial ends with this process.
        os._exit(1)


def _exit_with_search(folder: str) -> None:
    """Exit, and remove the folder of the cluster, when the search ends, which closes the standard input."""
    while os.read(0, 1024):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


async def _run_worker(address: str, name: str, folder: str) -> None:
    import dask
    from distributed import Worker

    # The scheduler, in the process of the search, notices the same events.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with dask.config.set({"distributed.worker.profile.enabled": False}):
        worker: Any = Worker(
            address,
            nthreads=1,
            name=name,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            dashboard=False,
            local_directory=folder,
            # The worker holds no data, and trials are limited in their own processes.
            memory_limit=0,
        )
        async with worker:
            await worker.finished()
