"""A configuration as lines of text, one for each step of its pipeline."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, takewhile

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import TUPLE_NAME, element_name, length_name
from spacelang.ir.value import Value
from spacelang.report.trial_results import value_text
from spacelang.text import pad_columns

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
    return [f"  {'  '.join(cells)}".rstrip() for cells in pad_columns(rows)]


def one_line_pipeline(configuration: Configuration, order: Sequence[str] = ()) -> str:
    """Return the steps of a pipeline in one line: `StandardScaler -> SVC(C=10, kernel=rbf)`.

    >>> values = {"estimator": "SVC", "estimator.C": 10.0, "estimator.kernel": "rbf", "scaler": "StandardScaler"}
    >>> one_line_pipeline(Configuration(values), ("scaler", "estimator"))
    'StandardScaler -> SVC(C=10, kernel=rbf)'
    """
    rows = (tuple(_cells(name, values, {})) for name, values in _shown_steps(configuration, order))
    return " -> ".join(f"{value}({more})" if more else value for _, value, more in rows)


def _shown_steps(configuration: Configuration, order: Sequence[str]) -> list[tuple[str, dict[str, Value]]]:
    """Return the steps that are shown with their values, in the order of the pipeline."""
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
    yield value_text(values[name])
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
    return format(value, DIGITS) if isinstance(value, float) else value_text(value)
