"""Suspicions about columns that their types do not show: identifiers, and text that holds dates or numbers."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from shlex import quote
from typing import Any, Final

import pandas as pd

from spacelang.runtime.data.read_options import format_drop_columns_option
from spacelang.runtime.data.tables import ColumnContent
from spacelang.text import format_names

MAX_SAMPLED_VALUES: Final = 500  # The number of distinct values of a column whose text format is inspected
MAX_SAMPLED_ROWS: Final = 20_000  # The number of rows from which these values are taken
DECISIVE_SHARE: Final = 0.95  # The share of these values that must have a format for the column to have it
MIN_ROWS_FOR_UNIQUE: Final = 20  # With fewer rows, all values may differ by chance, so nothing is suspected
NUMBER: Final = re.compile(r"[-+(]?[$€£]?\s*\d[\d.,'\s]*\s*[%€$£)]?\s*")
DATE: Final = re.compile(
    r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([T\s].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}(\s.*)?"
    r"|(\d{1,2}\.?\s)?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s\d{1,2}?,?\s?\d{2,4}",
    re.IGNORECASE,
)
WITH_COMMA: Final = re.compile(r"[-+]?\d+(,\d+)?")
IDENTIFIER_NAME: Final = re.compile(
    r"(^|[_\W])(id|uuid|guid|index|key|nr|no|number)$|[a-z](ID|Id)$|^Unnamed: \d+$", re.IGNORECASE
)
PLAIN_NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
INTEGER: Final = re.compile(r"[-+]?\d+")
MISSING_VALUE_MARKS: Final = frozenset((
    *("", "?", "-", "--", ".", "*", "na", "n/a", "n.a.", "nan", "null", "none", "nil"),
    *("missing", "unknown", "undefined", "not available"),
))  # fmt: skip
"""Texts, in lower case, that mark missing values in many files; pandas reads only some of them as missing."""
MAX_MARK_LENGTH: Final = 20  # The maximum length of another text that is suspected to mark missing values


class ColumnSuspicion(Enum):
    """A suspicion about columns, such as that they are identifiers, which their type does not show.

    It has texts for one and for several columns, with remedies.
    """

    IDENTIFIER = (
        ("looks like an identifier", "look like identifiers"),
        (
            "pipelines cannot learn from it; drop it with `--drop-columns {columns}`",
            "pipelines cannot learn from them; drop them with `--drop-columns {columns}`",
        ),
    )
    DATES = (
        ("holds dates as text", "hold dates as text"),
        (
            "the dates count as categories; add columns of year, month and weekday, or save dates in a `.parquet` "
            "file; to split the rows by their dates, use `--validate 'time(5, by=COLUMN)'`",
        ),
    )
    COMMAS = (
        ("holds numbers with a decimal comma", "hold numbers with a decimal comma"),
        ("the numbers count as categories; read the file with `--decimal ,`",),
    )
    NUMBERS = (
        ("holds numbers as text, such as `{example}`", "hold numbers as text, such as `{example}`"),
        ("the numbers count as categories; write them as plain numbers",),
    )
    MARK = (
        ("holds numbers and `{example}`", "hold numbers and `{example}`"),
        ("the numbers count as categories; if `{example}` marks missing values, leave these fields empty in the file",),
    )
    LARGE = (
        ("holds integers of 2^63 or more, such as `{example}`", "hold integers of 2^63 or more, such as `{example}`"),
        (
            "they count as categories; write them with a decimal point, or drop identifiers with "
            "`--drop-columns {columns}`",
        ),
    )

    def message(self, names: Sequence[str], example: str = "") -> str:
        """Return a sentence for these columns: what is suspected, why it matters and what to do; long lists are cut.

        `example` is a value of the first column, for suspicions whose texts name one.
        """
        sentences, remedies = self.value
        several = len(names) > 1
        text = f"{sentences[several]}: {remedies[-1] if several else remedies[0]}"
        columns = quote(format_drop_columns_option(names))
        return f"{format_names(names)} {text.format(columns=columns, example=example)}"


@dataclass(frozen=True, slots=True)
class SuspectedFormat:
    """A suspicion about a column, with a value as an example if its message names one."""

    suspicion: ColumnSuspicion
    example: str = ""


def suspicion_messages(suspected: Iterable[tuple[str, SuspectedFormat]]) -> list[str]:
    """Return a sentence for each suspicion about columns, given by name; columns with different marks are apart."""
    found: dict[object, list[tuple[str, SuspectedFormat]]] = {}
    for name, seen in suspected:
        key = seen if seen.suspicion is ColumnSuspicion.MARK else seen.suspicion
        found.setdefault(key, []).append((name, seen))
    return [
        columns[0][1].suspicion.message([name for name, _ in columns], columns[0][1].example)
        for columns in found.values()
    ]


def find_suspicion(values: "pd.Series[Any]", content: ColumnContent, distinct: int) -> SuspectedFormat | None:
    """Return what is suspicious about a column with this content and number of distinct values; None if nothing is."""
    match content:
        case ColumnContent.NUMBER if pd.api.types.is_integer_dtype(values):
            return SuspectedFormat(ColumnSuspicion.IDENTIFIER) if _is_row_number(values) else None
        case ColumnContent.CATEGORY if distinct > 1 and not pd.api.types.is_bool_dtype(values):
            return _text_format(values, distinct)
        case _:
            return None


def _is_row_number(values: "pd.Series[Any]") -> bool:
    """Return True if a column of integers is unique and either consecutive or named like an identifier."""
    rows = len(values)
    # For most columns the first rows show this already, without looking at the others.
    if rows < MIN_ROWS_FOR_UNIQUE or not (values.head(MAX_SAMPLED_VALUES).is_unique and values.is_unique):
        return False
    return int(values.max()) - int(values.min()) + 1 == rows or IDENTIFIER_NAME.search(str(values.name)) is not None


def _text_format(values: "pd.Series[Any]", distinct: int) -> SuspectedFormat | None:
    known = values.dropna().head(MAX_SAMPLED_ROWS).unique()[:MAX_SAMPLED_VALUES]
    texts = [str(each) for each in known]
    filled = [text for each in texts if (text := each.strip())]
    enough = DECISIVE_SHARE * len(filled)
    others = [each for each in texts if PLAIN_NUMBER.fullmatch(each.strip()) is None]
    # Besides integers that are too large, pandas reads empty fields as empty text.
    if not any(map(str.strip, others)) and (large := next(filter(_is_large_integer, filled), None)) is not None:
        return SuspectedFormat(ColumnSuspicion.LARGE, large)
    if len(others) == 1 and _marks_missing_values(others[0], len(texts) - 1):
        return SuspectedFormat(ColumnSuspicion.MARK, others[0])
    if sum(DATE.fullmatch(each) is not None for each in filled) >= enough:
        return SuspectedFormat(ColumnSuspicion.DATES)
    if sum(NUMBER.fullmatch(each) is not None for each in filled) >= enough:
        if _has_decimal_commas(filled):
            return SuspectedFormat(ColumnSuspicion.COMMAS)
        return SuspectedFormat(ColumnSuspicion.NUMBERS, next(iter(others or texts)))
    is_one_word = sum(" " not in each for each in filled) >= enough
    is_unique = is_one_word and distinct == len(values) >= MIN_ROWS_FOR_UNIQUE
    return SuspectedFormat(ColumnSuspicion.IDENTIFIER) if is_unique else None


def _marks_missing_values(text: str, numbers: int) -> bool:
    """Return True if the only text besides so many distinct numbers is likely to mark missing values."""
    if text.strip().lower() in MISSING_VALUE_MARKS:
        return numbers > 1
    return len(text) <= MAX_MARK_LENGTH and NUMBER.fullmatch(text) is None and numbers >= DECISIVE_SHARE * (numbers + 1)


def _is_large_integer(text: str) -> bool:
    return INTEGER.fullmatch(text) is not None and abs(float(text)) >= 2**63


def _has_decimal_commas(numbers: list[str]) -> bool:
    """Return True if all texts are numbers with a comma, and not all commas can be thousands separators.

    A thousands separator has three digits behind it.
    """
    behind = [each.partition(",")[2] for each in numbers]
    return all(map(WITH_COMMA.fullmatch, numbers)) and any(digits and len(digits) != 3 for digits in behind)
