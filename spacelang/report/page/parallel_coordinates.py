"""Parallel coordinates: trials as lines across the axes of the most important variables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from spacelang.encodings.row_encodings import VariableColumns, VectorEncoding, domain_of
from spacelang.ir.domain import Categorical, Domain, Grid, Real, parts
from spacelang.ir.trial import LossName
from spacelang.report.page.axes import Tick, format_number, make_axis_for_values
from spacelang.report.page.importance import Importances
from spacelang.report.page.run_data import RunData, TrialsInSpace
from spacelang.report.trial_results import format_configuration_value
from spacelang.sampling.value_codes import Array
from spacelang.text import shorten

MAX_AXES: Final = 9  # The maximum number of variables with an axis, not counting the loss
MAX_BEST: Final = 60  # The maximum number of best trials drawn; they are at most a tenth of all trials
MAX_OTHERS: Final = 240  # The maximum number of other trials drawn, spread evenly over the ranks of their losses
VALUES_END: Final = 88.0  # The lower end of the values on an axis, in percent from above. Inactive variables are at 100
MAX_LABEL: Final = 14  # The maximum length of a label of an axis, in characters
MAX_LABELLED_VALUES: Final = 8
"""An axis labels all values of a set up to this size; of a larger set, the first and the last."""


@dataclass(frozen=True, slots=True)
class ParallelAxis:
    """An axis of parallel coordinates: its position in percent of the width, and its labels, cut to fit.

    `whole` is the address of the variable, `owner` the alternative that it belongs to, if any.
    """

    at: float
    owner: str
    label: str
    whole: str
    ticks: tuple[Tick, ...]
    has_inactive: bool


@dataclass(frozen=True, slots=True)
class ParallelPlot:
    """A plot of some of the `trials` of a run. A line is a tuple of heights at all axes, in percent from the top."""

    axes: tuple[ParallelAxis, ...]
    best_lines: tuple[tuple[float, ...], ...]
    other_lines: tuple[tuple[float, ...], ...]
    trials: int

    @property
    def best_count(self) -> int:
        """The number of the best trials that are drawn."""
        return len(self.best_lines)

    @property
    def other_count(self) -> int:
        """The number of the other trials that are drawn."""
        return len(self.other_lines)

    @property
    def best_trials_svg_path(self) -> str:
        """The lines of the best trials as an SVG path."""
        return "".join(map(_path, self.best_lines))

    @property
    def other_trials_svg_path(self) -> str:
        """The lines of the other trials as an SVG path."""
        return "".join(map(_path, self.other_lines))


def make_parallel_plot(run_data: RunData, importance: Importances | None) -> ParallelPlot | None:
    """Return the plot of the successful trials on all rows, with axes for the most important variables.

    Without `importance`, they are the variables that are active most often. None with fewer than two such trials, or
    without a variable.
    """
    members = run_data.trials_in_space
    if run_data.space is None or members is None:
        return None
    whole = np.array([run_data.is_trained_on_all_rows(each) for each in members.records])
    rows = np.flatnonzero(whole & ~np.isnan(members.losses))
    if len(rows) < 2:
        return None
    rows = rows[np.argsort(members.losses[rows], kind="stable")]
    best = min(MAX_BEST, max(1, len(rows) // 10))
    others = rows[best:]
    shown = others[np.unique(np.linspace(0, len(others) - 1, min(MAX_OTHERS, len(others))).round().astype(int))]
    drawn = np.concatenate([rows[:best], shown])
    fields, points = _axis_fields(run_data, members, drawn, importance)
    if not fields:
        return None
    heights, score = _heights(fields, points, members.losses[drawn], run_data.metric)
    axes = [*(_axis(each, place, len(fields), points) for place, each in enumerate(fields)), score]
    lines = [tuple(map(float, row)) for row in heights]
    return ParallelPlot(tuple(axes), tuple(lines[:best]), tuple(lines[best:]), len(rows))


def _axis_fields(
    run_data: RunData, members: TrialsInSpace, drawn: Array, importance: Importances | None
) -> tuple[Sequence[VariableColumns], Array]:
    assert run_data.space is not None
    coding = VectorEncoding(run_data.space)
    points = coding.encode([members.records[row].trial.request.configuration for row in drawn])
    active = {each.variable.address: np.count_nonzero(~np.isnan(points[:, each.start])) for each in coding.fields}
    order = {} if importance is None else {each.address: place for place, each in enumerate(importance.rows)}
    wanted = sorted((name for name in active if active[name]), key=lambda name: (order.get(name, 99), -active[name]))
    chosen = {*wanted[:MAX_AXES]}
    return [each for each in coding.fields if each.variable.address in chosen], points


def _heights(
    fields: Sequence[VariableColumns], points: Array, losses: Array, metric: LossName
) -> tuple[Array, ParallelAxis]:
    """Return an array (trials, axes) with the heights of lines in percent from the top, and the axis of the score.

    The last axis is that of the score, with the best score at the bottom. Heights are computed from losses, so that a
    log scale of losses separates scores near 1.
    """
    axis = make_axis_for_values([float(each) for each in losses])
    last = np.array([100 - axis.position(float(each)) for each in losses])
    columns = [_heights_of(each, points) for each in fields]
    labelled = axis.ticks_with_labels(lambda loss: format_number(metric.score(loss)))
    ticks, name = tuple(Tick(100 - each.at, each.label) for each in labelled), metric.score_name
    return np.column_stack([*columns, last]), ParallelAxis(100.0, "", _cut(name), name, ticks, has_inactive=False)


def _heights_of(field: VariableColumns, points: Array) -> Array:
    """Return the heights of a variable's values, in percent from the top.

    Each part of a union has a band of equal height; a part with a single value has it in the middle.
    """
    several = field.coding.parts
    active = ~np.isnan(points[:, field.start])
    if len(several) == 1 and not field.coding.has_part:
        share = points[:, field.start]
    else:
        chosen = np.round(np.nan_to_num(points[:, field.start]) * (len(several) - 1)).astype(int)
        inside = np.full(len(points), 0.5)
        for place, column in field.coding.columns.items():
            inside = np.where(chosen == place, points[:, field.start + column], inside)
        share = (chosen + inside) / len(several)
    return np.where(active, VALUES_END * (1 - np.nan_to_num(share)), 100.0)


def _axis(field: VariableColumns, place: int, count: int, points: Array) -> ParallelAxis:
    variable = field.variable
    owner = _cut(variable.owners[-1][1] if variable.owners else "")
    has_inactive = bool(np.isnan(points[:, field.start]).any())
    at, ticks = 100 * place / count, tuple(_ticks(domain_of(variable)))
    return ParallelAxis(at, owner, _cut(variable.node.name), variable.address, ticks, has_inactive)


def _ticks(domain: Domain) -> Iterator[Tick]:
    several = parts(domain)
    for place, part in enumerate(several):
        for share, label in _part_labels(part):
            yield Tick(VALUES_END * (1 - (place + share) / len(several)), _cut(label))


def _part_labels(part: Categorical | Grid | Real) -> list[tuple[float, str]]:
    match part:
        case Categorical():
            last = part.size - 1
            if not last:
                return [(0.5, format_configuration_value(part.values[0]))]
            named = range(part.size) if part.size <= MAX_LABELLED_VALUES else (0, last)
            return [(place / last, format_configuration_value(part.values[place])) for place in named]
        case Grid() | Real():
            if part.lower == part.upper:
                return [(0.5, format_number(float(part.lower)))]
            return [(0.0, format_number(float(part.lower))), (1.0, format_number(float(part.upper)))]


def _cut(text: str) -> str:
    return shorten(text, MAX_LABEL)


def _path(heights: Sequence[float]) -> str:
    count = len(heights) - 1
    points = (f"{round(1000 * place / count)} {round(10 * height)}" for place, height in enumerate(heights))
    return "M" + "L".join(points)
