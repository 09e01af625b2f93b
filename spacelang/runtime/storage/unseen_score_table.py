"""The score on test rows in a store, which is written after the end of the run."""

import json
import sqlite3
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

from spacelang.ir.task import AnyBound, Bound, FunctionBound, Measure
from spacelang.ir.trial import TestScore, UnseenMeasurement
from spacelang.runtime.storage.optional_tables import TEST_BOUND_TABLE, TEST_TABLE
from spacelang.runtime.storage.records import (
    TEST_BOUND_TYPES,
    TEST_TYPES,
    Row,
    escape_surrogates,
    with_digest,
    without_digest,
)
from spacelang.runtime.storage.store_errors import check_store_exists, convert_store_errors
from spacelang.runtime.storage.store_file import (
    acquire_write_lock,
    check_kind,
    closing_on_error,
    merge_log,
    roll_back_creation,
)


@dataclass(frozen=True, slots=True)
class StoredUnseenScore:
    """The score on test rows of a trial's pipeline, fitted on all other rows."""

    trial: int
    score: TestScore


def save_unseen_score(path: Path, test: StoredUnseenScore) -> None:
    """Store the score of a run that has ended, and replace an earlier one. Raises StoreError if that fails."""
    check_store_exists(path)
    row = _score_row(test)
    with convert_store_errors(path):
        roll_back_creation(path)
    with convert_store_errors(path), closing_on_error(path, "rw") as connection:
        check_kind(path, connection)
        acquire_write_lock(path, connection)
        TEST_TABLE.replace_all(connection, row)
        TEST_BOUND_TABLE.replace_all(connection, *map(_bound_row, count(), test.score.constraints))
        connection.execute("COMMIT")
        merge_log(connection)
        connection.close()


def load_unseen_score(connection: sqlite3.Connection) -> StoredUnseenScore | None:
    """Return the stored score, None without one. Raises ValueError if it does not match its digest."""
    for row in TEST_TABLE.fetch(connection, "SELECT * FROM test"):
        trial, loss, low, high, rows, reason = without_digest(row, TEST_TYPES, "the score on the test rows")
        return StoredUnseenScore(trial, TestScore(loss, low, high, rows, reason, _load_bounds(connection)))
    return None


def _load_bounds(connection: sqlite3.Connection) -> tuple[UnseenMeasurement, ...]:
    rows = TEST_BOUND_TABLE.fetch(connection, "SELECT * FROM test_bounds ORDER BY place")
    values = [without_digest(row, TEST_BOUND_TYPES, "a bound measured on the test rows") for row in rows]
    return tuple(UnseenMeasurement(_parse_bound(text), *found) for _, text, *found in values)


def _bound_text(bound: AnyBound) -> str:
    facts = asdict(bound)
    facts.pop("span", None)
    # ASCII, because some strings, with lone surrogates, cannot be encoded.
    return json.dumps(facts, sort_keys=True)


def _parse_bound(text: str) -> AnyBound:
    facts = json.loads(text)
    return Bound(**facts | {"measure": Measure(facts["measure"])}) if "measure" in facts else FunctionBound(**facts)


def _score_row(test: StoredUnseenScore) -> Row:
    score = test.score
    return with_digest(
        (test.trial, *map(_real, (score.loss, score.low, score.high)), score.rows, escape_surrogates(score.reason))
    )


def _bound_row(place: int, reached: UnseenMeasurement) -> Row:
    found = map(_real, (reached.value, reached.low, reached.high))
    return with_digest((place, _bound_text(reached.bound), *found, escape_surrogates(reached.reason)))


def _real(number: float | None) -> float | None:
    # Replace -0 by 0, as SQLite does.
    return None if number is None else float(number) + 0.0
