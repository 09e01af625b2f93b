"""Progress over all runs of a comparison, on standard error."""

import time
from typing import Final, Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from spacelang.bench.comparison.results import RunKey, RunResult
from spacelang.diagnostics.cells import visible
from spacelang.report.progress import EVERY
from spacelang.runtime.budget import Budget
from spacelang.runtime.closing import Closing
from spacelang.runtime.history import Record
from spacelang.runtime.listening import Listener, Silence


class ComparisonListener(Listener, Protocol):
    """A listener for the progress of a comparison.

    Between `begins` and `ends` of a run it also receives the events of that run.
    """

    def planned(self, runs: int, done: int) -> None:
        """Receive the number of all runs and of those that are already done."""

    def begins(self, key: RunKey) -> None:
        """Receive the key of a run that starts or resumes."""

    def ends(self, run: RunResult) -> None:
        """Receive the result of a run that has ended."""


class Quiet(Silence):
    """A listener that ignores all events."""

    def planned(self, runs: int, done: int) -> None:
        """Ignore the event."""

    def begins(self, key: RunKey) -> None:
        """Ignore the event."""

    def ends(self, run: RunResult) -> None:
        """Ignore the event."""


class ComparisonProgress(Quiet, Closing):
    """A progress bar over all runs on a terminal, elsewhere an occasional line.

    Runs without a score are reported when they end.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = _Bar(console) if console.is_terminal else None
        self._runs = self._done = self._trials = 0
        self._key: RunKey | None = None
        self._budget = Budget()
        self._told = time.monotonic()

    def close(self) -> None:
        """Restore the terminal."""
        if self._bar is not None:
            self._bar.stop()

    def planned(self, runs: int, done: int) -> None:
        """Show the bar, or print how many runs are already done."""
        self._runs, self._done = runs, done
        if self._bar is not None:
            self._bar.start(runs, done)
        elif done:
            self._print(f"{done} of {runs} runs were already done")

    def begins(self, key: RunKey) -> None:
        """Show which run is being made."""
        self._key, self._trials = key, 0
        self._show("")

    def started(self, budget: Budget) -> None:
        """Remember the budget of the run."""
        self._budget = budget

    def trial(self, record: Record, best: Record) -> None:
        """Show the number of trials and the best loss."""
        self._trials += 1
        loss = "" if best.trial.loss is None else f", best loss {best.trial.loss:.6g}"
        self._show(f": {self._trials} trial{'s' if self._trials > 1 else ''}{loss}", self._share(record.finished))

    def ends(self, run: RunResult) -> None:
        """Count the run, and print the reason if it has no score."""
        self._done += 1
        if run.reason:
            self._print(f"{run.key}: {run.reason}")
        self._show("")

    def _share(self, seconds: float) -> float:
        """Return the share of its budget that the run has used."""
        shares = [0.0]
        if self._budget.seconds is not None:
            shares.append(seconds / self._budget.seconds)
        if self._budget.trials is not None:
            shares.append(self._trials / self._budget.trials)
        return min(1.0, max(shares))

    def _show(self, state: str, share: float = 0.0) -> None:
        text = visible(f"{self._key}{state}")
        if self._bar is not None:
            self._bar.update(self._done + share, text)
        elif state and time.monotonic() - self._told >= EVERY:
            self._told = time.monotonic()
            self._print(f"{self._done} of {self._runs} runs; {text}")

    def _print(self, line: str) -> None:
        self._console.print(visible(line), markup=False, highlight=False, soft_wrap=True)


class _Bar:
    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
        )
        self._task: TaskID | None = None

    def start(self, runs: int, done: int) -> None:
        self._task = self._progress.add_task("", total=runs, completed=done)
        self._progress.start()

    def update(self, completed: float, text: str) -> None:
        if self._task is not None:
            self._progress.update(self._task, completed=completed, description=text)

    def stop(self) -> None:
        self._progress.stop()


SILENT: Final = Quiet()
