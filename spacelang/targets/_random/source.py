"""Python source that reads and decodes random arrays with NumPy alone."""

from collections.abc import Iterable, Mapping
from typing import Final

HEAD: Final = '''"""The columns of random configurations of the space `{name}`."""

import json
from pathlib import Path

import numpy as np

# For each decision and hyperparameter: its key, its first column, and how to read the numbers of each of its parts.
COLUMNS = [
'''

TAIL: Final = '''
]


def read(path):
    """Return the rows of a compiled JSON document as an array; inactive entries are NaN."""
    return np.array(json.loads(Path(path).read_text(encoding="utf-8"))["rows"], dtype=float)


def decode(row):
    """Return the configuration of one row as a dictionary."""
    found = {}
    for column in COLUMNS:
        numbers = row[column["start"] :]
        if np.isnan(numbers[0]):
            continue
        parts = column["parts"]
        part, numbers = (parts[0], numbers) if len(parts) == 1 else (parts[int(numbers[0])], numbers[1:])
        found[column["key"]] = value_of(part, numbers)
    return dict(sorted(found.items()))


def value_of(part, numbers):
    """Return the value that numbers encode in a part of a domain."""
    kind = part[0]
    if kind == "values":
        return part[1][int(numbers[0])]
    return int(numbers[0]) if kind == "int" else float(numbers[0])'''


def source(name: str, specifications: Iterable[Mapping[str, object]]) -> str:
    """Return the source of the module, without a final newline."""
    lines = [f"    {dict(each)!r}," for each in specifications]
    return HEAD.format(name=name) + "\n".join(lines) + TAIL
