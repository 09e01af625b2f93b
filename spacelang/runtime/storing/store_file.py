"""The file of a store: how it is opened, what must be in it, and who writes to it."""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from spacelang.runtime.storing.header import Header, from_texts, to_texts
from spacelang.runtime.storing.store_faults import (
    A_RUN,
    ANOTHER,
    StoreError,
    damaged,
    in_use,
    is_writable,
    moved,
    sound,
    told,
)
from spacelang.runtime.storing.stored import APPLICATION, FORMER_LAYOUTS, LAYOUTS, TABLES, VERSION, RunState, digest

PATIENCE: Final = 30_000
"""Milliseconds that a run waits for the right to write, which who asks for its state takes for a moment."""

READING: Final = 1_000
"""Milliseconds that whoever opens a store waits for those who have it to themselves."""

LOOKS: Final = 3
"""So often the right to write must be free before a run without an end is taken for dead."""

PAUSE: Final = 0.01
"""Seconds between two looks: a run that lives lets go of its right for some microseconds after a trial."""

PAGES: Final = 256
"""So many pages fit into the shortest log."""

FRAME: Final = 24
"""Bytes before each page in the log."""

LOG: Final = 32 + PAGES * (FRAME + 4096)
"""The bytes that a log has at least: a header, and a page with what it begins with for each."""

MAGIC: Final = frozenset({0x377F0682, 0x377F0683})
"""The numbers with which a log begins."""

ENDING: Final = "SELECT ending FROM sessions ORDER BY session DESC LIMIT 1"

Places: TypeAlias = tuple[tuple[int, int, int], ...]
"""Device, number and length of the file and of its log."""


# ---- opening


@contextmanager
def closing_on_error(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A connection without implied transactions, to a file that `rwc` makes; it is closed where what follows fails."""
    connection = _connect(path, mode)
    try:
        yield connection
    except BaseException:
        leave(path, connection)
        raise


def leave(path: Path, connection: sqlite3.Connection) -> None:
    """Close a connection as if its process had been killed: its log stays where it is, or it would seem to be lost."""
    with suppress(sqlite3.Error), closing(_connect(path, "ro")) as guard:
        # Only who closes a store last takes the log into it, and who may only read does not.
        guard.execute("PRAGMA schema_version").fetchone()
        connection.close()
    connection.close()


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=READING / 1000)


def recover(path: Path) -> None:
    """Take back what a process left half done that was killed while it made the store; after that there is a log."""
    real = path.resolve()
    journal = real.with_name(f"{real.name}-journal")
    if journal.is_file() and journal.stat().st_size:
        with closing(_connect(path, "rw")) as connection:
            connection.execute("PRAGMA page_count").fetchone()


def must_be_blank(path: Path, connection: sqlite3.Connection) -> None:
    """Raise StoreError where anything at all is in the file."""
    connection.execute("PRAGMA page_count").fetchone()  # takes back what a killed process may have left half done
    if path.stat().st_size == 0:
        return
    check_kind(path, connection)
    raise StoreError(f"there is a store `{path}` already", f"go on with it by `--resume`, or {ANOTHER}")


def check_kind(path: Path, connection: sqlite3.Connection) -> None:
    """Raise StoreError unless the file has the tables of a store, of a version that this program reads."""
    if connection.execute("PRAGMA page_count").fetchone()[0] == 0:
        raise StoreError(f"`{path}` is empty: its run was killed before it began", "start a run without `--resume`")
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise StoreError(f"`{path}` is an SQLite file, but no store of a run", A_RUN)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION and version not in LAYOUTS:
        what = f"`{path}` was written by a newer spacelang: the version of its tables is {version}"
        raise StoreError(what, "upgrade spacelang")
    tables = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if sorted(tables) != sorted((table,) for table in LAYOUTS.get(version, ())):
        raise damaged(path, "its tables are not those of a store")


def is_former(connection: sqlite3.Connection) -> bool:
    """Whether the store is of the time when searches were told of trials in rounds."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return version in FORMER_LAYOUTS


def must_go_on(path: Path, connection: sqlite3.Connection) -> None:
    """Raise StoreError where no run can go on with the store, as its trials were not told one by one."""
    if is_former(connection):
        raise StoreError(
            f"`{path}` was written by an earlier spacelang, which told a search of its trials in rounds: "
            "what it was told cannot be told again",
            f"`spacelang runs {path} --export FILE` shows and exports it; begin a new run with another `--store`",
        )


def prepare(connection: sqlite3.Connection, *, durable: bool = True) -> None:
    """Make every transaction one that outlives the machine, or only the process, which takes less."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
    connection.execute("PRAGMA wal_autocheckpoint=0")


def make_tables(connection: sqlite3.Connection, header: Header) -> None:
    """Fill a blank file with the tables of a store and the header of its run."""
    connection.execute(f"PRAGMA application_id={APPLICATION}")
    connection.execute(f"PRAGMA user_version={VERSION}")
    for table in TABLES:
        connection.execute(table)
    facts = to_texts(header)
    rows = [*facts.items(), (DIGEST_OF_HEADER, _digest_of(facts).hex())]
    connection.executemany("INSERT INTO header VALUES (?, ?)", rows)


DIGEST_OF_HEADER: Final = "digest"


def read_header(path: Path, connection: sqlite3.Connection) -> tuple[Header, bytes]:
    """The header and its digest, to which that of the first trial is tied; raises StoreError for what is none."""
    facts = dict(connection.execute("SELECT name, value FROM header").fetchall())
    with sound(path, "its header is none: "):
        said, root = facts.pop(DIGEST_OF_HEADER, None), _digest_of(facts)
        if said != root.hex():
            raise damaged(path, "its header is not what was written")
        return from_texts(facts), root


def _digest_of(facts: Mapping[str, str]) -> bytes:
    return digest(b"", [each for fact in sorted(facts.items()) for each in fact])


def check_integrity(path: Path, connection: sqlite3.Connection) -> None:
    """Raise StoreError unless all pages of the file fit together."""
    (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise damaged(path, found)


def must_be_same(path: Path, stored: Header, new: Header) -> None:
    """Raise StoreError, with the differences, where a run is not the one of the store."""
    found = tuple(stored.differences(new))
    if found:
        more = f", and in {len(found) - 1} more things" if len(found) > 1 else ""
        raise StoreError(
            f"`{path}` is of another run: {found[0]}{more}",
            f"start the run as it was started before, or {ANOTHER}",
            found,
        )


# ---- the log


def mark_log(path: Path) -> None:
    """Make the log so long that one that was cut is told by its length, and only then note in the file that it is used.

    To the session that has just been written to the log and has no end the file then says: there is a log.
    """
    log = _log(path)
    if log.stat().st_size < LOG:
        os.truncate(log, LOG)  # what is behind the last transaction means nothing to SQLite
    take_over_log(path)


def take_over_log(path: Path) -> None:
    """Copy the log into the file, so that it begins anew; by another connection than the one that may write.

    By itself SQLite would do so while nobody has the right to write, for as long as the disk takes.
    """
    with closing(_connect(path, "rw")) as keeper:
        keeper.execute("PRAGMA wal_checkpoint(PASSIVE)")


def must_have_its_log(path: Path) -> None:
    """Raise StoreError where the last session has no end in the file itself, and its log is missing or was cut.

    So it does where the log is none: SQLite takes zeros, for example, for a log in which nothing is.
    """
    log = _log(path)
    if log.is_file() and log.stat().st_size >= LOG:
        _must_be_begun(path, log)
        return
    if _is_logged(path) and _last_ending(path, "ro&immutable=1") == (None,):
        raise StoreError(
            f"`{path}` is not whole: its log `{log.name}` is missing or was cut, and the latest trials were in it",
            "put the log back beside it; if another program took it over, or what is lost may be lost, "
            f'`sqlite3 {path.name} "PRAGMA journal_mode=DELETE"` makes the file a whole one',
        )


def _must_be_begun(path: Path, log: Path) -> None:
    """Raise StoreError unless a log has a header, and a page behind it."""
    for _ in range(LOOKS):  # a run that lives may be writing the header just now
        with log.open("rb") as file:
            begin = file.read(32 + FRAME)
        if _is_header(begin[:32]) and any(begin[32:]):
            return
        time.sleep(PAUSE)
    raise _overwritten(path)


def _overwritten(path: Path) -> StoreError:
    return damaged(path, f"its log `{_log(path).name}` is not what was written")


def check_log(path: Path) -> None:
    """Take the log over, and raise StoreError where trials are in it that SQLite has not found.

    It reads a log up to the first byte that is not as it was written, and takes the rest for the end of an older one.
    Of a transaction that was being written when the machine died that is right, and there is one of them at most.
    """
    with closing(_connect(path, "rw")) as keeper:
        _, known, _ = keeper.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    log = _log(path).read_bytes()
    if not log:
        return
    frame = FRAME + int.from_bytes(log[8:12], "big")
    salts = log[16:24]
    later = range(32 + max(known, 0) * frame, len(log) - FRAME, frame)
    # A frame begins with the number of a page, and with the length of the file where it ends a transaction.
    lost = sum(log[at + 8 : at + 16] == salts and any(log[at + 4 : at + 8]) for at in later)
    if lost > 1 or not _is_header(log[:32]):
        raise _overwritten(path)


def _is_header(header: bytes) -> bool:
    """Whether the first 32 bytes of a log are those of one, and agree with the sums at their end.

    See https://sqlite.org/fileformat2.html#walformat.
    """
    if len(header) < 32 or int.from_bytes(header[:4], "big") not in MAGIC:
        return False
    order: Literal["big", "little"] = "big" if header[3] & 1 else "little"
    first, second = 0, 0
    for at in range(0, 24, 8):
        first = (first + int.from_bytes(header[at : at + 4], order) + second) % 2**32
        second = (second + int.from_bytes(header[at + 4 : at + 8], order) + first) % 2**32
    return header[24:] == first.to_bytes(4, "big") + second.to_bytes(4, "big")


def _last_ending(path: Path, mode: str) -> tuple[str | None] | None:
    """The ending of the last session, as far as the file knows in this mode; None where it knows of no session."""
    with closing(_connect(path, mode)) as connection:
        check_kind(path, connection)
        found: tuple[str | None] | None = connection.execute(ENDING).fetchone()
        return found


def _is_logged(path: Path) -> bool:
    with closing(_connect(path, "ro")) as connection:
        return bool(connection.execute("PRAGMA journal_mode").fetchone() == ("wal",))


def join_log(connection: sqlite3.Connection) -> None:
    """Take the log into the file and remove it, unless somebody is reading just now."""
    connection.execute("PRAGMA busy_timeout=1000")
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode=DELETE")


def places(path: Path) -> Places:
    """What tells whether the file and its log are those that were written last: another one, or another length."""
    found = []
    for each in (path, _log(path)):
        try:
            status = each.stat()
        except FileNotFoundError:
            raise moved(path) from None
        found.append((status.st_dev, status.st_ino, status.st_size))
    return tuple(found)


def _log(path: Path) -> Path:
    # SQLite puts it beside the file that a link leads to.
    real = path.resolve()
    return real.with_name(f"{real.name}-wal")


# ---- who writes


def seize(path: Path, connection: sqlite3.Connection) -> None:
    """Begin a transaction that writes, which nobody else then can; raises StoreError where a run lives."""
    free, busy, seen = 0, 0, None
    connection.execute("PRAGMA busy_timeout=0")
    while busy < LOOKS:
        found = _look(connection)
        if found is None:
            free, busy = 0, busy + 1
        else:
            is_ended, trials = found
            free = free + 1 if seen in (None, trials) else 0
            seen = trials
            if is_ended or free == LOOKS:
                connection.execute(f"PRAGMA busy_timeout={PATIENCE}")
                return
            connection.execute("ROLLBACK")
        time.sleep(PAUSE)
    raise in_use(path, _process(connection))


def _look(connection: sqlite3.Connection) -> tuple[bool, int] | None:
    """With the right to write: whether no session is without an end, and the trials so far; None without the right."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname.startswith("SQLITE_BUSY"):
            return None
        raise
    ended = connection.execute(ENDING).fetchone()
    (trials,) = connection.execute("SELECT coalesce(max(trial), 0) FROM trials").fetchone()
    return ended != (None,), trials


def _process(connection: sqlite3.Connection) -> int | None:
    """The number of the process that writes, as it said itself."""
    with suppress(sqlite3.Error):
        connection.execute(f"PRAGMA busy_timeout={READING}")
        found = connection.execute("SELECT process FROM sessions ORDER BY session DESC LIMIT 1").fetchone()
        return None if found is None else int(found[0])
    return None


def unended(path: Path) -> RunState:
    """The state of a run whose last session has no end."""
    if not is_writable(path):
        return RunState.UNKNOWN  # without the right to write nobody can know who has it
    with told(path):
        connection = _connect(path, "rw")
        try:
            seize(path, connection)
        except StoreError:
            return RunState.RUNNING
        else:
            connection.execute("ROLLBACK")
            return RunState.KILLED
        finally:
            leave(path, connection)
