"""The content of a table's columns (numbers, categories, dates, ...), by their types and values.

It needs no machine-learning library.
"""

from enum import Enum
from math import nan
from typing import Any, Final

import pandas as pd

TEXT_VALUES: Final = 200
"""A column of strings is free text if it has more distinct values than this, and more than half of its rows differ."""


class ColumnContent(Enum):
    """The kind of content of a table's column."""

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    OTHER = "other"
    EMPTY = "empty"


def content_of(column: pd.Series) -> ColumnContent:
    """Return the content of a column by its type; text and booleans are categories."""
    if bool(column.isna().all()):
        return ColumnContent.EMPTY
    if pd.api.types.is_datetime64_any_dtype(column):
        return ColumnContent.DATE
    strings = pd.api.types.is_object_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype | pd.StringDtype)
    if strings or pd.api.types.is_bool_dtype(column):
        return ColumnContent.CATEGORY
    return ColumnContent.NUMBER if pd.api.types.is_numeric_dtype(column) else ColumnContent.OTHER


def first_true_row_number(are: Any) -> int | None:
    """Return the 1-based number of the first true row of a boolean array; None if there is none."""
    return int(are.argmax()) + 1 if are.any() else None


def as_numbers(column: "pd.Series[Any]") -> Any:
    """Return a column of numbers as floats, with NaN for missing values; complex numbers stay as they are."""
    return column.to_numpy() if pd.api.types.is_complex_dtype(column) else column.to_numpy(dtype=float, na_value=nan)


def is_text(column: Any) -> bool:
    """Return True if a column of strings holds free text: most of its values are different."""
    return is_mostly_different(int(column.nunique()), len(column))


def is_mostly_different(distinct: int, rows: int) -> bool:
    """Return True if this many distinct strings in this many rows are free text."""
    return distinct > TEXT_VALUES and 2 * distinct > rows
