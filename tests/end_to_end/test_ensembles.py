"""What a user gets of `--ensemble` and `ensemble=`: who votes, the vote as code, and what it is worth on test rows."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import document, environment, spacelang
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

import spacelang as sl
from spacelang.runtime.ensembles import DEFAULT_VOTES
from spacelang.runtime.ensembles.construction import EnsembleError
from spacelang.runtime.storage.store_errors import StoreError

SPACE = """\
space vote
stage scaler = none | StandardScaler
stage e = GaussianNB | LinearSVC | DecisionTreeClassifier | SVC
"""
RUN = ("run", "vote.space", "--data", "rows.csv", "--optimizer", "random", "--trials", "8", "--metric", "accuracy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A space, rows whose classes have names, and a run with an ensemble that is kept in `kept.db`."""
    folder = tmp_path_factory.mktemp("ensembles")
    (folder / "vote.space").write_text(SPACE)
    table = load_iris(as_frame=True).frame
    names = np.array(["setosa", "versicolor", "virginica"])
    noise = np.random.default_rng(0).normal(0, 0.8, table.shape)
    table = (table + noise).round(2).assign(target=names[table["target"]])
    table.sample(frac=1, random_state=0).to_csv(folder / "rows.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def kept(folder: Path) -> dict[str, Any]:
    ended = spacelang(*RUN, "--ensemble", "6", "--test", "0.3", "--store", "kept.db", "--json", folder=folder)
    return document(ended, 0)


def test_the_document_has_the_ensemble_beside_the_best_pipeline(kept: dict[str, Any]) -> None:
    found = kept["ensemble"]
    assert found["votes"] == 6 == sum(each["votes"] for each in found["members"])
    assert sum(each["weight"] for each in found["members"]) == pytest.approx(1)
    assert len(found["losses"]) == 6
    assert found["losses"][0] == pytest.approx(kept["loss"])
    assert found["loss"] == pytest.approx(found["losses"][-1])
    assert found["library"] == 8
    assert found["left_out"] == []
    assert found["rows"] == kept["refit"]["rows"]
    assert found["seconds"] == pytest.approx(sum(each["seconds"] for each in found["members"]))
    assert {*found["test"]} == {*kept["test"]}
    assert found["test"]["rows"] == kept["test"]["rows"] == 45
    assert found["test"]["low"] <= found["test"]["loss"] <= found["test"]["high"]


def test_a_finished_store_gives_an_ensemble_of_another_size_and_its_code_is_plain(
    folder: Path, kept: dict[str, Any]
) -> None:
    ended = spacelang(
        *RUN, "--ensemble", "1", "--test", "0.3", "--store", "kept.db", "--resume", "--code", folder=folder
    )
    assert ended.returncode == 0, ended.stderr
    assert "# ensemble of 1 pipeline with 1 vote, chosen from 8 candidates\n" in ended.stdout
    assert re.search(r"^# weights: trial \d+ 1/1$", ended.stdout, re.MULTILINE)
    score = f"accuracy {1 - kept['loss']:.6g} on the held-out rows, by which it was chosen; test set: "
    assert f"\nEnsemble of 1 pipeline with 1 vote: {score}" in ended.stdout
    assert "\n  spacelang export kept.db --ensemble -o ensemble.py\n" in ended.stdout
    code = ended.stdout.partition("# ensemble of")[2].partition("\n")[2]
    ran = subprocess.run(
        [sys.executable, "-c", PLAIN.format(code=code)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["1", "150"]


PLAIN = """
import sys
sys.modules["spacelang"] = None
{code}
import pandas
table = pandas.read_csv("rows.csv")
ensemble.fit(table.drop(columns="target"), table["target"])
print(len(ensemble.estimators_), len(ensemble.predict(table.drop(columns="target"))))
"""


def test_a_store_knows_how_many_votes_its_run_asked_for(folder: Path, kept: dict[str, Any]) -> None:
    """Whoever takes the ensemble away gets that of the run; the latest, where it was gone on with."""
    assert kept["ensemble"]["votes"] == 6
    (folder / "own").mkdir()
    for place in ("kept.db", "rows.csv"):
        shutil.copy(folder / place, folder / "own")
    own = folder / "own"
    bare = spacelang(*RUN, "--predictions", "--store", "own/bare.db", folder=folder)
    assert bare.returncode == 0, bare.stderr

    def exported(store: str, *votes: str) -> tuple[int, str]:
        (own / "e.py").unlink(missing_ok=True)
        ended = spacelang("export", store, "--ensemble", *votes, "-o", "e.py", "--json", folder=own)
        told = (own / "e.py").read_text()
        return document(ended)["votes"], told

    asked = document(spacelang("show", "kept.db", "--json", folder=own))["ensemble"]
    shown = spacelang("show", "kept.db", folder=own).stdout
    assert f"pipelines with {asked} vote" in shown
    assert f"\n  ensemble     pipelines with {asked} vote" in shown
    votes, told = exported("kept.db")
    assert (votes, "the number of votes is the same as in the run" in told) == (asked, True)
    votes, told = exported("kept.db", "--votes", "3")
    assert (votes, f"the number of votes is given by `--votes`; the run had {asked}" in told) == (3, True)
    votes, told = exported("bare.db")
    assert (
        votes,
        "the number of votes is the default, because the store does not record the number of the run" in told,
    ) == (
        32,
        True,
    )


def test_a_store_without_predictions_is_refused_with_the_remedy(folder: Path) -> None:
    bare = folder / "bare.db"
    table = pd.read_csv(folder / "rows.csv")
    sl.search(sl.parse(SPACE), table.drop(columns="target"), table["target"], trials=1, workers=0, store=bare)
    ended = spacelang(*RUN, "--store", "bare.db", "--resume", "--ensemble", "5", folder=folder)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "`bare.db` contains no predictions of trials, which the selection of an ensemble needs" in ended.stderr
    assert "help: search again with `--ensemble`" in ended.stderr
    with pytest.raises(StoreError, match="contains no predictions"):
        sl.search(sl.parse(SPACE), [[0.0]], [0], store=bare, resume=True, ensemble=3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--data", "table:known.npz", "--ensemble", "5"), "`--ensemble` needs predictions, but a table of losses has"),
        (("--ensemble", "-1"), "--ensemble"),
    ],
)
def test_what_makes_no_sense_is_refused(folder: Path, options: tuple[str, ...], said: str) -> None:
    ended = spacelang(*RUN, *options, folder=folder)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr


@pytest.mark.parametrize(("deeds", "status"), [("well", 0), ("raise_an_error, well", 3)])
def test_without_a_member_that_can_be_fitted_the_best_pipeline_stays(tmp_path: Path, deeds: str, status: int) -> None:
    rows = "".join(f"{row % 2 + row % 7 / 20},{row % 5},{'no' if row % 2 else 'yes'}\n" for row in range(100))
    (tmp_path / "rows.csv").write_text("a,b,target\n" + rows)
    shutil.copy(Path(__file__).parents[1] / "late_faults.py", tmp_path)  # a command finds it where it is started
    (tmp_path / "late.space").write_text(f"use late_faults\nstage e = Late {{ deed : {{{deeds}}}, rows = 70 }}\n")
    options = ("--allow", "late_faults", "--metric", "accuracy", "--validate", "holdout(0.3)", "--trials", "9")
    run = ("run", "late.space", "--data", "rows.csv", "--optimizer", "random", "--set", "hyperparameters=sample")
    ended = spacelang(*run, *options, "--ensemble", "3", "--code", folder=tmp_path)
    assert ended.returncode == status, ended.stderr
    assert "\n# to fit it: import pandas; " in ended.stdout
    behind = ended.stdout.partition("ensemble = ")[2]
    if status:
        # The best in trials has all the votes, and does not behave on all rows.
        assert "error: none of the members of the ensemble can be fitted on all rows" in ended.stderr
        assert "a member of the ensemble, failed: ValueError: the number is wrong\n" in ended.stdout
        assert not behind
    else:
        assert "class OneHotProbabilityClassifier" in ended.stdout
        assert "; ensemble.fit(table.drop(" in behind


def test_without_a_trial_on_all_rows_the_best_pipeline_is_the_answer(folder: Path) -> None:
    """The missing ensemble is a note, and no line is printed that would fail."""
    asked = ("--ensemble", "4", "--optimizer", "hyperband", "--trials", "1", "--workers", "0", "--store", "few.db")
    ended = spacelang("run", "vote.space", "--data", "rows.csv", "--metric", "accuracy", *asked, folder=folder)
    assert (ended.returncode, "error" in ended.stderr) == (0, False), ended.stderr
    assert "\nAn ensemble cannot be built: no trial was trained on all " in ended.stdout
    assert "spacelang export few.db -o pipeline.py" in ended.stdout
    assert "spacelang export few.db --ensemble" not in ended.stdout


def test_regressors_vote_with_numbers() -> None:
    features, labels = load_diabetes(return_X_y=True, as_frame=True)
    space = sl.parse("stage e = Ridge { alpha : float[0.01, 10] log = 1 } | KNeighborsRegressor\n")
    options = {"optimizer": "random", "trials": 6, "workers": 0, "validate": "holdout(0.3)", "test": 0.3}
    result = sl.search(space, features, labels, optimizer_options={"hyperparameters": "sample"}, ensemble=5, **options)
    assert result.ensemble_loss is not None
    assert result.loss is not None
    assert result.ensemble_test is not None
    assert result.test is not None
    assert result.ensemble_test.rows == result.test.rows
    by_hand = [each.predict(features) for each in result.ensemble.estimators_]
    members = result.ensemble_members
    assert members is not None
    np.testing.assert_allclose(result.ensemble.predict(features), np.average(by_hand, axis=0, weights=members["votes"]))
    assert clone(result.ensemble).fit(features, labels).predict(features).shape == labels.shape


def test_where_none_is_wanted_there_is_none() -> None:
    features, labels = load_iris(return_X_y=True)
    space = sl.parse("stage e = GaussianNB\n")
    result = sl.search(space, features, labels, trials=1, workers=0)
    assert (result.ensemble, result.ensemble_loss, result.ensemble_test, result.ensemble_members) == (None,) * 4
    none = sl.search(None, features, labels, trials=1, workers=0, ensemble=0)
    assert (none.ensemble, none.experiment.ensemble) == (None, None)
    with pytest.raises(ValueError, match="`ensemble` is -1: give at least 1 vote, or 0"):
        sl.search(space, features, labels, trials=1, workers=0, ensemble=-1)


def test_a_search_without_a_named_space_has_one_by_default() -> None:
    features, labels = load_iris(return_X_y=True)
    result = sl.search(None, features, labels, optimizer="random", trials=2, workers=0)
    assert result.experiment.ensemble == DEFAULT_VOTES
    assert result.experiment.has_default_ensemble
    assert result.ensemble.predict(features[:2]).shape == (2,)
    assert result.best_pipeline is not None


def test_a_search_without_a_candidate_says_so_where_the_ensemble_is_asked_for() -> None:
    features, labels = load_iris(return_X_y=True)
    result = sl.search(sl.parse(BOUNDED), pd.DataFrame(features), labels, trials=1, workers=0, ensemble=4)
    with pytest.raises(EnsembleError, match="no trial within all bounds"):
        _ = result.ensemble
    assert result.best_pipeline is not None


BOUNDED = "stage e = GaussianNB\ntask classification {\n  subject to pickled_size <= 0.0005MB\n}\n"
