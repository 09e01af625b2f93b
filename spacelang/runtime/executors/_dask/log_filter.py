"""A log filter for dask: messages about workers that come and go are of no interest to users."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LOGGING_PACKAGES: Final = ("distributed", "tornado", "asyncio")
"""The packages whose loggers report connections and processes."""


class _ThreadFilter(logging.Filter):
    """A log filter that drops all records of one thread."""

    def __init__(self, thread: int) -> None:
        super().__init__()
        self._thread = thread

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread != self._thread


@contextmanager
def silence_thread(thread: int) -> Iterator[None]:
    """Silence the loggers of dask for one thread; other uses of dask in the program are logged as before."""
    # The filter of a logger does not apply to its children, and loggers created later share only the handlers.
    known = list(logging.root.manager.loggerDict.items())
    loggers = [
        each for name, each in known if isinstance(each, logging.Logger) and name.split(".")[0] in LOGGING_PACKAGES
    ]
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
