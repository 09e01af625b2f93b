"""The Pareto front of a run: plots of the first objective against each other objective, and a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from spacelang.ir.trial import LossName
from spacelang.report.page.axes import (
    MAX_DOTS,
    UNITS,
    Axis,
    evenly_spaced_items,
    make_axis_for_values,
    percent_to_svg_units,
)
from spacelang.report.page.run_data import RunData
from spacelang.report.pipeline_lines import format_objective, pareto_front_rows, score_names
from spacelang.report.stored_run_output import stored_pareto_front
from spacelang.runtime.history import TrialRecord, objective_values
from spacelang.runtime.storage.run_header import stored_objective_names
from spacelang.text import count_with_noun


@dataclass(frozen=True, slots=True)
class ParetoFrontPoint:
    """A trial of the front: its position in percent, its two scores, and its description."""

    x: float
    y: float
    scores: tuple[float, float]
    description: str


@dataclass(frozen=True, slots=True)
class ParetoFrontPlot:
    """A plot of two objectives: all trials and the front.

    `is_whole` is True if the run has no other objectives, so that the points of the front form a line.
    """

    x: Axis
    x_title: str
    y: Axis
    y_title: str
    scores: tuple[tuple[float, float], ...]
    points: tuple[ParetoFrontPoint, ...]
    is_whole: bool

    @property
    def trials_svg_path(self) -> str:
        """All trials as an SVG path of dots."""
        places = (
            (percent_to_svg_units(self.x.position(at)), UNITS - percent_to_svg_units(self.y.position(up)))
            for at, up in self.scores
        )
        return "".join(dict.fromkeys(f"M{at} {up}h0" for at, up in places))

    @property
    def front_svg_path(self) -> str:
        """The front as an SVG path; empty if there are more than two objectives."""
        places = sorted((percent_to_svg_units(each.x), UNITS - percent_to_svg_units(each.y)) for each in self.points)
        return "M" + "L".join(f"{at} {up}" for at, up in places) if self.is_whole else ""


@dataclass(frozen=True, slots=True)
class ParetoFrontView:
    """The plots, and the table with a row for each trial of the front: rank, trial, scores and pipeline."""

    headline: str
    plots: tuple[ParetoFrontPlot, ...]
    scores: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def make_pareto_front_view(run_data: RunData) -> ParetoFrontView | None:
    """Return the Pareto front of a run, or None for a run with one objective and for an empty front."""
    names, front = stored_objective_names(run_data.run.header), stored_pareto_front(run_data.run)
    if not front:
        return None
    shown = [each for each in run_data.successful_trials if len(each.trial.objectives) == len(names)]
    scores = score_names(names)
    plots = tuple(
        _plot(shown, front, (names[0], scores[0], 0), (name, scores[place], place), is_whole=len(names) == 2)
        for place, name in enumerate(names[1:], start=1)
    )
    _, (_, *rows), _ = pareto_front_rows(front, names, run_data.decision_keys, len(front))
    headline = f"{count_with_noun(len(front), 'trial')} that no other trial dominates in {', '.join(scores)}"
    return ParetoFrontView(headline, plots, tuple(scores), tuple(rows))


def _plot(
    records: Sequence[TrialRecord],
    front: Sequence[TrialRecord],
    first: tuple[LossName, str, int],
    other: tuple[LossName, str, int],
    *,
    is_whole: bool,
) -> ParetoFrontPlot:
    """Return the plot of two objectives, each given by its name, the name of its score and its index."""

    def scores(record: TrialRecord) -> tuple[float, float]:
        values = objective_values(record.trial)
        return other[0].score(values[other[2]]), first[0].score(values[first[2]])

    found = [scores(each) for each in evenly_spaced_items(records, MAX_DOTS)]
    x, y = make_axis_for_values(each for each, _ in found), make_axis_for_values(each for _, each in found)
    points = []
    for record in front:
        at, up = scores(record)
        values = objective_values(record.trial)
        texts = (f"{name} {format_objective(each, values[place])}" for each, name, place in (first, other))
        points.append(
            ParetoFrontPoint(x.position(at), y.position(up), (at, up), f"trial {record.index}: {', '.join(texts)}")
        )
    return ParetoFrontPlot(x, other[1], y, first[1], tuple(found), tuple(points), is_whole)
