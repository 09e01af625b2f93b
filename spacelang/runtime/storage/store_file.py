"""The SQLite file of a store: how to open it, check it, and lock it for writing."""

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from spacelang.runtime.storage import store_errors
from spacelang.runtime.storage.records import APPLICATION_ID, LAYOUTS, TABLES, RunState, row_digest
from spacelang.runtime.storage.run_header import RunHeader, header_from_texts, header_to_texts
from spacelang.runtime.storage.store_errors import StoreError
from spacelang.runtime.storage.trial_columns import FIRST_VERSION, VERSION

WRITE_LOCK_TIMEOUT: Final = 30_000
"""The milliseconds that a run waits for the write lock; a process that checks its state takes it for a moment."""
READ_TIMEOUT: Final = 1_000  # The milliseconds that a process which opens a store waits for an exclusive lock of others
LOCK_CHECKS: Final = 3
"""The number of times that the write lock must be free before a run without an end counts as killed."""
LOCK_CHECK_PAUSE: Final = 0.01
"""The seconds between two checks: a live run releases its lock for some microseconds after a trial."""
MIN_LOG_PAGES: Final = 256  # The minimum length of a log, in pages
FRAME_HEADER_BYTES: Final = 24  # The bytes before each page in the log
MIN_LOG_BYTES: Final = 32 + MIN_LOG_PAGES * (FRAME_HEADER_BYTES + 4096)
"""The minimum length of a log, in bytes: its header, and the pages with a frame header each."""
LOG_MAGIC_NUMBERS: Final = frozenset({0x377F0682, 0x377F0683})  # The magic numbers at the start of a log
LAST_ENDING_QUERY: Final = "SELECT ending FROM sessions ORDER BY session DESC LIMIT 1"
FileIdentity: TypeAlias = tuple[tuple[int, int, int], ...]
"""The device, the inode and the length of the file, and of its log."""
HEADER_DIGEST_NAME: Final = "digest"


# ---- opening


@contextmanager
def open_closing_on_error(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """Open a connection in an URI's `mode` (rwc, rw, ro) without implicit transactions; close it on errors."""
    connection = _connect(path, mode)
    try:
        yield connection
    except BaseException:
        close_keeping_wal(path, connection)
        raise


def close_keeping_wal(path: Path, connection: sqlite3.Connection) -> None:
    """Close a connection without merging the write-ahead log into the file.

    If the last session has no end, the store is complete only with its log.
    """
    with suppress(sqlite3.Error), closing(_connect(path, "ro")) as guard:
        # SQLite merges the log when the last connection closes, but not if that one is read-only.
        guard.execute("PRAGMA schema_version").fetchone()
        connection.close()
    connection.close()


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=READ_TIMEOUT / 1000)


def roll_back_creation(path: Path) -> None:
    """Roll back what a process that was killed while it created the store left in its rollback journal."""
    real = path.resolve()
    journal = real.with_name(f"{real.name}-journal")
    if journal.is_file() and journal.stat().st_size:
        with closing(_connect(path, "rw")) as connection:
            connection.execute("PRAGMA page_count").fetchone()


def check_is_blank_file(path: Path, connection: sqlite3.Connection) -> None:
    """Raise StoreError unless the SQLite file is empty, so that a store can be created in it."""
    connection.execute("PRAGMA page_count").fetchone()  # rolls back what a killed process may have left incomplete
    if path.stat().st_size == 0:
        return
    check_is_readable_store(path, connection)
    raise StoreError(
        f"the store `{path}` already exists", f"continue the run with `--resume`, or {store_errors.OTHER_PATH_HELP}"
    )


def check_is_readable_store(path: Path, connection: sqlite3.Connection) -> None:
    """Raise StoreError unless the file has the tables of a store in a version that can be read."""
    if connection.execute("PRAGMA page_count").fetchone()[0] == 0:
        raise StoreError(f"`{path}` is empty: its run was killed before it started", "start a run without `--resume`")
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreError(f"`{path}` is an SQLite file, but not the store of a run", store_errors.STORE_PATH_HELP)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if 0 < version < FIRST_VERSION:
        raise StoreError(
            f"`{path}` was written by spacelang {_writing_version(connection)}, whose stores this version cannot read",
            "start the run again, or convert its trials to configurations for `--initial` with spacelang 0.2: "
            f"`spacelang migrate {path} SPACE -o FILE.json`",
        )
    if version > VERSION and version not in LAYOUTS:
        what = f"`{path}` was written by a newer spacelang: the version of its tables is {version}"
        raise StoreError(what, "upgrade spacelang")
    tables = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if sorted(tables) != sorted((table,) for table in LAYOUTS.get(version, ())):
        raise store_errors.damaged_store_error(path, "the tables in the file are not those of a store")


def _writing_version(connection: sqlite3.Connection) -> str:
    with suppress(sqlite3.Error, ValueError, TypeError, KeyError):
        (versions,) = connection.execute("SELECT value FROM header WHERE name = 'versions'").fetchone()
        return str(json.loads(versions)["spacelang"])
    return "0.1"


def enable_wal(connection: sqlite3.Connection, *, durable: bool = True) -> None:
    """Enable the write-ahead log; if `durable`, each transaction is synchronized to the disk."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
    connection.execute("PRAGMA wal_autocheckpoint=0")


def create_tables(connection: sqlite3.Connection, header: RunHeader) -> None:
    """Create the tables of a store and write the header of its run."""
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={VERSION}")
    for table in TABLES:
        connection.execute(table)
    facts = header_to_texts(header)
    rows = [*facts.items(), (HEADER_DIGEST_NAME, _header_digest(facts).hex())]
    connection.executemany("INSERT INTO header VALUES (?, ?)", rows)


def read_header(path: Path, connection: sqlite3.Connection) -> tuple[RunHeader, bytes]:
    """Return the header and its digest, which that of the first trial includes; raise StoreError if invalid."""
    facts = dict(connection.execute("SELECT name, value FROM header").fetchall())
    with store_errors.convert_damage_errors(path, "the header of the store is invalid: "):
        stored, root = facts.pop(HEADER_DIGEST_NAME, None), _header_digest(facts)
        if stored != root.hex():
            raise store_errors.damaged_store_error(path, "the header of the store does not match its checksum")
        return header_from_texts(facts), root


def _header_digest(facts: Mapping[str, str]) -> bytes:
    return row_digest(b"", [each for fact in sorted(facts.items()) for each in fact])


def check_integrity(path: Path, connection: sqlite3.Connection) -> None:
    """Raise StoreError unless SQLite finds the pages of the file consistent."""
    (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise store_errors.damaged_store_error(path, found)


def check_same_run(path: Path, stored: RunHeader, new: RunHeader) -> None:
    """Raise StoreError, with the differences, unless the new run is the one of the store."""
    differences = tuple(stored.differences(new))
    if differences:
        more = f", and {len(differences) - 1} more differences" if len(differences) > 1 else ""
        remedy = f"start the run with the same settings as before, or {store_errors.OTHER_PATH_HELP}"
        raise StoreError(f"`{path}` belongs to another run: {differences[0]}{more}", remedy, differences)


# ---- the log


def extend_and_require_wal(path: Path) -> None:
    """Extend the log, so that its length shows if it was truncated, then record in the file that it requires a log."""
    log = _log_path(path)
    if log.stat().st_size < MIN_LOG_BYTES:
        os.truncate(log, MIN_LOG_BYTES)  # SQLite ignores bytes after the last transaction
    checkpoint_wal(path)


def checkpoint_wal(path: Path) -> None:
    """Copy the log into the file by another connection, as SQLite itself would release the write lock meanwhile."""
    with closing(_connect(path, "rw")) as keeper:
        keeper.execute("PRAGMA wal_checkpoint(PASSIVE)")


def check_wal_present(path: Path) -> None:
    """Raise StoreError if a log that the file requires is missing, truncated or invalid, such as zeros."""
    log = _log_path(path)
    if log.is_file() and log.stat().st_size >= MIN_LOG_BYTES:
        _check_log_start(path, log)
        return
    with closing(_connect(path, "ro")) as connection:
        uses_log = connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    if uses_log and _last_ending(path) == (None,):
        raise StoreError(
            f"`{path}` is incomplete: its log `{log.name}`, with the latest trials, is missing or truncated",
            "put the log back beside it; if another program has merged the log, or if you can do without these trials, "
            f'`sqlite3 {path.name} "PRAGMA journal_mode=DELETE"` makes the store usable without the log',
        )


def _check_log_start(path: Path, log: Path) -> None:
    for _ in range(LOCK_CHECKS):  # a live run may be writing the header just now
        with log.open("rb") as file:
            begin = file.read(32 + FRAME_HEADER_BYTES)
        if _is_header(begin[:32]) and any(begin[32:]):
            return
        time.sleep(LOCK_CHECK_PAUSE)
    raise _corrupt_log_error(path)


def _corrupt_log_error(path: Path) -> StoreError:
    return store_errors.damaged_store_error(path, f"the log `{_log_path(path).name}` of the store is corrupt")


def checkpoint_and_check_wal(path: Path) -> None:
    """Checkpoint the log, and raise StoreError if it has transactions that SQLite did not find.

    SQLite reads a log up to the first corrupt byte, and takes the rest for the end of an older log. That is right for a
    transaction that was being written when the machine crashed, and there is at most one of those.
    """
    with closing(_connect(path, "rw")) as keeper:
        _, known, _ = keeper.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    log = _log_path(path).read_bytes()
    if not log:
        return
    frame = FRAME_HEADER_BYTES + int.from_bytes(log[8:12], "big")
    salts = log[16:24]
    later = range(32 + max(known, 0) * frame, len(log) - FRAME_HEADER_BYTES, frame)
    # A frame starts with a page number, then the length of the file (0 unless it ends a transaction).
    lost = sum(log[at + 8 : at + 16] == salts and any(log[at + 4 : at + 8]) for at in later)
    if lost > 1 or not _is_header(log[:32]):
        raise _corrupt_log_error(path)


def _is_header(header: bytes) -> bool:
    """Return True if 32 bytes are a header of a write-ahead log, by their checksums.

    See https://sqlite.org/fileformat2.html#walformat.
    """
    if len(header) < 32 or int.from_bytes(header[:4], "big") not in LOG_MAGIC_NUMBERS:
        return False
    order: Literal["big", "little"] = "big" if header[3] & 1 else "little"
    first, second = 0, 0
    for at in range(0, 24, 8):
        first = (first + int.from_bytes(header[at : at + 4], order) + second) % 2**32
        second = (second + int.from_bytes(header[at + 4 : at + 8], order) + first) % 2**32
    return header[24:] == first.to_bytes(4, "big") + second.to_bytes(4, "big")


def _last_ending(path: Path) -> tuple[str | None] | None:
    """Return the ending of the last session, alone in a tuple, None in it if the session has no end.

    Return None without a session. Only the file itself is read, not its write-ahead log.
    """
    with closing(_connect(path, "ro&immutable=1")) as connection:
        check_is_readable_store(path, connection)
        found: tuple[str | None] | None = connection.execute(LAST_ENDING_QUERY).fetchone()
        return found


def merge_and_remove_wal(connection: sqlite3.Connection) -> None:
    """Merge the log into the file and remove it, unless another process is reading."""
    connection.execute("PRAGMA busy_timeout=1000")
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode=DELETE")


def file_identity(path: Path) -> FileIdentity:
    """Return a value that differs once another program replaces or changes the file or its write-ahead log.

    Raise StoreError if one of them is missing.
    """
    found = []
    for each in (path, _log_path(path)):
        try:
            status = each.stat()
        except FileNotFoundError:
            raise store_errors.changed_during_run_error(path) from None
        found.append((status.st_dev, status.st_ino, status.st_size))
    return tuple(found)


def _log_path(path: Path) -> Path:
    # SQLite creates it beside the target of a link.
    real = path.resolve()
    return real.with_name(f"{real.name}-wal")


# ---- the write lock


def acquire_write_lock(path: Path, connection: sqlite3.Connection) -> None:
    """Start a writing transaction, which excludes other writers. Raises StoreError if the run is active."""
    free, busy, seen = 0, 0, None
    connection.execute("PRAGMA busy_timeout=0")
    while busy < LOCK_CHECKS:
        found = _try_write_lock(connection)
        if found is None:
            free, busy = 0, busy + 1
        else:
            is_ended, trials = found
            free = free + 1 if seen in (None, trials) else 0
            seen = trials
            if is_ended or free == LOCK_CHECKS:
                connection.execute(f"PRAGMA busy_timeout={WRITE_LOCK_TIMEOUT}")
                return
            connection.execute("ROLLBACK")
        time.sleep(LOCK_CHECK_PAUSE)
    raise store_errors.store_in_use_error(path, _writing_process(connection))


def _try_write_lock(connection: sqlite3.Connection) -> tuple[bool, int] | None:
    """Acquire the write lock; return None if another process holds it.

    Otherwise return whether the last session has an end (also True without a session), and the number of trials.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname.startswith("SQLITE_BUSY"):
            return None
        raise
    ended = connection.execute(LAST_ENDING_QUERY).fetchone()
    (trials,) = connection.execute("SELECT coalesce(max(trial), 0) FROM trials").fetchone()
    return ended != (None,), trials


def _writing_process(connection: sqlite3.Connection) -> int | None:
    with suppress(sqlite3.Error):
        connection.execute(f"PRAGMA busy_timeout={READ_TIMEOUT}")
        found = connection.execute("SELECT process FROM sessions ORDER BY session DESC LIMIT 1").fetchone()
        return None if found is None else int(found[0])
    return None


def state_of_unended_run(path: Path) -> RunState:
    """Return the state of a run whose last session has no end: running if another process holds the write lock.

    Otherwise the run was killed. The state is unknown if this process may not write to the file.
    """
    if not store_errors.is_writable(path):
        return RunState.UNKNOWN  # only a process that may write can check the lock
    with store_errors.convert_store_errors(path):
        connection = _connect(path, "rw")
        try:
            acquire_write_lock(path, connection)
        except StoreError:
            return RunState.RUNNING
        else:
            connection.execute("ROLLBACK")
            return RunState.KILLED
        finally:
            close_keeping_wal(path, connection)
