"""The loss of the incumbent over time, of one or several runs, with the score on the test set."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Final

from spacelang.report.page.axes import Axis, TimeAxis, axis_of, evenly_spaced, format_number, format_seconds, time_axis
from spacelang.report.page.run_data import RunData
from spacelang.report.page.trial_marks import NO_MARKS, UNITS, TrialMarks, largest_usual_loss, marks_of, to_units
from spacelang.runtime.history import Improvement
from spacelang.text import count_with_noun

COLOURS: Final = 6
DASHES: Final = 3  # The number of dash patterns of lines; `COLOURS` is the number of colours
LINES: Final = 60  # The maximum number of improvements in the table of a curve


@dataclass(frozen=True, slots=True)
class ErrorBar:
    """A score on the test set with its interval: positions in percent. Without an interval all three are equal."""

    at: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CurveLine:
    """The curve of a run: `number` chooses the colour, `path` is an SVG path in units."""

    number: int
    name: str
    path: str
    description: str
    rows: tuple[tuple[str, str, str], ...]
    place: float
    whisker: ErrorBar | None = None

    @property
    def css_classes(self) -> str:
        """The CSS classes for the colour and the dashes of the curve."""
        return line_css_classes(self.number)


@dataclass(frozen=True, slots=True)
class Curves:
    """A plot of curves, with the marks of all trials if it shows a single run."""

    x: Axis
    x_title: str
    y: Axis
    lines: tuple[CurveLine, ...]
    marks: TrialMarks = NO_MARKS


def line_css_classes(number: int) -> str:
    """Return the CSS classes for the colour and the dashes of a run. Dashes are used when the colours run out."""
    return f"c{(number - 1) % COLOURS + 1} k{(number - 1) // COLOURS % DASHES}"


def curve_of(run_data: RunData, number: int = 1) -> Curves | None:
    """Return the curve of a run with all its trials, or None if no trial succeeded."""
    if not run_data.succeeded:
        return None
    x, y = curve_axes([run_data])
    line = _line(run_data, number, x, y)
    return Curves(x.axis, f"time in {x.unit}", y, (line,), marks_of(run_data, x, y))


def curves_of(runs: Sequence[tuple[int, RunData]]) -> Curves | None:
    """Return the curves of several numbered runs in one plot, or None if no run has a curve."""
    some = [(number, run_data) for number, run_data in runs if run_data.run.curve]
    if not some:
        return None
    x, y = curve_axes([run_data for _, run_data in some])
    return Curves(x.axis, f"time in {x.unit}", y, tuple(_line(run_data, number, x, y) for number, run_data in some))


def curve_axes(runs: Sequence[RunData]) -> tuple[TimeAxis, Axis]:
    """Return the axes of time and loss for all trials of runs.

    Losses far above the others do not fit on the axis: curves leave the plot there.
    """
    curves = [run_data.run.curve for run_data in runs]
    ends = [run_data.summary.seconds for run_data in runs]
    ends += [each.finished for run_data in runs for each in run_data.records]
    tests = [each.score for run_data in runs if (each := run_data.run.test) is not None]
    scores = [value for each in tests for value in (each.loss, each.low, each.high) if value is not None]
    losses = [each.trial.loss for run_data in runs for each in run_data.succeeded if each.trial.loss is not None]
    largest = max(largest_usual_loss(losses), *(curve[-1].loss for curve in curves if curve))
    return time_axis(max(ends, default=1.0)), axis_of([*(loss for loss in losses if loss <= largest), *scores])


def _line(run_data: RunData, number: int, x: TimeAxis, y: Axis) -> CurveLine:
    curve, end = run_data.run.curve, run_data.summary.seconds
    found, whisker = run_data.run.test, None
    if found is not None and found.score.loss is not None and isfinite(found.score.loss):
        score = found.score
        ends = (score.loss if value is None else value for value in (score.low, score.high))
        whisker = ErrorBar(*(100 - y.position(value) for value in (score.loss, *ends) if value is not None))
    shown = evenly_spaced(curve, LINES)
    rows = [(format_seconds(each.seconds), f"{each.trial}", format_number(each.loss)) for each in shown]
    path, description = _steps(curve, end, x, y), _description(curve, end)
    return CurveLine(
        number, f"Run {number}: {run_data.summary.optimizer}", path, description, tuple(rows), x.position(end), whisker
    )


def _steps(curve: Sequence[Improvement], end: float, x: TimeAxis, y: Axis) -> str:
    if not curve:
        return ""
    places = [(to_units(x.position(each.seconds)), UNITS - to_units(y.position(each.loss))) for each in curve]
    parts = [f"M{places[0][0]} {places[0][1]}"]
    for (_, before), (at, level) in pairwise(places):
        parts += [f"H{at}"] if level == before else [f"H{at}V{level}"]
    return "".join([*parts, f"H{to_units(x.position(end))}"])


def _description(curve: Sequence[Improvement], end: float) -> str:
    if not curve:
        return "no feasible trial"
    first, last = curve[0], curve[-1]
    if len(curve) == 1:
        start = format_seconds(last.seconds)
        return f"the loss of the incumbent is {format_number(last.loss)} from {start} on, to {format_seconds(end)}"
    falls = f"the loss of the incumbent falls from {format_number(first.loss)} to {format_number(last.loss)}"
    steps = count_with_noun(len(curve) - 1, "step")
    return f"{falls} in {steps}, the last after {format_seconds(last.seconds)} of {format_seconds(end)}"
