"""The store of a run: one SQLite file with everything that was paid for.

Only the process that runs the search writes, one transaction a trial, which is on the disk when `append` returns:
SQLite writes ahead to a log beside the file (`RUN.db-wal`) and synchronises it once a trial (`synchronous=FULL`). A
rollback journal would keep everything in one file at any moment, but synchronises four times and costs five times as
much. A run that ends in order leaves one file. What a run that was killed left in the log is taken over by the next
session; a log that is missing or was cut is noticed, so that no trial is lost in silence.

The lock is SQLite's own: between trials a run holds the right to write, which ends with the process however that ends,
and lets others read.
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
"""Trials after which the log is taken over by the file."""

BYTES_IN_THE_LOG: Final = 2**26
"""Bytes of predictions after which it is."""


class Store(StoredRun):
    """The store of the run that is going on in this process.

    It is the journal of that run. `end` closes it in order. One that is only closed looks as if its process had been
    killed: nothing is lost by that.
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
        """A new store in a place where no file is, or an empty one; raises StoreError for any other.

        The folder must be there. Versions are those of the header. What is not `durable` may be lost with the machine,
        never with the process: for trials that are made again in no time.
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
        """The store of an earlier session of the run with this header, to go on with it; `durable` is as for `create`.

        Raises StoreError where there is none, where another process writes to it, where anything in it is not what was
        written, where it was written in rounds, and where it is of another run: then `differences` says in what.
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
        """The store, only to be read: also while its run goes on. Raises StoreError where it is not whole."""
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
        """The sessions that went on: what one was told that never did is what the next one is told."""
        return tuple(Began(each.after, each.workers) for each in self.sessions if each.workers is not None)

    def begin(self, workers: int) -> None:
        """Note with how many workers the session goes on from what earlier ones have left; raises StoreError."""
        if self._session is None:
            return
        begun = replace(self._session, workers=workers)
        with self._writing():
            self._connection.execute(SAME_SESSION, session_row(begun))
            self._commit()
            self._session = begun

    def ask(self, votes: int) -> None:
        """Note that this session shall end with an ensemble of so many votes; raises StoreError."""
        if self._session is None:
            return
        with self._writing():
            ASKED.add(self._connection, marked((self._session.number, votes)))
            self._commit()

    def append(self, record: Record) -> None:
        """Keep the next trial, with its predictions if any: when this returns, it outlives the process and the machine.

        Raises StoreError where it could not be written; the store is closed for writing then, with all trials before.
        Raises ValueError for a trial that is not the next one and for numbers that are none: the store stays as it is.
        """
        number, before = self._last
        if record.index != number + 1:
            raise ValueError(f"trial {record.index} is not the one after trial {number}")
        whole = row_of(record)
        row, said = whole[:COLUMNS], whole[COLUMNS:]
        beside = () if said == NOTHING_SAID else said
        predictions = record.trial.predictions
        packed = None if predictions is None else store_predictions.pack(predictions)
        mark = digest(before, (*row, *beside, *(() if packed is None else (packed.digest,))))
        with self._writing():
            self._connection.execute(NEW_TRIAL, (*row, mark))
            if beside:
                SAID.add(self._connection, (record.index, *beside))
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
        """Note why the session ends, `seconds` after the run began (over all its sessions), and close the store.

        After an error of writing, and where it is closed already, there is nothing to note.
        """
        if self._broken:
            self.close()
        if self._session is None:
            return
        ended = replace(self._session, ended=_said(self._now), ending=ending, seconds=seconds, trials=self.count)
        self._close_with(SAME_SESSION, session_row(ended))

    def refused(self, trial: int) -> StoreError:
        """The error for a trial that the search does not ask for; the store is closed as if it had not been opened."""
        changes = version_changes(self.header.versions, versions())
        if self._session is not None:
            with self._writing():
                ASKED.rows(self._connection, NOT_ASKED, (self._session.number,))
            self._close_with(NO_SESSION, (self._session.number,))
        return other_search(self.path, trial, changes)

    def close(self) -> None:
        """Let go of the file without noting anything."""
        self._session = None
        leave(self.path, self._connection)

    # ---- writing

    def _close_with(self, statement: str, values: Row) -> None:
        """Write what is the last of this session, and leave the store in one file."""
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
        """End the transaction and begin the next one at once: with it this run keeps the right to write."""
        self._connection.execute("COMMIT")
        self._take()

    def _retake(self) -> None:
        """Let the next transaction see that the log was taken over: it then begins at the start of it."""
        self._connection.execute("ROLLBACK")
        self._take()

    def _take(self) -> None:
        """Take the right to write; raises StoreError where another program wrote while nobody had it."""
        self._connection.execute("BEGIN IMMEDIATE")
        version = self._one("PRAGMA data_version")[0]
        if self._seen is not None and self._seen[0] != version:
            raise moved(self.path)
        self._seen = (version, places(self.path))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Of what goes wrong inside nothing stays; no more is written after an error of the file."""
        if self._broken:
            raise StoreError(f"`{self.path}` could not be written before", "go on with `--resume`")
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
        except BaseException:  # a mistake of the caller, or an interruption by the user at any place
            self._recover()
            raise

    def _must_be_there(self) -> None:
        """Raise StoreError unless the file is the one that was written last: its lock does not keep it in its place."""
        if self._seen is not None and self._seen[1] != places(self.path):
            raise moved(self.path)

    def _recover(self) -> None:
        """Take back what was not committed, and know again what was."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._take()
        self._last = self._last_trial()

    def _last_trial(self) -> tuple[int, bytes]:
        query = "SELECT trial, digest FROM trials ORDER BY trial DESC LIMIT 1"
        return self._connection.execute(query).fetchone() or (0, self._root)

    def _check_trials(self) -> None:
        """Every trial is there and what was written, and none is missing behind the last one."""
        count = sum(1 for _ in self._rows())
        for trial in PREDICTED.trials(self._connection):
            if not 1 <= trial <= count:
                raise damaged(self.path, f"it has predictions of trial {trial}, but no such trial")
            self.predictions(trial)
        for trial in SAID.trials(self._connection):
            if not 1 <= trial <= count:
                raise damaged(self.path, f"it has what was said of trial {trial}, but no such trial")
        promised = max((session.trials or 0 for session in self.sessions), default=0)
        if count < promised:
            raise damaged(self.path, f"it has {count} trials of {promised}")
        self._last = self._last_trial()


def is_blank(path: Path) -> bool:
    """Whether there is nothing to go on with, and nothing to overwrite: no file, or one whose run never began.

    An empty file is one of them, so that who finds one that should not be empty had better not create a store there.
    Raises StoreError where that cannot be known.
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
