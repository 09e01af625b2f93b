"""A finished run that is taken away: as code and as a model for an interpreter without spacelang, and to predict."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import document, environment, spacelang
from sklearn.naive_bayes import GaussianNB
from storing import stored

import spacelang as sl
from spacelang.api.new_rows import load_new_rows, predict_rows
from spacelang.api.reopened_runs import ReopenedRun, reopen_run
from spacelang.ir.validation import Holdout
from spacelang.runtime.data.read_options import ReadOptions
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.evaluation.folds import make_folds
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.pipelines.preparation import Preparation
from spacelang.runtime.storage.store import Store

SPACE = """\
space small
stage scaler = none | StandardScaler
stage e = GaussianNB | LinearSVC | DecisionTreeClassifier { max_depth : int[2, 5] = 3 }
"""
RUN = (
    "run",
    "small.space",
    "--data",
    "rows.csv",
    "--target-column",
    "bought",
    "--optimizer",
    "random",
    "--trials",
    "6",
)
HOW = ("--validate", "holdout(0.3)", "--test", "0.2", "--predictions", "--metric", "accuracy", "--workers", "0")

WITHOUT_SPACELANG = """
import importlib, json, sys
sys.modules["spacelang"] = None
import pandas
import skops.io

def answer(name, trusted):
    training, new = (pandas.read_csv(f"{name}.{rows}.csv") for rows in ("training", "new"))
    if name.endswith(".skops"):
        fitted, given = skops.io.load(name, trusted=trusted), new.drop(columns="bought")
    else:
        module = importlib.import_module(name.removesuffix(".py"))
        fitted, given = module.fit(training, training[module.LABEL]), module.take(new)
    shares = fitted.predict_proba(given).tolist() if hasattr(fitted, "predict_proba") else None
    return fitted.predict(given).tolist(), shares

sys.path.insert(0, "")
found = {name: answer(name, trusted) for name, trusted in json.loads(sys.argv[1]).items()}
assert not [name for name in sys.modules if name.startswith("spacelang.")]
print(json.dumps(found))
"""
RANKS = (2,)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows with words and gaps whose labels stand in the middle, a run on them, and one of another kind."""
    made = tmp_path_factory.mktemp("exported")
    (made / "small.space").write_text(SPACE, encoding="utf-8")
    rng = np.random.default_rng(0)
    age, town = rng.integers(18, 80, 150), rng.choice(["Rome", "Oslo"], 150)
    table = pd.DataFrame({"age": age, "town": town, "bought": np.where(age + 30 * (town == "Rome") > 60, "yes", "no")})
    table["pay"] = np.where(rng.random(150) < 0.1, np.nan, rng.normal(size=150).round(3))
    table.to_csv(made / "rows.csv", index=False)
    table.assign(pay=table["pay"] + 1).to_csv(made / "other.csv", index=False)
    table[["pay", "age", "town"]].assign(note="n").head(9).to_csv(made / "unlabelled.csv", index=False)
    document(spacelang(*RUN, *HOW, "--store", "run.db", "--json", folder=made))
    stored(made / "boxed.db")
    (made / "empty.db").touch()
    (made / "text.db").write_text("no store " * 999, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def finished(folder: Path) -> ReopenedRun:
    return reopen_run(folder / "run.db", data=str(folder / "rows.csv"))


@pytest.fixture(scope="module")
def answers(folder: Path, finished: ReopenedRun) -> dict[str, Any]:
    """What is predicted, in one interpreter without spacelang, by all that was exported.

    Modules of trials are fitted to the rows that these had, for the rows that were held out; the rest to all rows, for
    the first of them.
    """
    rows, objective = rows_of(finished), finished.objective
    trusted: dict[str, list[str]] = {}
    chosen = {f"rank_{rank}.py": ("--rank", str(rank)) for rank in RANKS}
    for name, options in {**chosen, "e.py": ("--ensemble", "--votes", "5"), "best.skops": ()}.items():
        made = document(spacelang("export", "run.db", *options, "-o", name, "--json", folder=folder))
        assert made["file"] == name
        assert name == "e.py" or made["trials"] == [finished.trial_of_rank(int(options[1]) if options else 1).index]
        trusted[name] = made["trusted"]
        training, held_out = trial_rows(objective) if name in chosen else (np.arange(len(rows)), np.arange(20))
        rows.iloc[training].to_csv(folder / f"{name}.training.csv", index=False)
        rows.iloc[held_out].to_csv(folder / f"{name}.new.csv", index=False)
    command = [sys.executable, "-c", WITHOUT_SPACELANG, json.dumps(trusted)]
    ended = subprocess.run(command, cwd=folder, env=environment(), check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def rows_of(finished: ReopenedRun) -> pd.DataFrame:
    """The rows that trials might see, with labels."""
    data = finished.objective.dataset
    return data.features.assign(bought=data.original_labels)


def trial_rows(objective: DataObjective) -> tuple[Any, Any]:
    """The numbers of the rows that trials train on, in their order, and of those that are held out."""
    data = objective.dataset
    numbered = data.features.assign(**dict.fromkeys(data.features, np.arange(len(data.target)) * 1.0))
    (fold,) = make_folds(replace(data, features=numbered), Holdout(0.3), 0, Preparation(kept=tuple(numbered.columns)))
    return fold.training[:, 0].astype(int), fold.rows


def test_a_module_predicts_the_held_out_rows_as_the_trial_did(
    folder: Path, finished: ReopenedRun, answers: dict[str, Any]
) -> None:
    with Store.read(folder / "run.db") as run:
        for rank in RANKS:
            kept = run.predictions(finished.trial_of_rank(rank).index)
            labels, shares = answers[f"rank_{rank}.py"]
            predicted = np.equal.outer(labels, ["no", "yes"]).astype(float) if shares is None else np.array(shares)
            assert kept is not None
            assert np.abs(kept - predicted).max() <= 1e-12, rank


def test_an_ensemble_is_code_that_votes_as_the_fitted_one(finished: ReopenedRun, answers: dict[str, Any]) -> None:
    choice, objective = finished.select_ensemble(5), finished.objective
    shares = [
        (objective.refit(each.record.trial.request.configuration, is_member=True), each.votes)
        for each in choice.members
    ]
    new = objective.dataset.features.head(20)
    voted = sum(votes * pipeline.predict_proba(new) for pipeline, votes in shares) / 5
    assert np.abs(voted - np.array(answers["e.py"][1])).max() <= 1e-12


def test_a_model_predicts_what_the_command_predicts(folder: Path, answers: dict[str, Any]) -> None:
    rows = pd.read_csv(folder / "best.skops.new.csv")
    rows[[*rows.columns[::-1]]].assign(note="n").to_csv(folder / "new.csv", index=False)
    options = ("--fitted-on", "rows.csv", "--data", "new.csv", "-o", "predictions.csv", "--json")
    ended = spacelang("predict", "run.db", *options, folder=folder)
    found, (labels, shares) = document(ended), answers["best.skops"]
    assert "ignored columns: `note`" in ended.stderr
    assert found["predictions"] == labels
    assert (found["score"]["metric"], found["score"]["rows"]) == ("1 - accuracy", len(rows))
    assert found["score"]["loss"] == pytest.approx(np.mean(rows["bought"] != labels))
    if shares is not None:
        assert [*found["probabilities"]] == ["no", "yes"]
        assert np.abs(np.transpose([*found["probabilities"].values()]) - np.array(shares)).max() <= 1e-12
    assert pd.read_csv(folder / "predictions.csv")["prediction"].tolist() == labels


OTHER: dict[str, tuple[str, dict[str, Any]]] = {
    "is different: the run was on .*but you gave": ("other.csv", {}),
    "has no column `bought`": ("unlabelled.csv", {}),
    "leaves 105 of its 150 rows for trials": ("rows.csv", {"test": 0.3}),
    "must be between 0 and 1": ("rows.csv", {"test": 3.0}),
    "columns besides the labels": ("rows.csv", {"reading": ReadOptions(drop_columns=("pay",))}),
}


@pytest.mark.parametrize("reason", OTHER)
def test_other_data_is_refused(reason: str, folder: Path) -> None:
    data, options = OTHER[reason]
    with pytest.raises(DataError, match=reason):
        reopen_run(folder / "run.db", data=str(folder / data), **options)


def test_a_run_that_had_more_imputed_is_neither_taken_away_nor_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = "OrdinalEncoder { handle_unknown = use_encoded_value, unknown_value = -1, encoded_missing_value = -2 }"
    space = sl.parse(f"pipeline = columns(categorical: {encoder}, rest: StandardScaler) -> LogisticRegression")
    rows = pd.DataFrame({"town": ["Rome", None, "Oslo", "Rome"] * 9, "age": range(36), "bought": [0, 1] * 18})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    given, store = (rows[["town", "age"]], rows["bought"]), tmp_path / "run.db"
    with monkeypatch.context() as before:
        before.setattr(Preparation, "formerly_imputed_columns_text", "")
        sl.search(space, *given, trials=1, workers=0, store=store)
    with pytest.raises(DataError, match="imputed by an earlier version in the trials of the run, and would be"):
        reopen_run(store, data=str(tmp_path / "rows.csv"))
    with pytest.raises(InputError, match="`missing values`: imputed by an earlier version in the store"):
        sl.search(space, *given, trials=1, workers=0, store=store, resume=True)


def test_texts_of_the_run_are_texts_in_new_rows_and_gaps_are_told(folder: Path, finished: ReopenedRun) -> None:
    (folder / "codes.csv").write_text("pay,age,town\n1,,007\n2,3,12\n", encoding="utf-8")
    rows = load_new_rows(str(folder / "codes.csv"), finished.objective.dataset)
    assert rows.features["town"].tolist() == ["007", "12"]
    assert rows.new_missing_columns == ("age",)
    training = pd.DataFrame({"age": [1.0, 2.0], "pay": [1.0, 2.0]})
    with pytest.raises(DataError, match=r"cannot predict these rows: .*NaN") as raised:
        predict_rows(GaussianNB().fit(training, ["no", "yes"]), replace(rows, features=rows.features[["age", "pay"]]))
    assert raised.value.help == "values are missing in columns that had no missing values in the run: `age`"


REFUSED = {
    "so there is no rank 99": ("export", "run.db", "--rank", "99", "-o", "x.py"),
    "which is not in this folder": ("export", "boxed.db", "-o", "x.py"),
    "is missing columns that the pipeline uses: `age`": ("predict", "run.db", "--data", "lacking.csv"),
    "holds text": ("predict", "run.db", "--data", "worded.csv"),
    "is not the store": ("export", "text.db", "-o", "x.py"),
    "is empty": ("predict", "empty.db", "--data", "rows.csv"),
    "unknown file type": ("export", "run.db", "-o", "x.pkl"),
    "`--votes` needs `--ensemble`": ("export", "run.db", "--votes", "3", "-o", "x.py"),
    "`--rank` and `--ensemble` exclude each other": (
        "predict",
        "run.db",
        "--data",
        "rows.csv",
        "--rank",
        "2",
        "--ensemble",
    ),
    "already exists": ("predict", "run.db", "--data", "unlabelled.csv", "-o", "rows.csv"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_done_is_refused_with_the_reason(reason: str, folder: Path) -> None:
    (folder / "lacking.csv").write_text("pay,note\n1,2\n", encoding="utf-8")
    (folder / "worded.csv").write_text("pay,age,town\n1,old,Rome\n", encoding="utf-8")
    ended = spacelang(*REFUSED[reason], folder=folder)
    assert ended.returncode in (1, 2)
    assert reason in ended.stderr
    assert not (folder / "x.py").exists()
