"""Pipelines as lines of text: the steps of one, and those on the Pareto front of several objectives."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count, takewhile
from typing import TYPE_CHECKING, Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import TUPLE_NAME
from spacelang.ir.task import BYTES, SECONDS, Cost
from spacelang.ir.trial import SCORE_DIGITS, LossName
from spacelang.ir.tuple_parameters import element_name, length_name
from spacelang.ir.value import Value
from spacelang.report.trial_results import format_configuration_value
from spacelang.runtime.history import objective_values
from spacelang.text import count_with_noun, pad_table_columns

if TYPE_CHECKING:
    from spacelang.runtime.history import TrialRecord

DIGITS = ".4g"  # The format of numbers: the exact ones are in the code and in JSON
NO_STEP = "none"  # The alternative that adds no step to a pipeline


def pipeline_lines(
    configuration: Configuration, order: Sequence[str] = (), marks: Mapping[str, str] | None = None
) -> list[str]:
    r"""Return a line for each step: its name, its alternative, and its values.

    `order` has the keys of decisions in the order of the pipeline; other steps follow. Steps without an operator are
    left out, unless there is no other one. `marks` are remarks on values by key, such as `default`.

    >>> values = {"estimator": "SVC", "estimator.C": 10.0, "estimator.kernel": "rbf", "scaler": "StandardScaler"}
    >>> print("\n".join(pipeline_lines(Configuration(values), ("scaler", "estimator"))))
      scaler     StandardScaler
      estimator  SVC             C=10, kernel=rbf
    """
    rows = [tuple(_cells(name, values, marks or {})) for name, values in _shown_steps(configuration, order)]
    return [f"  {'  '.join(cells)}".rstrip() for cells in pad_table_columns(rows)]


def one_line_pipeline(configuration: Configuration, order: Sequence[str] = ()) -> str:
    """Return the steps of a pipeline in one line: `StandardScaler -> SVC(C=10, kernel=rbf)`.

    >>> values = {"estimator": "SVC", "estimator.C": 10.0, "estimator.kernel": "rbf", "scaler": "StandardScaler"}
    >>> one_line_pipeline(Configuration(values), ("scaler", "estimator"))
    'StandardScaler -> SVC(C=10, kernel=rbf)'
    """
    rows = (tuple(_cells(name, values, {})) for name, values in _shown_steps(configuration, order))
    return " -> ".join(f"{value}({more})" if more else value for _, value, more in rows)


def _shown_steps(configuration: Configuration, order: Sequence[str]) -> list[tuple[str, dict[str, Value]]]:
    """Return the name and the values of each step in the order of the pipeline, without steps whose choice is `none`.

    If all of them are `none`, all are returned.
    """
    steps = _values_by_step(configuration)
    places = {name: place for place, name in enumerate(dict.fromkeys(key.partition(".")[0] for key in order))}
    names = sorted(steps, key=lambda name: places.get(name, len(places)))
    shown = [name for name in names if steps[name] != {name: NO_STEP}] or names
    return [(name, steps[name]) for name in shown]


def _values_by_step(configuration: Configuration) -> dict[str, dict[str, Value]]:
    steps: dict[str, dict[str, Value]] = {}
    for key, value in configuration.items():
        step = key.partition(".")[0]
        steps.setdefault(step if step in configuration else key, {})[key] = value
    return steps


def _cells(name: str, values: Mapping[str, Value], marks: Mapping[str, str]) -> Iterator[str]:
    yield name
    yield format_configuration_value(values[name])
    shown = _with_whole_tuples(values).items()
    texts = (f"{key.removeprefix(f'{name}.')}={_short_text(value)}" for key, value in shown if key != name)
    remarks = ", ".join(dict.fromkeys(marks[key] for key in values if key in marks))
    yield f"{', '.join(texts)}{f'  ({remarks})' if remarks else ''}"


def _with_whole_tuples(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values with each tuple under one key, in place of its length and elements."""
    found = dict(values)
    for key, length in values.items():
        whole = key.removesuffix(length_name(""))
        elements = [*takewhile(values.__contains__, (element_name(whole, number) for number in count(1)))]
        if whole != key and len(elements) == length and (elements or values.get(whole) == TUPLE_NAME):
            found = {name: value for name, value in found.items() if name not in (key, *elements)}
            found[whole] = tuple(values[each] for each in elements)
    return dict(sorted(found.items()))


def _short_text(value: Value) -> str:
    return format(value, DIGITS) if isinstance(value, float) else format_configuration_value(value)


MAX_ROWS: Final = 10  # The maximum number of trials of a front that are shown
_UNITS: Final = {Cost.LATENCY.value: SECONDS, Cost.FIT.value: SECONDS, Cost.SIZE.value: BYTES}


def score_names(names: Sequence[LossName]) -> list[str]:
    """Return the name of the score of each objective, or the formulas if two objectives have the same score."""
    scores = [each.score_name for each in names]
    return scores if len(set(scores)) == len(scores) else [each.formula for each in names]


def format_objective(name: LossName, value: float) -> str:
    """Return a minimized value as text: a cost such as latency with its unit (`1.25ms`), anything else as its score."""
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


def pareto_front_lines(
    front: "Sequence[TrialRecord]", names: Sequence[LossName], order: Sequence[str], most: int = MAX_ROWS
) -> Iterator[str]:
    """Yield a headline and a table of the front, by rank; `order` has the keys of decisions in pipeline order."""
    headline, rows, more = pareto_front_rows(front, names, order, most)
    yield headline
    if not front:
        return
    yield ""
    yield from (f"  {'  '.join(cells)}" for cells in pad_table_columns(rows, str.rjust))
    if more:
        yield f"  {more}"


def pareto_front_rows(
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


def pareto_front_document(front: "Sequence[TrialRecord]", names: Sequence[LossName]) -> list[dict[str, object]]:
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
