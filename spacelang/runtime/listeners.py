"""The protocol for listeners of a run, and a listener that does nothing."""

from typing import Protocol

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
