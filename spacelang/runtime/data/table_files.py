"""Strict readers of CSV and Parquet files: a truncated or ragged file is an error and never gives missing values."""

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from shlex import quote
from typing import Final

import numpy as np
import pandas as pd

from spacelang.files import os_error_text
from spacelang.runtime.data import read_options
from spacelang.runtime.data.read_options import DEFAULT_OPTIONS, ReadOptions
from spacelang.runtime.errors import DataError

FETCH_AGAIN: Final = "download or save the file again"
TRUNCATED_REMEDY: Final = f"the file may be truncated: {FETCH_AGAIN}"
MAX_HEADER_LENGTH: Final = 1 << 24  # The maximum length of the first line of a file, in characters
LINE_ENDS_REMEDY: Final = "save the file with one row in each line, and with the same line ends everywhere"
CSV_ERRORS: Final = {
    "new-line character seen": ("a carriage return stands within a field without quotes", LINE_ENDS_REMEDY),
    "field larger than": ("a field is longer than 131,072 characters", f"a quote may be missing: {FETCH_AGAIN}"),
}
"""What is wrong and what to do, by the start of a message of the `csv` module."""
SNIFFED_CHARACTERS: Final = 65_536  # The number of characters at the start of a file in which the separator is detected
SNIFFED_LINES: Final = 20  # The number of lines, within these characters, in which the separator is detected


def read_csv(
    path: Path, name: str, reading: ReadOptions = DEFAULT_OPTIONS, text_columns: Iterable[str] = ()
) -> pd.DataFrame:
    """Return the table in a `.csv` or `.csv.gz` file, `text_columns` as text; raise DataError for irregularities."""
    text = read_text(path, name, reading.encoding)
    # Lines may end in CR alone, as pandas reads them, too.
    _check_shape(text if "\n" in text else text.replace("\r", "\n"), name, reading.sep)
    try:
        # Read at once: in chunks, a column could become numbers in one chunk and text in another.
        types = dict.fromkeys(text_columns, str)
        return pd.read_csv(
            io.StringIO(text), sep=reading.sep, decimal=reading.decimal, dtype=types, low_memory=False, index_col=False
        )
    except (ValueError, OverflowError) as error:
        raise DataError(f"`{name}` cannot be read as a table: {str(error).splitlines()[0]}") from error


def read_text(path: Path, name: str, encoding: str = DEFAULT_OPTIONS.encoding) -> str:
    """Return the text of a file, `.gz` or not; raise DataError if it is unreadable, empty, truncated or no text."""
    return _decode(read_bytes(path, name), name, encoding)


def read_bytes(path: Path, name: str) -> bytes:
    """Return the content of a file, decompressed if `.gz`; raise DataError if unreadable, empty or truncated."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"`{name}` cannot be read: {os_error_text(error)}") from error
    if not content or content.isspace():
        raise DataError(f"`{name}` is empty")
    if not path.name.lower().endswith(".gz"):
        return content
    try:
        return gzip.decompress(content)
    except EOFError as error:
        raise DataError(f"`{name}` ends in the middle of its compressed data", FETCH_AGAIN) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"`{name}` is not a valid gzip file", FETCH_AGAIN) from error


def _decode(content: bytes, name: str, encoding: str) -> str:
    is_usual = encoding == DEFAULT_OPTIONS.encoding
    try:
        text = content.decode("utf-8-sig" if is_usual else encoding)
    except UnicodeError as error:
        likely = read_options.guess_encoding(content)
        remedy = "save the file as text in UTF-8"
        if likely not in {None, encoding}:
            guess = f"the encoding may be `{likely}`: give `--encoding {likely}`, or `encoding=`"
            remedy = f"{guess}; else save the file as text in UTF-8"
        # A truncated last character gives an error without a position.
        place = f" (byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
        called = "UTF-8" if is_usual else f"`{encoding}`"
        raise DataError(f"`{name}` is not a text file in {called}{place}", remedy) from error
    if "\0" in text:
        raise DataError(f"`{name}` is a binary file", "save the file as text in UTF-8")
    if not text or text.isspace():
        raise DataError(f"`{name}` is empty")
    return text


def _check_shape(text: str, name: str, sep: str) -> None:
    """Raise DataError for ragged rows and repeated columns, which pandas would fill with missing values and rename."""
    if len(text) > MAX_HEADER_LENGTH and "\n" not in text[:MAX_HEADER_LENGTH].lstrip("\n"):
        what = f"the first line of `{name}` has more than {MAX_HEADER_LENGTH:,} characters, too many for column names"
        raise DataError(what, LINE_ENDS_REMEDY)
    _check_separator(text, name, sep)
    if _is_regular(text, sep):
        _check_header(text.partition("\n")[0].split(sep), name)
        return
    reader = csv.reader(io.StringIO(text), delimiter=sep, strict=True)
    header: list[str] = []
    rows = 0
    try:
        for row in reader:
            if not row:
                continue
            if not header:
                header = row
                _check_header(header, name)
            elif len(row) != len(header):
                what = f"line {reader.line_num} of `{name}` has {_fields(len(row))} where the header has {len(header)}"
                raise DataError(what, TRUNCATED_REMEDY)
            else:
                rows += 1
    except csv.Error as error:
        texts = (reason_and_remedy for start, reason_and_remedy in CSV_ERRORS.items() if str(error).startswith(start))
        reason, remedy = next(texts, (str(error), ""))
        raise DataError(f"line {reader.line_num} of `{name}` cannot be read: {reason}", remedy) from error
    if rows == 0:
        raise DataError(f"`{name}` has a header but no rows")


def _is_regular(text: str, sep: str) -> bool:
    """Return True if nothing is quoted and all lines have as many fields: a check in half a second per million rows."""
    if '"' in text or "\r" in text:
        return False
    lines = [line for line in text.split("\n") if line]
    return len(lines) > 1 and len({line.count(sep) for line in lines}) == 1 and text.startswith(lines[0])


def _check_separator(text: str, name: str, sep: str) -> None:
    lines = [line for line in text[:SNIFFED_CHARACTERS].splitlines()[:SNIFFED_LINES] if line.strip()]
    # Only the header is checked: rows may have commas in their numbers.
    likely = None if sep in lines[0] else read_options.suggest_other_separator(lines, sep)
    if likely is not None:
        between = "commas" if sep == "," else f"`{read_options.format_separator(sep)}`"
        fitting = read_options.format_separator(likely)
        raise DataError(
            f"`{name}` is not separated by {between}: its header is a single field",
            f"the separator seems to be `{fitting}`: give `--sep {quote(fitting)}`, or `sep=`",
        )


def _check_header(header: list[str], name: str) -> None:
    for place, column in enumerate(header, start=1):
        if not column.strip():
            help_text = "name or remove it; pandas writes its index this way, unless you use `to_csv(..., index=False)`"
            raise DataError(f"column {place} of `{name}` has no name", help_text)
    check_unique_names(header, name)


def check_unique_names(columns: Iterable[str], name: str) -> None:
    """Raise DataError if several columns of the table `name` have the same name."""
    twice = [column for column, count in Counter(columns).items() if count > 1]
    if twice:
        raise DataError(f"`{name}` has several columns `{twice[0]}`", "give every column a unique name")


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


def read_parquet(content: bytes, name: str) -> pd.DataFrame:
    """Return the table of a Parquet file without masks and index, days as dates; raise DataError if that fails."""
    try:
        import pyarrow as arrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        remedy = "install it with `pip install 'spacelang[parquet]'`"
        raise DataError(f"`{name}` cannot be read without pyarrow", remedy) from None
    try:
        with ParquetFile(arrow.BufferReader(content), page_checksum_verification=True) as file:
            frame: pd.DataFrame = file.read().to_pandas(date_as_object=False, use_threads=False)
    except (arrow.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        remedy = f"the file may be truncated or damaged: {FETCH_AGAIN}"
        raise DataError(f"`{name}` is not a valid Parquet file", remedy) from error
    _check_frame(frame, name)
    columns = {str(column): _remove_mask(frame[column]) for column in frame.columns}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))


def _check_frame(frame: pd.DataFrame, name: str) -> None:
    if frame.shape[1] == 0:
        raise DataError(f"`{name}` has no columns")
    if len(frame) == 0:
        raise DataError(f"`{name}` has no rows")
    names = [str(column) for column in frame.columns]
    for place, column in enumerate(names, start=1):
        if not column.strip():
            raise DataError(f"column {place} of `{name}` has no name", "name the column or remove it")
    check_unique_names(names, name)


def _remove_mask(column: pd.Series) -> pd.Series:
    """Return the values as a column with a default index and without `pd.NA`.

    Numbers with gaps become floats with NaN; other values become objects.
    """
    values = column.reset_index(drop=True)
    if getattr(values.dtype, "na_value", None) is not pd.NA:
        return values
    is_whole = not bool(values.isna().any())
    if not pd.api.types.is_numeric_dtype(values):
        return values if is_whole else values.astype(object).where(values.notna(), None)
    if is_whole:
        return values.astype(values.dtype.numpy_dtype)  # type: ignore[union-attr]
    if pd.api.types.is_bool_dtype(values):
        return values.astype(object).where(values.notna(), None)
    return pd.Series(values.to_numpy(dtype=np.float64, na_value=np.nan), name=values.name)
