"""Reading files, of comma-separated values above all, such that nothing is lost: a cut file is an error, not a gap."""

import csv
import gzip
import io
import zlib
from collections import Counter
from pathlib import Path
from typing import Final

import pandas as pd

from spacelang.runtime.errors import DataError

AGAIN: Final = "fetch or write the file again"


def read_csv(path: Path, name: str) -> pd.DataFrame:
    """The table in a `.csv` or `.csv.gz` file, with columns of the types that pandas infers.

    Raises DataError, calling the file `name`, for what is unreadable, empty, cut or ragged, and for columns without
    a name of their own.
    """
    text = read_text(path, name)
    _check_shape(text, name)
    try:
        # Everything is read at once: read in pieces, a column could be numbers here and text there.
        return pd.read_csv(io.StringIO(text), low_memory=False, index_col=False)
    except (ValueError, OverflowError) as error:
        raise DataError(f"`{name}` cannot be read as a table: {str(error).splitlines()[0]}") from error


def read_text(path: Path, name: str) -> str:
    """The text in UTF-8 of a file, or of one in a `.gz` file; raises DataError for what is none, is empty or cut."""
    return _decoded(read_bytes(path, name), name)


def read_bytes(path: Path, name: str) -> bytes:
    """What is in a file, unpacked where it is a `.gz` file; raises DataError for one that is empty or cut."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"`{name}` cannot be read: {(error.strerror or str(error)).lower()}") from error
    if not content.strip():
        raise DataError(f"`{name}` is empty")
    if not path.name.lower().endswith(".gz"):
        return content
    try:
        return gzip.decompress(content)
    except EOFError as error:
        raise DataError(f"`{name}` ends in the middle of its compressed data", AGAIN) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"`{name}` is not a valid gzip file", AGAIN) from error


def _decoded(content: bytes, name: str) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"`{name}` is not a text file in UTF-8 (byte {error.start})", "save it as text in UTF-8"
        ) from error
    if "\0" in text:
        raise DataError(f"`{name}` is a binary file", "save it as text in UTF-8")
    if not text.strip():
        raise DataError(f"`{name}` is empty")
    return text


def _check_shape(text: str, name: str) -> None:
    """Look at every row: pandas would fill a row that is too short with missing values, and rename equal columns."""
    reader = csv.reader(io.StringIO(text), strict=True)
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
                raise DataError(
                    f"line {reader.line_num} of `{name}` has {_fields(len(row))} where the header has {len(header)}",
                    f"it may have been cut: {AGAIN}",
                )
            else:
                rows += 1
    except csv.Error as error:
        raise DataError(f"line {reader.line_num} of `{name}` cannot be read: {error}") from error
    if rows == 0:
        raise DataError(f"`{name}` has a header and no rows")


def _check_header(header: list[str], name: str) -> None:
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        raise DataError(f"`{name}` is not separated by commas", "save it with a comma between the fields")
    for place, column in enumerate(header, start=1):
        if not column.strip():
            raise DataError(
                f"column {place} of `{name}` has no name",
                "name it or leave it out; pandas writes its index so unless told `to_csv(..., index=False)`",
            )
    twice = [column for column, count in Counter(header).items() if count > 1]
    if twice:
        raise DataError(f"`{name}` has more than one column `{twice[0]}`", "give every column a name of its own")


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"
