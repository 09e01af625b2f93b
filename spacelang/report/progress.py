"""Progress of a run on standard error: a live line on a terminal, a line now and then elsewhere."""

from collections import Counter
from importlib.util import find_spec
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
from rich.progress_bar import ProgressBar
from rich.text import Text

from spacelang.ir.trial import Status
from spacelang.report.failures import told
from spacelang.runtime.budget import Budget
from spacelang.runtime.closing import Closing
from spacelang.runtime.history import Outcome, Record
from spacelang.runtime.listening import Silence

EVERY: Final = 30.0
"""Seconds between two lines where there is no terminal."""


def progress(console: Console) -> "LiveProgress | PlainProgress":
    """The listener that suits a console, which should write to standard error, to be closed at the end."""
    return LiveProgress(console) if is_watched(console) else PlainProgress(console)


def is_watched(console: Console) -> bool:
    """Whether somebody looks at a console while a search goes on: at a terminal, or in a notebook that shows bars."""
    return console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)


class LiveProgress(Closing):
    """A bar with trials, failures by kind, the best loss and the time left; it disappears at the end."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            _BudgetBar(),
            TextColumn("{task.fields[state]}", markup=False),
            _TimeLeft(),
            console=console,
            transient=True,
        )
        self._task: TaskID | None = None
        self._counts = _Counts()

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._progress.stop()

    def started(self, budget: Budget) -> None:
        """Show the bar."""
        self._task = self._progress.add_task("", total=budget.trials, state="", seconds=budget.seconds)
        self._progress.start()

    def trial(self, record: Record, best: Record) -> None:
        """Show the new figures."""
        self._counts.add(record)
        if self._task is not None:
            self._progress.update(self._task, completed=self._counts.trials, state=self._counts.text(best))

    def finished(self, outcome: Outcome) -> None:  # noqa: ARG002 - a listener's signature
        """Take the bar away: the summary follows."""
        self._progress.stop()


class PlainProgress(Silence, Closing):
    """A line of figures every half minute, for logs; a short run leaves none."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._counts = _Counts()
        self._told = 0.0

    def trial(self, record: Record, best: Record) -> None:
        """Print the figures if the last ones are old."""
        self._counts.add(record)
        if record.finished - self._told >= EVERY:
            self._told = record.finished
            line = f"{record.finished:.0f} s: {self._counts.text(best)}"
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class _Counts:
    """How many trials there were, and how many of them failed in which way."""

    def __init__(self) -> None:
        self.trials = 0
        self.failed: Counter[Status] = Counter()

    def add(self, record: Record) -> None:
        self.trials += 1
        if record.trial.status is not Status.SUCCESS:
            self.failed[record.trial.status] += 1

    def text(self, best: Record) -> str:
        parts = [f"{self.trials} trial{'s' if self.trials > 1 else ''}"]
        if self.failed:
            parts.append(told(self.failed))
        if best.trial.loss is not None:
            # Any trial that keeps to the bounds of the task comes before all that do not: so far none has.
            parts.append(f"best loss {best.trial.loss:.6g}{'' if best.trial.is_feasible else ' beyond a bound'}")
        return ", ".join(parts)


class _BudgetBar(BarColumn):
    """The share of the budget that is used: of the trials where they are limited, else of the time."""

    def render(self, task: Task) -> ProgressBar:
        seconds = task.fields["seconds"]
        if task.total is None and seconds is not None:
            return ProgressBar(total=seconds, completed=min(task.elapsed or 0.0, seconds), width=self.bar_width)
        return super().render(task)


class _TimeLeft(ProgressColumn):
    """The time that the budget leaves; where it limits trials, about the time that they take; else the time gone by."""

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
