"""Stores of the time when searches were told of trials in rounds: they are read, and no run goes on with them."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import spacelang as sl
from spacelang.ir import trial
from spacelang.runtime.storage.exports import to_frame
from spacelang.runtime.storage.optional_tables import StoredUnseenScore, save_unseen_score
from spacelang.runtime.storage.runs import list_runs
from spacelang.runtime.storage.store import Store, StoreError

WRITTEN = Path(__file__).parents[2] / "stores" / "in_rounds.sql"
"""What such a program wrote: two sessions of a random search on iris, with predictions and a score on test rows."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "former.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(WRITTEN.read_text(encoding="utf-8"))
    connection.close()
    return path


def version(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(found)


def test_it_is_shown_and_exported(store: Path) -> None:
    (listed,) = list_runs(store.parent).runs
    assert (listed.space, listed.optimizer, listed.state, listed.trials, listed.best) == (
        "toy",
        "random",
        "finished",
        3,
        0.0,
    )
    with Store.read(store) as run:
        found = list(run.records())
        assert [(each.index, each.workers, each.is_speculative) for each in found] == [(n, 1, False) for n in (1, 2, 3)]
        assert [(each.trials, each.workers) for each in run.sessions] == [(2, None), (3, None)]
        predictions = run.predictions(2)
        assert predictions is not None
        assert np.allclose(predictions.sum(axis=1), 1)
        assert run.test == StoredUnseenScore(1, trial.TestScore(0.0, 0.0, 0.0, 8))
        table = to_frame(run)
    estimators = [each.trial.request.configuration["estimator"] for each in found]
    assert table["configuration.estimator"].tolist() == estimators
    assert not table["early"].any()


def test_it_can_be_scored(store: Path) -> None:
    score = trial.TestScore(0.25, 0.125, 0.5, 40)
    with sqlite3.connect(store) as connection:
        connection.execute("DROP TABLE test")
        connection.execute("PRAGMA user_version=2")
    connection.close()
    save_unseen_score(store, StoredUnseenScore(2, score))
    assert version(store) == 4
    with Store.read(store) as run:
        assert run.test == StoredUnseenScore(2, score)
        assert len(list(run.records())) == 3


def test_what_was_changed_in_it_is_noticed(store: Path) -> None:
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE trials SET loss = 0.5 WHERE trial = 2")
    connection.close()
    with Store.read(store) as run, pytest.raises(StoreError, match="trial 2 does not match its checksum"):
        list(run.records())


def test_no_run_goes_on_with_it(store: Path) -> None:
    before = store.read_bytes()
    features, labels = load_iris(return_X_y=True, as_frame=True)
    space = sl.parse("space toy\nstage e = GaussianNB | DecisionTreeClassifier\n")
    with pytest.raises(StoreError, match=r"an earlier spacelang, which reported trials .* in rounds") as caught:
        sl.search(space, features, labels, optimizer="random", trials=4, store=store, resume=True, workers=0)
    assert caught.value.help.endswith("start a new run with another `--store`")
    assert store.read_bytes() == before
    assert [entry.name for entry in store.parent.iterdir()] == ["former.db"]
