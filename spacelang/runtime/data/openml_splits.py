"""Read the splits of an OpenML task: the training rows and the held-out rows of each split."""

import io
import re
from typing import Final

import numpy as np
import pandas as pd

from spacelang.runtime.evaluation.splits import Split
from spacelang.text import count_with_noun

_DATA: Final = re.compile(r"^@data[^\n]*\n", re.IGNORECASE | re.MULTILINE)
_NAME: Final = re.compile(r"^@attribute\s+['\"]?(\w+)", re.IGNORECASE | re.MULTILINE)

COLUMNS: Final = ("type", "rowid", "repeat", "fold")

COMPLETE_PROCEDURES: Final = frozenset({"crossvalidation", "leaveoneout", "holdout"})
"""The procedures whose splits each use every row, either for training or held out."""


def read_splits(text: str, procedure: str, parameters: dict[str, str], rows: int) -> tuple[Split, ...]:
    """Return the splits in the order of repeats and folds, each with ascending row numbers.

    `procedure` and `parameters` are the task's description of the splits. `rows` is the number of rows of the data.
    Raises ValueError, with a reason, if the file contradicts the description.
    """
    listed = _parse(text.replace("\r\n", "\n"))
    if listed["rowid"].max() >= rows or listed["rowid"].min() < 0:
        raise ValueError("some splits have row numbers outside the data")
    groups = listed.groupby(["repeat", "fold"], sort=True)
    splits = tuple(
        Split(*(np.sort(part.loc[part["type"] == kind, "rowid"].to_numpy(np.int64)) for kind in ("TRAIN", "TEST")))
        for _, part in groups
    )
    expected = _expected_count(procedure, parameters, rows)
    if expected not in {None, len(splits)}:
        raise ValueError(f"the file has {count_with_noun(len(splits), 'split')}, but the task has {expected}")
    if procedure in COMPLETE_PROCEDURES and any(len(split.training) + len(split.held_out) != rows for split in splits):
        raise ValueError("some splits leave out rows")
    return splits


def _parse(text: str) -> pd.DataFrame:
    """Return a table with a line for each row of each split."""
    parts = _DATA.split(text, maxsplit=1)
    names = [name.lower() for name in _NAME.findall(parts[0])]
    if len(parts) < 2 or not set(COLUMNS) <= set(names):
        raise ValueError("the file of splits has an unexpected format")
    listed = pd.read_csv(io.StringIO(parts[1]), header=None, names=names, comment="%", skipinitialspace=True)
    numbers = listed[["rowid", "repeat", "fold"]]
    whole = all(pd.api.types.is_numeric_dtype(dtype) for dtype in numbers.dtypes) and bool(
        (numbers % 1 == 0).to_numpy().all()
    )
    if listed.empty or not whole or not bool(listed["type"].isin(["TRAIN", "TEST"]).all()):
        raise ValueError("the file of splits is truncated or damaged")
    return listed.astype(dict.fromkeys(numbers.columns, np.int64))


def _expected_count(procedure: str, parameters: dict[str, str], rows: int) -> int | None:
    """Return the number of splits that the task describes; None if it does not say."""
    repeats = parameters.get("number_repeats") or "1"
    folds = parameters.get("number_folds") or ""
    if procedure == "leaveoneout":
        return rows
    if procedure == "holdout":
        folds = "1"
    return int(repeats) * int(folds) if repeats.isdigit() and folds.isdigit() else None
