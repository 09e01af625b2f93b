import gzip
import os
import sqlite3
import sys
from datetime import datetime
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from storing import header, stored, trial

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Bound, BoundedMeasure
from spacelang.ir.trial import Measurement, Status
from spacelang.runtime.storage.run_listing import export_trials, list_runs, reserve_default_path, trials_to_frame
from spacelang.runtime.storage.store import Store, StoreError
from spacelang.runtime.storage.trial_columns import TABLE_COLUMNS

NOW = datetime(2026, 1, 31, 23, 59, 58)


def test_a_listing_says_what_is_there_and_is_silent_about_strangers(tmp_path: Path) -> None:
    stored(tmp_path / "done.db")
    stored(tmp_path / "killed", ending=None, seed=7)
    live = Store.create(tmp_path / "live.db", header())
    (tmp_path / "notes.txt").write_text("no store " * 1000, encoding="utf-8")
    (tmp_path / "overwritten.db").write_bytes(b"no store " * 1000)
    (tmp_path / "empty.db").touch()
    (tmp_path / ".hidden").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "cut.db").write_bytes((tmp_path / "done.db").read_bytes()[:5000])
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE t(x)")
    other.close()
    listing = list_runs(tmp_path)
    found = {run.path.name: run for run in listing.runs}
    assert {name: run.state for name, run in found.items()} == {
        "done.db": "finished",
        "killed": "killed",
        "live.db": "running",
    }
    done = found["done.db"]
    assert (done.space, done.data.name, done.optimizer, done.metric) == ("small", "wine.csv", "blds", "1 - roc_auc")
    assert (done.trials, done.best, done.feasible, done.seconds) == (3, 1 / 3, True, 3.0)
    assert (found["live.db"].best, found["live.db"].trials, found["killed"].seed) == (None, 0, 7)
    why = {path.name: error.message for path, error in listing.unreadable}
    assert why.keys() == {"empty.db", "cut.db", "overwritten.db"}
    assert "is not the store" in why["overwritten.db"]
    assert "is empty" in why["empty.db"]
    assert "is damaged" in why["cut.db"]
    assert {run.path for run in list_runs(tmp_path / "killed", tmp_path, tmp_path / "done.db").runs} == {
        tmp_path / name for name in found
    }
    for name, reason in (("notes.txt", "is not the store"), ("other.db", "is an SQLite file, but not the store")):
        (alone,) = list_runs(tmp_path / name).unreadable
        assert reason in alone[1].message, "what is named is told"
    live.append(trial(1))
    live.close()


def test_a_place_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be listed"):
        list_runs(tmp_path, tmp_path / "nowhere")
    with pytest.raises(StoreError, match="neither a regular file"):
        list_runs(Path(os.devnull))


def test_a_run_without_a_place_gets_one_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    first, second = (reserve_default_path("credit", NOW, folder) for _ in range(2))
    assert [path.name for path in (first, second)] == [
        "credit-20260131-235958.db",
        "credit-20260131-235958-2.db",
    ]
    for path in (first, second):
        Store.create(path, header()).end_session("budget", 0.0)
    assert len(list_runs(folder).runs) == 2
    odd = reserve_default_path("../a b/ü\n", NOW, folder)
    assert odd.parent == folder
    assert odd.name == "a-b-ü-20260131-235958.db"
    assert reserve_default_path("…", NOW, folder).name.startswith("space-")


def test_a_place_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="a run cannot be stored in"):
        reserve_default_path("credit", NOW, tmp_path / "file" / "runs")


# ---- tables

LATENCY = Bound(BoundedMeasure.LATENCY, 1e-4)
CONFIGURATIONS = [
    {"e": "A", "C": 1.0, "n": 3, "flag": True, "mixed": "sqrt", "none": None},
    {"e": "B", "C": 2.5, "mixed": 0.5, "none": None, "sizes": (10, 5), "full": 1, "late": False},
    {"e": "A", "C": 2, "mixed": 2**70, "full": 2, "flag": False, "late": True},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "run.db"
    store = Store.create(place, header(bounds=(LATENCY,)))
    for index, values in enumerate(CONFIGURATIONS, 1):
        measured = {"metrics": (("accuracy", 0.5),)} if index > 1 else {"loss": None, "status": Status.TIMEOUT}
        store.append(
            trial(index, configuration=Configuration(values), constraints=(Measurement(LATENCY, 1e-5),), **measured)
        )
    store.end_session("budget", 3.0)
    return place


def test_the_trials_are_a_table(path: Path) -> None:
    with Store.read(path) as run:
        table = trials_to_frame(run)
    assert (table.index.name, table.index.tolist()) == ("trial", [1, 2, 3])
    assert table["status"].tolist() == ["timeout", "success", "success"]
    assert table["loss"].isna().tolist() == [True, False, False]
    assert table["metric.accuracy"].isna().tolist() == [True, False, False]
    assert table["constraint.predict_latency"].tolist() == [1e-5] * 3
    kinds = {key.removeprefix("param_"): str(kind) for key, kind in table.dtypes.items() if key.startswith("param_")}
    assert kinds == {
        "C": "Float64",
        "e": "string",
        "flag": "boolean",
        "full": "Int64",
        "late": "boolean",
        "mixed": "object",
        "n": "Int64",
        "none": "object",
        "sizes": "object",
    }
    assert table["param_none"].tolist() == [None, None, pd.NA], "inactive is no value"
    assert table["param_n"].tolist() == [3, pd.NA, pd.NA]
    assert table["param_mixed"].tolist() == ["sqrt", 0.5, 2**70]


def test_an_empty_run_is_a_table(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "run.db", header())
    assert list(trials_to_frame(store).reset_index().columns) == [each.name for each in TABLE_COLUMNS]
    store.close()


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".jsonl"])
def test_exports_hold_the_table(path: Path, suffix: str) -> None:
    file = path.with_name(f"trials{suffix}")
    file.write_text("what was there before", encoding="utf-8")
    with Store.read(path) as run:
        export_trials(run, file)
        first = file.read_bytes()
        export_trials(run, file)
        expected = trials_to_frame(run).reset_index()
    if suffix != ".parquet":
        assert file.read_bytes() == first, "equal tables are equal files"
    exactly = {"lines": True, "dtype": False, "precise_float": True}
    readers = {".parquet": pd.read_parquet, ".jsonl": partial(pd.read_json, **exactly)}
    table = readers.get(suffix, pd.read_csv)(file)
    assert list(table.columns) == list(expected.columns)
    assert table["loss"].equals(expected["loss"])
    assert table["param_mixed"].tolist() == ["sqrt", "0.5", str(2**70)]
    assert table["param_none"].fillna("-").tolist() == ["none", "none", "-"]
    assert table["param_sizes"].fillna("-").tolist() == ["-", "(10, 5)", "-"]
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["run.db", f"trials{suffix}"]


def test_an_archive_is_an_archive(path: Path) -> None:
    with Store.read(path) as run:
        export_trials(run, path.with_name("t.csv.gz"))
    assert gzip.decompress(path.with_name("t.csv.gz").read_bytes()).startswith(b"trial,status,loss")


def test_what_cannot_be_written_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.read(path) as run:
        with pytest.raises(StoreError, match="is not a supported table format"):
            export_trials(run, path)
        with pytest.raises(StoreError, match="cannot be written"):
            export_trials(run, path.with_name("missing") / "t.csv")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(StoreError, match="needs `pyarrow`") as caught:
            export_trials(run, path.with_name("t.parquet"))
    assert "spacelang[parquet]" in caught.value.help
