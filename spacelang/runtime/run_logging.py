"""Log messages of runs, for the logger `spacelang.run` of the standard library's `logging`."""

import logging

from spacelang.ir.loss_name import LossName
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome, TrialRecord
from spacelang.runtime.listeners import Listener

LOGGER = logging.getLogger("spacelang.run")
"""Starts, ends, improvements and failed trials are logged at the level INFO, other trials at DEBUG."""
logging.getLogger("spacelang").addHandler(logging.NullHandler())  # a program that configures no logging sees nothing


class LoggingListener:
    """A listener that logs events, and notifies another listener of them.

    `title` describes the run. Trials of earlier sessions are not logged again; `earlier_trials` is their number.
    """

    def __init__(self, listener: Listener, title: str, metric: LossName, earlier_trials: int) -> None:
        self._listener, self._title, self._metric, self._earlier_trials = listener, title, metric, earlier_trials

    def started(self, budget: Budget) -> None:
        """Log the start of a session."""
        seconds, trials = budget.smaller_seconds_limit, budget.trials
        limits = [*([] if seconds is None else [f"{seconds:g} s"]), *([] if trials is None else [f"{trials} trials"])]
        resumed = f", resumed after {self._earlier_trials} trials" if self._earlier_trials else ""
        LOGGER.info("%s: started%s; limit: %s", self._title, resumed, " and ".join(limits) or "none")
        self._listener.started(budget)

    def trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """Log a finished trial."""
        if record.index > self._earlier_trials:
            self._log(record, best)
        self._listener.trial(record, best)

    def finished(self, outcome: Outcome) -> None:
        """Log the end of the session."""
        ended, best = (outcome.ended.value, len(outcome.records), outcome.failed), outcome.best
        LOGGER.info(
            "%s: ended (%s) after %d trials, %d of them failed; best: %s", self._title, *ended, self._text(best)
        )
        self._listener.finished(outcome)

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
