"""Listeners of a run: their protocol, a silent one, callbacks of the user, and log messages of `spacelang.run`."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias

from spacelang.deprecation import plugin_attribute, renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import UNNAMED_LOSS, LossName
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome, TrialRecord


class Listener(Protocol):
    """A protocol for objects that are notified of a run's progress. An exception in a method ends the run."""

    def on_start(self, budget: Budget) -> None:
        """React to the start of the run."""

    def on_trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """React to an evaluated trial. `best` is the best record so far, or `record` if none has succeeded."""

    def on_finish(self, outcome: Outcome) -> None:
        """React to the end of the run, by itself or by the user."""


class SilentListener:
    """A listener that ignores everything."""

    def on_start(self, budget: Budget) -> None:
        """Do nothing."""

    def on_trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """Do nothing."""

    def on_finish(self, outcome: Outcome) -> None:
        """Do nothing."""


class _OldListener:
    """An adapter of a listener that defines some methods under their old names."""

    def __init__(self, listener: Listener) -> None:
        self.on_start = plugin_attribute(listener, "on_start", "started")
        self.on_trial = plugin_attribute(listener, "on_trial", "trial")
        self.on_finish = plugin_attribute(listener, "on_finish", "finished")


def accept_old_methods(listener: Listener) -> Listener:
    """Return a listener with the methods of the protocol, also for one that defines them under their old names."""
    is_old = any(name in vars(cls) for cls in type(listener).__mro__ for name in ("started", "trial", "finished"))
    return _OldListener(listener) if is_old else listener


class ForwardingListener:
    """A base class of listeners that pass all events on to another listener.

    `earlier_trials` is the number of trials of earlier sessions, which are replayed when a run is resumed.
    """

    def __init__(self, listener: Listener, earlier_trials: int) -> None:
        self._listener, self._earlier_trials = accept_old_methods(listener), earlier_trials

    def on_start(self, budget: Budget) -> None:
        """Pass the event on."""
        self._listener.on_start(budget)

    def on_trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """Pass the event on."""
        self._listener.on_trial(record, best)

    def on_finish(self, outcome: Outcome) -> None:
        """Pass the event on."""
        self._listener.on_finish(outcome)


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


@renamed_attributes(cost="evaluation_seconds", finished="finished_at_seconds")
@dataclass(frozen=True, slots=True)
class FinishedTrial:
    """A finished trial of a search, as callbacks get it.

    `record` is the record of the trial, and `best` that of the best trial so far, which may be the same. `metric` is
    the name of its score.
    """

    record: TrialRecord
    best: TrialRecord
    metric: LossName = UNNAMED_LOSS

    def __repr__(self) -> str:
        """Return the number of the trial, its score or its failure, and the best score so far."""
        facts = [f"trial {self.number}", f"{self.status}: {self.reason}" if self.reason else self.status]
        if self.loss is not None:
            facts[1] = self.metric.describe(self.loss)
        if self.best_loss is not None:
            facts.append("the best so far" if self.is_best else f"best {self.metric.describe(self.best_loss)}")
        return f"FinishedTrial({', '.join(facts)})"

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
    def score(self) -> float | None:
        """The score that the loss stands for, such as the AUROC; None if the trial failed."""
        return self.metric.maybe_score(self.loss)

    @property
    def best_score(self) -> float | None:
        """The score of the best trial so far; None if none has succeeded."""
        return self.metric.maybe_score(self.best_loss)

    @property
    def best_loss(self) -> float | None:
        """The loss of the best trial so far; None if none has succeeded."""
        return self.best.trial.loss

    @property
    def is_best(self) -> bool:
        """True if this trial is the best so far."""
        return self.record.index == self.best.index and self.loss is not None

    @property
    def evaluation_seconds(self) -> float:
        """The seconds that the evaluation of the trial took, `cost` in `Result.trials`."""
        return self.record.trial.cost

    @property
    def finished_at_seconds(self) -> float:
        """The time when the trial finished, in seconds of the run, `finished` in `Result.trials`."""
        return self.record.finished


Callback: TypeAlias = Callable[[FinishedTrial], object]
"""A function of a finished trial; the run stops if it returns True."""


class CallbackStopError(Exception):
    """A callback has stopped the run; `error` is what it raised, or None if it returned True."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__("a callback has stopped the run")
        self.error = error


class CallbackListener(ForwardingListener):
    """A listener that passes events on, and calls the user's callbacks after each trial that is not replayed."""

    def __init__(
        self, listener: Listener, callbacks: Iterable[Callback], earlier_trials: int, metric: LossName
    ) -> None:
        super().__init__(listener, earlier_trials)
        self._callbacks, self._metric = (*callbacks,), metric

    def on_trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """Pass the event on, and call the callbacks if the trial is new; raise CallbackStopError to stop the run."""
        super().on_trial(record, best)
        if record.index <= self._earlier_trials:
            return
        stops, finished = False, FinishedTrial(record, best, self._metric)
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


LOGGER = logging.getLogger("spacelang.run")
"""Starts, ends, improvements and failed trials are logged at the level INFO, other trials at DEBUG."""
logging.getLogger("spacelang").addHandler(logging.NullHandler())  # a program that configures no logging sees nothing


class LoggingListener(ForwardingListener):
    """A listener that logs events, and notifies another listener of them.

    `title` describes the run. Trials of earlier sessions are not logged again; `earlier_trials` is their number.
    """

    def __init__(self, listener: Listener, title: str, metric: LossName, earlier_trials: int) -> None:
        super().__init__(listener, earlier_trials)
        self._title, self._metric = title, metric

    def on_start(self, budget: Budget) -> None:
        """Log the start of a session."""
        seconds, trials = budget.smaller_seconds_limit, budget.trials
        limits = [*([] if seconds is None else [f"{seconds:g} s"]), *([] if trials is None else [f"{trials} trials"])]
        resumed = f", resumed after {self._earlier_trials} trials" if self._earlier_trials else ""
        LOGGER.info("%s: started%s; limit: %s", self._title, resumed, " and ".join(limits) or "none")
        super().on_start(budget)

    def on_trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """Log a finished trial."""
        if record.index > self._earlier_trials:
            self._log(record, best)
        super().on_trial(record, best)

    def on_finish(self, outcome: Outcome) -> None:
        """Log the end of the session."""
        ended, best = (outcome.ended.value, len(outcome.records), outcome.failed), outcome.best
        LOGGER.info(
            "%s: ended (%s) after %d trials, %d of them failed; best: %s", self._title, *ended, self._text(best)
        )
        super().on_finish(outcome)

    def _log(self, record: TrialRecord, best: TrialRecord) -> None:
        trial = record.trial
        if trial.loss is None:
            LOGGER.info("%s: trial %d failed (%s): %s", self._title, record.index, trial.status.value, trial.reason)
            return
        is_best = record.index == best.index
        level, mark = (logging.INFO, "the best so far") if is_best else (logging.DEBUG, "done")
        given = (self._title, record.index, mark, self._text(record), trial.cost)
        LOGGER.log(level, "%s: trial %d is %s: %s in %.3g s", *given)

    def _text(self, record: TrialRecord | None) -> str:
        if record is None or record.trial.loss is None:
            return "none"
        return self._metric.describe(record.trial.loss)
