"""A strict reader for ARFF, the file format of Weka and OpenML.

Values that contradict their declaration are refused.

Existing readers are not sufficient. One supports neither text nor sparse rows. The other truncates fractions in integer
columns, keeps invalid numbers there as text, and has no dates.
"""

import io
import re
from array import array
from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from spacelang.runtime.data.arff_columns import (
    ArffValue,
    Attribute,
    AttributeValues,
    LineError,
    make_column,
    parse_attribute,
    to_float,
)
from spacelang.runtime.data.csv_files import FETCH_AGAIN
from spacelang.runtime.data.sparse import INDEX_TYPE, SparseTable
from spacelang.runtime.errors import DataError

CHUNK_ROWS: Final = 65_536
"""The number of rows that are held as text at a time."""

QUOTED: Final = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_VALUE: Final = re.compile(rf"\s*(?:({QUOTED})\s*|([^,'\"\s][^,]*|))(,|$)")
_ENTRY: Final = re.compile(rf"\s*(\d+)\s+(?:({QUOTED})\s*|([^,'\"\s][^,]*))(,|$)")
_DECLARATION: Final = re.compile(rf"@attribute\s+(?:({QUOTED})|([^\s{{'\"][^\s{{]*))\s*(.*)", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}

Lines: TypeAlias = Iterator[tuple[int, str]]
"""The numbers and texts of the lines that are neither blank nor comments."""


def read_arff(text: str, name: str) -> pd.DataFrame | SparseTable:
    """Return the table of an ARFF file; sparse rows give a SparseTable.

    Numeric attributes become floats, and integer attributes become integers if all values are whole and present.
    Nominal values become categories in their declared order, strings become text, and dates become dates. Raises
    DataError, with `name` as the file's name, if anything contradicts its declaration.
    """
    try:
        table = _parse(text, name)
    except DataError as error:
        if error.help or text.endswith(("\n", "\r")):
            raise
        raise DataError(error.message, f"it may be truncated: {FETCH_AGAIN}") from error
    if text.rstrip(" \t").endswith(","):
        # Anywhere else, an empty value counts as a missing one, which is usually written as `?`.
        raise DataError(f"the last line of `{name}` ends in a comma", f"it may be truncated: {FETCH_AGAIN}")
    return table


def _parse(text: str, name: str) -> pd.DataFrame | SparseTable:
    lines = ((number, line.strip()) for number, line in enumerate(io.StringIO(text, newline=None), start=1))
    told = ((number, line) for number, line in lines if line and not line.startswith("%"))
    attributes = _header(told, name)
    first = next(told, None)
    if first is None:
        raise DataError(f"`{name}` has a header but no rows", f"it may be truncated: {FETCH_AGAIN}")
    rows = _chain(first, told)
    return _sparse(attributes, rows, name) if first[1].startswith("{") else _dense(attributes, rows, name)


def _chain(first: tuple[int, str], others: Lines) -> Lines:
    yield first
    yield from others


# ---- the header


def _header(lines: Lines, name: str) -> list[Attribute]:
    found: dict[str, Attribute] = {}
    for number, line in lines:
        word = line.split(maxsplit=1)[0].lower()
        if word == "@data":
            if not found:
                raise DataError(f"`{name}` declares no attributes")
            return [*found.values()]
        try:
            _add_declaration(word, line, found)
        except LineError as error:
            raise error.to_data_error(number, name) from None
    raise DataError(f"`{name}` has no `@data` line", f"it is not an ARFF file, or is truncated: {FETCH_AGAIN}")


def _add_declaration(word: str, line: str, found: dict[str, Attribute]) -> None:
    if word == "@relation":
        return
    if word != "@attribute":
        raise LineError("is not a declaration", "an ARFF file has `@relation`, `@attribute` and `@data` lines")
    declared = _parse_declaration(line)
    if declared.name in found:
        raise LineError(f"declares `{declared.name}` a second time")
    found[declared.name] = declared


def _parse_declaration(line: str) -> Attribute:
    match = _DECLARATION.fullmatch(line)
    if match is None:
        raise LineError("declares an attribute without a name or a type")
    quoted, bare, kind = match.groups()
    name = bare if quoted is None else _unquoted(quoted)
    if not name.strip():
        raise LineError("declares an attribute without a name")
    if not kind.startswith("{"):
        return parse_attribute(name, kind)
    inside, brace, rest = kind[1:].rpartition("}")
    if not brace or (rest.strip() and not rest.strip().startswith("%")):
        raise LineError(f"does not close the list of values of `{name}`", f"the file may be truncated: {FETCH_AGAIN}")
    values = _values(inside)
    return Attribute(name, "nominal", tuple(dict.fromkeys(value for value in values if value is not None)))


# ---- rows


def _dense(attributes: list[Attribute], lines: Lines, name: str) -> pd.DataFrame:
    columns = [make_column(attribute) for attribute in attributes]
    numbers: list[int] = []
    rows: list[list[ArffValue]] = []
    for number, line in lines:
        try:
            rows.append(_row(line, len(columns)))
        except LineError as error:
            raise error.to_data_error(number, name) from None
        numbers.append(number)
        if len(rows) == CHUNK_ROWS:
            _append_rows(columns, rows, numbers, name)
    _append_rows(columns, rows, numbers, name)
    return pd.concat([column.series() for column in columns], axis=1, keys=[each.name for each in attributes])


def _row(line: str, width: int) -> list[ArffValue]:
    values = _values(line)
    if len(values) != width:
        held = "1 value" if len(values) == 1 else f"{len(values)} values"
        raise LineError(
            f"has {held}, but the number of declared attributes is {width}", f"it may be truncated: {FETCH_AGAIN}"
        )
    return values


def _append_rows(columns: list[AttributeValues], rows: list[list[ArffValue]], numbers: list[int], name: str) -> None:
    """Append the rows to the columns, and clear the rows and line numbers."""
    if not rows:
        return
    for taking, values in zip(columns, zip(*rows, strict=True), strict=True):
        _extend(taking, values, numbers, name)
    rows.clear()
    numbers.clear()


def _extend(taking: AttributeValues, values: tuple[ArffValue, ...], numbers: list[int], name: str) -> None:
    try:
        taking.extend(values)
    except LineError as error:
        raise error.to_data_error(numbers[error.place], name) from None


def _values(line: str) -> list[ArffValue]:
    """Return the comma-separated values of a line without their quotes; None stands for a missing value."""
    if "'" not in line and '"' not in line:
        return [None if value in {"?", ""} else value for value in map(str.strip, line.split(","))]
    found: list[ArffValue] = []
    place, comma = 0, ","
    while comma:
        match = _VALUE.match(line, place)
        if match is None:
            raise LineError("has a misplaced or unclosed quotation mark", f"it may be truncated: {FETCH_AGAIN}")
        quoted, bare, comma = match.groups()
        found.append(_value(quoted, bare))
        place = match.end()
    return found


def _value(quoted: str | None, bare: str) -> ArffValue:
    if quoted is not None:
        return _unquoted(quoted)
    return None if bare.strip() in {"?", ""} else bare.strip()


def _unquoted(quoted: str) -> str:
    return _ESCAPE.sub(_unescape, quoted[1:-1])


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, code)


# ---- sparse rows


def _sparse(attributes: list[Attribute], lines: Lines, name: str) -> SparseTable:
    others = {place: make_column(each) for place, each in enumerate(attributes) if not each.is_number}
    given: dict[int, dict[int, tuple[int, ArffValue]]] = {place: {} for place in others}
    data, indices, ends = array("d"), array("q"), array("q", [0])
    for row, (number, line) in enumerate(lines):
        try:
            for place, value in _entries(line, len(attributes)).items():
                if place in others:
                    given[place][row] = (number, value)
                else:
                    indices.append(place)
                    data.append(np.nan if value is None else _number(value))
        except LineError as error:
            raise error.to_data_error(number, name) from None
        ends.append(len(data))
    count = len(ends) - 1
    shape = (count, len(attributes))
    parts = (np.asarray(data), np.asarray(indices, dtype=INDEX_TYPE), np.asarray(ends, dtype=np.int64))
    series = {
        attributes[place].name: _dense_column(taking, given[place], count, name) for place, taking in others.items()
    }
    return SparseTable(tuple(each.name for each in attributes), csr_array(parts, shape=shape), series)


def _dense_column(taking: AttributeValues, given: dict[int, tuple[int, ArffValue]], count: int, name: str) -> pd.Series:
    """Return a non-numeric column of sparse rows. Rows without a value have the first declared one.

    Raises DataError if a row leaves out the value of an attribute that is not nominal.
    """
    if len(given) < count and taking.attribute.kind != "nominal":
        raise DataError(
            f"the sparse rows of `{name}` leave out `{taking.attribute.name}`, whose type has no default value",
            "give every row a value, or `?`",
        )
    numbers = [given[row][0] if row in given else 0 for row in range(count)]
    first = taking.attribute.values[0] if taking.attribute.values else None
    _extend(taking, tuple(given[row][1] if row in given else first for row in range(count)), numbers, name)
    return taking.series()


def _entries(line: str, width: int) -> dict[int, ArffValue]:
    """Return the values of a sparse row by column index."""
    if not (line.startswith("{") and line.endswith("}")):
        raise LineError("is not a sparse row like those before it", f"it may be truncated: {FETCH_AGAIN}")
    inside = line[1:-1]
    found: dict[int, ArffValue] = {}
    place, comma = 0, "," if inside.strip() else ""
    while comma:
        match = _ENTRY.match(inside, place)
        if match is None:
            raise LineError("has an entry that is not a column number and a value")
        number, quoted, bare, comma = match.groups()
        if int(number) >= width or int(number) in found:
            wrong = "twice" if int(number) in found else f"but the last column is {width - 1}"
            raise LineError(f"gives column {number}, {wrong}")
        found[int(number)] = _value(quoted, bare)
        place = match.end()
    return found


def _number(value: str) -> float:
    try:
        return to_float(value)
    except ValueError:
        raise LineError(f"has `{value}` where a number is declared") from None
