"""The losses of the incumbents of several runs at the same times, and their best pipelines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spacelang.report.page.axes import format_number, format_seconds
from spacelang.report.page.curves import line_css_classes
from spacelang.report.page.run_data import RunData
from spacelang.report.stored_runs import best_records, describe_alternatives

SHARES: Final = (0.25, 0.5, 1.0)  # The times at which runs are compared, as shares of the time of the shortest run


@dataclass(frozen=True, slots=True)
class RunAtTimes:
    """A run with the loss of its incumbent at each common time and at its end; empty if no feasible trial had ended."""

    number: int
    css_classes: str
    losses: tuple[str, ...]
    pipeline: str


@dataclass(frozen=True, slots=True)
class CommonTimes:
    """The headings of the times, and a row per run."""

    headings: tuple[str, ...]
    rows: tuple[RunAtTimes, ...]


def common_times(runs: Sequence[tuple[int, RunData]]) -> CommonTimes | None:
    """Return the losses of numbered runs at common times; None if no time has passed in one of them."""
    shortest = min(run_data.summary.seconds for _, run_data in runs)
    if not shortest > 0:
        return None
    times = [share * shortest for share in SHARES]
    headings = tuple(dict.fromkeys(f"after {format_seconds(time)}" for time in times))
    rows = tuple(_row(number, run_data, times[-len(headings) :]) for number, run_data in runs)
    return CommonTimes((*headings, "at its end"), rows)


def _row(number: int, run_data: RunData, times: Sequence[float]) -> RunAtTimes:
    curve = run_data.run.curve
    losses = [[each.loss for each in curve if each.seconds <= time] for time in times]
    losses.append([each.loss for each in curve])
    best = best_records(run_data.run)[:1]
    pipelines = [describe_alternatives(each.trial.request.configuration, run_data.decisions) for each in best]
    shown = tuple(format_number(found[-1]) if found else "" for found in losses)
    return RunAtTimes(number, line_css_classes(number), shown, "".join(pipelines))
