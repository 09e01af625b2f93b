"""Atomic replacement of files, the texts of operating-system errors, and the location of the data folders."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which replaces `path` when the block succeeds.

    Readers of `path` see either the complete old file or the complete new one. If the block raises, the temporary file
    is removed and `path` is unchanged.
    """
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        yield new
        new.replace(path)
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def os_error_text(error: OSError) -> str:
    """Return the operating system's description of an error in lower case, to be put after a colon."""
    return (error.strerror or str(error)).lower()


_PACKAGE = Path(__file__).parent


def resource_folder(name: str) -> Path:
    """Return the path of the folder `grammars` or `spaces`."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
