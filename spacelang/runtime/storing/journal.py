"""Between the loop and the store: trials are kept as they end, those of earlier sessions are there to be replayed."""

from collections.abc import Sequence

from spacelang.ir.task import AnyBound
from spacelang.runtime.history import Began, Record
from spacelang.runtime.storing.store import Store
from spacelang.runtime.storing.stored import stored


class StoredJournal:
    """The journal of a run that is kept in a store; what was stored is read when it is made."""

    keeps_predictions = True

    def __init__(self, store: Store, bounds: Sequence[AnyBound]) -> None:
        """`bounds` are those that the run is subject to, in the order in which the header of the store has them."""
        self._store = store
        self.terms = store.header.terms
        """With what the run began."""
        self.seconds = store.seconds
        self.records = tuple(
            Record(
                each.index,
                each.trial(bounds),
                each.started,
                each.finished,
                each.worker,
                each.attempts,
                each.workers,
                each.is_early,
                each.proposal,
            )
            for each in store.records()
        )
        # What a session was told that never went on is what the next one is told.
        self.sessions = tuple(Began(each.after, each.workers) for each in store.sessions if each.workers is not None)

    @property
    def last(self) -> int:
        """The number of the last trial that is stored."""
        return self._store.count

    def begin(self, workers: int) -> None:
        """Store with how many workers the session goes on; raises StoreError."""
        self._store.begin(workers)

    def append(self, record: Record) -> None:
        """Store a trial and its predictions, if it has any; raises StoreError."""
        self._store.append(stored(record), record.trial.predictions)

    def end(self, ending: str, seconds: float) -> None:
        """Store how the session ended."""
        self._store.end(ending, seconds)
