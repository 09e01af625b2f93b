"""The Pareto front of a run with several objectives, as lines of text and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from spacelang.ir.loss_name import SCORE_DIGITS, LossName
from spacelang.ir.task import BYTES, SECONDS, Cost
from spacelang.report.pipeline_lines import one_line_pipeline
from spacelang.runtime.history import objective_values
from spacelang.text import count_with_noun

if TYPE_CHECKING:
    from spacelang.runtime.history import TrialRecord

MAX_ROWS: Final = 10  # The maximum number of trials of a front that are shown
_UNITS: Final = {Cost.LATENCY.value: SECONDS, Cost.FIT.value: SECONDS, Cost.SIZE.value: BYTES}


def score_names(names: Sequence[LossName]) -> list[str]:
    """Return the name of the score of each objective, or the formulas if two objectives have the same score."""
    scores = [each.score_name for each in names]
    return scores if len(set(scores)) == len(scores) else [each.formula for each in names]


def format_objective(name: LossName, value: float) -> str:
    """Return the value of an objective as a score, or a cost with its unit, such as `1.25ms`."""
    if (units := _UNITS.get(name.formula)) is not None:
        name_of_unit, factor = _suitable_unit(value, units)
        return f"{value / factor:.3g}{name_of_unit}"
    return f"{name.score(value):{SCORE_DIGITS}}"


def _suitable_unit(value: float, units: Mapping[str, Fraction]) -> tuple[str, float]:
    """Return the name and the factor of the largest unit that is at most the value, or else of the smallest unit."""
    found = sorted(((float(factor), name) for name, factor in units.items()), key=lambda each: each[0])
    fitting = [each for each in found if abs(value) >= each[0]] or found[:1]
    factor = fitting[-1][0]
    return next(name for name, each in units.items() if float(each) == factor), factor


def front_lines(
    front: "Sequence[TrialRecord]", names: Sequence[LossName], order: Sequence[str], most: int = MAX_ROWS
) -> Iterator[str]:
    """Yield a headline and a table of the front, by rank; `order` has the keys of decisions in pipeline order."""
    headline, rows, more = front_rows(front, names, order, most)
    yield headline
    if not front:
        return
    yield ""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False))
        yield f"  {'  '.join(cells)}  {row[-1]}"
    if more:
        yield f"  {more}"


def front_rows(
    front: "Sequence[TrialRecord]", names: Sequence[LossName], order: Sequence[str], most: int = MAX_ROWS
) -> tuple[str, list[tuple[str, ...]], str]:
    """Return a headline, the cells of a table with its header, and a line on omitted trials, which may be empty."""
    scores = score_names(names)
    objectives = f"{', '.join(scores[:-1])} and {scores[-1]}"
    headline = f"Pareto front of {objectives}: {count_with_noun(len(front), 'trial')} that no other trial dominates"
    if not front:
        headline = f"No trial satisfies all constraints, so the Pareto front of {objectives} is empty."
    rows: list[tuple[str, ...]] = [("rank", "trial", *scores, "pipeline")]
    for rank, record in enumerate(front[:most], start=1):
        values = objective_values(record.trial)
        shown = (format_objective(name, value) for name, value in zip(names, values, strict=True))
        rows.append(
            (f"{rank}", f"{record.index}", *shown, one_line_pipeline(record.trial.request.configuration, order))
        )
    return headline, rows, f"and {len(front) - most} more" if len(front) > most else ""


def front_document(front: "Sequence[TrialRecord]", names: Sequence[LossName]) -> list[dict[str, object]]:
    """Return the front as JSON: of each trial its number, the values and scores of the objectives, and the seconds."""
    scores = score_names(names)
    return [
        {
            "rank": rank,
            "trial": record.index,
            "objectives": dict(record.trial.objectives),
            "scores": {
                label: name.score(value)
                for label, name, value in zip(scores, names, objective_values(record.trial), strict=True)
            },
            "cost": record.trial.cost,
            "configuration": record.trial.request.configuration.to_dict(),
        }
        for rank, record in enumerate(front, start=1)
    ]
