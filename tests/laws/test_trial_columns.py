"""A trial has the same columns wherever it is shown: in tables, in exports, in JSON and in SQLite."""

import csv
import json
import re
import sqlite3
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from storing import header, trial
from trying import few

import spacelang as sl
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import AnyBound, Bound, BoundedMeasure, FunctionBound
from spacelang.ir.trial import Measurement, Status
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage import records as rows_of_trials
from spacelang.runtime.storage import store, trial_columns
from spacelang.runtime.storage.records import METRICS_SETTING, check_column_types, record_to_row
from spacelang.runtime.storage.run_listing import export_trials, trials_to_frame
from spacelang.runtime.storage.store import Store, StoredRun
from spacelang.runtime.storage.trial_columns import (
    FIRST_VERSION,
    INTEGER,
    TABLE_COLUMNS,
    TRIAL_COLUMNS,
    VERSION,
    TrialColumn,
    add_missing_columns,
    columns_of_version,
    create_statement,
    trial_to_json,
    trials_frame,
)

BOUNDS = (Bound(BoundedMeasure.LATENCY, 1e-4), FunctionBound("leaves", 4.0))
METRICS = ("accuracy", "neg_log_loss")
FINITE = st.floats(allow_nan=False, allow_infinity=False)
MAYBE_FINITE = st.none() | FINITE
SCORES = st.floats() | st.sampled_from([inf, -inf, nan])
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
FAILURES = st.sampled_from([status for status in Status if status is not Status.SUCCESS])
INTEGERS = st.integers(-(2**70), 2**70)
KINDS = [
    st.booleans(),
    st.integers(-9, 9),
    INTEGERS,
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.none(),
    st.tuples(st.integers(0, 9), FINITE),
]
"""Values of one kind each; lone surrogates are texts, too."""
MIXED = st.one_of(*KINDS)


@st.composite
def runs(draw: st.DrawFn) -> tuple[tuple[AnyBound, ...], tuple[str, ...], list[TrialRecord]]:
    """The bounds, the metrics and the trials of a run, in which parameters are active in some trials only."""
    bounds = tuple(each for each in BOUNDS if draw(st.booleans()))
    metrics = tuple(each for each in METRICS if draw(st.booleans()))
    kinds = {f"s.p{number}": draw(st.sampled_from([*KINDS, MIXED])) for number in range(draw(st.integers(0, 4)))}
    return (
        bounds,
        metrics,
        [draw(records(index, bounds, metrics, kinds)) for index in range(1, draw(st.integers(1, 5)))],
    )


@st.composite
def records(
    draw: st.DrawFn, index: int, bounds: tuple[AnyBound, ...], metrics: tuple[str, ...], kinds: dict[str, Any]
) -> TrialRecord:
    facts: dict[str, object] = {
        "configuration": Configuration({key: draw(kind) for key, kind in kinds.items() if draw(st.booleans())}),
        "fidelity": draw(st.none() | st.integers(1, 100)),
        "cost": draw(FINITE),
        "cost_alone": draw(MAYBE_FINITE),
        "started": draw(FINITE),
        "finished": draw(FINITE),
        "worker": draw(WORDS),
        "attempts": draw(st.integers(1, 3)),
        "is_speculative": draw(st.booleans()),
    }
    if draw(st.booleans()):
        return trial(index, **facts, loss=None, status=draw(FAILURES), reason=draw(WORDS))
    return trial(
        index,
        **facts,
        loss=draw(FINITE),
        training_loss=draw(MAYBE_FINITE),
        constraints=tuple(Measurement(bound, draw(SCORES)) for bound in bounds),
        metrics=tuple((name, draw(SCORES)) for name in metrics),
    )


def keep(path: Path, bounds: tuple[AnyBound, ...], metrics: tuple[str, ...], told: list[TrialRecord]) -> None:
    recorded = {METRICS_SETTING: json.dumps(metrics)} if metrics else {}
    with Store.create(path, header(bounds=bounds, settings=recorded), durable=False) as store:
        for each in told:
            store.append(each)


def exported(run: StoredRun, path: Path) -> list[dict[str, Any]]:
    """The rows of a file, read back."""
    export_trials(run, path)
    with path.open(encoding="utf-8", newline="") as file:
        return list(map(json.loads, file)) if path.suffix == ".jsonl" else list(csv.DictReader(file))


def check_equal(first: pd.DataFrame, second: pd.DataFrame) -> None:
    """Also tell None from what is missing, which pandas does not."""
    pd.testing.assert_frame_equal(first, second, check_exact=True)
    for name in first.columns[first.dtypes == "object"]:
        assert first[name].tolist() == second[name].tolist()


@given(run=runs())
@settings(max_examples=few(100), deadline=None)
def test_the_table_of_a_store_is_that_of_its_trials(
    run: tuple[tuple[AnyBound, ...], tuple[str, ...], list[TrialRecord]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    bounds, metrics, told = run
    path = tmp_path_factory.mktemp("run") / "run.db"
    keep(path, bounds, metrics, told)
    with Store.read(path) as stored:
        table = trials_to_frame(stored)
        files = [exported(stored, path.with_suffix(suffix)) for suffix in (".csv", ".jsonl")]
    names = [each.name for each in bounds]
    check_equal(table, trials_frame(told, bounds=names, metrics=metrics))

    keys = sorted({key for each in told for key in each.trial.request.configuration})
    measured = [*(f"constraint.{name}" for name in names), *(f"metric.{name}" for name in metrics)]
    assert table.columns.tolist() == [
        *(each.name for each in TABLE_COLUMNS[1:]),
        *measured,
        *(f"param_{key}" for key in keys),
    ]
    assert table.index.tolist() == [each.index for each in told]
    for key in keys:
        values = [each.trial.request.configuration.get(key, pd.NA) for each in told]
        assert table[f"param_{key}"].tolist() == values
    for rows in files:
        assert [[*row] for row in rows] == [[table.index.name, *table.columns]] * len(told)
        losses = [row["loss"] for row in rows]
        assert [None if each in (None, "") else float(each) for each in losses] == [each.trial.loss for each in told]


@given(run=runs())
@settings(max_examples=few(100), deadline=None)
def test_the_json_and_the_row_of_a_trial_are_those_of_earlier_versions(
    run: tuple[tuple[AnyBound, ...], tuple[str, ...], list[TrialRecord]],
) -> None:
    for record in run[2]:
        made = trial_to_json(record)
        assert [*made] == [
            *("trial", "loss", "fidelity", "feasible", "constraints", "metrics", "training_loss", "cost", "finished"),
            "configuration",
        ]
        json.dumps(made, allow_nan=False)
        assert [made[name] for name in ("trial", "loss", "cost", "finished")] == [
            *(record.index, record.trial.loss, record.trial.cost, record.finished)
        ]
        check_column_types(record_to_row(record), [each.kind for each in TRIAL_COLUMNS])


@pytest.mark.usefixtures("quick_zygotes")
def test_a_result_and_its_store_have_the_same_table(tmp_path: Path) -> None:
    space = sl.parse("space one\nstage e = GaussianNB | KNeighborsClassifier { n_neighbors : int[1, 20] = 5 }\n")
    limit = sl.Constraint("size", lambda *_: 1.0, 2.0)
    result = sl.search(
        space,
        *load_iris(return_X_y=True),
        **{"trials": 4, "workers": 0, "metrics": ["f1_macro", "accuracy"], "constraints": [limit]},
        store=tmp_path / "run.db",
    )
    with Store.read(tmp_path / "run.db") as run:
        check_equal(result.trials, trials_to_frame(run))
    assert result.trials.columns[len(TABLE_COLUMNS) - 1 :].tolist() == [
        *("constraint.size", "metric.f1_macro", "metric.accuracy", "param_e", "param_e.n_neighbors")
    ]


# ---- one entry for each column

OF_VERSION_0_2 = (
    "CREATE TABLE trials (trial INTEGER PRIMARY KEY, status TEXT NOT NULL, loss REAL, fidelity INTEGER, "
    "cost REAL NOT NULL, cost_alone REAL NOT NULL, started REAL NOT NULL, finished REAL NOT NULL, "
    "feasible INTEGER NOT NULL, excess REAL NOT NULL, training_loss REAL, worker TEXT NOT NULL, "
    "attempts INTEGER NOT NULL, reason TEXT NOT NULL, constraints TEXT NOT NULL, metrics TEXT NOT NULL, "
    "configuration TEXT NOT NULL, workers INTEGER NOT NULL, early INTEGER NOT NULL, digest BLOB NOT NULL)"
)
DOUBLED = TrialColumn(
    name="doubled", meaning="twice the number", kind=INTEGER, dtype="int64", read=lambda r: 2 * r.index
)


CREATED = create_statement(columns_of_version(FIRST_VERSION))


def test_the_table_of_trials_is_that_of_spacelang_0_2() -> None:
    """Later versions must read stores, so a difference needs a new version of the store."""
    assert CREATED == OF_VERSION_0_2
    stored = Path(__file__).parents[1] / "golden" / "stores" / "iris.db"
    with sqlite3.connect(f"file:{stored}?mode=ro&immutable=1", uri=True) as golden:
        assert (CREATED,) in golden.execute("SELECT sql FROM sqlite_master").fetchall()
    golden.close()


def test_the_documentation_has_every_column_with_its_meaning() -> None:
    text = (Path(sl.__file__).parent / "api" / "README.md").read_text(encoding="utf-8")
    section = text.partition("\n## Trials\n")[2].partition("\n## ")[0]
    found = dict(re.findall(r"^\| `(.+?)` \| (.+) \|$", section, re.MULTILINE))
    more = {name: found.pop(name) for name in ("objective.NAME", "constraint.NAME", "metric.NAME", "param_KEY")}
    assert [*found.items()] == [(each.name, each.meaning) for each in TABLE_COLUMNS]
    hidden = [each.meaning for each in TRIAL_COLUMNS if not each.dtype]
    assert all(any(f"in tables one column `{name}`" in meaning for meaning in hidden) for name in more)


def test_an_older_store_is_read_and_resumed_without_a_new_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(tmp_path / "run.db", (), (), [trial(1)])
    more = (*TRIAL_COLUMNS, replace(DOUBLED, since=VERSION + 1, older=-1))
    for module in (trial_columns, rows_of_trials, store):
        monkeypatch.setattr(module, "TRIAL_COLUMNS", more)
    monkeypatch.setattr(
        rows_of_trials, "TRIAL_TYPES", (*(each.kind for each in more), *rows_of_trials.TRIAL_TYPES[-3:])
    )
    assert add_missing_columns((0,) * len(TRIAL_COLUMNS))[-1] == -1
    with Store.read(tmp_path / "run.db") as known:
        same = known.header
    with Store.open(tmp_path / "run.db", same) as run:
        run.append(trial(2))
    with Store.read(tmp_path / "run.db") as run:
        assert [each.index for each in run.records()] == [1, 2]


def test_one_entry_adds_a_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = (*columns_of_version(FIRST_VERSION), DOUBLED)
    assert create_statement(more) == OF_VERSION_0_2.replace(" digest", " doubled INTEGER NOT NULL, digest")
    keep(tmp_path / "run.db", (), (), [trial(1), trial(2)])
    monkeypatch.setattr(trial_columns, "TABLE_COLUMNS", (*TABLE_COLUMNS, DOUBLED))
    with Store.read(tmp_path / "run.db") as run:
        assert [row["doubled"] for row in exported(run, tmp_path / "trials.jsonl")] == [2, 4]
        assert trials_to_frame(run)["doubled"].tolist() == [2, 4]
