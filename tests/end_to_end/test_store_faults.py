"""A store loses nothing that was acknowledged, whatever happens to its process, its disk and its file."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from commands import environment
from laws.settings import EXAMPLES
from storing import header, read, stored, trial, trials

from spacelang.runtime.storage.run_listing import reserve_default_path
from spacelang.runtime.storage.store import Store, StoredRun, StoreError, is_missing_or_empty

TESTS = Path(__file__).parent.parent
KILLS = max(2, EXAMPLES // 4)

APPENDING = """
REASON = ""
import sys
import numpy
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from storing import header, trial
from spacelang.runtime.storage.store import Store, is_missing_or_empty
path = Path(sys.argv[1])
given = header()
print("ready", flush=True)
store = Store.create(path, given) if is_missing_or_empty(path) else Store.open(path, given)
print("open", store.count, flush=True)
while store.count < int(sys.argv[3]):
    number = store.count + 1
    store.append(trial(number, reason=REASON, predictions=numpy.full((600, 2), number) if number % 16 == 1 else None))
    print(store.count, flush=True)
store.end_session("budget", 1.0)
"""


def appending(path: Path, count: int = 10**6) -> subprocess.Popen[str]:
    """A process that stores trials and says the number of each that was acknowledged."""
    return subprocess.Popen(
        [sys.executable, "-c", APPENDING, str(path), str(TESTS), str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


@contextmanager
def living(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Such a process after its first trials; it is killed behind."""
    process = appending(path)
    try:
        while process.stdout.readline().strip() != "5":
            assert process.poll() is None, process.stderr.read()
        yield process
    finally:
        process.kill()
        process.communicate()


# ---- kill -9


def test_kill_at_any_moment_any_number_of_times_loses_nothing(tmp_path: Path) -> None:
    path, rng = tmp_path / "run.db", random.Random(0)
    acknowledged = 0
    for _ in range(KILLS):
        process = appending(path)
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        time.sleep(rng.choice([0.0, 0.002, 0.01, 0.05, 0.2]) * rng.random())
        process.send_signal(signal.SIGKILL)
        lines = process.communicate()[0].split()
        numbers = [int(line) for line in lines if line.isdigit()]
        acknowledged = max([acknowledged, *numbers])
        if not is_missing_or_empty(path):
            with Store.read(path) as run:
                assert run.state == "killed"
                assert acknowledged <= run.count <= acknowledged + 1
                assert all(has_its_predictions(run, number + 1) for number in range(run.count)), "both or none"
            acknowledged = len(read(path))
    last = appending(path, acknowledged + 1)
    assert last.communicate()[1] == ""
    assert read(path) == list(trials(acknowledged + 1)), "as if it had never been killed"
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.db"]


def has_its_predictions(run: StoredRun, number: int) -> bool:
    found = run.predictions(number)
    return found is None if number % 16 != 1 else found is not None and bool((found == number).all())


# ---- several processes


def test_a_second_run_on_the_same_store_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with living(path) as process:
        for _ in range(20):
            started = time.perf_counter()
            with pytest.raises(StoreError, match="is in use by another run") as caught:
                Store.open(path, header())
            assert time.perf_counter() - started < 5.0
            with pytest.raises(StoreError, match="already exists"):
                Store.create(path, header())
            with Store.read(path) as run:
                assert run.state == "running"
        assert str(process.pid) in caught.value.message
        with Store.read(path) as run:
            before = run.count
            assert len(list(run.records())) >= before
        assert process.poll() is None, "who is refused does not disturb"
    store = Store.open(path, header())
    assert store.count >= before
    store.end_session("budget", 1.0)


def test_a_second_run_in_the_same_process_is_refused_and_leaves_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    store = Store.create(path, header())
    for _ in range(2):
        with pytest.raises(StoreError, match="is in use"):
            Store.open(path, header())
    ended = appending(path).communicate()
    assert "is in use by another run" in ended[1]
    store.append(trial(1))
    store.end_session("budget", 1.0)


def test_only_one_of_many_that_begin_together_gets_the_store(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    processes = [appending(path, 30) for _ in range(4)]
    ends = [process.communicate() for process in processes]
    assert sum(process.returncode == 0 for process in processes) >= 1
    assert all("StoreError" in end[1] for end, process in zip(ends, processes, strict=True) if process.returncode)
    assert read(path) == list(trials(30))


def test_a_program_that_keeps_the_store_to_itself_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    made = stored(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="is in use by another run"):
        Store.open(path, made)
    other.close()
    Store.open(path, made).end_session("budget", 1.0)


# ---- disks


LIMITED = APPENDING.replace(
    'REASON = ""',
    """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1_600_000, 1_600_000))
REASON = "x" * 3000
""",
)


def test_a_full_disk_is_an_error_at_once_and_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), str(TESTS), "100000"],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert "StoreError" in ended.stderr
    assert "cannot be written or read" in ended.stderr
    acknowledged = int(ended.stdout.split()[-1])
    assert acknowledged > 100
    store = Store.open(path, header())
    assert acknowledged <= store.count <= acknowledged + 1
    store.append(trial(store.count + 1))
    store.end_session("budget", 1.0)
    assert [each.index for each in read(path)] == list(range(1, store.count + 1))


def test_a_store_that_may_not_grow_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    store = Store.create(path, header())
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count={pages + 20}")
    with pytest.raises(StoreError, match=r"the disk of .* is full") as caught:
        any(store.append(each) for each in trials(1000))
    assert "free some space; all earlier trials are stored" in caught.value.help
    count = store.count
    with pytest.raises(StoreError, match="an earlier write to"):
        store.append(trial(count + 1))
    store.end_session("interrupted", 1.0)
    again = Store.open(path, header())
    assert list(again.records()) == list(trials(count))
    again.end_session("budget", 1.0)


@contextmanager
def as_nobody() -> Iterator[Path]:
    """A folder in which a user who is not root may write, and what is done in it by that user."""
    folder = Path(tempfile.mkdtemp())
    is_root = os.geteuid() == 0
    try:
        if is_root:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o700)
        shutil.rmtree(folder)


def test_a_read_only_folder_is_an_error() -> None:
    header()  # what it imports is where nobody else may read
    with as_nobody() as folder:
        made = stored(folder / "done.db")
        killed = stored(folder / "killed.db", ending=None)
        folder.chmod(0o500)
        with pytest.raises(StoreError, match="is read-only"):
            Store.create(folder / "new.db", made)
        with pytest.raises(StoreError, match="a run cannot be stored in"):
            reserve_default_path("space", datetime(2026, 1, 31), folder / "runs")
        with pytest.raises(StoreError, match="read-only"):
            Store.open(folder / "done.db", made)
        assert len(read(folder / "done.db")) == 3, "it may still be read"
        Store.open(folder / "killed.db", killed).end_session("budget", 3.0)
        assert len(read(folder / "killed.db")) == 3, "it has its log already, so that nothing has to be made"
        folder.chmod(0o700)
        (folder / "done.db").chmod(0o400)
        with pytest.raises(StoreError, match="read-only"):
            Store.open(folder / "done.db", made)
        assert len(read(folder / "done.db")) == 3
        (folder / "done.db").chmod(0o000)
        with pytest.raises(StoreError, match="cannot be opened"):
            Store.read(folder / "done.db")
        Store.open(folder / "killed.db", killed).end_session("budget", 4.0)
        assert not (folder / "killed.db-wal").exists()


# ---- places


@pytest.mark.parametrize(
    ("place", "created", "opened"),
    [
        ("missing/run.db", "the folder .* does not exist", "the folder .* does not exist"),
        ("new.db", None, "the store .* does not exist"),
        ("folder", "is a folder", "is a folder"),
        ("fifo", "is not a regular file", "is not a regular file"),
        ("empty.db", None, "is empty: its run was killed before it started, or the file was truncated"),
        ("text.csv", "is not the store of a run", "is not the store of a run"),
        ("other.db", "is an SQLite file, but not the store", "is an SQLite file, but not the store of a run"),
        (
            "newer.db",
            "written by a newer spacelang: the version of its tables is 99",
            "written by a newer spacelang: the version of its tables is 99",
        ),
        ("done.db", "the store .* already exists", None),
        ("link.db", "the store .* already exists", None),
    ],
)
def test_places(tmp_path: Path, place: str, created: str | None, opened: str | None) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty.db").touch()
    (tmp_path / "text.csv").write_text("a,b\n" * 1000, encoding="utf-8")
    made = stored(tmp_path / "done.db")
    stored(tmp_path / "newer.db")
    (tmp_path / "link.db").symlink_to("done.db")
    for name, statement in (("other.db", "CREATE TABLE t(x)"), ("newer.db", "PRAGMA user_version=99")):
        with sqlite3.connect(tmp_path / name) as connection:
            connection.execute(statement)
        connection.close()
    before = {entry: entry.read_bytes() for entry in tmp_path.iterdir() if entry.is_file()}
    for how, message in ((Store.open, opened), (Store.create, created)):
        if message is not None:
            with pytest.raises(StoreError, match=message) as caught:
                how(tmp_path / place, made)
            assert caught.value.help or "belongs to another run" in caught.value.message
    assert {entry: entry.read_bytes() for entry in tmp_path.iterdir() if entry.is_file()} == before, (
        "nothing is touched"
    )
    if created is None:
        Store.create(tmp_path / place, made).end_session("budget", 0.0)
    if opened is None:
        Store.open(tmp_path / place, made).end_session("budget", 0.0)


# ---- files that are not what was written


def is_whole_or_refused(path: Path, count: int) -> bool:
    """Whether the store is refused; where it is not, every trial is there as it was."""
    try:
        store = Store.open(path, header())
    except StoreError:
        return True
    assert list(store.records()) == list(trials(count))
    store.close()
    return False


def test_a_store_that_was_cut_anywhere_is_refused(tmp_path: Path) -> None:
    stored(tmp_path / "run.db", 60)
    content = (tmp_path / "run.db").read_bytes()
    path = tmp_path / "cut.db"
    for length in [*range(0, len(content), 4096), 1, 50, 99, 100, 5000, len(content) - 1, len(content) - 4000]:
        path.write_bytes(content[:length])
        assert is_whole_or_refused(path, 60), length
        for rest in tmp_path.glob("cut.db-*"):
            rest.unlink()


def test_a_store_that_was_overwritten_anywhere_is_whole_or_refused(tmp_path: Path) -> None:
    stored(tmp_path / "run.db", 40)
    content, rng = (tmp_path / "run.db").read_bytes(), random.Random(1)
    path, refused = tmp_path / "other.db", 0
    for _ in range(EXAMPLES * 2):
        place, length = rng.randrange(len(content)), rng.choice([1, 1, 4, 100, 4096])
        path.write_bytes(content[:place] + rng.randbytes(length) + content[place + length :])
        refused += is_whole_or_refused(path, 40)
        for rest in tmp_path.glob("other.db-*"):
            rest.unlink()
    assert refused > EXAMPLES // 2


@pytest.mark.parametrize("harm", ["gone", "empty", "cut"])
def test_the_log_of_a_killed_run_is_missed(tmp_path: Path, harm: str) -> None:
    path, log = tmp_path / "run.db", tmp_path / "run.db-wal"
    made = stored(path, 100, ending=None)
    content, alone = log.read_bytes(), path.read_bytes()
    log.unlink() if harm == "gone" else log.write_bytes(content[: 0 if harm == "empty" else 20_000])
    for _ in range(2):
        with pytest.raises(StoreError, match=r"is incomplete: its log .* is missing or truncated") as caught:
            Store.open(path, made)
    assert 'sqlite3 run.db "PRAGMA journal_mode=DELETE"' in caught.value.help
    log.write_bytes(content)
    store = Store.open(path, made)
    assert list(store.records()) == list(trials(100)), "with its log it is whole again"
    store.close()
    given_up = tmp_path / "given_up.db"
    given_up.write_bytes(alone)
    connection = sqlite3.connect(given_up)
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()
    store = Store.open(given_up, made)
    assert list(store.records()) == list(trials(64)), "what was in the file: the user wanted it so"
    store.end_session("budget", 1.0)


@pytest.mark.parametrize("how", [Store.open, lambda path, _: Store.read(path)], ids=["open", "read"])
@pytest.mark.parametrize("since", [0, 32])
@pytest.mark.parametrize("length", [None, 20_000])
def test_a_log_of_zeros_is_missed(tmp_path: Path, since: int, length: int | None, how: Callable) -> None:
    path, log = tmp_path / "run.db", tmp_path / "run.db-wal"
    made = stored(path, 40, ending=None)
    content, alone = log.read_bytes(), path.read_bytes()
    log.write_bytes((content[:since] + bytes(len(content) - since))[:length])
    (tmp_path / "run.db-shm").unlink(missing_ok=True)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"log `run\.db-wal`.* is (corrupt|missing or truncated)"):
            how(path, made)
    assert path.read_bytes() == alone, "nothing is touched"
    log.write_bytes(content)
    (tmp_path / "run.db-shm").unlink(missing_ok=True)
    assert read(path) == list(trials(40)), "with its log it is whole again"


@pytest.mark.parametrize("length", [0, 1, 20_000, 2_000_000])
def test_a_log_of_zeros_beside_a_run_that_ended_costs_nothing(tmp_path: Path, length: int) -> None:
    path = tmp_path / "run.db"
    made = stored(path, 40)
    (tmp_path / "run.db-wal").write_bytes(bytes(length))
    try:
        assert read(path) == list(trials(40))
        store = Store.open(path, made)
    except StoreError:
        assert length, "SQLite itself leaves an empty one"
        return
    assert list(store.records()) == list(trials(40))
    store.close()


def test_a_log_that_was_overwritten_anywhere_is_missed(tmp_path: Path) -> None:
    """Of the very last trial it cannot be told whether it was ever acknowledged."""
    stored(tmp_path / "run.db", 100, ending=None)
    file, log = ((tmp_path / name).read_bytes() for name in ("run.db", "run.db-wal"))
    used, rng, refused = len(log.rstrip(b"\0")), random.Random(2), 0
    path = tmp_path / "other.db"
    for _ in range(EXAMPLES):
        place = rng.choice([rng.randrange(used), rng.randrange(32)])
        path.write_bytes(file)
        (tmp_path / "other.db-wal").write_bytes(
            log[:place] + bytes([log[place] ^ 1 << rng.randrange(8)]) + log[place + 1 :]
        )
        (tmp_path / "other.db-shm").unlink(missing_ok=True)
        try:
            store = Store.open(path, header())
        except StoreError:
            refused += 1
            continue
        assert store.count >= 99
        assert list(store.records()) == list(trials(store.count))
        store.close()
    assert refused > EXAMPLES // 3


@pytest.mark.parametrize("harm", ["deleted", "moved", "cut", "replaced", "log deleted"])
def test_a_store_that_is_taken_away_from_a_run_is_missed(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "run.db"
    store = Store.create(path, header())
    store.append(trial(1))
    match harm:
        case "deleted":
            path.unlink()
        case "moved":
            path.rename(tmp_path / "elsewhere.db")
        case "cut":
            os.truncate(path, 100)
        case "replaced":
            stored(tmp_path / "other.db")
            (tmp_path / "other.db").replace(path)
        case _:
            (tmp_path / "run.db-wal").unlink()
    with pytest.raises(StoreError, match="was moved, replaced, truncated or deleted"):
        store.append(trial(2))
    assert store.count == 1
    store.end_session("interrupted", 1.0)


def test_trials_that_somebody_took_out_are_missed(tmp_path: Path) -> None:
    for number, statement in enumerate(
        [
            "DELETE FROM trials WHERE trial = 2",
            "DELETE FROM trials WHERE trial = 3",
            "DELETE FROM trials WHERE trial = 1",
            "UPDATE trials SET loss = 0 WHERE trial = 2",
            "UPDATE sessions SET ending = 'budget', trials = 2",
            "UPDATE header SET value = '1' WHERE name = 'seed'",
            "DROP TABLE sessions",
        ]
    ):
        path = tmp_path / f"{number}.db"
        made = stored(path)
        with sqlite3.connect(path) as connection:
            connection.execute(statement)
        connection.close()
        with pytest.raises(StoreError, match="is damaged"):
            Store.open(path, made)
