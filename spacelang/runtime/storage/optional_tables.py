"""Optional tables of a store: each is created when something is first written to it.

One table has the parts of requests other than configuration and fidelity, another the predictions of trials. Both are
written in the transaction of their trial, and its digest covers them: none of them can be lost or changed alone. Other
tables have results of a run other than its trials.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spacelang.ir.task import AnyBound, Bound, BoundedMeasure, FunctionBound
from spacelang.ir.trial import TestScore, UnseenRowsMeasurement
from spacelang.runtime.storage import records, store_file
from spacelang.runtime.storage.records import Row
from spacelang.runtime.storage.store_errors import check_store_exists, convert_store_errors
from spacelang.runtime.storage.trial_columns import as_sqlite_real, escape_surrogates

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class OptionalTable:
    """An optional table: its name, and the statement that creates it."""

    name: str
    layout: str

    def exists_in(self, connection: sqlite3.Connection) -> bool:
        """Return True if the store has the table."""
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return connection.execute(query, (self.name,)).fetchone() is not None

    def fetch(self, connection: sqlite3.Connection, query: str, values: Row = ()) -> list[Row]:
        """Return the result of a query on the table, empty if the store does not have it."""
        return connection.execute(query, values).fetchall() if self.exists_in(connection) else []

    def rows_by_trial(self, connection: sqlite3.Connection, columns: str, trials: Sequence[int]) -> dict[int, Row]:
        """Return `columns` of each trial, by trial number; the trials must be consecutive, as one range is selected."""
        if not trials:
            return {}
        query = f"SELECT trial, {columns} FROM {self.name} WHERE trial BETWEEN ? AND ?"
        return {trial: tuple(row) for trial, *row in self.fetch(connection, query, (trials[0], trials[-1]))}

    def trial_numbers(self, connection: sqlite3.Connection) -> Iterator[int]:
        """Return the numbers of the trials that have a row."""
        return (trial for (trial,) in self.fetch(connection, f"SELECT trial FROM {self.name}"))

    def insert(self, connection: sqlite3.Connection, *rows: Row) -> None:
        """Insert rows; create the table if they are the first ones."""
        if not self.exists_in(connection):
            self._create(connection)
        connection.executemany(f"INSERT INTO {self.name} VALUES ({','.join('?' * len(rows[0]))})", rows)

    def replace_all(self, connection: sqlite3.Connection, *rows: Row) -> None:
        """Replace all rows by these; without rows no table is created."""
        if self.exists_in(connection):
            connection.execute(f"DELETE FROM {self.name}")
        if rows:
            self.insert(connection, *rows)

    def _create(self, connection: sqlite3.Connection) -> None:
        """Create the table, and set the version of the store to the one with this table in addition."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        wanted = {*records.LAYOUTS[version], self.layout}
        connection.execute(self.layout)
        (version,) = [version for version, layout in records.LAYOUTS.items() if {*layout} == wanted]
        connection.execute(f"PRAGMA user_version={version}")


REQUEST_TABLE: Final = OptionalTable("requests", records.REQUESTS)
PREDICTION_TABLE: Final = OptionalTable("predictions", records.PREDICTIONS)
TEST_TABLE: Final = OptionalTable("test", records.TEST)
TEST_BOUND_TABLE: Final = OptionalTable("test_bounds", records.TEST_BOUNDS)
ENSEMBLE_TABLE: Final = OptionalTable("ensembles", records.ENSEMBLES)
TIME_NOTE_TABLE: Final = OptionalTable("time_notes", records.TIME_NOTES)
LIMITS_TABLE: Final = OptionalTable("limits", records.LIMITS)
MAX_BYTES: Final = 10**9 - 10**4
"""The maximum size of predictions, in bytes: SQLite's longest row, minus the other columns."""


@dataclass(frozen=True, slots=True)
class PackedPredictions:
    """Predictions as bytes, with their shape as JSON and their digest."""

    shape: str
    numbers: bytes
    digest: bytes


def pack_predictions(predictions: Any) -> PackedPredictions:
    """Serialize an array of floats. Raises ValueError for more than `MAX_BYTES` bytes and for other values."""
    from numpy import ascontiguousarray

    numbers = ascontiguousarray(predictions, "<f8")
    if numbers.nbytes > MAX_BYTES:
        message = f"the predictions of a trial take {numbers.nbytes} bytes, and a row holds at most {MAX_BYTES}"
        raise ValueError(message)
    # The shape of the given array: `ascontiguousarray` adds a dimension to a single number.
    shape, content = json.dumps(list(getattr(predictions, "shape", numbers.shape))), numbers.tobytes()
    return PackedPredictions(shape, content, _prediction_digest(shape, content))


def unpack_predictions(row: Row) -> "npt.NDArray[np.float64]":
    """Return the array from the columns digest, shape and numbers. Raises ValueError if the digest differs."""
    from numpy import float64, frombuffer

    digest, shape, numbers = row
    if _prediction_digest(shape, numbers) != digest:
        raise ValueError("the numbers do not match their checksum")
    return frombuffer(numbers, "<f8").reshape(json.loads(shape)).astype(float64)


def _prediction_digest(shape: str, numbers: bytes) -> bytes:
    found = blake2b(shape.encode() + b"\n", digest_size=records.DIGEST_BYTES)
    found.update(numbers)
    return found.digest()


@dataclass(frozen=True, slots=True)
class StoredUnseenScore:
    """The score on test rows of a trial's pipeline, fitted on all other rows."""

    trial: int
    score: TestScore


def save_unseen_score(path: Path, test: StoredUnseenScore) -> None:
    """Store the score of a run that has ended, and replace an earlier one. Raises StoreError if that fails."""
    score = test.score
    numbers = map(as_sqlite_real, (score.loss, score.low, score.high))
    row = records.with_digest((test.trial, *numbers, score.rows, escape_surrogates(score.reason)))
    _replace_tables(path, {TEST_TABLE: [row], TEST_BOUND_TABLE: [*map(_bound_row, count(), score.constraints)]})


def save_time_note(path: Path, note: str) -> None:
    """Store a sentence on what did not fit into the time of a run that has ended; empty if everything did.

    It replaces an earlier one. Raises StoreError if that fails.
    """
    _replace_tables(path, {TIME_NOTE_TABLE: [records.with_digest((0, note))] if note else []})


def load_time_note(connection: sqlite3.Connection) -> str:
    """Return the stored sentence, empty without one. Raises ValueError if it does not match its digest."""
    for row in TIME_NOTE_TABLE.fetch(connection, "SELECT * FROM time_notes"):
        _, note = records.verify_and_strip_digest(row, records.TIME_NOTE_TYPES, "the note on the time")
        return str(note)
    return ""


def load_changed_limits(connection: sqlite3.Connection) -> dict[str, str] | None:
    """Return the limits as the last session that changed them set them; None if none did. Raises ValueError."""
    for row in LIMITS_TABLE.fetch(connection, "SELECT * FROM limits ORDER BY session DESC LIMIT 1"):
        _, text = records.verify_and_strip_digest(row, records.LIMITS_TYPES, "the record of the limits of the run")
        found = json.loads(text)
        if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
            raise TypeError("the limits must map options to texts")
        return found
    return None


def _replace_tables(path: Path, tables: Mapping[OptionalTable, Sequence[Row]]) -> None:
    """Replace all rows of some tables in a store whose run has ended. Raises StoreError if that fails."""
    check_store_exists(path)
    with convert_store_errors(path):
        store_file.roll_back_creation(path)
    with convert_store_errors(path), store_file.open_closing_on_error(path, "rw") as connection:
        store_file.check_is_readable_store(path, connection)
        store_file.acquire_write_lock(path, connection)
        for table, rows in tables.items():
            table.replace_all(connection, *rows)
        connection.execute("COMMIT")
        store_file.merge_and_remove_wal(connection)
        connection.close()


def load_unseen_score(connection: sqlite3.Connection) -> StoredUnseenScore | None:
    """Return the stored score, None without one. Raises ValueError if it does not match its digest."""
    for row in TEST_TABLE.fetch(connection, "SELECT * FROM test"):
        what = "the score on the test rows"
        trial, loss, low, high, rows, reason = records.verify_and_strip_digest(row, records.TEST_TYPES, what)
        return StoredUnseenScore(trial, TestScore(loss, low, high, rows, reason, _load_bounds(connection)))
    return None


def _load_bounds(connection: sqlite3.Connection) -> tuple[UnseenRowsMeasurement, ...]:
    rows = TEST_BOUND_TABLE.fetch(connection, "SELECT * FROM test_bounds ORDER BY place")
    what = "the measurement of a bound on the test rows"
    values = [records.verify_and_strip_digest(row, records.TEST_BOUND_TYPES, what) for row in rows]
    return tuple(UnseenRowsMeasurement(_parse_bound(text), *found) for _, text, *found in values)


def _bound_text(bound: AnyBound) -> str:
    facts = asdict(bound)
    facts.pop("span", None)
    # ASCII, because some strings, with lone surrogates, cannot be encoded.
    return json.dumps(facts, sort_keys=True)


def _parse_bound(text: str) -> AnyBound:
    facts = json.loads(text)
    return (
        Bound(**facts | {"measure": BoundedMeasure(facts["measure"])}) if "measure" in facts else FunctionBound(**facts)
    )


def _bound_row(place: int, reached: UnseenRowsMeasurement) -> Row:
    found = map(as_sqlite_real, (reached.value, reached.low, reached.high))
    return records.with_digest((place, _bound_text(reached.bound), *found, escape_surrogates(reached.reason)))
