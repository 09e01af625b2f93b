"""Reading of sources: files, bundled spaces, imported files and bytes."""

import os.path
import re
import stat
from collections.abc import Callable
from itertools import islice
from pathlib import Path, PureWindowsPath
from typing import Final

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.reading import (
    ImportOutsideFolder,
    NotUtf8Text,
    TextTooLarge,
    UnreadableFile,
    UnreadableImport,
)
from spacelang.files import resource_folder
from spacelang.frozen import frozen
from spacelang.spelling_suggestions import nearest_name
from spacelang.text import Source, SourceFileLocation, Span

MAX_BYTES: Final = 2**20
MAX_JSON_BYTES: Final = 2**23
"""The same for JSON: the document of a compiled space has more content and is about three times as long as its text."""
STAGE_PATTERN: Final = re.compile(r"\bstage\s[^=]*=")
"""The beginning of a stage declaration, by which the text of a space is told from a path."""
MAX_COMPARED_FILES: Final = 1000


def bundled_names() -> tuple[str, ...]:
    """Return the names of the spaces that are included in the package."""
    return tuple(sorted(path.stem for path in resource_folder("spaces").glob("*.space")))


def is_space_text(reference: str) -> bool:
    """Return True if `reference` is the text of a space, not a path or name: it has several lines, or a stage."""
    return "\n" in reference or STAGE_PATTERN.search(reference) is not None


def read_source(reference: str) -> Source | Diagnostic:
    """Return the source of a path or a bundled space, or a diagnostic if it cannot be read."""
    if not reference:
        return _unreadable_file(reference, "the name is empty")
    path = resource_folder("spaces") / f"{reference}.space" if reference in bundled_names() else Path(reference)
    return _read(path, reference, lambda reason: _unreadable_file(reference, reason))


def read_file(path: str, remedy: str) -> Source | Diagnostic:
    """Return the source of a file other than a space, such as initial configurations.

    Return a diagnostic with the help text `remedy` if the file cannot be read.
    """
    start = Span(Source(path, ""), 0, 0)
    return _read(Path(path), path, lambda reason: UnreadableFile(start, path=path, reason=reason, remedy=remedy))


def _read(path: Path, reference: str, unreadable: Callable[[str], Diagnostic]) -> Source | Diagnostic:
    text = _read_text(path, reference, Span(Source(reference, ""), 0, 0), "the file", unreadable)
    if isinstance(text, Diagnostic):
        return text
    real = Path(os.path.realpath(path))
    return Source(reference, text, SourceFileLocation(real, real.parent))


def source_from_bytes(name: str, content: bytes, folder: Path) -> Source | Diagnostic:
    """Return the source of bytes such as standard input, or a diagnostic if they are too long or no UTF-8.

    Imports of the text are found as if it were a file in `folder`.
    """
    start = Span(Source(name, ""), 0, 0)
    is_json = content.lstrip().startswith(b"{")
    largest, limit = (MAX_JSON_BYTES, "8 MiB") if is_json else (MAX_BYTES, "1 MiB")
    if len(content) > largest:
        return TextTooLarge(start, quantity="the input", limit=limit)
    text = _decode(content, name, start)
    root = Path(os.path.realpath(folder))
    return text if isinstance(text, Diagnostic) else Source(name, text, SourceFileLocation(root / name, root))


@frozen
class ImportLocation:
    """The location of an imported file, and the name under which it is shown."""

    name: str
    origin: SourceFileLocation


def find_import(reference: str, importer: Source, at: Span) -> ImportLocation | Diagnostic:
    """Return the location of an imported file (a bundled name or a relative path), or a diagnostic at the span `at`.

    No file is opened. With links resolved, the path must stay below the folder of the first file.
    """
    if reference in bundled_names():
        root = Path(os.path.realpath(resource_folder("spaces")))
        return ImportLocation(reference, SourceFileLocation(root / f"{reference}.space", root))
    if importer.origin is None:
        reason = "a text that is not a file can import bundled spaces only"
        return UnreadableImport(at, path=reference, reason=reason, near=nearest_name(reference, bundled_names()))
    outside = _refusal_reason(reference)
    if outside is not None:
        return ImportOutsideFolder(at, path=reference, reason=outside)
    try:
        real = Path(os.path.realpath(importer.origin.path.parent / reference, strict=True))
    except (OSError, ValueError) as error:
        near = nearest_name(reference, [*bundled_names(), *importable_paths(reference, importer.origin)])
        return UnreadableImport(at, path=reference, reason=_error_reason(error), near=near)
    if not real.is_relative_to(importer.origin.root):
        return ImportOutsideFolder(
            at, path=reference, reason="the path is a link to a place outside the folder of the space"
        )
    name = str(Path(importer.name).parent / reference)
    return ImportLocation(name, SourceFileLocation(real, importer.origin.root))


def read_import(place: ImportLocation, reference: str, at: Span) -> Source | Diagnostic:
    """Read the file at `place`; a diagnostic, returned if that fails, names the file `reference`. Never raises."""

    def unreadable(reason: str) -> Diagnostic:
        return UnreadableImport(at, path=reference, reason=reason)

    text = _read_text(place.origin.path, reference, at, "the imported file", unreadable)
    return text if isinstance(text, Diagnostic) else Source(place.name, text, place.origin)


def _read_text(
    path: Path, reference: str, at: Span, quantity: str, unreadable: Callable[[str], Diagnostic]
) -> str | Diagnostic:
    """Return the text of a regular file, or a diagnostic at the span `at` that names the file `reference`.

    Nothing else than a regular file is opened: reading a device or a pipe might never end.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return unreadable("it is a folder" if stat.S_ISDIR(status.st_mode) else "it is not a regular file")
        largest, limit = (MAX_JSON_BYTES, "8 MiB") if path.suffix == ".json" else (MAX_BYTES, "1 MiB")
        content = b""
        if status.st_size <= largest:
            with path.open("rb") as file:
                content = file.read(largest + 1)
    except (OSError, ValueError) as error:
        return unreadable(_error_reason(error))
    if max(status.st_size, len(content)) > largest:
        return TextTooLarge(at, quantity=quantity, limit=limit)
    return _decode(content, reference, at)


def _decode(content: bytes, reference: str, at: Span) -> str | NotUtf8Text:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return NotUtf8Text(at, path=reference, reason=f"byte {error.start + 1} is not UTF-8")
    return NotUtf8Text(at, path=reference, reason="it contains NUL characters") if "\0" in text else text


def _error_reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "the file does not exist"
    return error.strerror.lower() if isinstance(error, OSError) and error.strerror else "the path is not valid"


def _refusal_reason(reference: str) -> str | None:
    """Return why a path may not be imported (empty, absolute, or with `..`), or None if it may.

    Only the spelling decides, so that the result is the same on every operating system.
    """
    if not reference:
        return "the path is empty"
    windows = PureWindowsPath(reference)
    if reference.startswith(("/", "\\")) or windows.drive or windows.root:
        return "the path is absolute"
    return "it contains `..`" if ".." in windows.parts else None


def importable_paths(reference: str, importer: SourceFileLocation) -> list[str]:
    """Return the paths of other spaces in the folder of an import, written as an `import` needs them."""
    try:
        home = Path(os.path.realpath(importer.path.parent / reference)).parent
    except (OSError, ValueError):
        return []
    beside = _spaces_in_folder(home) if home.is_relative_to(importer.root) else []
    return [str(Path(reference).with_name(name)) for name in beside if home / name != importer.path]


def _unreadable_file(reference: str, reason: str) -> UnreadableFile:
    beside = Path(reference).parent
    near = nearest_name(reference, [*bundled_names(), *(str(beside / name) for name in _spaces_in_folder(beside))])
    # A program may pass the text of a space as a path by mistake.
    remedy = (
        "this is the text of a space: write it to a file, or give it to `sl.load`" if is_space_text(reference) else None
    )
    start = Span(Source(reference, ""), 0, 0)
    return UnreadableFile(start, path=reference, reason=reason, near=near, remedy=remedy)


def _spaces_in_folder(place: Path) -> list[str]:
    try:
        return [path.name for path in islice(place.glob("*.space"), MAX_COMPARED_FILES)]
    except (OSError, ValueError):
        return []
