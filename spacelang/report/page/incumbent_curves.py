"""The score of the incumbent over time, and the comparison of several runs: curves, common times, settings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Final

from spacelang.ir.trial import SCORE_DIGITS, LossName
from spacelang.report.page.axes import (
    NO_MARKS,
    UNITS,
    Axis,
    ScoreAxis,
    TimeAxis,
    TrialMarks,
    evenly_spaced_items,
    format_number,
    format_seconds,
    largest_loss_without_outliers,
    make_axis_for_values,
    make_time_axis,
    make_trial_marks,
    percent_to_svg_units,
)
from spacelang.report.page.run_data import RunData
from spacelang.report.stored_run_output import best_trial_records, describe_alternatives, run_setting_rows
from spacelang.report.trial_results import format_test_score_with_interval
from spacelang.runtime.history import Improvement
from spacelang.runtime.storage.run_header import SHOWN_DIGITS
from spacelang.runtime.storage.run_listing import RunSummary
from spacelang.text import count_with_noun

COLOURS: Final = 6
DASHES: Final = 3  # The number of dash patterns of lines; `COLOURS` is the number of colours
LINES: Final = 60  # The maximum number of improvements in the table of a curve


@dataclass(frozen=True, slots=True)
class ErrorBar:
    """A score on the test set and its interval as positions in percent; all are equal without an interval."""

    at: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CurveLine:
    """The curve of a run: `path` is an SVG path in units, and `number` decides the colour.

    `rows` is the same curve as a table of texts. `end_position` is the position of the end of the run in percent, and
    `error_bar` the score on the test set.
    """

    number: int
    name: str
    path: str
    description: str
    rows: tuple[tuple[str, ...], ...]
    end_position: float
    error_bar: ErrorBar | None = None

    @property
    def css_classes(self) -> str:
        """The CSS classes for the colour and the dashes of the curve."""
        return line_css_classes(self.number)


@dataclass(frozen=True, slots=True)
class CurvePlot:
    """A plot of curves, with the marks of all trials if it shows a single run.

    `headings` are those of the numbers in its table, the score and the loss, or the loss that is its own score.
    """

    x: Axis
    x_title: str
    y: ScoreAxis
    lines: tuple[CurveLine, ...]
    marks: TrialMarks = NO_MARKS

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of the numbers in the table of a curve."""
        metric = self.y.metric
        return (metric.score_name,) if metric.is_loss_the_score else (metric.score_name, metric.formula)


def line_css_classes(number: int) -> str:
    """Return the CSS classes for the colour and the dashes of a run. Dashes are used when the colours run out."""
    return f"c{(number - 1) % COLOURS + 1} k{(number - 1) // COLOURS % DASHES}"


def make_curve_plot(run_data: RunData, number: int = 1) -> CurvePlot | None:
    """Return the plot of one run: its incumbent curve and all its trials; None if no trial succeeded."""
    if not run_data.successful_trials:
        return None
    x, y = curve_axes([run_data])
    line = _line(run_data, number, x, y)
    return CurvePlot(x.axis, f"time in {x.unit}", y, (line,), make_trial_marks(run_data, x, y))


def make_curve_comparison_plot(runs: Sequence[tuple[int, RunData]]) -> CurvePlot | None:
    """Return one plot with the incumbent curves of several numbered runs; None if no run has a curve."""
    some = [(number, run_data) for number, run_data in runs if run_data.run.incumbent_curve]
    if not some:
        return None
    x, y = curve_axes([run_data for _, run_data in some], has_trials=False)
    return CurvePlot(x.axis, f"time in {x.unit}", y, tuple(_line(run_data, number, x, y) for number, run_data in some))


def curve_axes(runs: Sequence[RunData], *, has_trials: bool = True) -> tuple[TimeAxis, ScoreAxis]:
    """Return the axes of time and score for runs with the same metric: for all trials, or only for the curves.

    Losses far above the others do not fit on the axis: curves leave the plot there.
    """
    curves = [run_data.run.incumbent_curve for run_data in runs]
    ends = [run_data.summary.seconds for run_data in runs]
    ends += [each.finished for run_data in runs for each in run_data.records]
    tests = [each.score for run_data in runs if (each := run_data.run.test_score) is not None]
    scores = [value for each in tests for value in (each.loss, each.low, each.high) if value is not None]
    losses = [each.loss for curve in curves for each in curve]
    if has_trials:
        trials = [each.trial for run_data in runs for each in run_data.successful_trials]
        losses = [trial.loss for trial in trials if trial.loss is not None]
    largest = max(largest_loss_without_outliers(losses), *(curve[-1].loss for curve in curves if curve))
    fitting = make_axis_for_values([*(loss for loss in losses if loss <= largest), *scores])
    return make_time_axis(max(ends, default=1.0)), ScoreAxis(runs[0].metric, fitting)


def _line(run_data: RunData, number: int, x: TimeAxis, y: ScoreAxis) -> CurveLine:
    curve, end = run_data.run.incumbent_curve, run_data.summary.seconds
    found, error_bar = run_data.run.test_score, None
    if found is not None and found.score.loss is not None and isfinite(found.score.loss):
        score = found.score
        ends = (score.loss if value is None else value for value in (score.low, score.high))
        error_bar = ErrorBar(*(100 - y.position(value) for value in (score.loss, *ends) if value is not None))
    shown = evenly_spaced_items(curve, LINES)
    rows = [(format_seconds(each.seconds), f"{each.trial}", *_numbers(each.loss, y.metric)) for each in shown]
    path, description = _steps(curve, end, x, y), _description(curve, end, y.metric)
    return CurveLine(
        number,
        f"Run {number}: {run_data.summary.optimizer}",
        path,
        description,
        tuple(rows),
        x.position(end),
        error_bar,
    )


def _numbers(loss: float, metric: LossName) -> tuple[str, ...]:
    """Return a loss as texts: its score and the loss itself, or only one text if the loss is its own score."""
    score = f"{metric.score(loss):{SCORE_DIGITS}}"
    return (score,) if metric.is_loss_the_score else (score, format_number(loss))


def _steps(curve: Sequence[Improvement], end: float, x: TimeAxis, y: ScoreAxis) -> str:
    if not curve:
        return ""
    places = [
        (percent_to_svg_units(x.position(each.seconds)), UNITS - percent_to_svg_units(y.position(each.loss)))
        for each in curve
    ]
    parts = [f"M{places[0][0]} {places[0][1]}"]
    for (_, before), (at, level) in pairwise(places):
        parts += [f"H{at}"] if level == before else [f"H{at}V{level}"]
    return "".join([*parts, f"H{percent_to_svg_units(x.position(end))}"])


def _description(curve: Sequence[Improvement], end: float, metric: LossName) -> str:
    if not curve:
        return "no feasible trial"
    (first, *_), (last, *_) = (_numbers(each.loss, metric) for each in (curve[0], curve[-1]))
    name, time = f"{metric.score_name} of the incumbent", curve[-1].seconds
    if len(curve) == 1:
        return f"{name} is {last} from {format_seconds(time)} on, to {format_seconds(end)}"
    falls = f"{name} {'falls' if metric.is_loss_the_score else 'rises'} from {first} to {last}"
    steps = count_with_noun(len(curve) - 1, "step")
    return f"{falls} in {steps}, the last after {format_seconds(time)} of {format_seconds(end)}"


SHARES: Final = (0.25, 0.5, 1.0)  # The times at which runs are compared, as shares of the time of the shortest run


@dataclass(frozen=True, slots=True)
class RunScoresAtTimes:
    """A run with the score of its incumbent at each common time and at its end; empty before a feasible trial."""

    number: int
    css_classes: str
    scores: tuple[str, ...]
    pipeline: str


@dataclass(frozen=True, slots=True)
class ScoresAtCommonTimes:
    """The scores of several runs at the same times: the `headings` are the times, with one row per run."""

    headings: tuple[str, ...]
    rows: tuple[RunScoresAtTimes, ...]


def scores_at_common_times(runs: Sequence[tuple[int, RunData]]) -> ScoresAtCommonTimes | None:
    """Return the scores of numbered runs at some shares of the shortest run's time, and at the end of each run.

    None if no time has passed in one of the runs.
    """
    shortest = min(run_data.summary.seconds for _, run_data in runs)
    if not shortest > 0:
        return None
    times = [share * shortest for share in SHARES]
    headings = tuple(dict.fromkeys(f"after {format_seconds(time)}" for time in times))
    rows = tuple(_row(number, run_data, times[-len(headings) :]) for number, run_data in runs)
    return ScoresAtCommonTimes((*headings, "at its end"), rows)


def _row(number: int, run_data: RunData, times: Sequence[float]) -> RunScoresAtTimes:
    curve = run_data.run.incumbent_curve
    losses = [[each.loss for each in curve if each.seconds <= time] for time in times]
    losses.append([each.loss for each in curve])
    best = best_trial_records(run_data.run)[:1]
    pipelines = [describe_alternatives(each.trial.request.configuration, run_data.decision_keys) for each in best]
    shown = tuple(_numbers(found[-1], run_data.metric)[0] if found else "" for found in losses)
    return RunScoresAtTimes(number, line_css_classes(number), shown, "".join(pipelines))


UNCOMPARED: Final = ("trials", "started")  # Facts that differ for every run and are not compared


@dataclass(frozen=True, slots=True)
class RunTableRow:
    """A row of the table of runs."""

    number: int
    css_classes: str
    summary: RunSummary
    failed: int
    time: str
    best: str
    test: str


@dataclass(frozen=True, slots=True)
class ComparableRuns:
    """Runs with comparable scores; `differences` has each setting that is not the same, with its value for each run."""

    title: str
    score_name: str
    numbers: tuple[int, ...]
    curves: CurvePlot | None
    times: ScoresAtCommonTimes | None
    differences: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class RunOverview:
    """All runs as rows, and the groups of several runs with the same data, metric and split."""

    rows: tuple[RunTableRow, ...]
    groups: tuple[ComparableRuns, ...]


def compare_runs(runs: Sequence[RunData]) -> RunOverview | None:
    """Return the comparison of several runs, or None for a single run."""
    if len(runs) < 2:
        return None
    groups: dict[tuple[object, ...], list[tuple[int, RunData]]] = {}
    for number, run_data in enumerate(runs, start=1):
        header = run_data.run.header
        key = (header.data.fingerprint, header.metric, header.validation, header.training_size)
        groups.setdefault(key, []).append((number, run_data))
    rows = tuple(_run_row(number, run_data) for number, run_data in enumerate(runs, start=1))
    return RunOverview(rows, tuple(_group(each) for each in groups.values() if len(each) > 1))


def _run_row(number: int, run_data: RunData) -> RunTableRow:
    found = run_data.summary
    return RunTableRow(
        number,
        line_css_classes(number),
        found,
        len(run_data.records) - len(run_data.successful_trials),
        format_seconds(found.seconds),
        "" if found.best is None else _best_score(found),
        "" if found.test is None else format_test_score_with_interval(found.test, LossName.of_formula(found.metric)),
    )


def _best_score(found: RunSummary) -> str:
    assert found.best is not None
    metric = LossName.of_formula(found.metric)
    return f"{metric.describe(found.best)}{'' if found.feasible else ' (infeasible)'}"


def _group(runs: Sequence[tuple[int, RunData]]) -> ComparableRuns:
    header, score_name = runs[0][1].run.header, runs[0][1].metric.score_name
    title = f"{header.data.name}, {score_name}, {header.validation}"
    numbers = tuple(number for number, _ in runs)
    found = tuple(_differences([run_data for _, run_data in runs]))
    return ComparableRuns(
        title, score_name, numbers, make_curve_comparison_plot(runs), scores_at_common_times(runs), found
    )


def _differences(runs: Sequence[RunData]) -> Iterator[tuple[str, tuple[str, ...]]]:
    facts = [_settings_of(run_data) for run_data in runs]
    for name in dict.fromkeys(each for found in facts for each in found):
        values = tuple(found.get(name, "") for found in facts)
        if len(set(values)) > 1:
            yield name, values


def _settings_of(run_data: RunData) -> dict[str, str]:
    found = {"space": f"{run_data.summary.space} ({run_data.run.header.identity[:SHOWN_DIGITS]})"}
    for name, value in run_setting_rows(run_data.run, run_data.summary):
        if name not in UNCOMPARED:
            found[name] = f"{found[name]}, {value}" if name in found else value
    return found
