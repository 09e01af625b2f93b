"""The columns of an ARFF file: their declared types, and the conversion of their values from text."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from spacelang.runtime.errors import DataError
from spacelang.sampling.value_codes import EXACT_INTEGER_LIMIT

Kind: TypeAlias = Literal["real", "integer", "nominal", "string", "date"]

ArffValue: TypeAlias = str | None
"""The text of a value; None is a missing one."""

KIND_BY_WORD: Final[dict[str, Kind]] = {"numeric": "real", "real": "real", "integer": "integer", "string": "string"}

ISO: Final = "%Y-%m-%dT%H:%M:%S"
"""The format of dates that declare none."""

# The letters of Java's date patterns, which ARFF uses, and the directives of `strptime`.
_LETTERS: Final = {
    "y": "%Y",
    "M": "%m",
    "d": "%d",
    "H": "%H",
    "h": "%I",
    "m": "%M",
    "s": "%S",
    "S": "%f",
    "a": "%p",
    "D": "%j",
    "Z": "%z",
}
_NAMES: Final = {"yy": "%y", "MMM": "%b", "MMMM": "%B", "EEE": "%a", "EEEE": "%A", "E": "%a"}
_PATTERN: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")


class LineError(Exception):
    """An error in a line of a file, whose message follows the line number.

    `place` is the index of the faulty value among those of a chunk.
    """

    def __init__(self, wrong: str, remedy: str = "", place: int = 0) -> None:
        super().__init__(wrong)
        self.message = wrong
        self.remedy = remedy
        self.place = place

    def to_data_error(self, number: int, name: str) -> DataError:
        """Return the DataError for this line number and file name."""
        return DataError(f"line {number} of `{name}` {self.message}", self.remedy)


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


def parse_attribute(name: str, written: str) -> Attribute:
    """Return the attribute with a name and a written type; raise LineError if the type is invalid.

    Lists of nominal values are not handled here.
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


# ---- values


@dataclass(slots=True)
class AttributeValues(ABC):
    """The values of an attribute, collected in chunks."""

    attribute: Attribute
    parts: list[npt.NDArray[Any]] = field(default_factory=list)

    def extend(self, values: Sequence[ArffValue]) -> None:
        """Append values; raise LineError, with the index of the value, for one that contradicts the declaration."""
        try:
            self.parts.append(self.convert(values))
        except (ValueError, KeyError, OverflowError):
            for place, value in enumerate(values):
                self._check(place, value)
            raise

    def _check(self, place: int, value: ArffValue) -> None:
        try:
            self.convert([value])
        except (ValueError, KeyError, OverflowError):
            raise LineError(f"has `{value}` as `{self.attribute.name}`, {self.expected}", place=place) from None

    @property
    @abstractmethod
    def expected(self) -> str:
        """The clause, for after a comma, that says what each value should be."""

    @abstractmethod
    def convert(self, values: Sequence[ArffValue]) -> npt.NDArray[Any]:
        """Return the values as an array; raise ValueError, KeyError or OverflowError for invalid ones."""

    @abstractmethod
    def series(self) -> pd.Series:
        """Return all values as a series."""


class _Numbers(AttributeValues):
    expected = "which is declared to be a number"

    def convert(self, values: Sequence[ArffValue]) -> npt.NDArray[Any]:
        if self.attribute.kind == "integer":
            try:
                return np.fromiter(map(_to_integer, values), dtype=np.int64, count=len(values))
            except (ValueError, OverflowError):
                pass  # missing, written with a decimal point, or too large: fall back to floats
        floats = (np.nan if value is None else to_float(value) for value in values)
        return np.fromiter(floats, dtype=np.float64, count=len(values))

    def series(self) -> pd.Series:
        numbers = np.concatenate(self.parts)
        if self.attribute.kind == "integer" and numbers.dtype != np.int64:
            whole = bool((np.abs(numbers) < EXACT_INTEGER_LIMIT).all()) and bool((numbers % 1 == 0).all())
            return pd.Series(numbers.astype(np.int64) if whole else numbers)
        return pd.Series(numbers)


class _Categories(AttributeValues):
    expected = "which is none of its declared values"

    def convert(self, values: Sequence[ArffValue]) -> npt.NDArray[Any]:
        codes: dict[ArffValue, int] = {value: code for code, value in enumerate(self.attribute.values)} | {None: -1}
        return np.fromiter((codes[value] for value in values), dtype=np.int64, count=len(values))

    def series(self) -> pd.Series:
        categories = pd.Index(self.attribute.values, dtype=object if not self.attribute.values else None)
        return pd.Series(pd.Categorical.from_codes(np.concatenate(self.parts), categories=categories))


class _Texts(AttributeValues):
    expected = "which is declared to be text"

    def convert(self, values: Sequence[ArffValue]) -> npt.NDArray[Any]:
        return np.array([*values, None], dtype=object)[:-1]

    def series(self) -> pd.Series:
        return pd.Series([*np.concatenate(self.parts)])


class _Dates(AttributeValues):
    @property
    def expected(self) -> str:
        return f"which is declared to be a date of the form `{self.attribute.pattern}`"

    def convert(self, values: Sequence[ArffValue]) -> npt.NDArray[Any]:
        moments = pd.to_datetime(pd.Series([*values], dtype=object), format=self.attribute.pattern, utc=self._has_zone)
        return moments.dt.tz_localize(None).to_numpy(dtype="M8[ns]")

    def series(self) -> pd.Series:
        dates = pd.Series(np.concatenate(self.parts))
        return dates.dt.tz_localize("UTC") if self._has_zone else dates

    @property
    def _has_zone(self) -> bool:
        return "%z" in self.attribute.pattern


def make_column(attribute: Attribute) -> AttributeValues:
    """Return an empty column for the values of an attribute."""
    match attribute.kind:
        case "real" | "integer":
            return _Numbers(attribute)
        case "nominal":
            return _Categories(attribute)
        case "string":
            return _Texts(attribute)
        case "date":
            return _Dates(attribute)


def to_float(text: str) -> float:
    """Return the number in a text; raise ValueError for anything else, and for 1_000, which `float` would accept."""
    if "_" in text:
        raise ValueError
    return float(text)


def _to_integer(text: ArffValue) -> int:
    if text is None or "_" in text:
        raise ValueError
    return int(text)
