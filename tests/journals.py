"""Journals for tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from spacelang.runtime.history import Began, Record


@dataclass
class Kept:
    """A journal in memory."""

    records: Sequence[Record] = ()
    seconds: float = 0.0
    appended: list[Record] = field(default_factory=list)
    ended: str = ""
    keeps_predictions: bool = False
    sessions: Sequence[Began] = ()
    workers: int = 1
    """With how many the present session began."""

    @property
    def last(self) -> int:
        return max((each.index for each in (*self.records, *self.appended)), default=0)

    def append(self, record: Record) -> None:
        self.appended.append(record)

    def end(self, ending: str, _: float) -> None:
        self.ended = ending

    def later(self) -> "Kept":
        return self.cut(len(self.records) + len(self.appended))

    def cut(self, count: int) -> "Kept":
        """What the next session finds where this one was killed after so many trials."""
        began = Began(len(self.records), self.workers)
        return Kept((*self.records, *self.appended)[:count], 100.0, sessions=(*self.sessions, began))
