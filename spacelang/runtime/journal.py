"""Between the loop and the store: trials are kept as they end, those of earlier sessions are there to be replayed."""

from collections.abc import Sequence

from spacelang.ir.task import Bound
from spacelang.runtime.loop import Record
from spacelang.runtime.store import Store
from spacelang.runtime.stored import stored


class StoredJournal:
    """The journal of a run that is kept in a store; what was stored is read when it is made."""

    def __init__(self, store: Store, bounds: Sequence[Bound]) -> None:
        """`bounds` are those of the task, in the order in which the header of the store has them."""
        self._store = store
        self.seconds = store.seconds
        self.records = tuple(
            Record(each.index, each.trial(bounds), each.started, each.finished) for each in store.records()
        )

    def append(self, record: Record) -> None:
        """Store a trial; raises StoreError."""
        self._store.append(stored(record.index, record.trial, record.started, record.finished))

    def end(self, ending: str, seconds: float) -> None:
        """Store how the session ended."""
        self._store.end(ending, seconds)
