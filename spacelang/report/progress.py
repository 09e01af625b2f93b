"""Progress of a run: a live line on a terminal, a bar in a notebook, otherwise a line from time to time."""

from collections import Counter
from html import escape
from time import monotonic
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
from rich.progress_bar import ProgressBar
from rich.text import Text

from spacelang.errors import import_optional
from spacelang.ir.trial import UNNAMED_LOSS, LossName, Status
from spacelang.report.trial_results import describe_failure_counts
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome, TrialRecord
from spacelang.runtime.listeners import Closeable, SilentListener

SECONDS_BETWEEN_LINES: Final = 30.0  # Seconds between two lines if there is no terminal
SECONDS_BETWEEN_UPDATES: Final = 0.2  # Seconds between two updates of a notebook


def progress_listener(
    console: Console, metric: LossName = UNNAMED_LOSS
) -> "LiveProgress | NotebookProgress | PlainProgress":
    """Return a listener that shows progress in a way that suits the console; it must be closed at the end.

    The console should write to standard error.
    """
    if console.is_jupyter:
        return NotebookProgress(metric)
    return LiveProgress(console, metric) if can_show_bars(console) else PlainProgress(console, metric)


def can_show_bars(console: Console) -> bool:
    """Return True if the console is a terminal or a notebook."""
    return console.is_terminal or console.is_jupyter


class LiveProgress(Closeable):
    """A progress bar with the trials, failures by kind, best score and time left; it disappears at the end."""

    def __init__(self, console: Console, metric: LossName = UNNAMED_LOSS) -> None:
        state = TextColumn("{task.fields[state]}", markup=False)
        self._progress = Progress(SpinnerColumn(), _BudgetBar(), state, _TimeLeft(), console=console, transient=True)
        self._task: TaskID | None = None
        self._counts = _Counts(metric)

    def close(self) -> None:
        """Stop the bar and restore the terminal."""
        self._progress.stop()

    def on_start(self, budget: Budget) -> None:
        """Show the bar."""
        self._task = self._progress.add_task("", total=budget.trials, state="", seconds=budget.smaller_seconds_limit)
        self._progress.start()

    def on_trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """Update the bar after a trial."""
        self._counts.add(record)
        if self._task is not None:
            self._progress.update(self._task, completed=self._counts.trials, state=self._counts.text(best))

    def on_finish(self, outcome: Outcome) -> None:  # noqa: ARG002 - the signature of a listener
        """Remove the bar, because the summary follows."""
        self._progress.stop()


class NotebookProgress(Closeable):
    """A bar and a line in a notebook, as HTML that is updated after trials; the last line stays.

    It needs no widgets, so it also works in editors, and a saved notebook shows how the run ended.
    """

    def __init__(self, metric: LossName = UNNAMED_LOSS) -> None:
        self._counts, self._updated, self._text = _Counts(metric), 0.0, ""
        self._display: Any = None
        self._trials: int | None = None
        self._seconds: float | None = None

    def on_start(self, budget: Budget) -> None:
        """Show the bar."""
        shown = import_optional("IPython", "IPython.display")
        self._trials, self._seconds = budget.trials, budget.smaller_seconds_limit
        self._display = shown.display(shown.HTML(self._html("waiting for the first trial", 0.0)), display_id=True)

    def on_trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """Update the bar after a trial."""
        self._counts.add(record)
        self._text = self._counts.text(best)
        if (now := monotonic()) - self._updated >= SECONDS_BETWEEN_UPDATES:
            self._updated = now
            self._show(self._html(f"{self._text}, {self._time(record.finished)}", record.finished))

    def on_finish(self, outcome: Outcome) -> None:
        """Replace the bar by the last line."""
        self._show(escape(f"{self._text or 'no trial'} in {outcome.seconds:.1f} s"))
        self._display = None

    def close(self) -> None:
        """Replace the bar by the last line of a run that an error has ended."""
        self._show(escape(f"{self._text or 'no trial'}, ended by an error"))
        self._display = None

    def _show(self, html: str) -> None:
        if self._display is not None:
            self._display.update(import_optional("IPython", "IPython.display").HTML(html))

    def _html(self, text: str, seconds: float) -> str:
        shares = []
        if self._trials:
            shares.append(self._counts.trials / self._trials)
        if self._seconds:
            shares.append(seconds / self._seconds)
        value = f'value="{min(1.0, max(shares)):.3f}"' if shares else ""
        return f'<progress {value} style="width:12em"></progress> {escape(text)}'

    def _time(self, seconds: float) -> str:
        end = "" if self._seconds is None else f" of {_clock_face(self._seconds)}"
        return f"{_clock_face(seconds)}{end}"


class PlainProgress(SilentListener, Closeable):
    """A listener that prints a progress line every half minute, for logs; a short run prints none."""

    def __init__(self, console: Console, metric: LossName = UNNAMED_LOSS) -> None:
        self._console, self._counts, self._told = console, _Counts(metric), 0.0

    def on_trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """Print a line if the last one is older than half a minute."""
        self._counts.add(record)
        if record.finished - self._told >= SECONDS_BETWEEN_LINES:
            self._told = record.finished
            line = f"{record.finished:.0f} s: {self._counts.text(best)}"
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class _Counts:
    def __init__(self, metric: LossName) -> None:
        self.metric = metric
        self.trials = 0
        self.failed: Counter[Status] = Counter()

    def add(self, record: TrialRecord) -> None:
        self.trials += 1
        if record.trial.status is not Status.SUCCESS:
            self.failed[record.trial.status] += 1

    def text(self, best: TrialRecord) -> str:
        parts = [f"{self.trials} trial{'s' if self.trials > 1 else ''}"]
        if self.failed:
            parts.append(describe_failure_counts(self.failed))
        if best.trial.loss is not None:
            # Feasible trials rank before all others: if the best is infeasible, so are all trials so far.
            infeasible = "" if best.trial.is_feasible else " (infeasible)"
            parts.append(f"best {self.metric.describe(best.trial.loss)}{infeasible}")
        return ", ".join(parts)


class _BudgetBar(BarColumn):
    """A bar for the used share of the budget: of the trials if they are limited, otherwise of the time."""

    def render(self, task: Task) -> ProgressBar:
        seconds = task.fields["seconds"]
        if task.total is None and seconds is not None:
            return ProgressBar(total=seconds, completed=min(task.elapsed or 0.0, seconds), width=self.bar_width)
        return super().render(task)


class _TimeLeft(ProgressColumn):
    """A column for the time left; an estimate if only trials are limited; without a limit, the elapsed time."""

    def render(self, task: Task) -> Text:
        elapsed, seconds = task.elapsed or 0.0, task.fields["seconds"]
        if seconds is None and task.time_remaining is not None:
            return Text(f"about {_clock_face(task.time_remaining)} left", style="progress.remaining")
        if seconds is None:
            return Text(_clock_face(elapsed), style="progress.elapsed")
        return Text(f"{_clock_face(max(0.0, seconds - elapsed))} left", style="progress.remaining")


def _clock_face(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
