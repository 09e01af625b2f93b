"""Functions of the user that are called with each finished trial, and that may stop the run."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome, TrialRecord
from spacelang.runtime.listeners import Listener


@dataclass(frozen=True, slots=True)
class FinishedTrial:
    """A finished trial of a search, as callbacks get it.

    `record` is the record of the trial, and `best` that of the best trial so far, which may be the same.
    """

    record: TrialRecord
    best: TrialRecord

    @property
    def number(self) -> int:
        """The number of the trial, from 1, as in `Result.trials`."""
        return self.record.index

    @property
    def configuration(self) -> Configuration:
        """The configuration that was evaluated."""
        return self.record.trial.request.configuration

    @property
    def fidelity(self) -> int | None:
        """The number of training rows, or the fidelity of an objective; None for all rows."""
        return self.record.trial.request.fidelity

    @property
    def status(self) -> str:
        """The word `success`, or how the trial failed."""
        return self.record.trial.status.value

    @property
    def reason(self) -> str:
        """The reason why the trial failed; empty if it succeeded."""
        return self.record.trial.reason

    @property
    def loss(self) -> float | None:
        """The loss; None if the trial failed."""
        return self.record.trial.loss

    @property
    def best_loss(self) -> float | None:
        """The loss of the best trial so far; None if none has succeeded."""
        return self.best.trial.loss

    @property
    def is_best(self) -> bool:
        """True if this trial is the best so far."""
        return self.record.index == self.best.index and self.loss is not None

    @property
    def cost(self) -> float:
        """The seconds of work."""
        return self.record.trial.cost

    @property
    def finished(self) -> float:
        """The time when the trial finished, in seconds of the run."""
        return self.record.finished


Callback: TypeAlias = Callable[[FinishedTrial], object]
"""A function of a finished trial; the run stops if it returns True."""


class CallbackStopError(Exception):
    """A callback has stopped the run; `error` is what it raised, or None if it returned True."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__("a callback has stopped the run")
        self.error = error


class CallbackListener:
    """A listener that notifies another one, and then calls callbacks with trials that earlier sessions did not have.

    It raises CallbackStopError after the first trial for which a callback returns True or raises, and calls none
    afterwards.
    """

    def __init__(self, listener: Listener, callbacks: Iterable[Callback], earlier_trials: int) -> None:
        self._listener, self._callbacks, self._earlier_trials = listener, (*callbacks,), earlier_trials

    def started(self, budget: Budget) -> None:
        """Pass the event on."""
        self._listener.started(budget)

    def trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """Pass the event on, and call the callbacks if the trial is new; raise CallbackStopError to stop the run."""
        self._listener.trial(record, best)
        if record.index <= self._earlier_trials:
            return
        stops, finished = False, FinishedTrial(record, best)
        for callback in self._callbacks:
            try:
                stops = callback(finished) is True or stops
            except Exception as error:
                error.add_note(f"raised by a callback after trial {record.index}, which ended the run")
                self._callbacks = ()
                raise CallbackStopError(error) from error
        if stops:
            self._callbacks = ()
            raise CallbackStopError

    def finished(self, outcome: Outcome) -> None:
        """Pass the event on."""
        self._listener.finished(outcome)
