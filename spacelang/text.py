"""Source texts and positions in them (spans), to which every diagnostic refers, and the format of texts."""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Final

from spacelang.deprecation import make_module_getattr
from spacelang.frozen import CachedPropertyMixin, frozen

FORBIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that names may not contain: they control a terminal, reorder a line or are invisible."""


@frozen
class SourceFileLocation:
    """The file that a text was read from (symbolic links resolved), and the folder its imports must stay in."""

    path: Path
    root: Path


@dataclass(frozen=True, order=True)
class Source(CachedPropertyMixin):
    """A text and the name under which it is shown: a path as the user wrote it, or the name of a bundled space.

    `origin` is None if the text was not read from a file.
    """

    name: str
    text: str = field(repr=False)
    origin: SourceFileLocation | None = field(default=None, compare=False, repr=False)

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """The offset of the first character of every line."""
        starts = [0]
        starts.extend(offset + 1 for offset, character in enumerate(self.text) if character == "\n")
        return tuple(starts)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset, both counted from 1 as in editors."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line_text(self, number: int) -> str:
        """Return the text of a line (counted from 1) without its line end; empty if there is no such line."""
        if not 1 <= number <= len(self.line_starts):
            return ""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] - 1 if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r")


@frozen
class Span:
    """A half-open range of characters `[start, end)` of a source; spans are ordered by source, then by position."""

    source: Source = field(repr=False)
    start: int
    end: int

    def __lt__(self, other: "Span") -> bool:
        return (self.source, self.start, self.end) < (other.source, other.start, other.end)

    @property
    def line(self) -> int:
        """The line on which the span starts, counted from 1."""
        return self.source.line_and_column(self.start)[0]

    @property
    def column(self) -> int:
        """The column at which the span starts, counted from 1."""
        return self.source.line_and_column(self.start)[1]

    @property
    def text(self) -> str:
        """The characters of the span."""
        return self.source.text[self.start : self.end]

    def extended_to(self, other: "Span") -> "Span":
        """Return the span from the start of this one to the end of `other`."""
        return Span(self.source, self.start, max(self.end, other.end))


def first_forbidden_character(text: str) -> str | None:
    """Return the first character that names may not contain, as `U+001B`; None if there is none."""
    if text.isprintable():
        return None
    return next((f"U+{ord(each):04X}" for each in text if unicodedata.category(each) in FORBIDDEN_CATEGORIES), None)


def parameter_name_problem(name: str) -> str | None:
    """Return why `name` cannot be the name of a parameter, as a phrase that follows the name; None if it can."""
    if not name:
        return "is empty"
    character = first_forbidden_character(name)
    if character is not None:
        return f"contains the character {character}, which is not allowed in names"
    if "`" in name:
        return "contains a backtick, which ends a name"
    if "." in name:
        return "contains a dot, which separates the names of a path"
    return None if name == name.strip() else "begins or ends with a space"


def unique_name(wanted: str, taken: Container[str], sign: str = "_") -> str:
    """Return `wanted`, or, if it is taken, the name with `sign` and the first free number from 2 appended."""
    if wanted not in taken:
        return wanted
    return next(name for number in count(2) if (name := f"{wanted}{sign}{number}") not in taken)


def count_with_noun(number: int, one: str, many: str = "") -> str:
    """Return a count with its noun, such as `1 row` or `1,200 rows`; `many` is the plural if it is irregular."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def format_names(names: Sequence[object], most: int = 6) -> str:
    """Return names in backticks; of more than `most` names the first ones, with the number of the others.

    >>> format_names(["age", "sex", "fare"], most=2)
    '`age`, `sex` and 1 more'
    """
    named = ", ".join(f"`{name}`" for name in names[:most])
    return f"{named} and {len(names) - most:,} more" if len(names) > most else named


def format_number(number: float) -> str:
    """Return a number without an exponent and without trailing zeros: `0.00001`, `30`."""
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def shorten(text: str, longest: int) -> str:
    """Return a text cut to `longest` characters, the last of which is `…` if something is missing."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def pad_table_columns(
    rows: Sequence[Sequence[str]], align: Callable[[str, int], str] = str.ljust
) -> Iterator[list[str]]:
    """Yield the rows of a table with each cell padded to the width of its column, except in the last column.

    `align` is `str.ljust`, or `str.rjust` for numbers.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ([*map(align, row[:-1], widths), row[-1]] for row in rows)


NO_SPAN = Span(Source("<made>", ""), 0, 0)  # The span of nodes that a program made, without any source text


ESCAPES: Final = {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


def quote_for_shell(text: str) -> str:
    r"""Return a text as one word, in quotes where necessary, without control characters.

    Bash, zsh and ksh read a word with a line break as `$'first\nsecond'`. There is no quote within these quotes, where
    other shells would end the word.
    """
    from shlex import quote

    if text.isprintable():
        return quote(text)
    return f"$'{''.join(ESCAPES.get(each) or _escape(each) for each in text)}'"


def _escape(character: str) -> str:
    if character.isprintable() and character != "'":
        return character
    # Undecodable bytes of file names are represented by these surrogates.
    errors = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in character.encode(errors=errors))


__getattr__ = make_module_getattr(__name__, {"Origin": "SourceFileLocation"})
