"""Conversion between positions of the protocol (lines from 0, columns in code units) and offsets of a text."""

from bisect import bisect_right
from typing import Final

from lsprotocol import types

from spacelang.frozen import frozen
from spacelang.text import Source, Span

_CODECS: Final = {"utf-8": "utf-8", "utf-16": "utf-16-le"}
_UNIT_BYTES: Final = {"utf-8": 1, "utf-16": 2}


@frozen
class PositionEncoding:
    """The unit in which a client counts columns: `utf-8`, `utf-16` (the default of the protocol) or `utf-32`."""

    name: str = "utf-16"

    def units(self, text: str) -> int:
        """Return the length of a text in units."""
        if self.name not in _CODECS or text.isascii():
            return len(text)
        return len(text.encode(_CODECS[self.name], "surrogatepass")) // _UNIT_BYTES[self.name]

    def characters(self, line: str, column: int) -> int:
        """Return the number of characters before a column; a column after the end of the line means its end."""
        if self.name not in _CODECS or line.isascii():
            return min(column, len(line))
        before = 0
        for place, character in enumerate(line):
            if before >= column:
                return place
            before += self.units(character)
        return len(line)

    def offset(self, source: Source, position: types.Position) -> int:
        """Return the offset of a position; positions after the end of the text mean its end."""
        if position.line >= len(source.line_starts):
            return len(source.text)
        line = source.line(position.line + 1)
        return source.line_starts[position.line] + self.characters(line, position.character)

    def position(self, source: Source, offset: int) -> types.Position:
        """Return the position of an offset."""
        line = bisect_right(source.line_starts, offset) - 1
        return types.Position(line, self.units(source.text[source.line_starts[line] : offset]))

    def range(self, span: Span) -> types.Range:
        """Return the range of a span."""
        return types.Range(self.position(span.source, span.start), self.position(span.source, span.end))
