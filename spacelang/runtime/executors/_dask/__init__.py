"""The parts of the executor `dask`: here the thread with its event loop, silent loggers, and the process of a worker.

The cluster is served on the loop while the search computes. A worker on this machine exits when the search does, for
whatever reason.
"""

import asyncio
import logging
import os
import shutil
import signal
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final, NoReturn, TypeVar

from spacelang.runtime.executors._processes.communication import STOP_SIGNALS

T = TypeVar("T")
CLOSE_TIMEOUT: Final = 2.0  # The maximum wait for the remaining tasks of the loop to end, in seconds
LOGGING_PACKAGES: Final = ("distributed", "tornado", "asyncio")
"""The packages whose loggers report connections and processes."""


class EventLoopThread:
    """A thread with an event loop that runs coroutines until it is closed."""

    def __init__(self) -> None:
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="spacelang dask", daemon=True)
        self._thread.start()
        self._loop, self._end = self._started.result()

    @property
    def thread_id(self) -> int:
        """The identifier of the thread."""
        assert self._thread.ident is not None
        return self._thread.ident

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start a coroutine on the loop; return a future of its result or exception."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close(self) -> None:
        """Cancel all running coroutines and end the thread. Closing again does nothing."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(CLOSE_TIMEOUT)

    async def _run(self) -> None:
        end = asyncio.Event()
        self._started.set_result((asyncio.get_running_loop(), end))
        await end.wait()


class _ThreadFilter(logging.Filter):
    def __init__(self, thread: int) -> None:
        super().__init__()
        self._thread = thread

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread != self._thread


@contextmanager
def silence_dask_loggers(thread: int) -> Iterator[None]:
    """Silence the loggers of dask for one thread; other uses of dask in the program are logged as before."""
    # The filter of a logger does not apply to its children, and loggers created later share only the handlers.
    known = list(logging.root.manager.loggerDict.items())
    ours = [each for name, each in known if name.split(".")[0] in LOGGING_PACKAGES]
    loggers = [each for each in ours if isinstance(each, logging.Logger)]
    handlers = {handler for logger in (logging.root, *loggers) for handler in logger.handlers}
    filtered: list[logging.Filterer] = [*loggers, *handlers]
    thread_filter = _ThreadFilter(thread)
    for each in filtered:
        each.addFilter(thread_filter)
    try:
        yield
    finally:
        for each in filtered:
            each.removeFilter(thread_filter)


# ---- the process of a dask worker on this machine


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
