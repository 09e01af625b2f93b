"""Plots of a run with matplotlib: incumbent, importance, parallel coordinates and Pareto front."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from spacelang.errors import import_optional
from spacelang.ir.trial import LossName
from spacelang.report.page.importance import MIN_TRIALS, compute_importances
from spacelang.report.page.incumbent_curves import curve_axes
from spacelang.report.page.parallel_coordinates import VALUES_END, ParallelAxis, make_parallel_plot
from spacelang.report.page.pareto_plot import make_pareto_front_view
from spacelang.report.page.run_data import RunData
from spacelang.runtime.history import TrialRecord
from spacelang.spelling_suggestions import format_suggestion

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STRONG: Final = "#0072b2"  # The colour of the best trials (from the palette of Okabe and Ito, like the next one)
MARKED: Final = "#d55e00"  # The colour of failures and of scores on test rows
QUIET: Final = "#9a9a9a"  # The colour of all other trials
SIZE: Final = (7.0, 4.2)  # Width and height of a new figure in inches
ROW_HEIGHT: Final = 0.34  # The height of a variable in a plot of importances, in inches
AXIS_WIDTH: Final = 1.25  # The distance of the axes of parallel coordinates, in inches
HEAD_SIZE: Final = 8.5  # The greatest font size of the heads of these axes, in points
CHARACTER_WIDTH: Final = 0.65  # The mean width of a character as a share of the font size
HORIZONTAL_LIMITS: Final = (-2.0, 112.0)  # The ends of parallel coordinates, whose axes are between 0 and 100


def draw_plot(run_data: RunData, kind: str, axes: "Axes | None" = None) -> "Axes":
    """Draw a plot of a run on `axes`, or on those of a new figure of pyplot, and return the axes.

    Raises ValueError for an unknown kind or if the run has too little to show, MissingLibraryError without matplotlib.
    """
    if kind not in PLOTS:
        known = ", ".join(f"`{name}`" for name in PLOTS)
        meant = format_suggestion(kind, PLOTS)
        raise ValueError(f"`{kind}` is not a plot of a result: give one of {known}{f'; {meant}' if meant else ''}")
    import_optional("matplotlib")
    return PLOTS[kind](run_data, axes)


def _new_axes(width: float = SIZE[0], height: float = SIZE[1]) -> "Axes":
    from matplotlib import pyplot

    _, axes = pyplot.subplots(figsize=(width, height), layout="constrained")
    return axes


def _draw_incumbent(run_data: RunData, axes: "Axes | None") -> "Axes":
    """Draw the score of the incumbent over time, with all trials; the loss is on the right."""
    if not run_data.successful_trials:
        raise ValueError("no trial succeeded, so there is no incumbent to plot: see `result.trials` for the reasons")
    axes = _new_axes() if axes is None else axes
    times, scores = curve_axes([run_data])
    metric, losses = scores.metric, scores.losses

    def draw(records: Sequence[TrialRecord], label: str, **style: Any) -> None:
        if records:
            at = [each.finished / times.length for each in records]
            up = [metric.score(min(each.trial.loss or 0.0, losses.high)) for each in records]
            axes.plot(at, up, linestyle="none", label=label, **style)

    beyond = [each for each in run_data.successful_trials if not losses.contains(each.trial.loss or 0.0)]
    inside = [each for each in run_data.successful_trials if losses.contains(each.trial.loss or 0.0)]
    draw([each for each in inside if each.trial.is_feasible], "trial", marker="o", ms=3, color=QUIET)
    draw([each for each in inside if not each.trial.is_feasible], "infeasible trial", marker="x", ms=4, color=QUIET)
    outlier = {"marker": "^" if metric.is_loss_the_score else "v", "ms": 5, "color": QUIET, "clip_on": False}
    draw(beyond, "off the scale", **outlier)
    failed = [each.finished / times.length for each in run_data.records if each.trial.loss is None]
    if failed:
        bottom = axes.get_xaxis_transform()
        axes.plot(failed, [0.0] * len(failed), "|", ms=10, color=MARKED, transform=bottom, label="failed trial")
    if curve := run_data.run.incumbent_curve:
        places = [*((each.seconds, each.loss) for each in curve), (run_data.summary.seconds, curve[-1].loss)]
        at, up = [each / times.length for each, _ in places], [metric.score(each) for _, each in places]
        axes.plot(at, up, drawstyle="steps-post", color=STRONG, linewidth=2, label="incumbent")
    _draw_test_score(run_data, metric, times.length, axes)
    axes.set(xlabel=f"time in {times.unit}", ylabel=metric.score_name, xlim=(times.axis.low, times.axis.high * 1.02))
    if losses.log and metric.is_loss_the_score:
        axes.set_yscale("log")
    axes.set_ylim(*sorted((metric.score(losses.low), metric.score(losses.high))))
    if not metric.is_loss_the_score:
        between: Any = metric.score  # also takes an array, and is its own inverse
        axes.secondary_yaxis("right", functions=(between, between)).set_ylabel(metric.formula)
    axes.legend(frameon=False, loc="best")
    return axes


def _draw_test_score(run_data: RunData, metric: LossName, length: float, axes: "Axes") -> None:
    test = None if run_data.run.test_score is None else run_data.run.test_score.score
    if test is None or test.loss is None:
        return
    at, score, bars = run_data.summary.seconds / length, metric.score(test.loss), None
    if test.low is not None and test.high is not None:
        low, high = metric.score_interval(test.low, test.high)
        bars = [[max(0.0, score - low)], [max(0.0, high - score)]]
    axes.errorbar([at], [score], yerr=bars, fmt="D", ms=5, color=MARKED, capsize=3, label="test rows", clip_on=False)


def _draw_importance(run_data: RunData, axes: "Axes | None") -> "Axes":
    """Draw the importance of variables with intervals over the forests, the most important first."""
    found = compute_importances(run_data)
    if found is None:
        raise ValueError("the space of the run has no variables, so there are no importances to plot")
    if found.has_too_few_trials:
        problem = f"importances need at least {MIN_TRIALS} successful trials, and the run has {found.trials}"
        raise ValueError(f"{problem}: search longer, or use `plot('parallel')`")
    if not found.rows:
        raise ValueError("no importances to plot: forests fitted to the trials do not explain their losses")
    rows = found.rows[::-1]
    axes = _new_axes(SIZE[0], 1.2 + ROW_HEIGHT * len(rows)) if axes is None else axes
    means = [each.mean for each in rows]
    # The mean of a skewed sample may lie outside of its interval.
    bars = [[max(0.0, each.mean - each.low) for each in rows], [max(0.0, each.high - each.mean) for each in rows]]
    axes.axvline(0, color=QUIET, linewidth=0.8)
    axes.errorbar(means, range(len(rows)), xerr=bars, fmt="o", color=STRONG, capsize=3)
    axes.set_yticks(range(len(rows)), [each.address for each in rows])
    axes.set_xlabel("drop in explained variance if permuted")
    weak = ", weak evidence" if found.is_weak_evidence else ""
    axes.set_title(
        f"Importance for {run_data.metric.score_name} (forests explain {found.explained_percent}{weak})",
        fontsize="medium",
    )
    return axes


def _draw_parallel(run_data: RunData, axes: "Axes | None") -> "Axes":
    """Draw trials as lines across the axes of variables; the last axis is the score."""
    found = make_parallel_plot(run_data, compute_importances(run_data))
    if found is None:
        problem = "parallel coordinates need two successful trials on all rows, and a variable that is active in one"
        raise ValueError(f"{problem}: search longer")
    axes = _new_axes(max(SIZE[0], 1.0 + AXIS_WIDTH * len(found.axes)), 4.6) if axes is None else axes
    at = [each.at for each in found.axes]
    for lines, colour, width in ((found.other_lines, QUIET, 0.5), (found.best_lines, STRONG, 1.3)):
        axes.plot(at, [[line[place] for line in lines] for place in range(len(at))], color=colour, linewidth=width)
    axes.set(xlim=HORIZONTAL_LIMITS, ylim=(102, -2))
    size = _head_size(found.axes, axes)
    for each in found.axes:
        _draw_parallel_axis(each, axes, size)
    axes.set_axis_off()
    drawn = f"the best {found.best_count} of {found.trials:,} trials in colour, {found.other_count:,} others in grey"
    axes.set_title(f"{run_data.metric.score_name}: {drawn}\n\n", fontsize="medium")
    return axes


def _head_size(drawn: Sequence[ParallelAxis], axes: "Axes") -> float:
    """Return the font size in points with which the headings of neighbouring axes do not overlap."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    width = 72 * axes.get_position().width * figure.get_figwidth()  # in points
    gap = (drawn[-1].at - drawn[0].at) / (len(drawn) - 1) / (HORIZONTAL_LIMITS[1] - HORIZONTAL_LIMITS[0]) * width
    longest = max(len(text) for each in drawn for text in (each.owner, each.label))
    return min(HEAD_SIZE, gap / (CHARACTER_WIDTH * longest))


def _draw_parallel_axis(each: ParallelAxis, axes: "Axes", head_size: float) -> None:
    is_loss_the_score = each.at == 100.0
    axes.plot([each.at, each.at], [0, 100 if is_loss_the_score else VALUES_END], color="black", linewidth=0.8)
    head = f"{each.owner}\n{each.label}" if each.owner else each.label
    axes.text(each.at, -4, head, ha="center", va="bottom", fontsize=head_size)
    labels = [(tick.at, tick.label) for tick in each.ticks] + [(100.0, "inactive")] * each.has_inactive
    for up, label in labels:
        box = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5}
        axes.text(each.at + 0.8, up, label, ha="left", va="center", fontsize="x-small", bbox=box)


def _draw_front(run_data: RunData, axes: "Axes | None") -> "Axes":
    """Draw the Pareto front of the first two objectives, with all trials."""
    found = make_pareto_front_view(run_data)
    if found is None:
        raise ValueError("the Pareto front is empty: no trial satisfies all constraints")
    axes = _new_axes() if axes is None else axes
    plot = found.plots[0]
    axes.plot(*zip(*plot.scores, strict=True), "o", ms=3, color=QUIET, label="trial")
    front = sorted(each.scores for each in plot.points)
    style = "-" if plot.is_whole else "none"
    axes.plot(*zip(*front, strict=True), marker="o", linestyle=style, color=STRONG, label="Pareto front")
    axes.set(xlabel=plot.x_title, ylabel=plot.y_title)
    axes.set(xscale="log" if plot.x.log else "linear", yscale="log" if plot.y.log else "linear")
    axes.legend(frameon=False)
    return axes


PLOTS: Final[Mapping[str, Callable[[RunData, "Axes | None"], "Axes"]]] = {
    "incumbent": _draw_incumbent,
    "importance": _draw_importance,
    "parallel": _draw_parallel,
    "front": _draw_front,
}
"""The functions that draw, by the kind of the plot."""
