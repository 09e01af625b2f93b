"""The tables of a store, and the conversion of trials and sessions from and to their rows.

Later versions must read stores. So these tables never change their meaning without a new version. The version of a
store is the sum of that of its columns (`trial_columns`) and of the number in `OPTIONAL_TABLES` of each optional table
that it has.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from hashlib import blake2b
from itertools import combinations
from math import inf, isfinite
from typing import Any, Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import AnyBound
from spacelang.ir.trial import Measurement, Memo, Request, Status, Trial
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.trial_columns import (
    FIRST_VERSION,
    MAYBE_INFINITE,
    MAYBE_INTEGER,
    MAYBE_REAL,
    TEXT,
    TRIAL_COLUMNS,
    VERSION,
    as_sqlite_real,
    columns_of_version,
    create_statement,
    parse_named_numbers,
    trial_record_fields,
    values_by_sql_name,
)

APPLICATION_ID: Final = 0x53504C47  # The application ID in the SQLite files of stores: `SPLG` in ASCII
LIMIT_FLAGS: Final = ("time", "search-time", "trials")  # The options that limit a whole run, as in `asked`
METRICS_SETTING: Final = "metrics"  # The name of the setting that lists the metrics besides the loss, as JSON
Row: TypeAlias = tuple[Any, ...]  # A row of an SQLite table
_INFINITIES: Final = (inf, -inf)


class RunState(StrEnum):
    """The state of a run: running, or how it ended."""

    RUNNING = "running"
    FINISHED = "finished"  # It has used up its budget or its space
    INTERRUPTED = "interrupted"  # It was stopped before that, and ended in order
    KILLED = "killed"  # Its last session has no end, and no process is writing to it
    UNKNOWN = "unknown"  # Running or killed: the file is read-only, so the lock cannot be checked


@dataclass(frozen=True, slots=True)
class Session:
    """One process of a run; its fields are the columns of its row.

    `started` and `ended` are in UTC; `began` and `seconds` are seconds since the start of the run. `after` is the
    number of trials before the session. `workers` is the number of workers with which it continued from them, None if
    it never did.

    A session that was killed has None for `ended`, `ending`, `seconds` and the number of `trials` at its end.
    """

    number: int
    started: str
    process: int
    began: float
    versions: Mapping[str, str]
    ended: str | None = None
    ending: str | None = None
    seconds: float | None = None
    trials: int | None = None
    after: int = 0
    workers: int | None = None


# ---- tables

TABLES: Final = (
    "CREATE TABLE header (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE sessions (session INTEGER PRIMARY KEY, started TEXT NOT NULL, process INTEGER NOT NULL, "
    "began REAL NOT NULL, versions TEXT NOT NULL, ended TEXT, ending TEXT, seconds REAL, trials INTEGER, "
    "after INTEGER NOT NULL, workers INTEGER, digest BLOB NOT NULL)",
    create_statement(TRIAL_COLUMNS),
)
"""The tables that every new store has.

The last column of a row is the digest of the columns before it. That of a trial also covers the digest of the trial
before, its row in the table of requests, if any, and the digest of its predictions, if any.
"""
PREDICTIONS: Final = (
    "CREATE TABLE predictions (trial INTEGER PRIMARY KEY, digest BLOB NOT NULL, shape TEXT NOT NULL, "
    "numbers BLOB NOT NULL)"
)
"""The table of predictions: `numbers` are little-endian 64-bit floats in C order, `shape` is JSON."""
TEST: Final = (
    "CREATE TABLE test (trial INTEGER PRIMARY KEY, loss REAL, low REAL, high REAL, rows INTEGER NOT NULL, "
    "reason TEXT NOT NULL, digest BLOB NOT NULL)"
)
"""The table of the score on test rows: at most one row, for the trial whose pipeline was tested last."""
REQUESTS: Final = (
    "CREATE TABLE requests (trial INTEGER PRIMARY KEY, proposal INTEGER, seconds REAL, memo TEXT NOT NULL)"
)
"""The table of requests with more than a configuration and a fidelity; `memo` is JSON."""
TEST_BOUNDS: Final = (
    "CREATE TABLE test_bounds (place INTEGER PRIMARY KEY, bound TEXT NOT NULL, value REAL, low REAL, high REAL, "
    "reason TEXT NOT NULL, digest BLOB NOT NULL)"
)
"""The table of the bounds of the task, in order, as measured on the test rows; `bound` is JSON."""
ENSEMBLES: Final = "CREATE TABLE ensembles (session INTEGER PRIMARY KEY, votes INTEGER NOT NULL, digest BLOB NOT NULL)"
"""The table of the ensembles that sessions were asked for, with their numbers of votes."""
TIME_NOTES: Final = "CREATE TABLE time_notes (place INTEGER PRIMARY KEY, note TEXT NOT NULL, digest BLOB NOT NULL)"
"""The table with at most one sentence, on what did not fit into the time of the run."""
LIMITS: Final = "CREATE TABLE limits (session INTEGER PRIMARY KEY, options TEXT NOT NULL, digest BLOB NOT NULL)"
"""The table of the sessions that changed the limits of the run: all its limits from then on, as JSON by option."""
OPTIONAL_TABLES: Final = {
    **{PREDICTIONS: 16, TEST: 32, REQUESTS: 64, TEST_BOUNDS: 128, ENSEMBLES: 256, TIME_NOTES: 512},
    LIMITS: 1024,
}
"""The tables that are created when first needed, and the number that each one adds to the version."""
LAYOUTS: Final = {
    version + sum(map(OPTIONAL_TABLES.__getitem__, more)): (
        *TABLES[:-1],
        create_statement(columns_of_version(version)),
        *more,
    )
    for version in range(FIRST_VERSION, VERSION + 1)
    for count in range(len(OPTIONAL_TABLES) + 1)
    for more in combinations(OPTIONAL_TABLES, count)
}
"""The tables of every version, in any order."""
DIGEST_BYTES: Final = 16  # The length of a digest, in bytes: it protects against accidents, not against attacks
DEFAULT_REQUEST_COLUMNS: Final[Row] = (None, None, "[]")
"""The values of the request columns of a trial that has no row in the table of requests."""
_MAYBE_TEXT: Final = (str, type(None))
TRIAL_TYPES: Final = (*(each.kind for each in TRIAL_COLUMNS), MAYBE_INTEGER, MAYBE_INFINITE, TEXT)
"""The types of the columns of a trial and of its request."""
SESSION_TYPES: Final = (
    *(int, str, int, float, str),
    *(_MAYBE_TEXT, _MAYBE_TEXT, MAYBE_REAL, MAYBE_INTEGER, int, MAYBE_INTEGER),
)
ENSEMBLE_TYPES: Final = (int, int)
TIME_NOTE_TYPES: Final = (int, str)
LIMITS_TYPES: Final = (int, str)
TEST_TYPES: Final = (int, *(MAYBE_REAL,) * 3, int, str)
TEST_BOUND_TYPES: Final = (int, str, *(MAYBE_INFINITE,) * 3, str)


def check_column_types(row: Row, kinds: Sequence[type | tuple[type, ...]]) -> None:
    """Raise TypeError if a value of a row has a wrong type, which SQLite does not prevent."""
    for value, kind in zip(row, kinds, strict=False):
        if not isinstance(value, kind) or (value in _INFINITIES and kind is not MAYBE_INFINITE):
            raise TypeError(f"`{value!r:.20}` is not a {_type_name(kind)}")


def _type_name(kind: type | tuple[type, ...]) -> str:
    first = kind if isinstance(kind, type) else kind[0]
    return {int: "whole number", float: "number"}.get(first, "text")


def record_to_row(record: TrialRecord) -> Row:
    """Return the row of a trial: its `TRIAL_COLUMNS`, then its request columns; without the digest and the predictions.

    Raise ValueError if its loss or one of its times is not finite.
    """
    trial, request = record.trial, record.trial.request
    numbers = (trial.cost, trial.seconds_without_sharing, record.started, record.finished, trial.loss or 0.0)
    if not all(map(isfinite, numbers)):
        raise ValueError(f"trial {record.index} cannot be stored: its loss or one of its times is not finite")
    asked = (record.proposal, as_sqlite_real(request.seconds), _memo_json(record.index, request.memo))
    return (*(each.sql_value(record) for each in TRIAL_COLUMNS), *asked)


def row_to_record(row: Row, bounds: Sequence[AnyBound] = ()) -> TrialRecord:
    """Return the trial of a row with request columns and the run's `bounds`; raise ValueError or TypeError."""
    check_column_types(row, TRIAL_TYPES)
    found, (proposal, seconds, memo) = values_by_sql_name(row[: len(TRIAL_COLUMNS)]), row[len(TRIAL_COLUMNS) :]
    measured = [value for _, value in parse_named_numbers(found["constraints"])]
    trial = Trial(
        Request(Configuration.from_json(found["configuration"]), found["fidelity"], seconds, tuple(json.loads(memo))),
        found["loss"],
        found["cost"],
        Status(found["status"]),
        found["reason"],
        tuple(Measurement(*each) for each in zip(bounds, measured, strict=True)) if measured else (),
        None if found["cost_alone"] == found["cost"] else found["cost_alone"],
        parse_named_numbers(found["metrics"]),
        found["training_loss"],
        folds=found["folds"],
        objectives=parse_named_numbers(found["objectives"]),
    )
    return TrialRecord(trial=trial, proposal=proposal, **trial_record_fields(row[: len(TRIAL_COLUMNS)]))


def session_to_row(session: Session) -> Row:
    """Return the row of a session with its digest."""
    values = {column.name: getattr(session, column.name) for column in fields(Session)}
    values["began"] = float(session.began)
    values["versions"] = json.dumps(dict(session.versions), sort_keys=True)
    values["seconds"] = None if session.seconds is None else float(session.seconds)
    return with_digest(tuple(values.values()))


def row_to_session(row: Row) -> Session:
    """Return the session of a row with its digest. Raises ValueError if the digest differs."""
    number, started, process, began, versions, *more = verify_and_strip_digest(row, SESSION_TYPES, f"session {row[0]}")
    known = json.loads(versions)
    if not isinstance(known, dict):
        raise TypeError("the versions of a session must be a mapping")
    return Session(number, started, process, began, {name: str(each) for name, each in known.items()}, *more)


def row_digest(before: bytes, values: Iterable[object]) -> bytes:
    """Return the digest of the values of a row; `before` is the digest of the row before, which it includes."""
    text = json.dumps([each.hex() if isinstance(each, bytes) else each for each in values])
    return blake2b(before + text.encode(), digest_size=DIGEST_BYTES).digest()


def with_digest(row: Row) -> Row:
    """Return a row with its digest appended."""
    return (*row, row_digest(b"", row))


def verify_and_strip_digest(row: Row, kinds: Sequence[type | tuple[type, ...]], record_name: str) -> Row:
    """Return a row without its digest; raise ValueError if it differs, and TypeError as `check_column_types`."""
    if with_digest(row[:-1]) != row:
        raise ValueError(f"{record_name} does not match its checksum")
    check_column_types(row[:-1], kinds)
    return row[:-1]


def _memo_json(index: int, memo: Memo) -> str:
    """Return a memo as JSON; floats are written exactly. Raises ValueError for other types than numbers and strings."""
    if not all(isinstance(each, (float, int, str)) for each in memo):
        raise ValueError(f"the memo that the optimizer stores with trial {index} must contain only numbers and texts")
    return json.dumps([*memo])
