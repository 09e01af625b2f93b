"""Speculative execution: a search requests one committed trial at a time, and idle workers run likely later ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from spacelang.ir.asking import Ask, Asking
from spacelang.ir.trial import Request, Trial


class Guide(Protocol):
    """A predictor of the requests that a search will make later."""

    def coming(self) -> Iterable[Request]:
        """Yield the requests that will probably follow the running trial, the likeliest first."""

    def hear(self, early: Trial) -> None:
        """Take note of a speculative trial that finished; predictions may depend on it."""


@dataclass(slots=True)
class Foresight:
    """A sequence of committed trials, each with speculative ones that never change the decisions of the search."""

    idle: int
    """How many workers are idle while a committed trial runs."""

    def trial(self, request: Request, guide: Guide) -> Asking[Trial]:
        """Return the trial of a request; meanwhile idle workers run the requests predicted by `guide`.

        The guide is only consulted if there are idle workers.
        """
        begin: tuple[Request, ...] = (request,)
        while True:
            coming = (each for each in guide.coming() if each != request) if self.idle else iter(())
            told = yield Ask(begin, tuple(islice(coming, self.idle)))
            if told.ended is not None:
                self.idle = max(told.room - 1, 0)
                return told.ended
            self.idle = told.room
            if told.early is not None:
                guide.hear(told.early)
            begin = ()
