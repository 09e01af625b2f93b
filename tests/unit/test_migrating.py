"""`migrate`: trials of a run that still are members of a changed space."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import document, spacelang

import spacelang as sl
from spacelang.api.migrating import migrate
from spacelang.runtime.storing.store import Store

OLD = "space s\nstage e = KNeighborsClassifier { n_neighbors : int[1, 9] = 5 } | GaussianNB | BernoulliNB\n"
NEW = """space s
stage scaler = none | StandardScaler
stage e = KNeighborsClassifier { n_neighbors : int[1, 5] = 5, p : {1, 2} = 2 } | GaussianNB
"""


def loss(configuration: dict[str, Any]) -> float:
    return configuration.get("e.n_neighbors", 20) / 20


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    sl.search(sl.parse(OLD), objective=loss, optimizer="random", trials=11, workers=0, store=path)
    return path


def test_what_is_new_is_filled_in_and_what_is_gone_stays_behind(store: Path) -> None:
    space = sl.parse(NEW)
    with Store.read(store) as run:
        found = migrate(run, space.counted)
    assert found.trials == 11
    assert len(found.moved) + len(found.left) == 11
    assert [each.configuration.get("e.n_neighbors") for each in found.moved] == [1, 2, 3, 4, 5, None]
    assert all(each.configuration in space for each in found.moved)
    assert all(each.filled["scaler"] == "none" for each in found.moved)
    assert [each.loss for each in found.moved] == sorted(each.loss for each in found.moved)
    assert {each.loss for each in found.left} == {0.3, 0.35, 0.4, 0.45, 1.0}
    assert all(each.reason for each in found.left)
    assert sum(count for _, count in found.reasons) == len(found.left)


def test_in_the_same_space_all_stay_as_they_are(store: Path) -> None:
    with Store.read(store) as run:
        found = migrate(run, sl.parse(OLD).counted, most=3)
        records = {record.index: record for record in run.records()}
    assert not found.left
    assert len(found.moved) == 3
    for each in found.moved:
        assert each.configuration == records[each.trial].trial.request.configuration
        assert not each.filled


def test_what_it_writes_begins_a_run(store: Path, tmp_path: Path) -> None:
    (tmp_path / "new.space").write_text(NEW, encoding="utf-8")
    said = spacelang("migrate", "old.db", "new.space", "-o", "seeds.json", folder=tmp_path)
    assert said.returncode == 0
    assert "6 are members of the space, with e.p = 2, scaler = none" in said.stdout
    seeds = json.loads((tmp_path / "seeds.json").read_text(encoding="utf-8"))
    assert seeds[0] == {"scaler": "none", "e": "KNeighborsClassifier", "e.n_neighbors": 1, "e.p": 2}
    again = sl.search(sl.parse(NEW), objective=loss, optimizer="random", trials=6, workers=0, initial=seeds)
    assert [record.trial.request.configuration.to_dict() for record in again.outcome.records] == seeds
    told = document(spacelang("migrate", "old.db", "new.space", "--json", folder=tmp_path))
    assert [each["configuration"] for each in told["members"]] == seeds
    assert len(told["left_out"]) == 5


def test_what_is_no_store_is_said(tmp_path: Path) -> None:
    (tmp_path / "new.space").write_text(NEW, encoding="utf-8")
    (tmp_path / "no.db").write_text("nothing", encoding="utf-8")
    assert spacelang("migrate", "no.db", "new.space", folder=tmp_path).returncode == 1
    assert spacelang("migrate", "none.db", "new.space", folder=tmp_path).returncode == 1
