"""Find all processes that a test has started, by a mark in their environment."""

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from spacelang.runtime.executors._processes.process_tree import is_alive_with_environment_variable

MARK_VARIABLE = "SPACELANG_TEST"


class MarkedProcesses:
    """The processes whose environment carries a mark."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def __call__(self) -> list[psutil.Process]:
        """Return the marked processes that are alive; a terminated child that was not waited for is not."""
        return [
            process
            for process in psutil.process_iter()
            if is_alive_with_environment_variable(process, MARK_VARIABLE, self._mark)
        ]

    def wait_until_gone(self, seconds: float = 1.0) -> bool:
        """Wait at most `seconds` and return True if no marked process is left."""
        until = time.monotonic() + seconds
        while self():
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True


@contextmanager
def mark_processes() -> Iterator[MarkedProcesses]:
    """Mark all processes that are started in the context, and kill the remaining ones afterwards.

    So a failing test leaves no processes behind either.
    """
    before, mark = os.environ.get(MARK_VARIABLE), uuid.uuid4().hex
    os.environ[MARK_VARIABLE] = mark
    marked = MarkedProcesses(mark)
    try:
        yield marked
    finally:
        os.environ.pop(MARK_VARIABLE)
        if before is not None:
            os.environ[MARK_VARIABLE] = before
        for process in marked():
            process.kill()
