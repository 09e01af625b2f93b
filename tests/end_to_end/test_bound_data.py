"""What a run drops from a space because its data has no use for it, from the numbers of symbols to archives."""

import io
import json
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spacelang as sl
from spacelang.api.experiment import Experiment
from spacelang.api.initial_configurations import InitialConfigurationError, make_run_archive
from spacelang.api.reopened_runs import reopen_run
from spacelang.api.search_data import TabularData, choose_default_space
from spacelang.cli._app import run_command_line
from spacelang.ir.validation import CrossValidation
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.storage.store import Store

SPACE = """space mixed
stage fill = SimpleImputer { strategy : {mean, median} = median when n_missing > 0 }
stage code = OneHotEncoder { handle_unknown = ignore, max_categories : int[2, 9] = 5 } | OrdinalEncoder
stage model = LogisticRegression { C : float[0.1, 10] log = 1, max_iter = 1000 }
pipeline = columns(numeric: fill, categorical: code, "^zip": StandardScaler { with_mean : bool }) -> model
"""
OPTIONS: dict[str, Any] = {"optimizer": "random", "workers": 0, "validate": "holdout(0.3)"}


def columns(*, gaps: bool = False, town: bool = False, rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=rows), "width": rng.normal(size=rows)})
    if gaps:
        table.loc[rows - 1, "width"] = np.nan
    if town:
        table["town"] = [("Rome", "Oslo", None)[place % 3] for place in range(rows)]
    return table


def labels(table: pd.DataFrame) -> pd.Series:
    return (table["size"] > 0).map({True: "yes", False: "no"}).rename("target")


def bound(space: sl.Space, features: Any, target: Any, **given: Any) -> tuple[sl.Space, DataObjective]:
    data = TabularData(make_table(features, target))
    return data.bind_space(Experiment(space=space, data=data, **given))


def command(*arguments: str, folder: Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        status = run_command_line(arguments)
    return status, out.getvalue(), err.getvalue()


# ---- the numbers of symbols


def test_columns_are_counted_by_kind_and_missing_numbers_in_all_rows() -> None:
    space = sl.parse("pipeline = columns(numeric: SimpleImputer, categorical: OneHotEncoder, datetime: OrdinalEncoder, "
                     "text: TfidfVectorizer) -> LogisticRegression")  # fmt: skip
    rows = 500
    table = columns(gaps=True, town=True, rows=rows).assign(
        day=pd.date_range("2026-01-01", periods=rows), note=[f"note {place}" for place in range(rows)], empty=None
    )
    _, objective = bound(space, table, labels(table), validation=CrossValidation(5))
    assert objective.size_symbols == {
        "n_samples": 400, "n_features": 5, "n_classes": 2, "n_numeric": 2, "n_categorical": 1, "n_text": 1,
        "n_datetime": 1, "n_missing": 1,
    }  # fmt: skip


def test_categories_that_are_encoded_before_the_pipeline_are_numeric_columns() -> None:
    table = columns(gaps=True, town=True)
    table.loc[0, "town"] = "Bonn"  # one fold trains without it
    _, objective = bound(sl.parse("pipeline = GaussianNB"), table, labels(table), validation=CrossValidation(3))
    counted = {"n_numeric": 4, "n_categorical": 0, "n_text": 0, "n_datetime": 0, "n_missing": 0, "n_features": 4}
    assert {name: objective.size_symbols[name] for name in counted} == counted


def test_sparse_features_are_numeric() -> None:
    numbers = sparse.random_array((40, 6), density=0.5, rng=np.random.default_rng(0)).tocsr()
    numbers.data[[0, 1]] = np.nan
    target = [0, 1] * 20
    space = sl.parse("pipeline = SimpleImputer -> LogisticRegression")
    _, objective = bound(space, numbers, target)
    missing = len({*numbers.indices[:2].tolist()})
    assert (objective.size_symbols["n_numeric"], objective.size_symbols["n_missing"]) == (6, missing)


# ---- what a run drops


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, {"fill", "model"}),
        ({"gaps": True}, {"fill", "fill.strategy", "model"}),
        ({"town": True}, {"code", "fill", "model"}),
    ],
)
def test_a_run_is_without_parts_that_receive_no_column(given: dict[str, bool], kept: set[str]) -> None:
    table = columns(**given)
    space, _ = bound(sl.parse(SPACE), table, labels(table))
    keys = {variable.key for variable in space.checked.variables.values()}
    assert keys - {"model.C", "code.max_categories"} == kept
    zipped, _ = bound(sl.parse(SPACE), table.assign(zip=1.0), labels(table))
    assert "StandardScaler.with_mean" in {variable.key for variable in zipped.checked.variables.values()}


def test_a_stored_run_is_reopened_with_the_preparation_of_its_trials(tmp_path: Path) -> None:
    text = "pipeline = (columns(text: TfidfVectorizer) | StandardScaler | MinMaxScaler) as front -> LogisticRegression"
    table = columns(town=True)
    table.assign(target=labels(table)).to_csv(tmp_path / "data.csv", index=False)
    table = pd.read_csv(tmp_path / "data.csv")
    features, target, store = table.drop(columns="target"), table["target"], tmp_path / "run.db"
    found = sl.search(sl.parse(text), features, target, trials=3, seed=1, store=store, **OPTIONS)
    assert {each["front"] for each in found.configurations} <= {"StandardScaler", "MinMaxScaler"}
    again = reopen_run(store, data=str(tmp_path / "data.csv")).objective
    assert isinstance(found.objective, DataObjective)
    assert again.preparation == found.objective.preparation
    for record in found.outcome.records:
        assert again.evaluate(record.trial.request).loss == record.trial.loss


def test_configurations_of_the_general_purpose_space_build_different_pipelines() -> None:
    table = columns(gaps=True)
    data = TabularData(make_table(table, labels(table)))
    unbound = choose_default_space(data.table).space
    space, objective = data.bind_space(Experiment(space=unbound, data=data))
    built: dict[str, sl.Configuration] = {}
    for each in space.sample(60, seed=0):
        pipeline = joblib.hash(objective.make_pipeline(each))
        assert built.setdefault(pipeline, each) == each
    for each in unbound.sample(20, seed=1):
        if each in space:
            assert {*each} - {*space.keys_without_meaning(each)} <= {v.key for v in space.checked.variables.values()}


# ---- configurations of the unbound space


def test_initial_configurations_lose_keys_without_meaning_and_are_evaluated_once(tmp_path: Path) -> None:
    table = columns(town=True)
    table.assign(target=labels(table)).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "mixed.space").write_text(SPACE, encoding="utf-8")
    usual = {"code": "OrdinalEncoder", "fill": "SimpleImputer", "model": "LogisticRegression", "model.C": 2.0}
    both = [{**usual, "fill.strategy": name, "StandardScaler.with_mean": True} for name in ("mean", "median")]
    (tmp_path / "first.json").write_text(json.dumps(both), encoding="utf-8")
    arguments = ("--data", "data.csv", "--initial", "first.json", "--trials", "1", "--workers", "0", "--store", "a.db")
    status, _, said = command("run", "mixed.space", *arguments, "--optimizer", "random", folder=tmp_path)
    assert status == 0, said
    assert "note: ignored keys that have no meaning for this data: `StandardScaler.with_mean`, `fill.strategy`" in said
    with Store.read(tmp_path / "a.db") as stored:
        assert stored.header.initial == (sl.Configuration(usual).identity,)
    found = sl.search(SPACE, table, labels(table), initial=both, trials=2, **OPTIONS)
    assert found.configurations[0] == sl.Configuration(usual)
    with pytest.raises(InitialConfigurationError, match="strateg"):
        sl.search(SPACE, table, labels(table), initial={**usual, "fill.strateg": "mean"}, trials=1, **OPTIONS)


def test_contains_and_why_not_name_keys_without_meaning(tmp_path: Path) -> None:
    (tmp_path / "mixed.space").write_text(SPACE, encoding="utf-8")
    member = {"code": "OrdinalEncoder", "fill": "SimpleImputer", "fill.strategy": "mean", "model": "LogisticRegression",
              "model.C": 2.0, "StandardScaler.with_mean": True}  # fmt: skip
    (tmp_path / "it.json").write_text(json.dumps(member), encoding="utf-8")
    sizes = ("--bind", "n_categorical=0", "--bind", "n_text=0", "--bind", "n_missing=0")
    status, out, said = command("contains", "mixed.space", "it.json", *sizes, folder=tmp_path)
    assert (status, out) == (0, "yes\n")
    assert "note: ignored keys that have no meaning for this data: `code`, `fill.strategy`" in said
    status, out, _ = command("contains", "mixed.space", "it.json", *sizes, "--json", folder=tmp_path)
    assert json.loads(out)["without_meaning"] == ["code", "fill.strategy"]
    assert command("why-not", "mixed.space", "it.json", *sizes, folder=tmp_path)[0] == 0
    assert "without_meaning" not in json.loads(
        command("contains", "mixed.space", "it.json", "--json", folder=tmp_path)[1]
    )
    (tmp_path / "it.json").write_text(json.dumps({**member, "model.C": 99.0}), encoding="utf-8")
    status, out, _ = command("contains", "mixed.space", "it.json", *sizes, folder=tmp_path)
    assert status == 1
    assert "`99.0` is not a value of `model.C`" in out


def test_an_archive_is_shared_by_data_of_different_kinds(tmp_path: Path) -> None:
    runs = {"plain": columns(rows=50), "town": columns(town=True, rows=70), "gaps": columns(gaps=True, rows=90)}
    for name, table in runs.items():
        store = tmp_path / f"{name}.db"
        sl.search(SPACE, table, labels(table), trials=2, seed=len(name), store=store, initial="default", **OPTIONS)
    archive = make_run_archive([tmp_path / f"{name}.db" for name in runs], tmp_path / "archive.json").archive
    assert len({row.space.vocabulary for row in archive.rows}) == 1
    table = columns(rows=40)
    data = TabularData(make_table(table, labels(table)))
    experiment = Experiment(space=sl.parse(SPACE), data=data, archive=archive, optimizer=None)
    prepared = experiment.with_optimizer("random").prepare()
    told: list[str] = []
    first = prepared.initial_configurations(lambda found: told.extend(found.messages))
    assert first
    assert all(each in prepared.space and not prepared.space.keys_without_meaning(each) for each in first)
    assert any("ignored keys that have no meaning for this data: `code`" in each for each in told), told


def test_a_table_of_losses_has_the_trials_of_the_bound_space(tmp_path: Path) -> None:
    table = columns(town=True)
    table.assign(target=labels(table)).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "mixed.space").write_text(SPACE.replace("C : float[0.1, 10] log = 1", "C : {1, 2}"), encoding="utf-8")
    status, _, said = command("tabulate", "mixed.space", "--data", "data.csv", "-o", "t.npz", "--store", "t.db",
                              "--workers", "0", "--hyperparameters", "all", folder=tmp_path)  # fmt: skip
    assert status == 0, said
    status, out, said = command("run", "mixed.space", "--data", "table:t.npz", "--optimizer", "random", "--trials", "4",
                                "--store", "r.db", "--json", folder=tmp_path)  # fmt: skip
    assert status == 0, said
    best = json.loads(out)["configuration"]
    assert "StandardScaler.with_mean" in best  # names are not recorded, so a part with a pattern stays
    assert "fill.strategy" not in best
