"""The score on test rows as a store keeps it: behind the end of a run, beside its trials."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from spacelang.ir.task import AnyBound, Bound, FunctionBound, Measure
from spacelang.ir.trial import Reached, TestScore
from spacelang.runtime.storing.store_faults import must_be_a_store, told
from spacelang.runtime.storing.store_file import check_kind, closing_on_error, join_log, recover, seize
from spacelang.runtime.storing.store_predictions import add_table, has_table
from spacelang.runtime.storing.stored import OF_TEST_BOUNDS, OF_TESTS, TEST, TEST_BOUNDS, Row, digest, must_be, writable

NAME: Final = "test_bounds"


@dataclass(frozen=True, slots=True)
class StoredTest:
    """What the pipeline of a trial achieves on the test rows of its run, fitted on all other rows."""

    trial: int
    score: TestScore


def keep(path: Path, test: StoredTest) -> None:
    """Keep the score of a run that has ended, in place of an earlier one; raises StoreError where that cannot be."""
    must_be_a_store(path)
    row = _row(test)
    with told(path):
        recover(path)
    with told(path), closing_on_error(path, "rw") as connection:
        check_kind(path, connection)
        seize(path, connection)
        if not has_table(connection, "test"):
            add_table(connection, TEST)
        connection.execute("DELETE FROM test")
        connection.execute(f"INSERT INTO test VALUES ({','.join('?' * 7)})", (*row, digest(b"", row)))
        _keep_reached(connection, test.score.constraints)
        connection.execute("COMMIT")
        join_log(connection)
        connection.close()


def find(connection: sqlite3.Connection) -> StoredTest | None:
    """The score that is kept, None where there is none; raises ValueError for one that is not what was written."""
    row: Row | None = None
    if has_table(connection, "test"):
        row = connection.execute("SELECT * FROM test").fetchone()
    if row is None:
        return None
    trial, loss, low, high, rows, reason, mark = row
    if digest(b"", row[:-1]) != mark:
        raise ValueError("the score on the test rows is not what was written")
    must_be(row, OF_TESTS)
    return StoredTest(trial, TestScore(loss, low, high, rows, reason, _find_reached(connection)))


def _keep_reached(connection: sqlite3.Connection, reached: Sequence[Reached]) -> None:
    """What is reached of each bound, in place of what was reached before; few runs have bounds."""
    if not has_table(connection, NAME):
        if not reached:
            return
        add_table(connection, TEST_BOUNDS)
    connection.execute(f"DELETE FROM {NAME}")
    rows = [
        (place, _text(each.bound), *map(_real, (each.value, each.low, each.high)), writable(each.reason))
        for place, each in enumerate(reached)
    ]
    values = [(*row, digest(b"", row)) for row in rows]
    connection.executemany(f"INSERT INTO {NAME} VALUES ({','.join('?' * 7)})", values)


def _find_reached(connection: sqlite3.Connection) -> tuple[Reached, ...]:
    if not has_table(connection, NAME):
        return ()
    rows = connection.execute(f"SELECT * FROM {NAME} ORDER BY place").fetchall()
    if any(digest(b"", row[:-1]) != row[-1] for row in rows):
        raise ValueError("what is reached on the test rows is not what was written")
    for row in rows:
        must_be(row, OF_TEST_BOUNDS)
    return tuple(Reached(_bound(text), *found) for _, text, *found, _ in rows)


def _text(bound: AnyBound) -> str:
    facts = asdict(bound)
    facts.pop("span", None)
    # In ASCII, as not every string is text that files can hold.
    return json.dumps(facts, sort_keys=True)


def _bound(text: str) -> AnyBound:
    facts = json.loads(text)
    return Bound(**facts | {"measure": Measure(facts["measure"])}) if "measure" in facts else FunctionBound(**facts)


def _row(test: StoredTest) -> Row:
    score = test.score
    return test.trial, *map(_real, (score.loss, score.low, score.high)), score.rows, writable(score.reason)


def _real(number: float | None) -> float | None:
    # 0 for -0, as SQLite does it.
    return None if number is None else float(number) + 0.0
