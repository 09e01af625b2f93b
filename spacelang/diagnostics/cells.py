"""A line of a text as a terminal shows it: what stands for each character, and how many cells that takes."""

import unicodedata
from typing import Final

from spacelang.facts import fact

TAB: Final = "    "
"""Every tab is shown as this, so that carets below the line stay aligned on any terminal."""

WIDEST: Final = 110
"""Longer lines are cut around the places that matter."""

MARGIN: Final = 30
"""Cells to keep to the left of a place in a line that is cut."""

CUT: Final = "…"


def visible(text: str) -> str:
    """The text with everything that could steer a terminal or reorder the line replaced by visible signs."""
    return "".join(map(_shown, text)) if not text.isprintable() else text


def width(text: str) -> int:
    """The terminal cells that a visible text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


@fact
class Excerpt:
    """A line, or the part of it that is shown: its character `first + i` begins at cell `cells[i]` of `text`."""

    text: str
    first: int
    cells: tuple[int, ...]

    def underline(self, start: int, end: int) -> tuple[int, int]:
        """The cell below which characters `[start, end)` of the line begin and how many they take, at least one."""
        begin, stop = self._cell(start), self._cell(end)
        return begin, max(1, stop - begin)

    def _cell(self, offset: int) -> int:
        return self.cells[min(max(offset - self.first, 0), len(self.cells) - 1)]


def excerpt(line: str, start: int, end: int) -> Excerpt:
    """The line with characters `[start, end)` in view; a long line is cut on both sides."""
    first, last = _window(line, start, end)
    lead = CUT if first > 0 else ""
    trail = CUT if last < len(line) else ""
    shown = [_shown(character) for character in line[first:last]]
    cells = [width(lead)]
    for sign in shown:
        cells.append(cells[-1] + width(sign))
    return Excerpt((lead + "".join(shown) + trail).rstrip(), first, tuple(cells))


def _window(line: str, start: int, end: int) -> tuple[int, int]:
    """The characters to show: all where they fit, else as many as fit from a little before the place."""
    last = _reach(line, 0)
    if last == len(line) or _reach(line, 0, WIDEST - MARGIN) >= end:
        return 0, last
    behind = width(visible(line[start : _reach(line, start)]))
    first, room = start, max(MARGIN, WIDEST - behind)
    while first > max(0, start - 2 * WIDEST) and (room := room - width(_shown(line[first - 1]))) >= 0:
        first -= 1
    return first, _reach(line, first)


def _reach(line: str, first: int, room: int = WIDEST) -> int:
    """The end of the characters from `first` on that fit into the room; a bounded number of them, however narrow."""
    stop = min(len(line), first + 2 * WIDEST)
    for place in range(first, stop):
        room -= width(_shown(line[place]))
        if room < 0:
            return place
    return stop


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    if character == "\t":
        return TAB
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    # A space of an unusual kind is harmless in itself, but its width is not known: it is named like the rest.
    return f"<U+{code:04X}>"


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
