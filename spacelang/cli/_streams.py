"""What every command writes passes here: nothing of a stranger's file reaches a terminal raw."""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO, cast

from spacelang.diagnostics.cells import visible

_STYLE: Final = re.compile(r"(\x1b\[[\d;]*m)")
"""What begins and ends a style on a terminal, as our own messages have it."""

_LAYOUT: Final = re.compile(r"([\n\t]+)")


class Guarded:
    """A stream that replaces what could steer a terminal or reorder a line by visible signs.

    Styles pass where they are wanted, as nothing tells ours from others; who prints a stranger's names makes them
    `visible` already. All but `write` is the stream's own.
    """

    def __init__(self, stream: TextIO) -> None:
        self.raw = stream
        self.outlasts = False
        self._styled = stream.isatty() or bool(os.environ.get("FORCE_COLOR"))

    def write(self, text: str) -> int:
        """Write a text as it may be shown; returns its length."""
        with self._heard():
            self.raw.write(shown(text, styled=self._styled))
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        with self._heard():
            self.raw.flush()

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """Forget what nobody reads any more, where it `outlasts` them."""
        try:
            yield
        except BrokenPipeError:
            if not self.outlasts:
                raise
            forget(self.raw)


def forget(stream: TextIO | None) -> None:
    """Write what is still buffered, and all that comes, to nowhere, so that Python does not complain at exit."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def shown(text: str, *, styled: bool) -> str:
    """A text of several lines as it may be shown; `styled` leaves sequences that only set a style."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    parts = _STYLE.split(text) if styled else [text]
    # Every second part is what the parts were split at.
    return "".join(part if place % 2 else _lines(part) for place, part in enumerate(parts))


def _lines(text: str) -> str:
    return "".join(part if place % 2 else visible(part) for place, part in enumerate(_LAYOUT.split(text)))


@contextmanager
def guarded() -> Iterator[None]:
    """Let the standard output and the standard error be `Guarded`."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, None if each is None else Guarded(each)) for each in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


@contextmanager
def outlasting() -> Iterator[None]:
    """Let what goes on come to its end although nobody reads the standard output any more (`… | head`)."""
    stream = sys.stdout
    if isinstance(stream, Guarded):
        stream.outlasts = True
    try:
        yield
    finally:
        if isinstance(stream, Guarded):
            stream.outlasts = False


def unguarded(stream: TextIO) -> TextIO:
    """The stream behind the guard: for what moves a cursor and is no stranger's, or does not go to a terminal."""
    return cast(TextIO, getattr(stream, "raw", stream))


def write_file(text: str) -> None:
    """Write the text of a file to the standard output: as it is, unless that is a terminal."""
    (sys.stdout if sys.stdout.isatty() else unguarded(sys.stdout)).write(text)
