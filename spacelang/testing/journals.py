"""Trial storage in memory, and a log of the events of a search."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from spacelang.ir.asking import Ask, Later, Search, Told
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.history import Began, Record


@dataclass
class MemoryJournal:
    """A trial storage in memory."""

    earlier: Sequence[Record] = ()
    seconds: float = 0.0
    appended: list[Record] = field(default_factory=list)
    ended: str = ""
    keeps_predictions: bool = False
    begun: Sequence[Began] = ()
    workers: int | None = None
    """The number of workers with which the present session started, or None before its start."""

    @property
    def count(self) -> int:
        """The number of the last stored trial."""
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
        """Return the storage as the next session finds it."""
        return self.cut(len(self.earlier) + len(self.appended))

    def cut(self, count: int) -> "MemoryJournal":
        """Return the storage as the next session finds it if this one was killed after `count` trials."""
        began = () if self.workers is None else (Began(len(self.earlier), self.workers),)
        return MemoryJournal((*self.earlier, *self.appended)[:count], 100.0, begun=(*self.begun, *began))


@dataclass
class Heard:
    """A log of what a search asks for and of the events that it receives, in order."""

    asks: list[Ask] = field(default_factory=list)
    tolds: list[Told] = field(default_factory=list)

    def of(self, search: Search) -> Search:
        """Return the search unchanged, but log its asks and events."""
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
        """The committed requests, in order."""
        return [request for ask in self.asks for request in ask.begin]

    @property
    def ended(self) -> list[Trial]:
        """The trials of committed requests that the search was notified of."""
        return [told.ended for told in self.tolds if told.ended is not None]

    @property
    def said(self) -> list[tuple[float | None, str] | None]:
        """The allowed seconds and the memo of each event's trial, None for an event without one.

        Memos are given by `repr`, so that floats are compared exactly.
        """
        requests = [None if told.ended is None else told.ended.request for told in self.tolds]
        return [None if each is None else (each.seconds, repr(each.memo)) for each in requests]

    def until(self, count: int) -> list[Told]:
        """Return the events before the first event of trial number `count` + 1."""
        return until(self.tolds, count)


def until(tolds: Sequence[Told], count: int) -> list[Told]:
    """Return the events before the first event of trial number `count` + 1.

    A trial is recognized by its request and its cost. So trials of cost 0 are not counted, and a repeated trial with
    more time must have another cost.
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
