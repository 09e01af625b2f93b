"""Handle SIGTERM, which schedulers, containers and `timeout` send, like Ctrl-C."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

ECHO: Final = 0.5
"""Seconds in which a second signal counts as a repetition: `timeout` signals a process and then its group."""


class _Stop:
    """A signal handler that raises KeyboardInterrupt, once for signals that follow each other within `ECHO` seconds."""

    def __init__(self) -> None:
        self._last = -ECHO

    def __call__(self, *_: object) -> None:
        now = time.monotonic()
        if now - self._last >= ECHO:
            self._last = now
            raise KeyboardInterrupt


@contextmanager
def stoppable() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C in the block.

    A signal that is ignored (`nohup`, `&`) or already has a handler of its own is left alone.
    """
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    stop = _Stop()
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: handler for number, handler in usual.items() if signal.getsignal(number) == handler}
    try:
        for number in before:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
