"""Processes of a test as the system sees them: all that were started since carry a mark in their environment."""

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from spacelang.runtime.executors._processes.family import is_marked

NAME = "SPACELANG_TEST"


class Marked:
    """The processes that carry a mark."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def __call__(self) -> list[psutil.Process]:
        """Those that live now; what has ended and not been waited for does not."""
        return [process for process in psutil.process_iter() if is_marked(process, NAME, self._mark)]

    def gone(self, seconds: float = 1.0) -> bool:
        """Whether all end within so many seconds."""
        until = time.monotonic() + seconds
        while self():
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True


@contextmanager
def marking() -> Iterator[Marked]:
    """Mark what is started meanwhile; all of it is killed afterwards, so that a failing test leaves nothing either."""
    before, mark = os.environ.get(NAME), uuid.uuid4().hex
    os.environ[NAME] = mark
    marked = Marked(mark)
    try:
        yield marked
    finally:
        os.environ.pop(NAME)
        if before is not None:
            os.environ[NAME] = before
        for process in marked():
            process.kill()
