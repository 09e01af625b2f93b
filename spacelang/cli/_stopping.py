"""How a command is stopped: by Ctrl-C, or by SIGTERM, which schedulers, containers and `timeout` send."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

ECHO: Final = 0.5
"""Within so many seconds a signal repeats the one before: `timeout` sends each to a process and then to its group."""


class _Stop:
    """Raises KeyboardInterrupt, once for each time that somebody wants the end."""

    def __init__(self) -> None:
        self._last = -ECHO

    def __call__(self, *_: object) -> None:
        now = time.monotonic()
        if now - self._last >= ECHO:
            self._last = now
            raise KeyboardInterrupt


@contextmanager
def stoppable() -> Iterator[None]:
    """Have SIGTERM do what Ctrl-C does; a signal that is ignored (`nohup`, `&`), or that has a handler, stays so."""
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
