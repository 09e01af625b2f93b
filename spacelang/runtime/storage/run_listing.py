"""List stored runs, export their trials, and choose the path of a run for which the user gives none."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spacelang.files import os_error_text, replace_atomically
from spacelang.ir.domain import literal
from spacelang.ir.trial import TestScore
from spacelang.runtime.storage.records import APPLICATION_ID, METRICS_SETTING, RunState
from spacelang.runtime.storage.run_header import DataFacts, stored_objective_names
from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.store_errors import StoreError
from spacelang.runtime.storage.stored_run import StoredRun
from spacelang.runtime.storage.trial_columns import escape_surrogates, to_jsonable, trials_frame

if TYPE_CHECKING:
    import pandas as pd

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
    far. `test` is the score of the best pipeline on test rows, None without one. `objectives` are the formulas of
    several objectives, of which `best` is the lowest value of the first one, although no trial is the best.
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
    objectives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunListing:
    """The runs found in some files and folders, latest first, and the stores that could not be read, with errors."""

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
    """Return the summary of a run from queries on its store; raise StoreError if the store is damaged.

    It does not read each trial, so that damage to a single one may go unnoticed.
    """
    header, best, sessions, test = run.header, run.best, run.sessions, run.test_score
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
        objectives=tuple(each.formula for each in stored_objective_names(header)),
    )


def reserve_default_path(space: str, now: datetime, folder: Path = Path(DEFAULT_FOLDER)) -> Path:
    """Reserve and return a new path for a run of a space: `runs/NAME-20260131-235959.db`.

    A number is appended if the name is taken. The folder is created if needed. An empty file reserves the path, so that
    another run which starts in the same second takes another name; `Store.create` turns that file into a store. Raises
    StoreError if the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in default_file_names(space, now):
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


def default_file_names(space: str, now: datetime) -> Iterator[str]:
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
        problem = "is neither a regular file nor a folder" if isinstance(error, NotADirectoryError) else why
        raise StoreError(f"`{place}` {problem}", "give files with stored runs, or folders with such files") from error


SUFFIXES: Final = (".csv", ".csv.gz", ".parquet", ".jsonl")


def trials_to_frame(run: StoredRun) -> "pd.DataFrame":
    """Return a table with one row for each trial, indexed by its number (see `trials_frame`)."""
    bounds = [each.name for each in run.bounds]
    return trials_frame(run.records(), bounds=bounds, metrics=_recorded_metrics(run.header.settings))


def _recorded_metrics(settings: Mapping[str, str]) -> list[str]:
    try:
        found = json.loads(settings.get(METRICS_SETTING, "[]"))
    except ValueError:  # A plug-in may use the name for another setting.
        return []
    return list(map(str, found)) if isinstance(found, list) else []


def export_trials(run: StoredRun, path: Path) -> None:
    """Write the table to a `.csv`, `.csv.gz`, `.parquet` or `.jsonl` file, and replace an existing one.

    Values of parameters with mixed types are written in the syntax of the language (`none`, `0.5`, `sqrt`), so that
    `none` differs from an inactive parameter. In `.jsonl`, missing values are `null` and infinity is a string.

    Raises StoreError for another suffix, for a missing library, and if the file cannot be written; an existing file is
    unchanged then.
    """
    suffix = next((known for known in SUFFIXES if path.name.lower().endswith(known)), None)
    if suffix is None:
        raise StoreError(f"`{path}` is not a supported table format", f"name a file ending in {', '.join(SUFFIXES)}")
    if suffix == ".parquet" and find_spec("pyarrow") is None:
        raise StoreError(f"`{path}` needs `pyarrow`", "install `spacelang[parquet]`, or export to `.csv.gz`")
    table = _with_literals(trials_to_frame(run))
    # A fixed time in the archive makes equal tables equal files.
    packed: Any = {"method": "gzip", "mtime": 1} if suffix == ".csv.gz" else None
    try:
        with replace_atomically(path) as new:
            if suffix == ".parquet":
                table.reset_index().to_parquet(new, engine="pyarrow", index=False)
            elif suffix == ".jsonl":
                new.write_text(_json_lines(table.reset_index()), encoding="ascii")
            else:
                # A carriage return outside of quotes would end a row.
                table.replace({"\r": r"\\r"}, regex=True).to_csv(new, compression=packed)
    except OSError as error:
        raise StoreError(f"`{path}` cannot be written: {error.strerror or error}", "choose another place") from error


def _json_lines(table: "pd.DataFrame") -> str:
    # Not `to_json`, which rounds to 15 digits.
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return "".join(f"{json.dumps({name: to_jsonable(value) for name, value in row.items()})}\n" for row in rows)


def _with_literals(table: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    def text(value: Any) -> Any:
        return value if value is pd.NA else escape_surrogates(literal(value))

    mixed = [name for name in table.columns if name.startswith("param_") and table[name].dtype == "object"]
    return table.assign(**{name: pd.array(list(map(text, table[name])), dtype="string") for name in mixed})
