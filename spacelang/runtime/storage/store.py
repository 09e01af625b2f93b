"""The store of a run: one SQLite file with all trials.

Only the process that runs the search writes, one transaction a trial, which is on the disk when `append` returns.
SQLite uses a write-ahead log beside the file (`RUN.db-wal`), which is synchronized once a trial (`synchronous=FULL`). A
rollback journal would keep everything in one file at all times, but needs four synchronizations and takes five times as
long.

A run that ends in order leaves one file. After a kill the next session merges the log. A missing or truncated log is
detected, so that no trial is lost silently.

The lock is SQLite's own. Between trials a run holds the write lock, which is released when the process ends in any way,
and which permits others to read.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from spacelang.runtime.history import SessionStart, TrialRecord
from spacelang.runtime.storage import records, store_errors, store_file
from spacelang.runtime.storage.optional_tables import (
    ENSEMBLE_TABLE,
    LIMITS_TABLE,
    PREDICTION_TABLE,
    REQUEST_TABLE,
    pack_predictions,
)
from spacelang.runtime.storage.records import Row, Session
from spacelang.runtime.storage.run_header import RunHeader, current_versions, version_changes
from spacelang.runtime.storage.store_errors import StoreError
from spacelang.runtime.storage.stored_run import StoredRun
from spacelang.runtime.storage.trial_columns import TRIAL_COLUMNS

__all__ = ["Store", "StoreError", "StoredRun", "is_missing_or_empty"]
CHECKPOINT_TRIALS: Final = 64
"""The number of trials after which the write-ahead log is copied into the file (a checkpoint)."""
CHECKPOINT_BYTES: Final = 2**26  # The bytes of predictions in the log after which it is
INSERT_SESSION: Final = f"INSERT INTO sessions VALUES ({','.join('?' * 12)})"
REPLACE_SESSION: Final = f"REPLACE INTO sessions VALUES ({','.join('?' * 12)})"


class Store(StoredRun):
    """The store of a run that this process writes. `end_session` closes it; without it no stored trial is lost."""

    stores_predictions = True

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(path, connection)
        self._columns = len(connection.execute("SELECT * FROM trials LIMIT 0").description) - 1  # without the digest
        self._last: tuple[int, bytes] = (0, self._header_digest)
        self._session: Session | None = None
        self._last_written: tuple[int, store_file.FileIdentity] | None = None
        self._has_failed = False
        self._logged_bytes = 0

    @staticmethod
    def create(path: Path, header: RunHeader, *, durable: bool = True) -> "Store":
        """Create a store at a path without a file, or with an empty one. Raises StoreError for any other path.

        The folder must exist. `header` gives the package versions. If not `durable`, trials survive the end of the
        process, but may be lost in a crash of the machine: for trials that are quick to repeat.
        """
        store_errors.check_can_create(path)
        with store_errors.convert_store_errors(path), store_file.open_closing_on_error(path, "rwc") as connection:
            store_file.check_is_blank_file(path, connection)
            connection.execute("BEGIN EXCLUSIVE")
            store_file.check_is_blank_file(path, connection)
            store_file.create_tables(connection, header)
            connection.execute("COMMIT")
            store_file.enable_wal(connection, durable=durable)
            store_file.acquire_write_lock(path, connection)
            store = Store(path, connection)
            store._insert_session(Session(1, _timestamp(), os.getpid(), 0.0, header.versions))
            return store

    @staticmethod
    def open(path: Path, header: RunHeader, *, durable: bool = True) -> "Store":
        """Open the store of a run to resume the run with this header; `durable` is as for `create`.

        Raises StoreError if the store does not exist, if another process is writing to it, if it is damaged, or if it
        belongs to another run. In the last case `differences` of the error lists the differences.
        """
        store_errors.check_store_exists(path)
        with store_errors.convert_store_errors(path):
            store_file.roll_back_creation(path)
            store_file.check_wal_present(path)
        with store_errors.convert_store_errors(path), store_file.open_closing_on_error(path, "rw") as connection:
            store_file.check_is_readable_store(path, connection)
            store_file.enable_wal(connection, durable=durable)
            store_file.acquire_write_lock(path, connection)
            store_file.checkpoint_and_check_wal(path)
            store_file.check_integrity(path, connection)
            store = Store(path, connection)
            store._check_trials()
            store_file.check_same_run(path, store.header, header)
            found = header.versions or current_versions()
            number = len(store.sessions) + 1
            session = Session(number, _timestamp(), os.getpid(), store.seconds, found, after=store.count)
            store._insert_session(session)
            return store

    @staticmethod
    def read(path: Path) -> StoredRun:
        """Open a store for reading, also while its run is active. Raises StoreError if it is incomplete."""
        store_errors.check_store_exists(path)
        with store_errors.convert_store_errors(path):
            store_file.roll_back_creation(path)
            store_file.check_wal_present(path)
        with store_errors.convert_store_errors(path), store_file.open_closing_on_error(path, "ro") as connection:
            return StoredRun(path, connection)

    @property
    def count(self) -> int:
        """The number of trials."""
        return self._last[0]

    @property
    def session_starts(self) -> tuple[SessionStart, ...]:
        """The starts of the sessions that continued from the earlier trials, which a resumed run replays."""
        return tuple(SessionStart(each.after, each.workers) for each in self.sessions if each.workers is not None)

    def start_session(self, workers: int) -> None:
        """Store the start of this session after the earlier trials, with its number of workers. Raises StoreError."""
        if self._session is None:
            return
        session = replace(self._session, workers=workers)
        with self._guarded_write():
            self._connection.execute(REPLACE_SESSION, records.session_to_row(session))
            self._commit()
            self._session = session

    def store_ensemble_request(self, votes: int) -> None:
        """Store that this session ends with an ensemble of `votes` votes. Raises StoreError."""
        if self._session is None:
            return
        with self._guarded_write():
            ENSEMBLE_TABLE.insert(self._connection, records.with_digest((self._session.number, votes)))
            self._commit()

    def store_limits(self, limits: Mapping[str, str]) -> None:
        """Store the options that limit the run from this session on, unless they are as before. Raises StoreError."""
        if self._session is None or limits == self.limits:
            return
        with self._guarded_write():
            LIMITS_TABLE.insert(self._connection, records.with_digest((self._session.number, json.dumps(dict(limits)))))
            self._commit()

    def append(self, record: TrialRecord) -> None:
        """Store the next trial, with its predictions if it has any; it is on the disk when this returns.

        Raises StoreError if it cannot be written; the store then keeps all earlier trials and refuses further writes.
        Raises ValueError for a trial that is not the next one, and for invalid numbers; the store is unchanged then.
        """
        number, before = self._last
        if record.index != number + 1:
            raise ValueError(f"trial {record.index} does not follow trial {number}")
        whole = records.record_to_row(record)
        row, fields = whole[: self._columns], whole[len(TRIAL_COLUMNS) :]
        stored = () if fields == records.DEFAULT_REQUEST_COLUMNS else fields
        predictions = record.trial.predictions
        packed = None if predictions is None else pack_predictions(predictions)
        mark = records.row_digest(before, (*row, *stored, *(() if packed is None else (packed.digest,))))
        with self._guarded_write():
            self._connection.execute(f"INSERT INTO trials VALUES ({'?,' * self._columns}?)", (*row, mark))
            if stored:
                REQUEST_TABLE.insert(self._connection, (record.index, *stored))
            if packed is not None:
                PREDICTION_TABLE.insert(self._connection, (record.index, packed.digest, packed.shape, packed.numbers))
            self._commit()
            self._last = (record.index, mark)
            self._logged_bytes += 0 if packed is None else len(packed.numbers)
            if record.index % CHECKPOINT_TRIALS == 0 or self._logged_bytes > CHECKPOINT_BYTES:
                store_file.checkpoint_wal(self.path)
                self._restart_transaction()
                self._logged_bytes = 0

    def end_session(self, ending: str, seconds: float) -> None:
        """Store why the session ends, after `seconds` of the run, and close the store; after an error only close it."""
        if self._has_failed:
            self.close()
        if self._session is None:
            return
        ended = replace(self._session, ended=_timestamp(), ending=ending, seconds=seconds, trials=self.count)
        self._write_and_close(REPLACE_SESSION, records.session_to_row(ended))

    def undo_session_and_make_error(self, trial: int) -> StoreError:
        """Return the error for a trial that the search does not request; leave the store as before this session."""
        changes = version_changes(self.header.versions, current_versions())
        if self._session is not None:
            with self._guarded_write():
                for table in (ENSEMBLE_TABLE, LIMITS_TABLE):
                    query = f"DELETE FROM {table.name} WHERE session = ?"
                    table.fetch(self._connection, query, (self._session.number,))
            self._write_and_close("DELETE FROM sessions WHERE session = ?", (self._session.number,))
        return store_errors.different_search_error(self.path, trial, changes)

    def close(self) -> None:
        """Close the file without storing anything."""
        self._session = None
        store_file.close_keeping_wal(self.path, self._connection)

    def _write_and_close(self, statement: str, values: Row) -> None:
        try:
            with self._guarded_write():
                self._connection.execute(statement, values)
                self._connection.execute("COMMIT")
            with store_errors.convert_store_errors(self.path):
                store_file.merge_and_remove_wal(self._connection)
        except BaseException:
            self.close()
            raise
        self._session = None
        super().close()

    def _insert_session(self, session: Session) -> None:
        with self._guarded_write():
            self._connection.execute(INSERT_SESSION, records.session_to_row(session))
            self._commit()
            store_file.extend_and_require_wal(self.path)
            self._restart_transaction()
            self._session = session

    def _commit(self) -> None:
        """End the transaction and start the next one at once, so that this run keeps the write lock."""
        self._connection.execute("COMMIT")
        self._begin_transaction()

    def _restart_transaction(self) -> None:
        """Restart the transaction, so that the next one uses the log from its start after a checkpoint."""
        self._connection.execute("ROLLBACK")
        self._begin_transaction()

    def _begin_transaction(self) -> None:
        """Acquire the write lock; raise StoreError if another program wrote while nobody held it."""
        self._connection.execute("BEGIN IMMEDIATE")
        version = self._fetch_one("PRAGMA data_version")[0]
        if self._last_written is not None and self._last_written[0] != version:
            raise store_errors.changed_during_run_error(self.path)
        self._last_written = (version, store_file.file_identity(self.path))

    @contextmanager
    def _guarded_write(self) -> Iterator[None]:
        """Roll back all writes in the context if one fails; after an error of the file refuse further writes."""
        if self._has_failed:
            raise StoreError(f"an earlier write to `{self.path}` has failed", "continue the run with `--resume`")
        try:
            self._check_file()
            yield
        except (sqlite3.Error, OSError, StoreError) as error:
            self._has_failed = True
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise store_errors.explain_sqlite_error(error, self.path) from error
            raise
        except BaseException:  # an error of the caller, or an interruption by the user at any point
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._begin_transaction()
            self._last = self._read_last_trial()
            raise

    def _check_file(self) -> None:
        """Raise StoreError unless the file is the one last written: the lock does not keep it from being moved."""
        if self._last_written is not None and self._last_written[1] != store_file.file_identity(self.path):
            raise store_errors.changed_during_run_error(self.path)

    def _read_last_trial(self) -> tuple[int, bytes]:
        query = "SELECT trial, digest FROM trials ORDER BY trial DESC LIMIT 1"
        return self._connection.execute(query).fetchone() or (0, self._header_digest)

    def _check_trials(self) -> None:
        count = sum(1 for _ in self._rows())
        for trial in PREDICTION_TABLE.trial_numbers(self._connection):
            if not 1 <= trial <= count:
                raise store_errors.damaged_store_error(
                    self.path, f"the store has predictions of trial {trial}, but not the trial"
                )
            self.predictions(trial)
        for trial in REQUEST_TABLE.trial_numbers(self._connection):
            if not 1 <= trial <= count:
                raise store_errors.damaged_store_error(
                    self.path, f"the store has the request of trial {trial}, but not the trial"
                )
        expected = max((session.trials or 0 for session in self.sessions), default=0)
        if count < expected:
            raise store_errors.damaged_store_error(self.path, f"the store has only {count} of {expected} trials")
        self._last = self._read_last_trial()


def is_missing_or_empty(path: Path) -> bool:
    """Return True if the file is missing or empty, as its run was killed before it started. Raises StoreError."""
    with store_errors.convert_store_errors(path):
        if not path.exists():
            return True
        if path.is_file():
            store_file.roll_back_creation(path)
        return path.is_file() and path.stat().st_size == 0


def _timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
