"""Reading ARFF, the format of Weka and OpenML: every value is of the type that the file declares, or it is refused.

The readers that there are will not do: one knows no text and no sparse rows, the other cuts off fractions in columns
declared as integers, keeps there as text what is no number, and knows no dates.
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
    attribute,
    column,
    to_float,
)
from spacelang.runtime.data.files import AGAIN
from spacelang.runtime.data.sparse import INDEX, SparseTable
from spacelang.runtime.errors import DataError

CHUNK: Final = 65_536
"""So many rows are held as text at a time."""

QUOTED: Final = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_VALUE: Final = re.compile(rf"\s*(?:({QUOTED})\s*|([^,'\"\s][^,]*|))(,|$)")
_ENTRY: Final = re.compile(rf"\s*(\d+)\s+(?:({QUOTED})\s*|([^,'\"\s][^,]*))(,|$)")
_DECLARATION: Final = re.compile(rf"@attribute\s+(?:({QUOTED})|([^\s{{'\"][^\s{{]*))\s*(.*)", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}

Lines: TypeAlias = Iterator[tuple[int, str]]
"""Numbers and texts of the lines that say something."""


def read_arff(text: str, name: str) -> pd.DataFrame | SparseTable:
    """The table of an ARFF file: what is numeric as floats, integers as such where all of them are whole and there.

    Nominal values are categories in the order of their declaration, strings are text, dates are dates. Sparse rows
    give a SparseTable. Raises DataError, calling the file `name`, for everything that is not as it is declared.
    """
    try:
        table = _table(text, name)
    except DataError as error:
        if error.help or text.endswith(("\n", "\r")):
            raise
        raise DataError(error.message, f"it may have been cut: {AGAIN}") from error
    if text.rstrip(" \t").endswith(","):
        # Elsewhere a value that is left out passes for one that is missing, which is written as `?`.
        raise DataError(f"the last line of `{name}` ends in a comma", f"it may have been cut: {AGAIN}")
    return table


def _table(text: str, name: str) -> pd.DataFrame | SparseTable:
    lines = ((number, line.strip()) for number, line in enumerate(io.StringIO(text, newline=None), start=1))
    told = ((number, line) for number, line in lines if line and not line.startswith("%"))
    attributes = _header(told, name)
    first = next(told, None)
    if first is None:
        raise DataError(f"`{name}` has a header and no rows", f"it may have been cut: {AGAIN}")
    rows = _following(first, told)
    return _sparse(attributes, rows, name) if first[1].startswith("{") else _dense(attributes, rows, name)


def _following(first: tuple[int, str], others: Lines) -> Lines:
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
            _declare(word, line, found)
        except LineError as error:
            raise error.at(number, name) from None
    raise DataError(f"`{name}` has no `@data` line", f"it is no ARFF file, or was cut: {AGAIN}")


def _declare(word: str, line: str, found: dict[str, Attribute]) -> None:
    if word == "@relation":
        return
    if word != "@attribute":
        raise LineError("is no declaration", "an ARFF file has `@relation`, `@attribute` and `@data` lines")
    declared = _declared(line)
    if declared.name in found:
        raise LineError(f"declares `{declared.name}` a second time")
    found[declared.name] = declared


def _declared(line: str) -> Attribute:
    match = _DECLARATION.fullmatch(line)
    if match is None:
        raise LineError("declares no attribute that has a name and a type")
    quoted, bare, kind = match.groups()
    name = bare if quoted is None else _unquoted(quoted)
    if not name.strip():
        raise LineError("declares an attribute without a name")
    if not kind.startswith("{"):
        return attribute(name, kind)
    inside, brace, rest = kind[1:].rpartition("}")
    if not brace or (rest.strip() and not rest.strip().startswith("%")):
        raise LineError(f"does not end the values of `{name}`", f"the file may have been cut: {AGAIN}")
    values = _values(inside)
    return Attribute(name, "nominal", tuple(dict.fromkeys(value for value in values if value is not None)))


# ---- rows


def _dense(attributes: list[Attribute], lines: Lines, name: str) -> pd.DataFrame:
    columns = [column(attribute) for attribute in attributes]
    numbers: list[int] = []
    rows: list[list[ArffValue]] = []
    for number, line in lines:
        try:
            rows.append(_row(line, len(columns)))
        except LineError as error:
            raise error.at(number, name) from None
        numbers.append(number)
        if len(rows) == CHUNK:
            _take(columns, rows, numbers, name)
    _take(columns, rows, numbers, name)
    return pd.concat([column.series() for column in columns], axis=1, keys=[each.name for each in attributes])


def _row(line: str, width: int) -> list[ArffValue]:
    values = _values(line)
    if len(values) != width:
        held = "1 value" if len(values) == 1 else f"{len(values)} values"
        raise LineError(f"has {held} where {width} are declared", f"it may have been cut: {AGAIN}")
    return values


def _take(columns: list[AttributeValues], rows: list[list[ArffValue]], numbers: list[int], name: str) -> None:
    """Give each column its values of the rows, and forget the rows."""
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
        raise error.at(numbers[error.place], name) from None


def _values(line: str) -> list[ArffValue]:
    """The values between commas, without their quotes; None for those that are missing."""
    if "'" not in line and '"' not in line:
        return [None if value in {"?", ""} else value for value in map(str.strip, line.split(","))]
    found: list[ArffValue] = []
    place, comma = 0, ","
    while comma:
        match = _VALUE.match(line, place)
        if match is None:
            raise LineError(
                "has a quotation mark where none can be, or no second one", f"it may have been cut: {AGAIN}"
            )
        quoted, bare, comma = match.groups()
        found.append(_value(quoted, bare))
        place = match.end()
    return found


def _value(quoted: str | None, bare: str) -> ArffValue:
    if quoted is not None:
        return _unquoted(quoted)
    return None if bare.strip() in {"?", ""} else bare.strip()


def _unquoted(quoted: str) -> str:
    return _ESCAPE.sub(_plain, quoted[1:-1])


def _plain(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, code)


# ---- sparse rows


def _sparse(attributes: list[Attribute], lines: Lines, name: str) -> SparseTable:
    others = {place: column(each) for place, each in enumerate(attributes) if not each.is_number}
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
            raise error.at(number, name) from None
        ends.append(len(data))
    count = len(ends) - 1
    shape = (count, len(attributes))
    parts = (np.asarray(data), np.asarray(indices, dtype=INDEX), np.asarray(ends, dtype=np.int64))
    series = {attributes[place].name: _filled(taking, given[place], count, name) for place, taking in others.items()}
    return SparseTable(tuple(each.name for each in attributes), csr_array(parts, shape=shape), series)


def _filled(taking: AttributeValues, given: dict[int, tuple[int, ArffValue]], count: int, name: str) -> pd.Series:
    """A column of which sparse rows give some values: what they leave out is the first one declared."""
    if len(given) < count and taking.attribute.kind != "nominal":
        raise DataError(
            f"the sparse rows of `{name}` leave out `{taking.attribute.name}`, which has no value that stands for zero",
            "give every row a value, or `?`",
        )
    numbers = [given[row][0] if row in given else 0 for row in range(count)]
    first = taking.attribute.values[0] if taking.attribute.values else None
    _extend(taking, tuple(given[row][1] if row in given else first for row in range(count)), numbers, name)
    return taking.series()


def _entries(line: str, width: int) -> dict[int, ArffValue]:
    """The values of a sparse row by the places of their columns."""
    if not (line.startswith("{") and line.endswith("}")):
        raise LineError("is no sparse row like those before it", f"it may have been cut: {AGAIN}")
    inside = line[1:-1]
    found: dict[int, ArffValue] = {}
    place, comma = 0, "," if inside.strip() else ""
    while comma:
        match = _ENTRY.match(inside, place)
        if match is None:
            raise LineError("has an entry that is no column's number and its value")
        number, quoted, bare, comma = match.groups()
        if int(number) >= width or int(number) in found:
            wrong = "gives column {} twice" if int(number) in found else f"gives column {{}} of {width}, from 0 on"
            raise LineError(wrong.format(number))
        found[int(number)] = _value(quoted, bare)
        place = match.end()
    return found


def _number(value: str) -> float:
    try:
        return to_float(value)
    except ValueError:
        raise LineError(f"has `{value}` where a number is declared") from None
