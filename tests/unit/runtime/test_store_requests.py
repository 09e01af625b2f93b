"""What a search says of a request beside its configuration and fidelity, in a store: kept to the last bit."""

import sqlite3
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from storing import header, read, stored, trial

from spacelang.runtime.storage.records import LAYOUTS, PREDICTIONS, REQUESTS, TABLES, TEST, record_to_row, row_to_record
from spacelang.runtime.storage.store import Store, StoreError
from spacelang.runtime.storage.trial_columns import VERSION


def version(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(found)


def bits(memo: tuple[object, ...]) -> list[object]:
    return [struct.pack("<d", each) if isinstance(each, float) else each for each in memo]


@given(st.lists(st.floats(allow_nan=False) | st.integers() | st.text(max_size=4), max_size=5).map(tuple))
def test_a_memo_is_given_back_bit_for_bit(memo: tuple[object, ...]) -> None:
    back = row_to_record(record_to_row(trial(1, memo=memo))).trial.request.memo
    assert bits(back) == bits(memo)
    assert [type(each) for each in back] == [type(each) for each in memo]


def test_a_memo_has_numbers_and_texts_alone(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "run.db", header())
    with pytest.raises(
        ValueError, match="the memo that the optimizer stores with trial 1 must contain only numbers and texts"
    ):
        store.append(trial(1, memo=({"theta": 3.4},)))
    store.append(trial(1))
    store.close()


def test_a_store_of_which_nothing_was_said_is_as_it_always_was(tmp_path: Path) -> None:
    """So a run of an earlier spacelang goes on, and says from then on what it has to say."""
    path = tmp_path / "run.db"
    made = stored(path, 3, "interrupted")
    assert version(path) == VERSION
    store = Store.open(path, made)
    store.append(trial(4, proposal=1, memo=(3.4,)))
    store.append(trial(5))
    store.append(trial(6, seconds=2.5, predictions=[0.5]))
    store.end_session("budget", 6.0)
    assert version(path) == VERSION + 16 + 64
    with sqlite3.connect(path) as connection:
        tables = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        said = connection.execute("SELECT * FROM requests").fetchall()
    connection.close()
    assert tables == {*TABLES, PREDICTIONS, REQUESTS}
    assert said == [(4, 1, None, "[3.4]"), (6, None, 2.5, "[]")]
    again = Store.open(path, made)
    assert [(each.proposal, each.trial.request.seconds, each.trial.request.memo) for each in again.records()] == [
        *[(None, None, ())] * 3,
        (1, None, (3.4,)),
        (None, None, ()),
        (None, 2.5, ()),
    ]
    again.close()


SPOILS = {
    "another number": "UPDATE requests SET proposal = 7 WHERE trial = 2",
    "another memo": "UPDATE requests SET memo = '[1.5]' WHERE trial = 2",
    "another limit": "UPDATE requests SET seconds = 9 WHERE trial = 2",
    "none": "DELETE FROM requests WHERE trial = 2",
}


@pytest.mark.parametrize("name", SPOILS)
def test_what_was_changed_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "run.db"
    store = Store.create(path, header())
    for index in (1, 2, 3):
        store.append(trial(index, proposal=index, memo=(index,)))
    store.end_session("budget", 3.0)
    with sqlite3.connect(path) as connection:
        connection.execute(SPOILS[name])
    connection.close()
    with pytest.raises(StoreError, match="trial 2 does not match its checksum"):
        read(path)
    with pytest.raises(StoreError, match="trial 2 does not match its checksum"):
        Store.open(path, header())


def test_what_was_said_of_no_trial_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    store = Store.create(path, header())
    store.append(trial(1, proposal=1))
    store.end_session("budget", 1.0)
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO requests VALUES (2, 2, NULL, '[]')")
    connection.close()
    with pytest.raises(StoreError, match="the store has the request of trial 2, but not the trial"):
        Store.open(path, header())


def test_every_version_is_a_sum_of_its_tables() -> None:
    assert LAYOUTS[VERSION] == TABLES
    assert {*LAYOUTS[VERSION + 16 + 32 + 64]} == {*TABLES, PREDICTIONS, TEST, REQUESTS}
    assert {*LAYOUTS[VERSION + 64]} == {*TABLES, REQUESTS}
