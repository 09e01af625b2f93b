"""Foresight: one trial is wanted at a time, and idle workers begin those that will be wanted later."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from spacelang.ir.asking import Ask, Asking
from spacelang.ir.trial import Request, Trial


class Guide(Protocol):
    """Who foresees what will be wanted."""

    def coming(self) -> Iterable[Request]:
        """What will probably be wanted after the trial that goes on, the likeliest first."""

    def hear(self, early: Trial) -> None:
        """A trial has ended that is not wanted yet: what is foreseen may depend on it."""


@dataclass(slots=True)
class Foresight:
    """Asks for one trial after the other; what is foreseen never changes what is wanted."""

    idle: int
    """How many workers have nothing to do while a trial goes on."""

    def trial(self, request: Request, guide: Guide) -> Asking[Trial]:
        """What came of a request; the guide is asked for as much as idle workers can do, and not without any."""
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
