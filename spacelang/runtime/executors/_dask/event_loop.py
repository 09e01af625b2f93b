"""An event loop in a thread of its own, so that the cluster is served while the search computes."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Final, TypeVar

T = TypeVar("T")

CLOSE_TIMEOUT: Final = 2.0
"""The maximum wait for the remaining tasks of the loop to end, in seconds."""


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
