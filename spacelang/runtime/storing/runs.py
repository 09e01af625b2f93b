"""The stores of a folder, for those who ask what they have run, and where a run is kept that nobody gave a place."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Final

from spacelang.ir.trial import TestScore
from spacelang.runtime.storing.header import DataFacts
from spacelang.runtime.storing.store import Store
from spacelang.runtime.storing.store_faults import StoreError
from spacelang.runtime.storing.stored import State

FOLDER: Final = "runs"
"""Where runs are kept that were given no place, in the folder in which they are started."""

SUFFIX: Final = ".db"

LONGEST: Final = 60
"""So many characters of the name of a space are in that of a file."""

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
    state: State
    trials: int
    best: float | None
    feasible: bool
    started: str
    seconds: float
    test: TestScore | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The runs of a folder, the latest first, and the files that are none, each with what they are instead."""

    runs: tuple[Summary, ...]
    others: tuple[tuple[Path, StoreError], ...]


def runs(folder: Path) -> Listing:
    """What is stored in a folder, without what is in folders inside of it; raises StoreError where there is none.

    Files of the system and of SQLite (`.hidden`, `RUN.db-journal`) are left out.
    """
    found, others = [], []
    for path in _files(folder):
        try:
            found.append(summary(path))
        except StoreError as error:
            others.append((path, error))
    found.sort(key=lambda each: (each.started, each.path.name), reverse=True)
    return Listing(tuple(found), tuple(others))


def summary(path: Path) -> Summary:
    """The run of a store in a line; raises StoreError. Trials are not read one by one: a damaged one may go unseen."""
    with Store.read(path) as run:
        header, best, sessions = run.header, run.best, run.sessions
        return Summary(
            path=path,
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
            test=None if run.test is None else run.test.score,
        )


def default_path(space: str, now: datetime, folder: Path = Path(FOLDER)) -> Path:
    """A new place for a run of a space: `runs/NAME-20260131-235959.db`, with a number where that is taken.

    The folder is made if need be. An empty file is there afterwards, so that no other run that begins in the same
    second takes the same name; `Store.create` makes a store of it. Raises StoreError where the folder is read-only.
    """
    word = re.sub(r"[^\w.-]+", "-", space).strip("-.")[:LONGEST] or "space"
    stem = f"{word}-{now:%Y%m%d-%H%M%S}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            path = folder / (f"{stem}{SUFFIX}" if number == 1 else f"{stem}-{number}{SUFFIX}")
            try:
                path.touch(exist_ok=False)
            except FileExistsError:
                continue
            return path
    except OSError as error:
        what = f"no run can be stored in `{folder}`: {error.strerror or error}"
        raise StoreError(what, "name another place with `--store`") from error
    raise AssertionError("there are always more numbers")


def _files(folder: Path) -> Iterable[Path]:
    try:
        paths = sorted(folder.iterdir())
    except NotADirectoryError as error:
        what = f"name its folder, or have its trials written: `spacelang runs {folder} --export trials.csv`"
        raise StoreError(f"`{folder}` cannot be listed: it is no folder", what) from error
    except OSError as error:
        raise StoreError(f"the folder `{folder}` cannot be listed: {error.strerror or error}") from error
    return [
        path
        for path in paths
        if path.is_file() and not path.name.startswith(".") and not path.name.endswith(COMPANIONS)
    ]
