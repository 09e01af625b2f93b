"""Progress over all runs of a comparison, on standard error."""

import time
from collections.abc import Mapping
from typing import Final, Protocol

from rich import progress as bars
from rich.console import Console

from spacelang.bench.comparison import RunKey, RunResult
from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.ir.trial import UNNAMED_LOSS, LossName
from spacelang.report.progress import SECONDS_BETWEEN_LINES
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.listeners import Closeable, Listener, SilentListener
from spacelang.text import count_with_noun


class ComparisonListener(Listener, Protocol):
    """A listener of a comparison; between `run_started` and `run_finished` it gets the events of that run."""

    def data_checked(self, formulas: Mapping[str, str]) -> None:
        """Receive the formula of the loss on each data set, by the label of the data."""

    def runs_planned(self, runs: int, done: int) -> None:
        """Receive the number of all runs and of those that are already done."""

    def run_started(self, key: RunKey) -> None:
        """Receive the key of a run that starts or resumes."""

    def run_finished(self, run: RunResult) -> None:
        """Receive the result of a run that has ended."""


class SilentComparisonListener(SilentListener):
    """A listener that ignores all events."""

    def data_checked(self, formulas: Mapping[str, str]) -> None:
        """Ignore the event."""

    def runs_planned(self, runs: int, done: int) -> None:
        """Ignore the event."""

    def run_started(self, key: RunKey) -> None:
        """Ignore the event."""

    def run_finished(self, run: RunResult) -> None:
        """Ignore the event."""


class ComparisonProgress(SilentComparisonListener, Closeable):
    """A bar over all runs on a terminal, elsewhere an occasional line; runs without a score are reported."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: bars.Progress | None = None
        if console.is_terminal:
            columns = bars.SpinnerColumn(), bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeRemainingColumn()
            text = bars.TextColumn("{task.description}", markup=False)
            self._bar = bars.Progress(*columns, text, console=console, transient=True)
        self._task: bars.TaskID | None = None
        self._runs = self._done = self._trials = 0
        self._key: RunKey | None = None
        self._formulas: Mapping[str, str] = {}
        self._budget = Budget()
        self._last_printed = time.monotonic()

    def close(self) -> None:
        """Restore the terminal."""
        if self._bar is not None:
            self._bar.stop()

    def data_checked(self, formulas: Mapping[str, str]) -> None:
        """Remember the formula of the loss on each data set, from which the name of its score is derived."""
        self._formulas = formulas

    def runs_planned(self, runs: int, done: int) -> None:
        """Show the bar, or print how many runs are already done."""
        self._runs, self._done = runs, done
        if self._bar is not None:
            self._task = self._bar.add_task("", total=runs, completed=done)
            self._bar.start()
        elif done:
            self._print(f"{done} of {runs} runs were already done")

    def run_started(self, key: RunKey) -> None:
        """Show which run is being made."""
        self._key, self._trials = key, 0
        self._show("")

    def on_start(self, budget: Budget) -> None:
        """Remember the budget of the current run, which the bar shows."""
        self._budget = budget

    def on_trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """Show the number of trials and the best score."""
        self._trials += 1
        formula = self._formulas.get("" if self._key is None else self._key.data, UNNAMED_LOSS.formula)
        score = "" if (loss := best.trial.loss) is None else f", best {LossName.of_formula(formula).describe(loss)}"
        self._show(f": {count_with_noun(self._trials, 'trial')}{score}", self._share(record.finished))

    def run_finished(self, run: RunResult) -> None:
        """Count the run, and print the reason if it has no score."""
        self._done += 1
        if run.reason:
            self._print(f"{run.key}: {run.reason}")
        self._show("")

    def _share(self, seconds: float) -> float:
        used = (seconds, self._budget.seconds), (self._trials, self._budget.trials)
        return min(1.0, max((now / limit for now, limit in used if limit is not None), default=0.0))

    def _show(self, state: str, share: float = 0.0) -> None:
        text = replace_unprintable(f"{self._key}{state}")
        if self._bar is not None:
            if self._task is not None:
                self._bar.update(self._task, completed=self._done + share, description=text)
        elif state and time.monotonic() - self._last_printed >= SECONDS_BETWEEN_LINES:
            self._last_printed = time.monotonic()
            self._print(f"{self._done} of {self._runs} runs; {text}")

    def _print(self, line: str) -> None:
        self._console.print(replace_unprintable(line), markup=False, highlight=False, soft_wrap=True)


SILENT: Final = SilentComparisonListener()
