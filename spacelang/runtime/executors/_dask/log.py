"""What dask logs: workers that come and go are this executor's everyday life, and no news for the user."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LOUD: Final = ("distributed", "tornado", "asyncio")
"""The packages that log about connections and processes."""


class _Quiet(logging.Filter):
    """Lets nothing pass that one thread has logged."""

    def __init__(self, thread: int) -> None:
        super().__init__()
        self._thread = thread

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread != self._thread


@contextmanager
def quiet(thread: int) -> Iterator[None]:
    """Keep the loggers quiet about what happens in a thread; what else the program does with dask is logged as ever."""
    # A filter of a logger holds for what is logged with that very logger; those that come later share its handlers.
    known = list(logging.root.manager.loggerDict.items())
    loggers = [each for name, each in known if isinstance(each, logging.Logger) and name.split(".")[0] in LOUD]
    handlers = {handler for logger in (logging.root, *loggers) for handler in logger.handlers}
    filtered: list[logging.Filterer] = [*loggers, *handlers]
    silence = _Quiet(thread)
    for each in filtered:
        each.addFilter(silence)
    try:
        yield
    finally:
        for each in filtered:
            each.removeFilter(silence)
