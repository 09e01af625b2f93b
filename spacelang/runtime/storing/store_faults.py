"""What can be wrong with a store, in the words of those who have to put it right."""

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from spacelang.runtime.errors import InputError


class StoreError(InputError):
    """A store cannot be used: `message` says why, `help` what to do; `differences` why a run is another one."""

    def __init__(self, message: str, help: str = "", differences: tuple[str, ...] = ()) -> None:  # noqa: A002
        super().__init__(message, help)
        self.differences = differences


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Raise what SQLite and the operating system say about a store as a StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise explained(error, path) from error
    except OSError as error:
        raise StoreError(f"`{path}`: {error.strerror or error}") from error


@contextmanager
def sound(path: Path, what: str = "") -> Iterator[None]:
    """Raise as a StoreError what making sense of a stranger's values raises; `what` says what they are of."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise damaged(path, f"{what}{str(error) or type(error).__name__}") from error


def explained(error: sqlite3.Error, path: Path) -> StoreError:  # noqa: PLR0911 - one for each kind
    """The error that tells a user what SQLite's error means."""
    name = getattr(error, "sqlite_errorname", "")
    kind = "_".join(name.split("_")[:2])
    match kind:
        case "SQLITE_FULL":
            return StoreError(f"the disk of `{path}` is full", KEPT.format(remedy="free some space"))
        case "SQLITE_IOERR":
            remedy = "make sure that the disk works and has space, and that no limit is set on the size of files"
            return StoreError(f"`{path}` cannot be written or read: {error}", KEPT.format(remedy=remedy))
        case "SQLITE_BUSY" | "SQLITE_LOCKED":
            return in_use(path)
        case "SQLITE_NOTADB":
            return StoreError(f"`{path}` is no store of a run", A_RUN)
        case "SQLITE_CORRUPT":
            return damaged(path, str(error))
        case "SQLITE_READONLY" if name == "SQLITE_READONLY_DBMOVED":
            return moved(path)
        case "SQLITE_READONLY":
            return StoreError(f"`{path}` or its folder is read-only", "make both writable, or choose another place")
        case "SQLITE_CANTOPEN" | "SQLITE_PERM" | "SQLITE_AUTH":
            return _unopened(path)
        case _:
            # Whatever else a file can make SQLite say, such as `no such column`, comes from a file that is not ours.
            return damaged(path, str(error))


KEPT = "{remedy}; all trials before are kept, and `--resume` goes on from them"
ANOTHER = "choose another path with `--store`"
A_RUN = "name the store of a run; a new run needs a path where nothing is"


def in_use(path: Path, process: int | None = None) -> StoreError:
    """The error for a store that another run, or this one elsewhere, is writing to."""
    who = "another run" if process is None else f"another run (process {process})"
    return StoreError(f"`{path}` is in use by {who}", f"wait until it ends, or {ANOTHER}")


def damaged(path: Path, what: str) -> StoreError:
    """The error for a store that is not what was written to it."""
    return StoreError(
        f"`{path}` is damaged: {what}",
        "take a copy from a backup, or start again with another `--store`; "
        "nothing of it is used, so that no trial is lost in silence",
    )


def other_search(path: Path, trial: int, changes: Sequence[str]) -> StoreError:
    """The error for a store whose run told another search; `changes` are of versions since."""
    since = f"versions have changed since ({'; '.join(changes)}): go back to them" if changes else "make it again"
    return StoreError(
        f"trial {trial} of `{path}` is none that this search asks for",
        f"{since}, or begin a new run with another `--store`",
    )


def moved(path: Path) -> StoreError:
    """The error for a store that another program changed below a run."""
    return StoreError(
        f"`{path}` was moved, replaced, cut or deleted while the run was writing to it",
        "trials that were stored are where the file is now; put it back, and `--resume` goes on from them",
    )


def must_be_a_store(path: Path) -> None:
    """Raise StoreError unless a regular file that is not empty is there."""
    try:
        found = path.stat()
    except FileNotFoundError:
        _must_have_a_folder(path)
        raise StoreError(f"there is no store `{path}`", "start a run without `--resume`, or name its store") from None
    except OSError as error:
        raise StoreError(f"`{path}`: {error.strerror or error}") from error
    _must_be_regular(path, found)
    if found.st_size == 0:
        raise StoreError(
            f"`{path}` is empty: its run was killed before it began, or the file was cut",
            "start a run without `--resume`, or take the store from a backup",
        )


def must_allow_a_store(path: Path) -> None:
    """Raise StoreError where no file can be made: in a missing folder, in the place of a folder or of a device."""
    _must_have_a_folder(path)
    try:
        _must_be_regular(path, path.stat())
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"`{path}`: {error.strerror or error}") from error


def is_writable(path: Path) -> bool:
    """Whether this process may write there."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _must_have_a_folder(path: Path) -> None:
    if not path.parent.is_dir():
        raise StoreError(f"there is no folder `{path.parent}`", "make it, or choose another place with `--store`")


def _must_be_regular(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise StoreError(f"`{path}` is a folder", "name a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"`{path}` is no regular file", ANOTHER)


def _unopened(path: Path) -> StoreError:
    if not is_writable(path.parent):
        return StoreError(f"the folder `{path.parent}` is read-only", f"make it writable, or {ANOTHER}")
    return StoreError(f"`{path}` cannot be opened", f"make sure that you may read and write it, or {ANOTHER}")
