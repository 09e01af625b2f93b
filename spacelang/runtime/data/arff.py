"""A strict reader for ARFF, the file format of Weka and OpenML: values that contradict their declaration are refused.

Existing readers are not sufficient. One supports neither text nor sparse rows. The other truncates fractions in integer
columns, keeps invalid numbers there as text, and has no dates.
"""

import io
import re
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from spacelang.ir.domain_properties import EXACT_INTEGER_LIMIT
from spacelang.runtime.data.table_files import FETCH_AGAIN, TRUNCATED_REMEDY
from spacelang.runtime.data.tables import INDEX_TYPE, SparseTable
from spacelang.runtime.errors import DataError

CHUNK_ROWS: Final = 65_536  # The number of rows that are held as text at a time
QUOTED: Final = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_VALUE: Final = re.compile(rf"\s*(?:({QUOTED})\s*|([^,'\"\s][^,]*|))(,|$)")
_ENTRY: Final = re.compile(rf"\s*(\d+)\s+(?:({QUOTED})\s*|([^,'\"\s][^,]*))(,|$)")
_DECLARATION: Final = re.compile(rf"@attribute\s+(?:({QUOTED})|([^\s{{'\"][^\s{{]*))\s*(.*)", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
Lines: TypeAlias = Iterator[tuple[int, str]]  # The numbers and texts of the lines that are neither blank nor comments
Kind: TypeAlias = Literal["real", "integer", "nominal", "string", "date"]
ArffValue: TypeAlias = str | None  # The text of a value; None is a missing one
KIND_BY_WORD: Final[dict[str, Kind]] = {"numeric": "real", "real": "real", "integer": "integer", "string": "string"}
ISO: Final = "%Y-%m-%dT%H:%M:%S"  # The format of dates that declare none
# The letters of Java's date patterns, which ARFF uses, and the directives of `strptime`.
_LETTERS: Final = {
    **{"y": "%Y", "M": "%m", "d": "%d", "D": "%j", "Z": "%z"},
    **{"H": "%H", "h": "%I", "m": "%M", "s": "%S", "S": "%f", "a": "%p"},
}
_NAMES: Final = {"yy": "%y", "MMM": "%b", "MMMM": "%B", "EEE": "%a", "EEEE": "%A", "E": "%a"}
_PATTERN: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")


@dataclass(frozen=True, slots=True)
class Attribute:
    """A declared attribute. `values` are those of a nominal one; `pattern` is the `strptime` format of a date."""

    name: str
    kind: Kind
    values: tuple[str, ...] = ()
    pattern: str = ""

    @property
    def is_number(self) -> bool:
        """True if the values are numbers."""
        return self.kind in {"real", "integer"}

    @property
    def has_time_zone(self) -> bool:
        """True if the values are dates with a time zone."""
        return "%z" in self.pattern

    @property
    def expected_value_text(self) -> str:
        """A clause for the end of a message on a wrong value, which says what the attribute is declared to be."""
        if self.kind == "nominal":
            return "which is none of its declared values"
        date = f"a date of the form `{self.pattern}`"
        return f"which is declared to be {'text' if self.kind == 'string' else date if self.pattern else 'a number'}"


@dataclass(slots=True)
class AttributeValues:
    """The values of an attribute, which are appended in chunks and then joined to a column."""

    attribute: Attribute
    parts: list[npt.NDArray[Any]] = field(default_factory=list)

    def extend(self, values: Sequence[ArffValue]) -> None:
        """Append values; raise LineError, with the index of the value, for one that contradicts the declaration."""
        attribute = self.attribute
        try:
            self.parts.append(self._array(values))
        except (ValueError, KeyError, OverflowError):
            for place, value in enumerate(values):
                try:
                    self._array([value])
                except (ValueError, KeyError, OverflowError):
                    raise LineError(
                        f"has `{value}` as `{attribute.name}`, {attribute.expected_value_text}", place=place
                    ) from None
            raise

    def _array(self, values: Sequence[ArffValue]) -> npt.NDArray[Any]:
        """Return the values as an array; raise ValueError, KeyError or OverflowError for invalid ones."""
        match self.attribute.kind:
            case "nominal":
                codes = {value: code for code, value in enumerate(self.attribute.values)}
                found = (-1 if value is None else codes[value] for value in values)
                return np.fromiter(found, dtype=np.int64, count=len(values))
            case "string":
                return np.array([*values, None], dtype=object)[:-1]
            case "date":
                texts, pattern = pd.Series([*values], dtype=object), self.attribute.pattern
                moments = pd.to_datetime(texts, format=pattern, utc=self.attribute.has_time_zone)
                return moments.dt.tz_localize(None).to_numpy(dtype="M8[ns]")
            case "integer" | "real" as kind:
                if kind == "integer":
                    # Values that are missing, written with a decimal point, or too large become floats.
                    with suppress(ValueError, OverflowError):
                        return np.fromiter(map(_to_integer, values), dtype=np.int64, count=len(values))
                floats = (np.nan if value is None else parse_strict_float(value) for value in values)
                return np.fromiter(floats, dtype=np.float64, count=len(values))

    def to_series(self) -> pd.Series:
        """Return all values that were appended as one column, with the type of the attribute."""
        values = np.concatenate(self.parts)
        match self.attribute.kind:
            case "nominal":
                categories = pd.Index(self.attribute.values, dtype=object if not self.attribute.values else None)
                return pd.Series(pd.Categorical.from_codes(values, categories=categories))
            case "string":
                return pd.Series([*values])
            case "date" if self.attribute.has_time_zone:
                return pd.Series(values).dt.tz_localize("UTC")
            case "integer" if values.dtype != np.int64:
                whole = bool((np.abs(values) < EXACT_INTEGER_LIMIT).all()) and bool((values % 1 == 0).all())
                return pd.Series(values.astype(np.int64) if whole else values)
        return pd.Series(values)


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
        raise DataError(error.message, TRUNCATED_REMEDY) from error
    if text.rstrip(" \t").endswith(","):
        # Anywhere else, an empty value counts as a missing one, which is usually written as `?`.
        raise DataError(f"the last line of `{name}` ends in a comma", TRUNCATED_REMEDY)
    return table


def _parse(text: str, name: str) -> pd.DataFrame | SparseTable:
    lines = ((number, line.strip()) for number, line in enumerate(io.StringIO(text, newline=None), start=1))
    content_lines = ((number, line) for number, line in lines if line and not line.startswith("%"))
    attributes = _header(content_lines, name)
    first = next(content_lines, None)
    if first is None:
        raise DataError(f"`{name}` has a header but no rows", TRUNCATED_REMEDY)
    rows = chain([first], content_lines)
    return _sparse(attributes, rows, name) if first[1].startswith("{") else _dense(attributes, rows, name)


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
    raise DataError(f"`{name}` has no `@data` line", f"the file is not an ARFF file, or is truncated: {FETCH_AGAIN}")


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
    columns = [AttributeValues(attribute) for attribute in attributes]
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
    return pd.concat([column.to_series() for column in columns], axis=1, keys=[each.name for each in attributes])


def _row(line: str, width: int) -> list[ArffValue]:
    values = _values(line)
    if len(values) != width:
        found_values = "1 value" if len(values) == 1 else f"{len(values)} values"
        raise LineError(f"has {found_values}, but the number of declared attributes is {width}", TRUNCATED_REMEDY)
    return values


def _append_rows(columns: list[AttributeValues], rows: list[list[ArffValue]], numbers: list[int], name: str) -> None:
    """Append the rows to the columns, and clear `rows` and their line numbers `numbers`."""
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
            raise LineError("has a misplaced or unclosed quotation mark", TRUNCATED_REMEDY)
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
    others = {place: AttributeValues(each) for place, each in enumerate(attributes) if not each.is_number}
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
    parts = (np.asarray(data), np.asarray(indices, dtype=INDEX_TYPE), np.asarray(ends, dtype=np.int64))
    series = {
        attributes[place].name: _dense_column(taking, given[place], count, name) for place, taking in others.items()
    }
    return SparseTable(
        tuple(each.name for each in attributes), csr_array(parts, shape=(count, len(attributes))), series
    )


def _dense_column(taking: AttributeValues, given: dict[int, tuple[int, ArffValue]], count: int, name: str) -> pd.Series:
    """Return a non-numeric column of a file with sparse rows; `given` has the line number and the value by row.

    Rows that leave a nominal column out get its first value. Raise DataError for rows that leave out any other column,
    as its type has no default value.
    """
    if len(given) < count and taking.attribute.kind != "nominal":
        what = f"the sparse rows of `{name}` leave out `{taking.attribute.name}`, whose type has no default value"
        raise DataError(what, "give every row a value, or `?`")
    numbers = [given[row][0] if row in given else 0 for row in range(count)]
    first = next(iter(taking.attribute.values), None)
    _extend(taking, tuple(given[row][1] if row in given else first for row in range(count)), numbers, name)
    return taking.to_series()


def _entries(line: str, width: int) -> dict[int, ArffValue]:
    if not (line.startswith("{") and line.endswith("}")):
        raise LineError("is not a sparse row `{…}`, unlike the rows before", TRUNCATED_REMEDY)
    inside = line[1:-1]
    found: dict[int, ArffValue] = {}
    place, comma = 0, "," if inside.strip() else ""
    while comma:
        match = _ENTRY.match(inside, place)
        if match is None:
            raise LineError("has an entry that is not a column number and a value")
        number, quoted, bare, comma = match.groups()
        if int(number) in found:
            raise LineError(f"gives column {number} twice")
        if int(number) >= width:
            raise LineError(f"gives column {number}, but the last column is {width - 1}")
        found[int(number)] = _value(quoted, bare)
        place = match.end()
    return found


def _number(value: str) -> float:
    try:
        return parse_strict_float(value)
    except ValueError:
        raise LineError(f"has `{value}`, where the declaration requires a number") from None


class LineError(Exception):
    """An error in a line; `place` is the index of the wrong value in its chunk. The line number is added later."""

    def __init__(self, wrong: str, remedy: str = "", place: int = 0) -> None:
        super().__init__(wrong)
        self.message = wrong
        self.remedy = remedy
        self.place = place

    def to_data_error(self, number: int, name: str) -> DataError:
        """Return the DataError for this line number and file name."""
        return DataError(f"line {number} of `{name}` {self.message}", self.remedy)


def parse_attribute(name: str, written: str) -> Attribute:
    """Return the attribute `name` with the declared type `written`, which is not a list of nominal values.

    Raise LineError if the type is unknown.
    """
    word, _, rest = written.partition(" ") if "\t" not in written else written.partition("\t")
    rest = rest.strip()
    if word.lower() == "date":
        return Attribute(name, "date", pattern=_pattern(rest) if rest and not rest.startswith("%") else ISO)
    if word.lower() not in KIND_BY_WORD or (rest and not rest.startswith("%")):
        known = "`numeric`, `integer`, `real`, `string`, `date` and `{values, …}`"
        raise LineError(f"gives `{name}` the unknown type `{written}`", f"the types are {known}")
    return Attribute(name, KIND_BY_WORD[word.lower()])


def _pattern(quoted: str) -> str:
    """Convert a Java date format, quoted or not, to the format of `strptime`."""
    written = quoted[1:-1] if len(quoted) > 1 and quoted[0] == quoted[-1] and quoted[0] in "'\"" else quoted
    parts = []
    for match in _PATTERN.finditer(written):
        text, letter = match[0], match[2]
        found = _NAMES.get(text, _LETTERS.get(letter)) if letter else (match[1] or text).replace("%", "%%")
        if found is None:
            raise LineError(f"has the date format `{written}`, in which `{text}` is not supported")
        parts.append(found)
    return "".join(parts)


def parse_strict_float(text: str) -> float:
    """Return the number in a text; raise ValueError for anything else, and for 1_000, which `float` would accept."""
    if "_" in text:
        raise ValueError
    return float(text)


def _to_integer(text: ArffValue) -> int:
    if text is None or "_" in text:
        raise ValueError
    return int(text)
