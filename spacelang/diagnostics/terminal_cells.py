"""One line of text as a terminal shows it: visible replacements of characters, and widths in terminal cells."""

import unicodedata
from typing import Final

from spacelang.frozen import frozen

TAB: Final = "    "  # Every tab is shown as this, so that carets below the line stay aligned on any terminal
MAX_CELLS: Final = 110  # The most cells of a line that are shown. Longer lines are cut around the underlined places
LEFT_CONTEXT: Final = 30  # The number of cells shown to the left of a place in a line that is cut
ELLIPSIS: Final = "…"  # The sign for text that is cut off


def replace_unprintable(text: str) -> str:
    """Return the text with visible signs for unprintable characters, so that it cannot steer a terminal."""
    return "".join(map(_visible_character, text)) if not text.isprintable() else text


def cell_width(text: str) -> int:
    """Return the number of terminal cells that a visible text takes."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


@frozen
class LineExcerpt:
    """The shown part of a line: in `text`, character `first + i` of the line begins at terminal cell `cells[i]`."""

    text: str
    first: int
    cells: tuple[int, ...]

    def underline_cells(self, start: int, end: int) -> tuple[int, int]:
        """Return the cell where the underline of characters `[start, end)` begins, and its length (at least 1)."""
        begin, stop = self._cell_at(start), self._cell_at(end)
        return begin, max(1, stop - begin)

    def _cell_at(self, offset: int) -> int:
        return self.cells[min(max(offset - self.first, 0), len(self.cells) - 1)]


def make_line_excerpt(line: str, start: int, end: int) -> LineExcerpt:
    """Return the line with characters `[start, end)` in view, cut to `MAX_CELLS` cells on either side."""
    first, last = _window(line, start, end)
    lead = ELLIPSIS if first > 0 else ""
    trail = ELLIPSIS if last < len(line) else ""
    shown = [_visible_character(character) for character in line[first:last]]
    cells = [cell_width(lead)]
    for sign in shown:
        cells.append(cells[-1] + cell_width(sign))
    return LineExcerpt((lead + "".join(shown) + trail).rstrip(), first, tuple(cells))


def _window(line: str, start: int, end: int) -> tuple[int, int]:
    """Return the range of characters to show: the whole line, or what fits from a little before `start`."""
    last = _end_of_fitting(line, 0)
    if last == len(line) or _end_of_fitting(line, 0, MAX_CELLS - LEFT_CONTEXT) >= end:
        return 0, last
    behind = cell_width(replace_unprintable(line[start : _end_of_fitting(line, start)]))
    first, room = start, max(LEFT_CONTEXT, MAX_CELLS - behind)
    while (
        first > max(0, start - 2 * MAX_CELLS) and (room := room - cell_width(_visible_character(line[first - 1]))) >= 0
    ):
        first -= 1
    return first, _end_of_fitting(line, first)


def _end_of_fitting(line: str, first: int, room: int = MAX_CELLS) -> int:
    """Return the offset after the last character, from `first` on, that fits into `room` cells.

    It is at most `first + 2 * MAX_CELLS`, as characters may take no cell.
    """
    stop = min(len(line), first + 2 * MAX_CELLS)
    for place in range(first, stop):
        room -= cell_width(_visible_character(line[place]))
        if room < 0:
            return place
    return stop


def _visible_character(character: str) -> str:
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


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
