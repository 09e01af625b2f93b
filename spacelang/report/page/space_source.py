"""The text of a run's space, split into tokens for syntax highlighting."""

from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spacelang.ir.space import Space

Piece = tuple[str, str]
"""The kind of a token (empty for plain text), and its text without line ends."""


def space_lines(space: "Space | None") -> tuple[tuple[Piece, ...], ...]:
    """Return the lines of a space as tokens; empty if the space is unknown or cannot be written as text."""
    from spacelang.serialization.space_text import UnwritableSpaceError, as_text
    from spacelang.syntax.highlighting import highlight

    if space is None:
        return ()
    try:
        text = as_text(space)
    except UnwritableSpaceError:
        return ()
    return tuple(_lines(highlight(text.rstrip("\n"))))


def _lines(pieces: "Iterator[Piece]") -> "Iterator[tuple[Piece, ...]]":
    line: list[Piece] = []
    for kind, part, ends in chain.from_iterable(_split_lines(*each) for each in pieces):
        if part:
            line.append((kind, part))
        if ends:
            yield tuple(line)
            line = []
    yield tuple(line)


def _split_lines(kind: str, text: str) -> "Iterator[tuple[str, str, bool]]":
    *whole, rest = text.split("\n")
    yield from ((kind, part, True) for part in whole)
    yield kind, rest, False
