"""Requests of an optimizer as short lines that can be read in a diff, a tenth as long as their JSON.

    800 LogisticRegression(C=1.0 penalty=l2) StandardScaler SelectPercentile(percentile=50)
    (.302819589 l1) - (34)
    200 RandomForestClassifier(max_depth=3) MinMaxScaler Sele
    800 =1
    Logi(2.5 l2) Stan -

A line has what differs from the lines above it, of which those with `=` do not count: `=1` is the configuration of
request 1. The fidelity is there if it is another one. Each stage has its operator and the values of hyperparameters.

- `-`: both are those of the line above.
- `(34)`: the operator is that of the line above, and the values are other ones.
- `Sele`: a name that has appeared is cut to four letters, or more to tell it from others of its stage; without
  parentheses, the values are the last ones of this operator.
- The names of hyperparameters stand where an operator has these for the first time.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

SHORTEST = 4
"""A name is cut to so many letters, unless others of its stage begin with them."""

Values = Mapping[str, Any]


def short_lines(requests: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[str]:
    """Yield a line for each request, which is a fidelity and the values of a configuration by key."""
    fidelity, numbers, stages = None, dict[str, int](), dict[str, _Stage]()
    for number, (asked, configuration) in enumerate(requests, 1):
        known = numbers.setdefault(json.dumps(configuration), number)
        parts = list(_stage_parts(configuration, stages)) if known == number else [f"={known}"]
        yield " ".join([*([] if asked == fidelity else [str(asked)]), *parts])
        fidelity = asked


def _stage_parts(configuration: Mapping[str, Any], stages: "dict[str, _Stage]") -> Iterator[str]:
    """Yield the part of the line for each stage; the keys of its hyperparameters begin with its name and a dot."""
    for stage, operator in configuration.items():
        if "." not in stage:
            mine = {key: value for key, value in configuration.items() if key.startswith(f"{stage}.")}
            values = {key.removeprefix(f"{stage}."): value for key, value in mine.items()}
            yield stages.setdefault(stage, _Stage()).part(str(operator), values)


@dataclass
class _Stage:
    """One stage of the lines so far: the last operator, the last values of each, and the names that were shown."""

    operator: str | None = None
    values: dict[str, Values] = field(default_factory=dict)
    names: set[tuple[str, ...]] = field(default_factory=set)

    def part(self, operator: str, values: Values) -> str:
        """Return the part of the next line."""
        is_same, last = operator == self.operator, self.values.get(operator)
        if is_same and values == last:
            return "-"
        name = "" if is_same else self._name(operator)
        self.operator, self.values[operator] = operator, values
        names = (operator, *values)
        if values == last or not (values or is_same):
            return name
        texts = [_text(value) for value in values.values()]
        if names not in self.names:
            texts = [f"{key}={text}" for key, text in zip(values, texts, strict=True)]
        self.names.add(names)
        return f"{name}({' '.join(texts)})"

    def _name(self, operator: str) -> str:
        if operator not in self.values:
            return operator
        others = [other for other in self.values if other != operator]
        for length in range(SHORTEST, len(operator)):
            if not any(other.startswith(operator[:length]) for other in others):
                return operator[:length]
        return operator


def _text(value: Any) -> str:
    """Return a value as JSON, without the zero before the decimal point, spaces and quotation marks."""
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    text = value if isinstance(value, str) else json.dumps(value)
    return text.removeprefix("0") if text.startswith("0.") else text
