"""Files: written whole or not at all, and what the system says where that cannot be."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside a file for what takes its place in the end: whoever reads the file finds the old or the new one."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        yield new
        new.replace(path)
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def said_by(error: OSError) -> str:
    """What the system says was wrong, as it stands behind a colon."""
    return (error.strerror or str(error)).lower()
