"""The process of a dask worker on this machine; it ends with the search, whatever that died of."""

import asyncio
import logging
import os
import shutil
import signal
import threading
from typing import Any, NoReturn


def main(address: str, name: str, folder: str) -> NoReturn:
    """Work for the scheduler at an address until that is gone."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        # They are for the search, which ends this process then.
        signal.signal(stop, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_search, args=(folder,), daemon=True).start()
    try:
        asyncio.run(_work(address, name, folder))
    finally:
        # Threads that still wait for a trial are not waited for; the trial ends with this process.
        os._exit(1)


def _end_with_the_search(folder: str) -> None:
    """The search holds the other end of the standard input, and sends nothing; it has no further use for its folder."""
    while os.read(0, 1024):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


async def _work(address: str, name: str, folder: str) -> None:
    import dask
    from distributed import Worker

    # What it could say is known to the scheduler as well, in the process of the search.
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
            # It has no data of its own, and trials are bounded in their own processes.
            memory_limit=0,
        )
        async with worker:
            await worker.finished()
