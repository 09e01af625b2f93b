"""`migrate_trials`: trials of a run that still are members of a changed space."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import document, spacelang
from sklearn.datasets import load_wine

import spacelang as sl
from spacelang.api.migration import Renames, migrate_run, migrate_trials
from spacelang.api.reopened_runs import reopen_run
from spacelang.runtime.errors import InputError
from spacelang.runtime.storage.store import Store

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
        found = migrate_trials(run, space.counted)
    assert found.trials == 11
    assert len(found.migrated) + len(found.dropped) == 11
    assert [each.configuration.get("e.n_neighbors") for each in found.migrated] == [1, 2, 3, 4, 5, None]
    assert all(each.configuration in space for each in found.migrated)
    assert all(each.filled["scaler"] == "none" for each in found.migrated)
    assert [each.loss for each in found.migrated] == sorted(each.loss for each in found.migrated)
    assert {each.loss for each in found.dropped} == {0.3, 0.35, 0.4, 0.45, 1.0}
    assert all(each.reason for each in found.dropped)
    assert sum(count for _, count in found.drop_reasons) == len(found.dropped)


def test_in_the_same_space_all_stay_as_they_are(store: Path) -> None:
    with Store.read(store) as run:
        found = migrate_trials(run, sl.parse(OLD).counted, most=3)
        records = {record.index: record for record in run.records()}
        members = len(migrate_trials(run, sl.parse(OLD).counted).migrated)
    assert not found.dropped
    assert len(found.migrated) == 3
    assert len(found.migrated) + found.omitted == members
    for each in found.migrated:
        assert each.configuration == records[each.trial].trial.request.configuration
        assert not each.filled


def test_what_it_writes_begins_a_run(store: Path, tmp_path: Path) -> None:
    (tmp_path / "new.space").write_text(NEW, encoding="utf-8")
    said = spacelang("migrate", "old.db", "new.space", "-o", "seeds.json", folder=tmp_path)
    assert said.returncode == 0
    assert "6 of these are members of the space, with e.p = 2, scaler = none" in said.stdout
    seeds = json.loads((tmp_path / "seeds.json").read_text(encoding="utf-8"))
    assert seeds[0] == {"scaler": "none", "e": "KNeighborsClassifier", "e.n_neighbors": 1, "e.p": 2}
    again = sl.search(sl.parse(NEW), objective=loss, optimizer="random", trials=6, workers=0, initial=seeds)
    assert [record.trial.request.configuration.to_dict() for record in again.outcome.records] == seeds
    told = document(spacelang("migrate", "old.db", "new.space", "--json", folder=tmp_path))
    assert [each["configuration"] for each in told["members"]] == seeds
    assert len(told["left_out"]) == 5


RENAMED = """space s
stage model = KNeighborsClassifier as near { n_neighbors : int[1, 9] = 5 } | GaussianNB | BernoulliNB
"""


def test_what_has_another_name_is_the_same(store: Path, tmp_path: Path) -> None:
    (tmp_path / "new.space").write_text(RENAMED, encoding="utf-8")
    how = ("migrate", "old.db", "new.space", "--rename", "e=model", "--rename", "e.KNeighborsClassifier=near")
    told = document(spacelang(*how, "--json", folder=tmp_path))
    with Store.read(store) as run:
        records = {record.index: record for record in run.records()}
    assert not told["left_out"]
    assert len(told["members"]) == 11
    for each in told["members"]:
        before = records[each["trial"]].trial.request.configuration
        assert each["loss"] == loss(dict(before))
        assert each["configuration"].get("model.n_neighbors") == before.get("e.n_neighbors")


def test_a_rename_inside_the_stage_of_a_chain_is_for_every_use() -> None:
    given = sl.Configuration({"step": "2", "step[1]": "PCA", "step[1].n": 3, "step[2]": "PCA", "step[2].n": 4})
    renames = Renames({"step.PCA": "step.reduce", "step.n": "step.k"})
    found = dict(renames.apply(given))
    assert found == {"step": "2", "step[1]": "reduce", "step[1].k": 3, "step[2]": "reduce", "step[2].k": 4}
    both = Renames({"step": "prep", "step.n": "prep.k", "step[2].PCA": "prep[2].other"}).apply(given)
    assert dict(both) == {"prep": "2", "prep[1]": "PCA", "prep[1].k": 3, "prep[2]": "other", "prep[2].k": 4}


@pytest.mark.parametrize(
    ("renames", "message"),
    [
        (["e"], "`e` is not a rename"),
        (["e=model", "e=other"], "renamed twice"),
        (["f=model"], "no trial of the run has a stage, alternative or hyperparameter `f`"),
        (["e=modell"], "the space has no stage, alternative or hyperparameter `modell`"),
        (["e=model", "e.n_neighbors=model"], "would both be named `model`"),
    ],
)
def test_impossible_renames_are_refused(store: Path, renames: list[str], message: str) -> None:
    with Store.read(store) as run, pytest.raises(InputError, match=message):
        migrate_trials(run, sl.parse(RENAMED).counted, renames=Renames.parse(renames))


def test_names_can_be_swapped_and_include_what_is_below() -> None:
    given = sl.Configuration({"a": "X", "a.p": 1, "b": "Y", "b.q": 2, "ab": 3})
    swapped = Renames.parse(["a=b", "b=a", "b.q=a.r"]).apply(given)
    assert dict(swapped) == {"b": "X", "b.p": 1, "a": "Y", "a.r": 2, "ab": 3}


def test_trials_outside_a_bound_are_dropped_with_the_bound_as_reason(tmp_path: Path) -> None:
    path, grid = tmp_path / "old.db", "abstract Net\nstage e = Net { lo : int[1, 4], hi : int[1, 4] }\n"
    new = sl.parse("abstract Net\nstage e = Net { lo : int[1, 4], hi : int[lo, 4], top : int[hi, 9] }\n")
    sl.search(
        sl.parse(grid), objective=lambda given: given["e.lo"], optimizer="random", trials=16, workers=0, store=path
    )
    with Store.read(path) as run:
        found = migrate_trials(run, new.counted)
        given = {record.index: record.trial.request.configuration for record in run.records()}
    assert {each.trial for each in found.migrated} == {
        number for number, at in given.items() if at["e.lo"] <= at["e.hi"]
    }
    assert all(each.configuration in new and set(each.filled) == {"e.top"} for each in found.migrated)
    assert {each.reason for each in found.dropped} == {"this combination breaks the bound `lo` of `e.hi`"}


@pytest.mark.parametrize("others", ["", "{none} | "])
def test_values_of_a_set_become_tuples(tmp_path: Path, others: str) -> None:
    old = "abstract Net\nstage e = Net { t : {(1,), (2, 3), (9, 9)} }\n"
    new = f"abstract Net\nstage e = Net {{ units : {others}tuple[1, 2] of int[1, 5] = (4,) }}\n"
    path = tmp_path / "old.db"
    sl.search(
        sl.parse(old), objective=lambda given: given["e.t"][0], optimizer="random", trials=3, workers=0, store=path
    )
    with Store.read(path) as run:
        found = migrate_trials(run, sl.parse(new).counted, renames=Renames({"e.t": "e.units"}))
    first, second = (dict(each.configuration) for each in found.migrated)
    assert first.items() >= {"e.units.length": 1, "e.units[1]": 1}.items()
    assert second.items() >= {"e.units.length": 2, "e.units[1]": 2, "e.units[2]": 3}.items()
    assert [each.filled for each in found.migrated] == [{}, {}]
    assert [each.loss for each in found.dropped] == [9.0]


def test_a_tuple_with_another_name_keeps_its_elements() -> None:
    given = sl.Configuration({"e": "Net", "e.t.length": 1, "e.t[1]": 4, "e.tt": 3})
    renamed = Renames({"e.t": "e.units"}).apply(given)
    assert dict(renamed) == {"e": "Net", "e.units.length": 1, "e.units[1]": 4, "e.tt": 3}


def test_what_is_no_store_is_said(tmp_path: Path) -> None:
    (tmp_path / "new.space").write_text(NEW, encoding="utf-8")
    (tmp_path / "no.db").write_text("nothing", encoding="utf-8")
    assert spacelang("migrate", "no.db", "new.space", folder=tmp_path).returncode == 1
    assert spacelang("migrate", "none.db", "new.space", folder=tmp_path).returncode == 1


# ---- as trials of the new run

BEFORE = """space s
stage scaler = none | StandardScaler
stage e =
  | KNeighborsClassifier { n_neighbors : int[1, 9] = 5 }
  | DecisionTreeClassifier { max_depth : int[1, 3] = 2, min_samples_leaf = 1 }
"""
AFTER = """space s
stage scaler = none | StandardScaler
stage e =
  | KNeighborsClassifier { n_neighbors : int[1, 7] = 5, p : {1, 2} = 2 }
  | DecisionTreeClassifier { max_depth : int[1, 3] = 2, min_samples_leaf = 9 }
  | GaussianNB
"""
"""The library's own `p` is 2; a tree with larger leaves is another pipeline, though it is the same configuration."""


def of_wine(space: str, store: Path, **said: Any) -> sl.Result:
    how: dict[str, Any] = {"optimizer": "random", "trials": 15, "workers": 0, "seed": 3, "validate": "cv(3)"}
    return sl.search(sl.parse(space), *load_wine(return_X_y=True, as_frame=True), store=store, **{**how, **said})


@pytest.fixture
def wine(tmp_path: Path) -> Path:
    of_wine(BEFORE, tmp_path / "wine.db")
    return tmp_path / "wine.db"


def test_pipelines_that_are_the_same_are_trials_of_the_new_run(wine: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    taken = migrate_run(reopen_run(wine, data="sklearn:wine"), sl.parse(AFTER), new)
    assert {each.configuration["e"] for each in taken.unchanged} == {"KNeighborsClassifier"}
    assert {each.configuration["e"] for each in taken.to_evaluate} == {"DecisionTreeClassifier"}
    assert {each.configuration["e.p"] for each in taken.unchanged} == {2}
    with Store.read(new) as run:
        begun = [(record.trial.request.configuration, record.trial.loss) for record in run.records()]
    assert begun == [(each.configuration, each.loss) for each in taken.unchanged]
    resumed = of_wine(AFTER, new, resume=True)
    first = [each.configuration for each in (*taken.unchanged, *taken.to_evaluate)]
    whole = of_wine(AFTER, tmp_path / "whole.db", initial=first)
    found, expected = (
        {each.trial.request: (each.trial.status, each.trial.loss) for each in result.outcome.records}
        for result in (resumed, whole)
    )
    assert found == expected
    assert len(found) == 15


def test_a_stage_with_another_name_gives_the_same_pipelines(wine: Path, tmp_path: Path) -> None:
    space = sl.parse(BEFORE.replace("stage scaler", "stage scaling"))
    taken = migrate_run(
        reopen_run(wine, data="sklearn:wine"), space, tmp_path / "new.db", renames=Renames({"scaler": "scaling"})
    )
    assert taken.unchanged
    assert not taken.to_evaluate
    assert not taken.migration.dropped


def test_less_than_all_rows_are_evaluated_anew(tmp_path: Path) -> None:
    store = tmp_path / "few.db"
    of_wine(BEFORE, store, optimizer="hyperband")
    finished = reopen_run(store, data="sklearn:wine")
    size = finished.header.training_size
    with Store.read(store) as run:
        rows = {record.index: record.trial.request.fidelity or size for record in run.records()}
    taken = migrate_run(finished, sl.parse(BEFORE), tmp_path / "new.db")
    assert {rows[each.trial] for each in taken.unchanged} == {size}
    assert all(rows[each.trial] < size for each in taken.to_evaluate)
    assert taken.to_evaluate


def test_a_run_goes_on_in_a_changed_space(wine: Path, tmp_path: Path) -> None:
    (tmp_path / "new.space").write_text(AFTER, encoding="utf-8")
    how = ("migrate", wine.name, "new.space", "--data", "sklearn:wine", "--store", "new.db")
    told = document(spacelang(*how, "--json", folder=tmp_path))
    assert {*told["same"], *told["anew"]} == {each["trial"] for each in told["members"]}
    again = spacelang(*how, folder=tmp_path)
    assert again.returncode == 1
    assert "the store `new.db` already exists" in again.stderr
    other = (*how[:-3], "sklearn:iris", "--store", "other.db")
    assert "the data is different" in spacelang(*other, folder=tmp_path).stderr
    assert not (tmp_path / "other.db").exists()


def test_a_space_with_none_of_its_trials_begins_no_run(wine: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no trial of the run is valid in the new space"):
        migrate_run(
            reopen_run(wine, data="sklearn:wine"), sl.parse("space s\nstage e = GaussianNB\n"), tmp_path / "no.db"
        )
    assert not (tmp_path / "no.db").exists()
