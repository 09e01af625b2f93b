"""The score on test rows in a store, which is written after the end of the run."""

import json
import sqlite3
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

from spacelang.ir.task import AnyBound, Bound, FunctionBound, Measure
from spacelang.ir.trial import Reached, TestScore
from spacelang.runtime.storing.store_faults import must_be_a_store, told
from spacelang.runtime.storing.store_file import check_kind, closing_on_error, join_log, recover, seize
from spacelang.runtime.storing.store_optional import TEST_REACHED, TESTED
from spacelang.runtime.storing.stored import OF_TEST_BOUNDS, OF_TESTS, Row, marked, unmarked, writable


@dataclass(frozen=True, slots=True)
class StoredTest:
    """The score on test rows of a trial's pipeline, fitted on all other rows."""

    trial: int
    score: TestScore


def keep(path: Path, test: StoredTest) -> None:
    """Store the score of a run that has ended, and replace an earlier one. Raises StoreError if that fails."""
    must_be_a_store(path)
    row = _row(test)
    with told(path):
        recover(path)
    with told(path), closing_on_error(path, "rw") as connection:
        check_kind(path, connection)
        seize(path, connection)
        TESTED.hold(connection, row)
        TEST_REACHED.hold(connection, *map(_reached_row, count(), test.score.constraints))
        connection.execute("COMMIT")
        join_log(connection)
        connection.close()


def find(connection: sqlite3.Connection) -> StoredTest | None:
    """Return the stored score, None without one. Raises ValueError if it does not match its digest."""
    for row in TESTED.rows(connection, "SELECT * FROM test"):
        trial, loss, low, high, rows, reason = unmarked(row, OF_TESTS, "the score on the test rows")
        return StoredTest(trial, TestScore(loss, low, high, rows, reason, _find_reached(connection)))
    return None


def _find_reached(connection: sqlite3.Connection) -> tuple[Reached, ...]:
    rows = TEST_REACHED.rows(connection, "SELECT * FROM test_bounds ORDER BY place")
    values = [unmarked(row, OF_TEST_BOUNDS, "a bound measured on the test rows") for row in rows]
    return tuple(Reached(_bound(text), *found) for _, text, *found in values)


def _text(bound: AnyBound) -> str:
    facts = asdict(bound)
    facts.pop("span", None)
    # ASCII, because some strings, with lone surrogates, cannot be encoded.
    return json.dumps(facts, sort_keys=True)


def _bound(text: str) -> AnyBound:
    facts = json.loads(text)
    return Bound(**facts | {"measure": Measure(facts["measure"])}) if "measure" in facts else FunctionBound(**facts)


def _row(test: StoredTest) -> Row:
    score = test.score
    return marked((test.trial, *map(_real, (score.loss, score.low, score.high)), score.rows, writable(score.reason)))


def _reached_row(place: int, reached: Reached) -> Row:
    found = map(_real, (reached.value, reached.low, reached.high))
    return marked((place, _text(reached.bound), *found, writable(reached.reason)))


def _real(number: float | None) -> float | None:
    # Replace -0 by 0, as SQLite does.
    return None if number is None else float(number) + 0.0
