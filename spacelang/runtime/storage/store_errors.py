"""The errors of stores, with messages for users."""

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from spacelang.runtime.errors import InputError


class StoreError(InputError):
    """An error for a store that cannot be used.

    If the store belongs to another run, `differences` has a line for each difference.
    """

    def __init__(self, message: str, help: str = "", differences: tuple[str, ...] = ()) -> None:  # noqa: A002
        super().__init__(message, help)
        self.differences = differences


@contextmanager
def convert_store_errors(path: Path) -> Iterator[None]:
    """Convert errors of SQLite and of the operating system in the context to StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain_sqlite_error(error, path) from error
    except OSError as error:
        raise StoreError(f"`{path}`: {error.strerror or error}") from error


@contextmanager
def convert_damage_errors(path: Path, record_name: str = "") -> Iterator[None]:
    """Convert errors about invalid stored values in the block to a StoreError that reports damage.

    `record_name` is the beginning of the reason in its message.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise damaged_store_error(path, f"{record_name}{str(error) or type(error).__name__}") from error


def explain_sqlite_error(error: sqlite3.Error, path: Path) -> StoreError:  # noqa: PLR0911 - one for each kind
    """Return the StoreError for an error of SQLite."""
    name = getattr(error, "sqlite_errorname", "")
    kind = "_".join(name.split("_")[:2])
    match kind:
        case "SQLITE_FULL":
            return StoreError(f"the disk of `{path}` is full", RESUME_HELP.format(remedy="free some space"))
        case "SQLITE_IOERR":
            remedy = "make sure that the disk works and has space, and that no limit is set on the size of files"
            return StoreError(f"`{path}` cannot be written or read: {error}", RESUME_HELP.format(remedy=remedy))
        case "SQLITE_BUSY" | "SQLITE_LOCKED":
            return store_in_use_error(path)
        case "SQLITE_NOTADB":
            return StoreError(f"`{path}` is not the store of a run", STORE_PATH_HELP)
        case "SQLITE_CORRUPT":
            return damaged_store_error(path, str(error))
        case "SQLITE_READONLY" if name == "SQLITE_READONLY_DBMOVED":
            return changed_during_run_error(path)
        case "SQLITE_READONLY":
            remedy = f"make the file and its folder writable, or {OTHER_PATH_HELP}"
            return StoreError(f"`{path}` or its folder is read-only", remedy)
        case "SQLITE_CANTOPEN" | "SQLITE_PERM" | "SQLITE_AUTH":
            return _open_error(path)
        case _:
            # Other errors, such as `no such column`, come only from files that were not written here.
            return damaged_store_error(path, str(error))


RESUME_HELP = "{remedy}; all earlier trials are stored, and `--resume` continues from them"
OTHER_PATH_HELP = "choose another path with `--store`"
STORE_PATH_HELP = "name the store of a run; a new run needs a path that does not exist yet"


def store_in_use_error(path: Path, process: int | None = None) -> StoreError:
    """Return the error for a store to which another process is writing."""
    who = "another run" if process is None else f"another run (process {process})"
    return StoreError(f"`{path}` is in use by {who}", f"wait until that run ends, or {OTHER_PATH_HELP}")


def damaged_store_error(path: Path, problem: str) -> StoreError:
    """Return the error for a damaged store."""
    return StoreError(
        f"`{path}` is damaged: {problem}",
        "restore a copy from a backup, or start again with another `--store`; "
        "a damaged store is not used at all, so that no trial is lost unnoticed",
    )


def different_search_error(path: Path, trial: int, changes: Sequence[str]) -> StoreError:
    """Return the error for a store whose trials another search requested.

    `changes` describe the package versions that have changed since.
    """
    remedy = "start a new run with another `--store`"
    if changes:
        remedy = f"package versions have changed since ({'; '.join(changes)}): install the old ones, or {remedy}"
    what = f"trial {trial} of `{path}` was not requested by this search"
    return StoreError(what, remedy)


def changed_during_run_error(path: Path) -> StoreError:
    """Return the error for a store that another program changed during the run."""
    what = f"`{path}` was moved, replaced, truncated or deleted while the run was writing to it"
    return StoreError(what, "put the file back with its stored trials, then continue the run with `--resume`")


def check_store_exists(path: Path) -> None:
    """Raise StoreError unless the path is a regular file that is not empty."""
    try:
        found = path.stat()
    except FileNotFoundError:
        _check_folder(path)
        help_ = "name an existing store (`spacelang runs` lists those in `runs`), or start a new run without `--resume`"
        raise StoreError(f"the store `{path}` does not exist", help_) from None
    except OSError as error:
        raise StoreError(f"`{path}`: {error.strerror or error}") from error
    _check_regular_file(path, found)
    if found.st_size == 0:
        what = f"`{path}` is empty: its run was killed before it started, or the file was truncated"
        raise StoreError(what, "start a run without `--resume`, or restore the store from a backup")


def check_can_create(path: Path) -> None:
    """Raise StoreError if no file can be created here: without the folder, or in place of a folder or a device."""
    _check_folder(path)
    try:
        _check_regular_file(path, path.stat())
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"`{path}`: {error.strerror or error}") from error


def is_writable(path: Path) -> bool:
    """Return True if this process may write to the path."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _check_folder(path: Path) -> None:
    if not path.parent.is_dir():
        help_ = "create the folder, or choose another place with `--store`"
        raise StoreError(f"the folder `{path.parent}` does not exist", help_)


def _check_regular_file(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise StoreError(f"`{path}` is a folder", "name a file in this folder")
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"`{path}` is not a regular file", OTHER_PATH_HELP)


def _open_error(path: Path) -> StoreError:
    if not is_writable(path.parent):
        return StoreError(f"the folder `{path.parent}` is read-only", f"make the folder writable, or {OTHER_PATH_HELP}")
    return StoreError(
        f"`{path}` cannot be opened", f"make sure that you may read and write the file, or {OTHER_PATH_HELP}"
    )
