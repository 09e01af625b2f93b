"""Handle SIGTERM, which schedulers, containers and `timeout` send, like Ctrl-C."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

REPETITION_SECONDS: Final = 0.5
"""Seconds in which a second signal counts as a repetition: `timeout` signals a process and then its group."""


class _Interrupter:
    """A signal handler that raises KeyboardInterrupt.

    Signals that follow each other within `REPETITION_SECONDS` seconds count as one.
    """

    def __init__(self) -> None:
        self._last = -REPETITION_SECONDS

    def __call__(self, *_: object) -> None:
        now = time.monotonic()
        if now - self._last >= REPETITION_SECONDS:
            self._last = now
            raise KeyboardInterrupt


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C in the block.

    A signal that is ignored (`nohup`, `&`) or already has a handler of its own is left alone.
    """
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    stop = _Interrupter()
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
