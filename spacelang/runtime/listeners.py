"""The protocol for listeners of a run, one that does nothing, and a base class of objects with a method `close`."""

from typing import Protocol, Self

from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome, TrialRecord


class Listener(Protocol):
    """A protocol for objects that are notified of a run's progress. An exception in a method ends the run."""

    def started(self, budget: Budget) -> None:
        """React to the start of the run."""

    def trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """React to an evaluated trial. `best` is the best record so far, or `record` if none has succeeded."""

    def finished(self, outcome: Outcome) -> None:
        """React to the end of the run, by itself or by the user."""


class SilentListener:
    """A listener that ignores everything."""

    def started(self, budget: Budget) -> None:
        """Do nothing."""

    def trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """Do nothing."""

    def finished(self, outcome: Outcome) -> None:
        """Do nothing."""


class Closeable:
    """A context manager that calls `close` at the end of the `with` block."""

    def close(self) -> None:
        """Release all resources."""

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the object."""
        self.close()
