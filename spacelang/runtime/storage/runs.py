"""List stored runs, and choose the path of a run for which the user gives none."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Final

from spacelang.files import os_error_text
from spacelang.ir.trial import TestScore
from spacelang.runtime.storage.header import DataFacts
from spacelang.runtime.storage.records import APPLICATION_ID, RunState
from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.store_errors import StoreError
from spacelang.runtime.storage.stored_run import StoredRun

DEFAULT_FOLDER: Final = "runs"  # The folder, in the current one, for runs without a given path
SUFFIX: Final = ".db"
MAX_NAME_LENGTH: Final = 60  # The maximum number of characters of a space's name in a file name
SQLITE_HEADER: Final = b"SQLite format 3\0"  # The first bytes of an SQLite file
APPLICATION_ID_BYTES: Final = slice(68, 72)
"""The bytes of its application ID (https://sqlite.org/fileformat2.html#the_database_header)."""
COMPANION_SUFFIXES: Final = ("-journal", "-wal", "-shm")  # The suffixes of the files that SQLite creates beside a store


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A one-line summary of a run.

    `best` is the lowest loss, None without a success, and `feasible` says if that trial satisfies all bounds. `started`
    is in UTC (ISO 8601), empty for a run that was killed before it started. `seconds` is the duration of the run so
    far. `test` is the score of the best pipeline on test rows, None without one.
    """

    path: Path
    space: str
    data: DataFacts
    metric: str
    validation: str
    optimizer: str
    seed: int
    state: RunState
    trials: int
    best: float | None
    feasible: bool
    started: str
    seconds: float
    test: TestScore | None = None


@dataclass(frozen=True, slots=True)
class RunListing:
    """The runs in some files and folders, latest first, and the unreadable stores with their errors."""

    runs: tuple[RunSummary, ...]
    unreadable: tuple[tuple[Path, StoreError], ...]


def list_runs(*places: Path) -> RunListing:
    """Return the runs that are stored in files and folders, each once.

    Raises StoreError for a path that does not exist.

    Folders are not searched recursively. In folders unrelated files are skipped silently: system files, those that
    SQLite creates beside a store (`RUN.db-wal`), and all others that are not stores (`is_unrelated_file`).
    """
    found, others = [], []
    for path in dict.fromkeys(each for place in places for each in _candidate_files(place)):
        try:
            with Store.read(path) as run:
                found.append(summarize_run(run))
        except StoreError as error:
            others.append((path, error))
    found.sort(key=lambda each: (each.started, each.path.name), reverse=True)
    return RunListing(tuple(found), tuple(others))


def summarize_run(run: StoredRun) -> RunSummary:
    """Return a summary without reading each trial, so a damaged one may go unnoticed; raise StoreError."""
    header, best, sessions, test = run.header, run.best, run.sessions, run.test
    return RunSummary(
        path=run.path,
        space=header.space,
        data=header.data,
        metric=header.metric,
        validation=header.validation,
        optimizer=header.optimizer,
        seed=header.seed,
        state=run.state,
        trials=run.count,
        best=None if best is None else best[1],
        feasible=best is not None and best[2],
        started=sessions[0].started if sessions else "",
        seconds=run.seconds,
        test=None if test is None else test.score,
    )


def reserve_default_path(space: str, now: datetime, folder: Path = Path(DEFAULT_FOLDER)) -> Path:
    """Reserve and return a new path for a run of a space: `runs/NAME-20260131-235959.db`.

    A number is appended if the name is taken. The folder is created if needed. An empty file reserves the path, so that
    another run which starts in the same second takes another name; `Store.create` turns that file into a store. Raises
    StoreError if the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in name_candidates(space, now):
            path = folder / f"{name}{SUFFIX}"
            try:
                path.touch(exist_ok=False)
            except FileExistsError:
                continue
            return path
    except OSError as error:
        what = f"a run cannot be stored in `{folder}`: {error.strerror or error}"
        raise StoreError(what, "name another place with `--store`") from error
    raise AssertionError("`names` never ends")


def name_candidates(space: str, now: datetime) -> Iterator[str]:
    """Yield possible file names for a space without end: `NAME-20260131-235959`, then with numbers from 2 on."""
    word = re.sub(r"[^\w.-]+", "-", space).strip("-.")[:MAX_NAME_LENGTH] or "space"
    stem = f"{word}-{now:%Y%m%d-%H%M%S}"
    yield stem
    yield from (f"{stem}-{number}" for number in count(2))


def is_unrelated_file(path: Path) -> bool:
    """Return True for a file that is neither a store nor, judging by its suffix, a damaged store.

    Hidden files, files that SQLite writes next to a store, and anything but regular files are unrelated, too.
    """
    if path.name.startswith(".") or path.name.endswith(COMPANION_SUFFIXES) or not path.is_file():
        return True
    try:
        with path.open("rb") as file:
            begin = file.read(APPLICATION_ID_BYTES.stop)
    except OSError:
        return path.suffix != SUFFIX
    if begin.startswith(SQLITE_HEADER) and len(begin) == APPLICATION_ID_BYTES.stop:
        return int.from_bytes(begin[APPLICATION_ID_BYTES], "big") != APPLICATION_ID
    return path.suffix != SUFFIX


def _candidate_files(place: Path) -> Iterable[Path]:
    try:
        return [place] if place.is_file() else [path for path in sorted(place.iterdir()) if not is_unrelated_file(path)]
    except OSError as error:
        why = f"cannot be listed: {os_error_text(error)}"
        what = "is neither a regular file nor a folder" if isinstance(error, NotADirectoryError) else why
        raise StoreError(f"`{place}` {what}", "give files with stored runs, or folders with such files") from error
