"""Stores of spacelang 0.1, which told searches of trials in rounds: they are refused, and stay as they are."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

import spacelang as sl
from spacelang.ir.trial import TestScore
from spacelang.runtime.errors import InputError
from spacelang.runtime.storage.optional_tables import StoredUnseenScore, save_unseen_score
from spacelang.runtime.storage.records import APPLICATION_ID
from spacelang.runtime.storage.run_listing import list_runs
from spacelang.runtime.storage.store import Store, StoreError


@pytest.fixture(params=["0.1.0", None])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "former.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute("PRAGMA user_version=2")
        connection.execute("CREATE TABLE header (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        if request.param is not None:
            row = ("versions", json.dumps({"spacelang": request.param}))
            connection.execute("INSERT INTO header VALUES (?, ?)", row)
    return path


def test_it_is_refused_with_its_version_and_what_to_do(store: Path) -> None:
    before = store.read_bytes()
    features, labels = load_iris(return_X_y=True, as_frame=True)
    space = sl.parse("space toy\nstage e = GaussianNB | DecisionTreeClassifier\n")
    for use in (
        lambda: Store.read(store),
        lambda: save_unseen_score(store, StoredUnseenScore(1, TestScore(0.5, 0.25, 0.75, 8))),
        lambda: sl.search(space, features, labels, trials=4, store=store, resume=True, workers=0),
    ):
        with pytest.raises(InputError, match=r"was written by spacelang 0\.1.*, whose stores .* cannot read") as caught:
            use()
        assert f"spacelang migrate {store} SPACE -o FILE.json" in caught.value.help
        assert "start the run again" in caught.value.help
    assert store.read_bytes() == before
    assert [entry.name for entry in store.parent.iterdir()] == ["former.db"]


def test_it_is_listed_as_one_that_cannot_be_read(store: Path) -> None:
    ((path, error),) = list_runs(store.parent).unreadable
    assert path == store
    assert isinstance(error, StoreError)
