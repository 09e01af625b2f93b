"""Source text and the places in it: what every later phase points at when it has something to say."""

import unicodedata
from bisect import bisect_right
from collections.abc import Container
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from typing import Final

from spacelang.facts import Computing, fact

UNNAMED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of Unicode whose characters are in no name: they steer a terminal, reorder a line or cannot be seen."""


@fact
class Origin:
    """The file that a text was read from, links resolved, and the folder below which all that it imports must lie."""

    path: Path
    root: Path


@dataclass(frozen=True, order=True)
class Source(Computing):
    """One text with the name under which it is shown (a path as the user wrote it, or a bundled name).

    A text that was read from no file has no `origin`.
    """

    name: str
    text: str = field(repr=False)
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """The offset of the first character of every line."""
        starts = [0]
        starts.extend(offset + 1 for offset, character in enumerate(self.text) if character == "\n")
        return tuple(starts)

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both counted from 1, as editors show them."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line (counted from 1) without its line end; empty beyond the last line."""
        if not 1 <= number <= len(self.line_starts):
            return ""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] - 1 if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r")


@fact
class Span:
    """A half-open range of characters `[start, end)` of a source; spans are ordered by source and position."""

    source: Source = field(repr=False)
    start: int
    end: int

    def __lt__(self, other: "Span") -> bool:
        return (self.source, self.start, self.end) < (other.source, other.start, other.end)

    @property
    def line(self) -> int:
        """The line on which the span starts, counted from 1."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """The column at which the span starts, counted from 1."""
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        """The characters that the span covers."""
        return self.source.text[self.start : self.end]

    def to(self, other: "Span") -> "Span":
        """The span from the start of this one to the end of the other."""
        return Span(self.source, self.start, max(self.end, other.end))


def not_in_names(text: str) -> str | None:
    """The first character that no name holds, as `U+001B`; None where all may be in one."""
    if text.isprintable():
        return None
    return next((f"U+{ord(each):04X}" for each in text if unicodedata.category(each) in UNNAMED), None)


def no_parameter(name: str) -> str | None:
    """Why no parameter can be called so, as words behind its name; None where one can."""
    if not name:
        return "is empty"
    character = not_in_names(name)
    if character is not None:
        return f"holds the character {character}, which is in no name"
    if "`" in name:
        return "holds a backtick, which ends a name"
    if "." in name:
        return "holds a point, which stands between the names of a path"
    return None if name == name.strip() else "begins or ends with a space, as no name does"


def numbered(wanted: str, taken: Container[str], sign: str = "_") -> str:
    """The name, with a sign and the first number from 2 behind it that is free where it is taken."""
    names = chain((wanted,), (f"{wanted}{sign}{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def counted(number: int, one: str, many: str = "") -> str:
    """So many of something, in words."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


NOWHERE = Span(Source("<made>", ""), 0, 0)
"""The span of what no text says: nodes made by a program."""
