"""Reading files, of comma-separated values above all, such that nothing is lost: a cut file is an error, not a gap."""

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from shlex import quote
from typing import Final

import pandas as pd

from spacelang.files import said_by
from spacelang.runtime.data.reading import PLAIN, Reading, likely_encoding, likely_separator, written
from spacelang.runtime.errors import DataError

AGAIN: Final = "fetch or write the file again"
BEGINNING: Final = 65_536
SEEN: Final = 20
"""So many lines, of so many characters, tell what separates fields."""


def read_csv(path: Path, name: str, reading: Reading = PLAIN, words: Iterable[str] = ()) -> pd.DataFrame:
    """The table in a `.csv` or `.csv.gz` file, with columns of the types that pandas infers; `words` are texts.

    Raises DataError, calling the file `name`, for what is unreadable, empty, cut or ragged, and for columns without
    a name of their own.
    """
    text = read_text(path, name, reading.encoding)
    _check_shape(text, name, reading.sep)
    try:
        # Everything is read at once: read in pieces, a column could be numbers here and text there.
        return pd.read_csv(
            io.StringIO(text),
            sep=reading.sep,
            decimal=reading.decimal,
            low_memory=False,
            index_col=False,
            dtype=dict.fromkeys(words, str),
        )
    except (ValueError, OverflowError) as error:
        raise DataError(f"`{name}` cannot be read as a table: {str(error).splitlines()[0]}") from error


def read_text(path: Path, name: str, encoding: str = PLAIN.encoding) -> str:
    """The text of a file, or of one in a `.gz` file; raises DataError for what is none, is empty or cut."""
    return _decoded(read_bytes(path, name), name, encoding)


def read_bytes(path: Path, name: str) -> bytes:
    """What is in a file, unpacked where it is a `.gz` file; raises DataError for one that is empty or cut."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"`{name}` cannot be read: {said_by(error)}") from error
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


def _decoded(content: bytes, name: str, encoding: str) -> str:
    is_usual = encoding == PLAIN.encoding
    try:
        text = content.decode("utf-8-sig" if is_usual else encoding)
    except UnicodeError as error:
        likely = likely_encoding(content)
        remedy = "save it as text in UTF-8"
        if likely not in {None, encoding}:
            remedy = f"it may be `{likely}`: give `--encoding {likely}`, or `encoding=`; else save it as text in UTF-8"
        # What has a byte less than it needs at the end has no place for its error.
        place = f" (byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
        called = "UTF-8" if is_usual else f"`{encoding}`"
        raise DataError(f"`{name}` is not a text file in {called}{place}", remedy) from error
    if "\0" in text:
        raise DataError(f"`{name}` is a binary file", "save it as text in UTF-8")
    if not text.strip():
        raise DataError(f"`{name}` is empty")
    return text


def _check_shape(text: str, name: str, sep: str) -> None:
    """Look at every row: pandas would fill a row that is too short with missing values, and rename equal columns."""
    _check_separator(text, name, sep)
    if _is_even(text, sep):
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


def _is_even(text: str, sep: str) -> bool:
    """Whether every line has as many fields as the first one, where nothing is quoted: a million rows in half a second.

    Of all other files the reader tells, and where it is not so.
    """
    if '"' in text or "\r" in text:
        return False
    lines = [line for line in text.split("\n") if line]
    return len(lines) > 1 and len({line.count(sep) for line in lines}) == 1 and text.startswith(lines[0])


def _check_separator(text: str, name: str, sep: str) -> None:
    """Raise DataError where the header is a single field, and another separator fits the first lines."""
    lines = [line for line in text[:BEGINNING].splitlines()[:SEEN] if line.strip()]
    # Not so the rows: they may have commas in their numbers.
    likely = None if sep in lines[0] else likely_separator(lines, sep)
    if likely is not None:
        between = "commas" if sep == "," else f"`{written(sep)}`"
        raise DataError(
            f"`{name}` is not separated by {between}: its header is one field",
            f"`{written(likely)}` fits: give `--sep {quote(written(likely))}`, or `sep=`",
        )


def _check_header(header: list[str], name: str) -> None:
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
