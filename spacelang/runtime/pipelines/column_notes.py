"""Notes on columns of a table that users may not expect: columns that no pipeline gets, and how numbers are imputed."""

from collections.abc import Iterator, Sequence
from typing import Final

import pandas as pd

from spacelang.ir.space import Space
from spacelang.runtime.data.tables import Features, holds_numbers
from spacelang.runtime.pipelines.preparation import Preparation, used_columns
from spacelang.text import format_names

MIN_DISTINCT_NUMBERS: Final = 20
"""From this number of distinct values on, the most frequent number says little about the missing ones."""
MAX_NAMES: Final = 3  # The maximum number of columns that a note names


def column_notes(space: Space, preparation: Preparation, features: Features) -> Iterator[str]:
    """Yield a note on the columns that no part of `columns(…)` receives, and one on imputed numbers, if there are any.

    `space` is the space bound to the data, and `features` are those that the preparation was planned for.
    """
    if not isinstance(features, pd.DataFrame):
        return
    used = used_columns(space, (None,), preparation)
    if left_out := [column.name for column in preparation.table or () if column.name not in used]:
        are, them = ("is", "it") if len(left_out) == 1 else ("are", "them")
        yield f"{_format_columns(left_out)} {are} not used: no part of `columns(…)` selects {them}"
    numbers = [name for name in preparation.imputed if name in used and _is_varied(features[name])]
    if numbers:
        finding = f"missing numbers in {_format_columns(numbers)} are imputed with the most frequent number"
        remedy = "begin the space, or its numeric part, with a step such as `SimpleImputer { strategy = median }`"
        yield f"{finding}: to choose another one, {remedy}"


def _is_varied(column: "pd.Series[float]") -> bool:
    return holds_numbers(column) and column.nunique() >= MIN_DISTINCT_NUMBERS


def _format_columns(names: Sequence[str]) -> str:
    shown = format_names(names, MAX_NAMES)
    return f"the column {shown}" if len(names) == 1 else f"{len(names):,} columns ({shown})"
