"""Archives of runs that are stored."""

from pathlib import Path

import pytest
from storing import LIMIT, SMALL, broken, header, stored, trial

from spacelang.ir.space import Space
from spacelang.runtime.archives.archive import ArchiveError, identify_space
from spacelang.runtime.archives.creation import make_archive
from spacelang.runtime.storage.run_header import DataFacts, header_from_texts, header_to_texts
from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.store_errors import StoreError

LIKE = {"NumberOfInstances": 178.0, "KurtosisMax": 0.1 + 0.2}


def nobody(name: str) -> Space:
    raise AssertionError(f"`{name}` is not asked for")


def data(name: str) -> DataFacts:
    return DataFacts(name, 178, 13, name.encode().hex().ljust(64, "0"))


def test_of_each_data_set_there_is_the_best_run(tmp_path: Path) -> None:
    stored(tmp_path / "a.db", 3, meta_features=LIKE)
    stored(tmp_path / "b.db", 5, data=data("iris.csv"), meta_features={"NumberOfInstances": 150.0})
    stored(tmp_path / "c.db", 4, seed=1, ending=None, meta_features=LIKE)
    made = make_archive([tmp_path], "a.json", nobody)
    first, second = made.archive.rows
    assert (first.data, first.loss, first.metric) == ("wine.csv", 1 / 4, "1 - roc_auc")
    assert first.configuration == trial(4).trial.request.configuration
    assert first.meta_features == LIKE
    assert first.space == identify_space(SMALL)
    assert (second.data, second.loss) == ("iris.csv", 1 / 5)
    assert made.left_out == ("one of several runs on `wine.csv`, of which only the one with the smallest loss is used",)
    alone = make_archive([tmp_path / "b.db", tmp_path / "a.db"], "a.json", nobody)
    assert [row.data for row in alone.archive.rows] == ["iris.csv", "wine.csv"]


def test_runs_that_say_nothing_are_left_out_with_the_reason(tmp_path: Path) -> None:
    stored(tmp_path / "a.db", 3)
    stored(tmp_path / "b.db", 0, meta_features=LIKE)
    with Store.create(tmp_path / "c.db", header(meta_features=LIKE)) as store:
        store.append(trial(1, fidelity=50))
        store.end_session("budget", 1.0)
    with Store.create(tmp_path / "d.db", header(meta_features=LIKE, bounds=(LIMIT,))) as store:
        store.append(trial(1, constraints=broken(1.0)))
        store.end_session("budget", 1.0)
    (tmp_path / "notes.db").write_text("no store")
    with pytest.raises(ArchiveError, match="no run can be used for an archive"):
        make_archive([tmp_path], "a.json", nobody)
    stored(tmp_path / "e.db", 2, meta_features=LIKE)
    made = make_archive([tmp_path], "a.json", nobody)
    assert len(made.archive.rows) == 1
    assert made.left_out[:4] == (
        "`a.db` has no meta-features: the run had no data, or was made by an earlier version of spacelang",
        "`b.db` has no successful trial",
        "`c.db` has no trial that was trained on all training rows",
        "`d.db` has no successful trial within all bounds",
    )
    assert made.left_out[4].startswith("`notes.db`: ")


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        make_archive([tmp_path / "nowhere.db"], "a.json", nobody)
    with pytest.raises(ArchiveError) as raised:
        make_archive([tmp_path], "a.json", nobody)
    assert "give files with stored runs on data" in raised.value.help


def test_meta_features_are_kept_to_the_last_bit_and_tell_no_runs_apart() -> None:
    given = header(meta_features=LIKE)
    assert header_from_texts(header_to_texts(given)).meta_features == LIKE
    assert given.differences(header()) == []
    texts = header_to_texts(given)
    del texts["meta_features"]  # as earlier versions wrote it
    assert header_from_texts(texts).meta_features == {}
