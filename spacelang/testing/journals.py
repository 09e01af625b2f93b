"""Journals for tests, and what searches are told."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from spacelang.ir.asking import Ask, Later, Search, Told
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.history import Began, Record


@dataclass
class MemoryJournal:
    """A journal in memory."""

    earlier: Sequence[Record] = ()
    seconds: float = 0.0
    appended: list[Record] = field(default_factory=list)
    ended: str = ""
    keeps_predictions: bool = False
    begun: Sequence[Began] = ()
    workers: int | None = None
    """With how many the present session began, if it has."""

    @property
    def count(self) -> int:
        return max((each.index for each in (*self.earlier, *self.appended)), default=0)

    def records(self) -> Sequence[Record]:
        return self.earlier

    def begin(self, workers: int) -> None:
        self.workers = workers

    def append(self, record: Record) -> None:
        self.appended.append(record)

    def end(self, ending: str, _: float) -> None:
        self.ended = ending

    def later(self) -> "MemoryJournal":
        return self.cut(len(self.earlier) + len(self.appended))

    def cut(self, count: int) -> "MemoryJournal":
        """What the next session finds where this one was killed after so many trials."""
        began = () if self.workers is None else (Began(len(self.earlier), self.workers),)
        return MemoryJournal((*self.earlier, *self.appended)[:count], 100.0, begun=(*self.begun, *began))


@dataclass
class Heard:
    """What a search asks for and is told, in their order."""

    asks: list[Ask] = field(default_factory=list)
    tolds: list[Told] = field(default_factory=list)

    def of(self, search: Search) -> Search:
        """The search, overheard."""
        try:
            ask = next(search)
            while True:
                self.asks.append(ask)
                told = yield ask
                self.tolds.append(told)
                ask = search.send(told)
        except StopIteration:
            return

    @property
    def begun(self) -> list[Request | Later]:
        """What was begun in earnest."""
        return [request for ask in self.asks for request in ask.begin]

    @property
    def ended(self) -> list[Trial]:
        """What was told of that."""
        return [told.ended for told in self.tolds if told.ended is not None]

    @property
    def said(self) -> list[tuple[float | None, str] | None]:
        """What each trial that was told was said to be allowed and to be remembered with, floats to the last bit."""
        requests = [None if told.ended is None else told.ended.request for told in self.tolds]
        return [None if each is None else (each.seconds, repr(each.memo)) for each in requests]

    def until(self, count: int) -> list[Told]:
        """What was told before a trial had ended that was the next one after so many."""
        return until(self.tolds, count)


def until(tolds: Sequence[Told], count: int) -> list[Told]:
    """What was told before a trial had ended that was the next one after so many.

    None of them costs nothing, and one that had too little time costs something else when it has more.
    """
    seen: set[tuple[Request, float]] = set()
    for place, told in enumerate(tolds):
        trial = told.ended or told.early
        if trial is None or not trial.cost or (trial.request, trial.cost) in seen:
            continue
        if len(seen) == count:
            return [*tolds[:place]]
        seen.add((trial.request, trial.cost))
    return [*tolds]
