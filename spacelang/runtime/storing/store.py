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

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

from spacelang.runtime.history import Began, Record
from spacelang.runtime.storing import store_predictions
from spacelang.runtime.storing.header import Header, version_changes, versions
from spacelang.runtime.storing.store_faults import (
    StoreError,
    damaged,
    explained,
    moved,
    must_allow_a_store,
    must_be_a_store,
    other_search,
    told,
)
from spacelang.runtime.storing.store_file import (
    Places,
    check_integrity,
    check_kind,
    check_log,
    closing_on_error,
    join_log,
    leave,
    make_tables,
    mark_log,
    must_be_blank,
    must_be_same,
    must_go_on,
    must_have_its_log,
    places,
    prepare,
    recover,
    seize,
    take_over_log,
)
from spacelang.runtime.storing.store_optional import ASKED, PREDICTED, SAID
from spacelang.runtime.storing.stored import (
    COLUMNS,
    NOTHING_SAID,
    Row,
    Session,
    digest,
    marked,
    row_of,
    session_row,
)
from spacelang.runtime.storing.stored_run import StoredRun

__all__ = ["Store", "StoreError", "StoredRun", "is_blank"]

Now: TypeAlias = Callable[[], datetime]

IN_THE_LOG: Final = 64
"""The number of trials after which the write-ahead log is copied into the file (a checkpoint)."""

BYTES_IN_THE_LOG: Final = 2**26
"""The bytes of predictions in the log after which it is."""


class Store(StoredRun):
    """The store of a run in this process, which writes its trials to it.

    `end` closes the store in order. A store that is only closed looks as if its process had been killed; nothing is
    lost then.
    """

    keeps_predictions = True

    def __init__(self, path: Path, connection: sqlite3.Connection, now: Now) -> None:
        super().__init__(path, connection)
        self._now = now
        self._last: tuple[int, bytes] = (0, self._root)
        self._session: Session | None = None
        self._seen: tuple[int, Places] | None = None
        self._broken = False
        self._logged = 0

    @staticmethod
    def create(path: Path, header: Header, *, now: Now = lambda: datetime.now(UTC), durable: bool = True) -> "Store":
        """Create a store at a path without a file, or with an empty one. Raises StoreError for any other path.

        The folder must exist. `header` gives the package versions. If not `durable`, trials survive the end of the
        process, but may be lost in a crash of the machine: for trials that are quick to repeat.
        """
        must_allow_a_store(path)
        with told(path), closing_on_error(path, "rwc") as connection:
            must_be_blank(path, connection)
            connection.execute("BEGIN EXCLUSIVE")
            must_be_blank(path, connection)
            make_tables(connection, header)
            connection.execute("COMMIT")
            prepare(connection, durable=durable)
            seize(path, connection)
            store = Store(path, connection, now)
            store._begin_session(Session(1, _said(now), os.getpid(), 0.0, header.versions))
            return store

    @staticmethod
    def open(path: Path, header: Header, *, now: Now = lambda: datetime.now(UTC), durable: bool = True) -> "Store":
        """Open the store of a run to resume the run with this header; `durable` is as for `create`.

        Raises StoreError if the store does not exist, if another process is writing to it, if it is damaged, if its
        trials were reported in rounds, or if it belongs to another run. In the last case `differences` of the error
        lists the differences.
        """
        must_be_a_store(path)
        with told(path):
            recover(path)
            must_have_its_log(path)
        with told(path), closing_on_error(path, "rw") as connection:
            check_kind(path, connection)
            must_go_on(path, connection)
            prepare(connection, durable=durable)
            seize(path, connection)
            check_log(path)
            check_integrity(path, connection)
            store = Store(path, connection, now)
            store._check_trials()
            must_be_same(path, store.header, header)
            found = header.versions or versions()
            number = len(store.sessions) + 1
            store._begin_session(Session(number, _said(now), os.getpid(), store.seconds, found, after=store.count))
            return store

    @staticmethod
    def read(path: Path) -> StoredRun:
        """Open a store for reading, also while its run is active. Raises StoreError if it is incomplete."""
        must_be_a_store(path)
        with told(path):
            recover(path)
            must_have_its_log(path)
        with told(path), closing_on_error(path, "ro") as connection:
            return StoredRun(path, connection)

    @property
    def count(self) -> int:
        """The number of trials."""
        return self._last[0]

    @property
    def begun(self) -> tuple[Began, ...]:
        """The starts of the sessions that continued from the earlier trials, which a resumed run replays."""
        return tuple(Began(each.after, each.workers) for each in self.sessions if each.workers is not None)

    def begin(self, workers: int) -> None:
        """Store that this session continues from the earlier trials with so many workers. Raises StoreError."""
        if self._session is None:
            return
        session = replace(self._session, workers=workers)
        with self._writing():
            self._connection.execute(SAME_SESSION, session_row(session))
            self._commit()
            self._session = session

    def ask(self, votes: int) -> None:
        """Store that this session ends with an ensemble of `votes` votes. Raises StoreError."""
        if self._session is None:
            return
        with self._writing():
            ASKED.add(self._connection, marked((self._session.number, votes)))
            self._commit()

    def append(self, record: Record) -> None:
        """Store the next trial, with its predictions if it has any; it is on the disk when this returns.

        Raises StoreError if it cannot be written; the store then keeps all earlier trials and refuses further writes.
        Raises ValueError for a trial that is not the next one, and for invalid numbers; the store is unchanged then.
        """
        number, before = self._last
        if record.index != number + 1:
            raise ValueError(f"trial {record.index} does not follow trial {number}")
        whole = row_of(record)
        row, fields = whole[:COLUMNS], whole[COLUMNS:]
        stored = () if fields == NOTHING_SAID else fields
        predictions = record.trial.predictions
        packed = None if predictions is None else store_predictions.pack(predictions)
        mark = digest(before, (*row, *stored, *(() if packed is None else (packed.digest,))))
        with self._writing():
            self._connection.execute(NEW_TRIAL, (*row, mark))
            if stored:
                SAID.add(self._connection, (record.index, *stored))
            if packed is not None:
                PREDICTED.add(self._connection, (record.index, packed.digest, packed.shape, packed.numbers))
            self._commit()
            self._last = (record.index, mark)
            self._logged += 0 if packed is None else len(packed.numbers)
            if record.index % IN_THE_LOG == 0 or self._logged > BYTES_IN_THE_LOG:
                take_over_log(self.path)
                self._retake()
                self._logged = 0

    def end(self, ending: str, seconds: float) -> None:
        """Store why the session ends, and close the store; `seconds` is the duration of the run over all sessions.

        Nothing is stored after a write error, or if the store is closed already.
        """
        if self._broken:
            self.close()
        if self._session is None:
            return
        ended = replace(self._session, ended=_said(self._now), ending=ending, seconds=seconds, trials=self.count)
        self._close_with(SAME_SESSION, session_row(ended))

    def refused(self, trial: int) -> StoreError:
        """Return the error for a stored trial that the search does not request, and remove this session.

        The store is closed, and is as it was before this session.
        """
        changes = version_changes(self.header.versions, versions())
        if self._session is not None:
            with self._writing():
                ASKED.rows(self._connection, NOT_ASKED, (self._session.number,))
            self._close_with(NO_SESSION, (self._session.number,))
        return other_search(self.path, trial, changes)

    def close(self) -> None:
        """Close the file without storing anything."""
        self._session = None
        leave(self.path, self._connection)

    # ---- writing

    def _close_with(self, statement: str, values: Row) -> None:
        """Write the last change of this session, and merge the log into the file."""
        try:
            with self._writing():
                self._connection.execute(statement, values)
                self._connection.execute("COMMIT")
            with told(self.path):
                join_log(self._connection)
        except BaseException:
            self.close()
            raise
        self._session = None
        super().close()

    def _begin_session(self, session: Session) -> None:
        with self._writing():
            self._connection.execute(NEW_SESSION, session_row(session))
            self._commit()
            mark_log(self.path)
            self._retake()
            self._session = session

    def _commit(self) -> None:
        """End the transaction and start the next one at once, so that this run keeps the write lock."""
        self._connection.execute("COMMIT")
        self._take()

    def _retake(self) -> None:
        """Restart the transaction, so that the next one uses the log from its start after a checkpoint."""
        self._connection.execute("ROLLBACK")
        self._take()

    def _take(self) -> None:
        """Acquire the write lock; raise StoreError if another program wrote while nobody held it."""
        self._connection.execute("BEGIN IMMEDIATE")
        version = self._one("PRAGMA data_version")[0]
        if self._seen is not None and self._seen[0] != version:
            raise moved(self.path)
        self._seen = (version, places(self.path))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Roll back all writes in the context if one fails; after an error of the file refuse further writes."""
        if self._broken:
            raise StoreError(f"an earlier write to `{self.path}` has failed", "continue the run with `--resume`")
        try:
            self._must_be_there()
            yield
        except (sqlite3.Error, OSError, StoreError) as error:
            self._broken = True
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise explained(error, self.path) from error
            raise
        except BaseException:  # an error of the caller, or an interruption by the user at any point
            self._recover()
            raise

    def _must_be_there(self) -> None:
        """Raise StoreError unless the file is the one last written: the lock does not keep it from being moved."""
        if self._seen is not None and self._seen[1] != places(self.path):
            raise moved(self.path)

    def _recover(self) -> None:
        """Roll back what was not committed, and read the number and digest of the last trial again."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._take()
        self._last = self._last_trial()

    def _last_trial(self) -> tuple[int, bytes]:
        query = "SELECT trial, digest FROM trials ORDER BY trial DESC LIMIT 1"
        return self._connection.execute(query).fetchone() or (0, self._root)

    def _check_trials(self) -> None:
        """Raise StoreError unless all trials are present and match their digests."""
        count = sum(1 for _ in self._rows())
        for trial in PREDICTED.trials(self._connection):
            if not 1 <= trial <= count:
                raise damaged(self.path, f"it has predictions of trial {trial}, but not the trial")
            self.predictions(trial)
        for trial in SAID.trials(self._connection):
            if not 1 <= trial <= count:
                raise damaged(self.path, f"it has the request of trial {trial}, but not the trial")
        expected = max((session.trials or 0 for session in self.sessions), default=0)
        if count < expected:
            raise damaged(self.path, f"it has only {count} of {expected} trials")
        self._last = self._last_trial()


def is_blank(path: Path) -> bool:
    """Return True if there is no file, or an empty one, so that there is nothing to resume or to overwrite.

    The run of an empty file was killed before it started. Raises StoreError if the path cannot be examined.
    """
    with told(path):
        if not path.exists():
            return True
        if path.is_file():
            recover(path)
        return path.is_file() and path.stat().st_size == 0


NEW_TRIAL: Final = f"INSERT INTO trials VALUES ({','.join('?' * 20)})"
NEW_SESSION: Final = f"INSERT INTO sessions VALUES ({','.join('?' * 12)})"
SAME_SESSION: Final = f"REPLACE INTO sessions VALUES ({','.join('?' * 12)})"
NO_SESSION: Final = "DELETE FROM sessions WHERE session = ?"
NOT_ASKED: Final = "DELETE FROM ensembles WHERE session = ?"


def _said(now: Now) -> str:
    return now().astimezone(UTC).isoformat(timespec="seconds")
