"""Where the text of a space comes from: a path, or the name of a space that ships with the package."""

import stat
from pathlib import Path

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.files import NotText, TooLarge, UnreadableFile
from spacelang.resources import folder
from spacelang.suggest import nearest
from spacelang.text import Source, Span

LARGEST = 2**20
"""The largest file that is read, in bytes."""


def bundled() -> tuple[str, ...]:
    """The names of the spaces that ship with the package."""
    return tuple(sorted(path.stem for path in folder("spaces").glob("*.space")))


def read_source(reference: str) -> Source | Diagnostic:
    """The text of a path or of a bundled name, or why it cannot be had; never raises."""
    if not reference:
        return _unreadable(reference, "the name is empty")
    path = folder("spaces") / f"{reference}.space" if reference in bundled() else Path(reference)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return _unreadable(reference, "it is a folder" if stat.S_ISDIR(status.st_mode) else "it is no regular file")
        if status.st_size > LARGEST:
            return TooLarge(primary=_start(reference), what="the file", limit="1 MiB")
        content = path.read_bytes()
    except FileNotFoundError:
        return _unreadable(reference, "there is no such file")
    except (OSError, ValueError) as error:
        reason = error.strerror.lower() if isinstance(error, OSError) and error.strerror else "it has no valid name"
        return _unreadable(reference, reason)
    return _decode(reference, content)


def _decode(reference: str, content: bytes) -> Source | Diagnostic:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"byte {error.start + 1} is not UTF-8"
        return NotText(primary=_start(reference), path=reference, reason=reason)
    if "\0" in text:
        return NotText(primary=_start(reference), path=reference, reason="it contains NUL characters")
    return Source(reference, text)


def _unreadable(reference: str, reason: str) -> UnreadableFile:
    near = nearest(reference, [*bundled(), *_neighbours(reference)])
    return UnreadableFile(primary=_start(reference), path=reference, reason=reason, near=near)


def _neighbours(reference: str) -> list[str]:
    """The spaces in the same folder, as the user would have to write them."""
    try:
        beside = Path(reference).parent
        return [str(beside / path.name) for path in beside.glob("*.space")]
    except (OSError, ValueError):
        return []


def _start(reference: str) -> Span:
    return Span(Source(reference, ""), 0, 0)
