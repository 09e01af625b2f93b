"""What a column of a table holds, by its type and its values; told without a library that fits."""

from enum import Enum
from math import nan
from typing import Any, Final

import pandas as pd

TEXT_VALUES: Final = 200
"""A column of strings is free text, no category, if it has more different values than this in most of its rows."""


class Content(Enum):
    """What a column of a table holds."""

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    OTHER = "other"
    EMPTY = "empty"


def content_of(column: pd.Series) -> Content:
    """What a column holds, by its type: text and truth values are categories."""
    if bool(column.isna().all()):
        return Content.EMPTY
    if pd.api.types.is_datetime64_any_dtype(column):
        return Content.DATE
    strings = pd.api.types.is_object_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype | pd.StringDtype)
    if strings or pd.api.types.is_bool_dtype(column):
        return Content.CATEGORY
    return Content.NUMBER if pd.api.types.is_numeric_dtype(column) else Content.OTHER


def first_row(are: Any) -> int | None:
    """The first row, from 1 on, of which something is so, by an array of truth values."""
    return int(are.argmax()) + 1 if are.any() else None


def as_numbers(column: "pd.Series[Any]") -> Any:
    """A column of numbers as floats, nan where a value is missing; those of complex numbers as they are."""
    return column.to_numpy() if pd.api.types.is_complex_dtype(column) else column.to_numpy(dtype=float, na_value=nan)


def is_text(column: Any) -> bool:
    """Whether a column of strings holds free text: most of its values are different."""
    return is_mostly_different(int(column.nunique()), len(column))


def is_mostly_different(distinct: int, rows: int) -> bool:
    """Whether so many different strings in so many rows are free text."""
    return distinct > TEXT_VALUES and 2 * distinct > rows
