"""Who listens to a run."""

from typing import Protocol

from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome, Record


class Listener(Protocol):
    """Who is told how a run goes on; what it raises ends the run."""

    def started(self, budget: Budget) -> None:
        """The run begins."""

    def trial(self, record: Record, best: Record) -> None:
        """A trial was evaluated; `best` is the best record so far, this one where none has succeeded."""

    def finished(self, outcome: Outcome) -> None:
        """The run has ended, by itself or by the user."""


class Silence:
    """A listener that ignores everything."""

    def started(self, budget: Budget) -> None:
        """Ignore it."""

    def trial(self, record: Record, best: Record) -> None:
        """Ignore it."""

    def finished(self, outcome: Outcome) -> None:
        """Ignore it."""
