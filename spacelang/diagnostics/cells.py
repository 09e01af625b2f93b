"""One line of text as a terminal shows it: visible replacements of characters, and widths in terminal cells."""

import unicodedata
from typing import Final

from spacelang.facts import fact

TAB: Final = "    "
"""Every tab is shown as this, so that carets below the line stay aligned on any terminal."""

WIDEST: Final = 110
"""The most cells of a line that are shown. Longer lines are cut around the underlined places."""

MARGIN: Final = 30
"""The number of cells shown to the left of a place in a line that is cut."""

CUT: Final = "…"
"""The sign for text that is cut off."""


def visible(text: str) -> str:
    """Return the text with control characters and other unprintable characters replaced by visible signs.

    The result can neither steer a terminal nor reorder the line.
    """
    return "".join(map(_shown, text)) if not text.isprintable() else text


def width(text: str) -> int:
    """Return the number of terminal cells that a visible text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


@fact
class Excerpt:
    """A line of text, or the part of it that is shown.

    Character `first + i` of the line begins at cell `cells[i]` of `text`.
    """

    text: str
    first: int
    cells: tuple[int, ...]

    def underline(self, start: int, end: int) -> tuple[int, int]:
        """Return the cell where the underline of characters `[start, end)` begins, and its length (at least 1)."""
        begin, stop = self._cell(start), self._cell(end)
        return begin, max(1, stop - begin)

    def _cell(self, offset: int) -> int:
        return self.cells[min(max(offset - self.first, 0), len(self.cells) - 1)]


def excerpt(line: str, start: int, end: int) -> Excerpt:
    """Return the line with characters `[start, end)` in view.

    A long line is cut to `WIDEST` cells, on both sides if necessary.
    """
    first, last = _window(line, start, end)
    lead = CUT if first > 0 else ""
    trail = CUT if last < len(line) else ""
    shown = [_shown(character) for character in line[first:last]]
    cells = [width(lead)]
    for sign in shown:
        cells.append(cells[-1] + width(sign))
    return Excerpt((lead + "".join(shown) + trail).rstrip(), first, tuple(cells))


def _window(line: str, start: int, end: int) -> tuple[int, int]:
    """Return the range of characters to show.

    That is the whole line if it fits. Otherwise, it is as many characters as fit, beginning a little before `start`.
    """
    last = _reach(line, 0)
    if last == len(line) or _reach(line, 0, WIDEST - MARGIN) >= end:
        return 0, last
    behind = width(visible(line[start : _reach(line, start)]))
    first, room = start, max(MARGIN, WIDEST - behind)
    while first > max(0, start - 2 * WIDEST) and (room := room - width(_shown(line[first - 1]))) >= 0:
        first -= 1
    return first, _reach(line, first)


def _reach(line: str, first: int, room: int = WIDEST) -> int:
    """Return the end of the characters from `first` on that fit into `room` cells.

    At most `2 * WIDEST` characters are counted, as characters may have width zero.
    """
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
    # Unusual spaces are harmless, but their width is not known, so they are shown by code point as well.
    return f"<U+{code:04X}>"


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
