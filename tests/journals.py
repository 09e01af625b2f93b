"""Journals for tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from spacelang.runtime.history import Record


@dataclass
class Kept:
    """A journal in memory."""

    records: Sequence[Record] = ()
    seconds: float = 0.0
    appended: list[Record] = field(default_factory=list)
    ended: str = ""
    keeps_predictions: bool = False

    @property
    def last(self) -> int:
        return max((each.index for each in (*self.records, *self.appended)), default=0)

    def append(self, record: Record) -> None:
        self.appended.append(record)

    def end(self, ending: str, _: float) -> None:
        self.ended = ending

    def later(self) -> "Kept":
        return Kept((*self.records, *self.appended), 100.0)
