"""Progress of a run on standard error: a live line on a terminal, otherwise a line from time to time."""

from collections import Counter
from importlib.util import find_spec
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
from rich.progress_bar import ProgressBar
from rich.text import Text

from spacelang.ir.loss_name import UNNAMED_LOSS, LossName
from spacelang.ir.trial import Status
from spacelang.report.trial_results import describe_counts
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome, TrialRecord
from spacelang.runtime.listeners import Closeable, SilentListener

SECONDS_BETWEEN_LINES: Final = 30.0  # Seconds between two lines if there is no terminal


def progress_listener(console: Console, metric: LossName = UNNAMED_LOSS) -> "LiveProgress | PlainProgress":
    """Return the listener that suits the console, which should write to standard error; close it at the end."""
    return LiveProgress(console, metric) if can_show_bars(console) else PlainProgress(console, metric)


def can_show_bars(console: Console) -> bool:
    """Return True if the console is a terminal, or a notebook that can show progress bars."""
    return console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)


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

    def started(self, budget: Budget) -> None:
        """Show the bar."""
        self._task = self._progress.add_task("", total=budget.trials, state="", seconds=budget.smaller_seconds_limit)
        self._progress.start()

    def trial(self, record: TrialRecord, best: TrialRecord) -> None:
        """Update the bar after a trial."""
        self._counts.add(record)
        if self._task is not None:
            self._progress.update(self._task, completed=self._counts.trials, state=self._counts.text(best))

    def finished(self, outcome: Outcome) -> None:  # noqa: ARG002 - the signature of a listener
        """Remove the bar, because the summary follows."""
        self._progress.stop()


class PlainProgress(SilentListener, Closeable):
    """A listener that prints a progress line every half minute, for logs; a short run prints none."""

    def __init__(self, console: Console, metric: LossName = UNNAMED_LOSS) -> None:
        self._console, self._counts, self._told = console, _Counts(metric), 0.0

    def trial(self, record: TrialRecord, best: TrialRecord) -> None:
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
            parts.append(describe_counts(self.failed))
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
