"""Ensembles and limits of a run in its store: those that a session asked for last, and none of a refused session."""

import sqlite3
from pathlib import Path

import pytest
from storing import header, stored, trial

from spacelang.runtime.storage.records import ENSEMBLES, LAYOUTS, TABLES, with_digest
from spacelang.runtime.storage.store import Store, StoreError
from spacelang.runtime.storage.trial_columns import VERSION


def votes(path: Path) -> int | None:
    with Store.read(path) as run:
        return run.requested_ensemble_votes


def test_the_last_session_that_asked_counts(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    stored(path)
    assert votes(path) is None
    for asked, known in ((6, 6), (None, 6), (1, 1)):
        store = Store.open(path, header())
        if asked is not None:
            store.store_ensemble_request(asked)
        assert votes(path) == known
        store.end_session("budget", 1.0)
    assert votes(path) == 1


def test_it_outlives_the_process(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    store = Store.create(path, header())
    store.store_ensemble_request(20)
    store.append(trial(1))
    store.close()
    assert votes(path) == 20


def test_a_session_that_was_refused_has_asked_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    stored(path)
    store = Store.open(path, header())
    store.store_ensemble_request(20)
    store.undo_session_and_make_error(1)
    assert votes(path) is None
    Store.open(path, header()).end_session("budget", 1.0)


@pytest.mark.parametrize("row", [(1, 0), (1, -3), (1, "many")])
def test_what_is_no_number_of_votes_is_refused(tmp_path: Path, row: tuple[object, ...]) -> None:
    path = tmp_path / "run.db"
    store = Store.create(path, header())
    store.store_ensemble_request(20)
    store.end_session("budget", 1.0)
    with sqlite3.connect(path) as connection:
        connection.execute("REPLACE INTO ensembles VALUES (?, ?, ?)", with_digest(row))
    connection.close()
    with pytest.raises(StoreError, match="is damaged"):
        votes(path)


def test_limits_of_a_refused_session_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    stored(path)
    store = Store.open(path, header())
    store.store_limits({"trials": "50"})
    assert store.limits == {"trials": "50"}
    store.undo_session_and_make_error(1)
    with Store.read(path) as run:
        assert (run.limits, run.changed_limits) == ({}, None)


@pytest.mark.parametrize("text", ["[]", '{"trials": 5}', "no JSON"])
def test_limits_that_are_no_texts_by_option_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.db"
    stored(path)
    store = Store.open(path, header())
    store.store_limits({"trials": "50"})
    store.end_session("budget", 1.0)
    with sqlite3.connect(path) as connection:
        connection.execute("REPLACE INTO limits VALUES (?, ?, ?)", with_digest((2, text)))
    connection.close()
    with Store.read(path) as run, pytest.raises(StoreError, match="is damaged"):
        _ = run.limits


def test_the_version_of_a_store_says_that_it_has_the_table() -> None:
    assert {*LAYOUTS[VERSION + 256]} == {*TABLES, ENSEMBLES}
