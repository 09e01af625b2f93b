"""Between the loop and the store: trials are kept as they end, those of earlier sessions are there to be replayed."""

from collections.abc import Sequence

from spacelang.ir.task import AnyBound
from spacelang.runtime.history import Record
from spacelang.runtime.storing.store import Store
from spacelang.runtime.storing.stored import stored


class StoredJournal:
    """The journal of a run that is kept in a store; what was stored is read when it is made."""

    keeps_predictions = True

    def __init__(self, store: Store, bounds: Sequence[AnyBound]) -> None:
        """`bounds` are those that the run is subject to, in the order in which the header of the store has them."""
        self._store = store
        self.seconds = store.seconds
        self.records = tuple(
            Record(each.index, each.trial(bounds), each.started, each.finished, each.worker, each.attempts)
            for each in store.records()
        )

    @property
    def last(self) -> int:
        """The number of the last trial that is stored."""
        return self._store.count

    def append(self, record: Record) -> None:
        """Store a trial and its predictions, if it has any; raises StoreError."""
        kept = stored(
            record.index,
            record.trial,
            record.started,
            record.finished,
            worker=record.worker,
            attempts=record.attempts,
        )
        self._store.append(kept, record.trial.predictions)

    def end(self, ending: str, seconds: float) -> None:
        """Store how the session ended."""
        self._store.end(ending, seconds)
