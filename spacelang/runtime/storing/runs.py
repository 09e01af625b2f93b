"""The stores of some places, for those who ask what they have run, and where a run is kept that nobody gave a place."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Final

from spacelang.files import said_by
from spacelang.ir.trial import TestScore
from spacelang.runtime.storing.header import DataFacts
from spacelang.runtime.storing.store import Store
from spacelang.runtime.storing.store_faults import StoreError
from spacelang.runtime.storing.stored import APPLICATION, RunState
from spacelang.runtime.storing.stored_run import StoredRun

FOLDER: Final = "runs"
"""Where runs are kept that were given no place, in the folder in which they are started."""

SUFFIX: Final = ".db"

LONGEST: Final = 60
"""So many characters of the name of a space are in that of a file."""

SQLITE: Final = b"SQLite format 3\0"
"""How an SQLite file begins."""

MARK: Final = slice(68, 72)
"""The bytes in which it says whose it is (https://sqlite.org/fileformat2.html#the_database_header)."""

COMPANIONS: Final = ("-journal", "-wal", "-shm")
"""How the names of files end that SQLite puts beside a store."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in a line: `best` is the smallest loss (None without a success), `feasible` whether it keeps to all bounds.

    `started` is in UTC (ISO 8601; empty where it was killed before it began), `seconds` how long the run took so far.
    `test` is the score of the best pipeline on test rows, None where it has none.
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
class Listing:
    """The runs of some places, the latest first, and stores that cannot be read, each with the reason."""

    runs: tuple[Summary, ...]
    others: tuple[tuple[Path, StoreError], ...]


def runs(*places: Path) -> Listing:
    """What is stored in files and folders, each once; raises StoreError for a place that is not there.

    Of a folder, without what is in folders inside of it, strangers are passed over in silence: files of the system,
    those that SQLite puts beside a store (`RUN.db-wal`), and whatever else is no store (`is_stranger`).
    """
    found, others = [], []
    for path in dict.fromkeys(each for place in places for each in _files(place)):
        try:
            with Store.read(path) as run:
                found.append(summary(run))
        except StoreError as error:
            others.append((path, error))
    found.sort(key=lambda each: (each.started, each.path.name), reverse=True)
    return Listing(tuple(found), tuple(others))


def summary(run: StoredRun) -> Summary:
    """A run in a line; raises StoreError. Trials are not read one by one: a damaged one may go unseen."""
    header, best, sessions, test = run.header, run.best, run.sessions, run.test
    return Summary(
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


def default_path(space: str, now: datetime, folder: Path = Path(FOLDER)) -> Path:
    """A new place for a run of a space: `runs/NAME-20260131-235959.db`, with a number where that is taken.

    The folder is made if need be. An empty file is there afterwards, so that no other run that begins in the same
    second takes the same name; `Store.create` makes a store of it. Raises StoreError where the folder is read-only.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names(space, now):
            path = folder / f"{name}{SUFFIX}"
            try:
                path.touch(exist_ok=False)
            except FileExistsError:
                continue
            return path
    except OSError as error:
        what = f"no run can be stored in `{folder}`: {error.strerror or error}"
        raise StoreError(what, "name another place with `--store`") from error
    raise AssertionError("there are always more numbers")


def names(space: str, now: datetime) -> Iterator[str]:
    """What something new of a space may be called, without end: `NAME-20260131-235959`, and with numbers from 2 on."""
    word = re.sub(r"[^\w.-]+", "-", space).strip("-.")[:LONGEST] or "space"
    stem = f"{word}-{now:%Y%m%d-%H%M%S}"
    yield stem
    yield from (f"{stem}-{number}" for number in count(2))


def is_stranger(path: Path) -> bool:
    """Whether a file of a folder has nothing to do with runs.

    So it is where it is an SQLite file of another program, and where it is called like no store and has no mark of one.
    A file that is called like one and is none may be what is left of a store: that is told.
    """
    if path.name.startswith(".") or path.name.endswith(COMPANIONS) or not path.is_file():
        return True
    try:
        with path.open("rb") as file:
            begin = file.read(MARK.stop)
    except OSError:
        return path.suffix != SUFFIX
    if begin.startswith(SQLITE) and len(begin) == MARK.stop:
        return int.from_bytes(begin[MARK], "big") != APPLICATION
    return path.suffix != SUFFIX


def _files(place: Path) -> Iterable[Path]:
    """A file, or those of a folder that are no strangers."""
    try:
        return [place] if place.is_file() else [path for path in sorted(place.iterdir()) if not is_stranger(path)]
    except NotADirectoryError as error:
        raise StoreError(f"`{place}` is no regular file and no folder", "name stores, or folders of them") from error
    except OSError as error:
        what = f"`{place}` cannot be listed: {said_by(error)}"
        raise StoreError(what, "name stores, or folders of them") from error
