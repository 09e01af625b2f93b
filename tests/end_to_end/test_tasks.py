"""A space with a task, run as a user runs it: what it says holds, and what the command line says comes first."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest
from commands import document, spacelang

import spacelang as sl
from spacelang.cli import main
from spacelang.cli._process import NOTHING_SUCCEEDED
from spacelang.runtime.scoring import unseen_scores

pytestmark = pytest.mark.usefixtures("quick_zygotes")

Here = Callable[..., CompletedProcess[str]]

SPACE = """\
space screening "Who is to be seen again"
stage scaler    = none | StandardScaler
stage estimator = GaussianNB | LogisticRegression | DecisionTreeClassifier

task classification {
  maximize   neg_log_loss
  subject to predict_latency <= 1s
  subject to pickled_size < 1MB
  validate   cv(3)
  fidelity   samples from 50 by 3
  limit      run 20s
}
"""

UNFAIR = """\
stage estimator = GaussianNB | LogisticRegression
task classification {
  minimize   1 - accuracy
  subject to disparity(accuracy, town) <= 0
}
"""

DATA = "sklearn:breast_cancer"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tasks")
    (made / "screening.space").write_text(SPACE, encoding="utf-8")
    (made / "limited.space").write_text(SPACE.replace("run 20s", "trial 300s 4GB"), encoding="utf-8")
    (made / "unfair.space").write_text(UNFAIR, encoding="utf-8")
    (made / "wrong.space").write_text(SPACE.replace("neg_log_loss", "log_loss"), encoding="utf-8")
    # In the town a the label is x, in b it is not.
    rows = [f"{n % 2},{'ab'[n % 4 // 2]},{n % 2 if n % 4 < 2 else n % 3 % 2}" for n in range(240)]
    (made / "people.csv").write_text("\n".join(["x,town,label", *rows]) + "\n", encoding="utf-8")
    return made


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Run a command in this process: one of its own would import scikit-learn anew each time."""
    monkeypatch.chdir(folder)

    def run(*arguments: str) -> CompletedProcess[str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        shown = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return CompletedProcess(arguments, ended.value.code, shown.out, shown.err)

    return run


def test_a_run_does_what_the_task_says(folder: Path) -> None:
    ended = spacelang(
        "run", "screening.space", "--data", DATA, "--optimizer", "blds", "--trials", "3", "--json", folder=folder
    )
    found = document(ended)
    assert (found["metric"], found["validation"], found["trials"], found["failed"]) == ("neg_log_loss", "cv(3)", 3, 0)
    # The first training of BLDS has the rows with which the fidelity begins.
    assert found["fidelity"] in (50, 150)
    assert found["feasible"] is True
    assert set(found["constraints"]) == {"predict_latency", "pickled_size"}
    assert 0 < found["constraints"]["predict_latency"]["value"] < 1
    assert found["constraints"]["pickled_size"]["bound"] == 1e6
    assert "warning" not in ended.stderr


def test_the_command_line_comes_before_the_task(here: Here) -> None:
    options = ["--metric", "accuracy", "--validate", "holdout(0.4)", "--optimizer", "blds", "--set", "b=70"]
    found = document(here("run", "screening.space", "--data", DATA, *options, "--trials", "1", "--json"))
    assert (found["metric"], found["validation"], found["fidelity"]) == ("accuracy", "holdout(0.4)", 70)
    assert 0 < found["loss"] < 0.2


def test_the_limit_of_the_run_is_its_budget_unless_a_time_is_given(here: Here, folder: Path) -> None:
    (folder / "short.space").write_text(SPACE.replace("run 20s", "run 300ms"), encoding="utf-8")
    run = ("run", "short.space", "--data", DATA, "--optimizer", "random", "--set", "hyperparameters=default", "--json")
    ended = here(*run)
    # On a busy machine no trial may end by then, which is an end of its own.
    assert ended.returncode in (0, NOTHING_SUCCEEDED)
    assert document(ended, ended.returncode)["seconds"] < 10
    assert document(here(*run, "--time", "60s"))["trials"] == 6


def test_people_are_shown_what_was_measured(here: Here) -> None:
    ended = here("run", "screening.space", "--data", DATA, "--trials", "2")
    assert ended.returncode == 0
    assert "Best log_loss, mean over 3 folds: " in ended.stdout
    assert "Subject to predict_latency <= 1s: " in ended.stdout
    assert "Subject to pickled_size < 1MB: " in ended.stdout


def test_a_run_without_a_feasible_trial_says_so(here: Here) -> None:
    run = ("run", "unfair.space", "--data", "people.csv", "--target-column", "label", "--optimizer", "random")
    ended = here(*run, "--trials", "2")
    assert ended.returncode == 0
    assert "No trial satisfies all constraints of the task." in ended.stdout
    assert "which violates the bound" in ended.stdout
    found = document(here(*run, "--trials", "2", "--json"))
    assert (found["feasible"], found["infeasible"], found["incumbent"]) == (False, 2, [])
    assert found["constraints"]["disparity(accuracy, town)"]["holds"] is False


def test_a_bound_that_held_in_the_search_and_breaks_on_the_test_rows_is_not_hidden(
    here: Here, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the label is turned round in one town; a run that goes on says the same, and so does its store."""
    monkeypatch.setattr(unseen_scores, "MAX_RESAMPLES", 40)
    (folder / "fair.space").write_text(UNFAIR.replace("<= 0\n", "<= 0.1\n  subject to pickled_size <= 1MB\n"))
    for name, turned in (("even.csv", ""), ("turned.csv", "b")):
        rows = [f"{n // 2 % 2},{'ab'[n % 2]},{n // 2 % 2 ^ ('ab'[n % 2] in turned)}" for n in range(120)]
        (folder / name).write_text("\n".join(["x,town,label", *rows[: len(rows) // (2 if turned else 1)]]) + "\n")
    run = (
        "run",
        "fair.space",
        "--data",
        "even.csv",
        "--target-column",
        "label",
        "--optimizer",
        "random",
        "--trials",
        "1",
    )
    run = (*run, "--test", "turned.csv", "--store", "kept/fair.db")
    (folder / "kept").mkdir()
    said = here(*run)
    assert said.returncode == 0
    assert "Feasible: 1 of 1 successful trial (100 %)." in said.stdout
    broken = "on the test set: 1, which violates the bound, unlike in the search; no interval: the "
    reason = "disparity(accuracy, town) is the same in all resamples"
    assert f"disparity(accuracy, town) <= 0.1 {broken}{reason}" in said.stdout
    assert "pickled_size <= 1MB on the test set: " in said.stdout
    found = document(here(*run, "--resume", "--json"))
    assert (found["feasible"], found["feasible_share"], found["test"]["feasible"]) == (True, 1.0, False)
    fair, small = found["test"]["constraints"].values()
    why = f"no interval: the {reason}"
    assert fair == {"value": 1.0, "low": None, "high": None, "bound": 0.1, "holds": False, "reason": why}
    assert (small["holds"], small["low"]) == (True, None)
    (kept,) = document(here("runs", "kept", "--json"))
    assert kept["test"] == found["test"]


def test_what_is_not_enforced_is_said_in_one_line(here: Here) -> None:
    ended = here("run", "limited.space", "--data", DATA, "--trials", "1", "--json", "--workers", "0")
    document(ended)
    warnings = [line for line in ended.stderr.splitlines() if "warning" in line]
    assert warnings == ["warning: `limit trial 300s 4GB` is not enforced without workers: every trial runs to its end"]
    assert "warning" not in here("run", "limited.space", "--data", DATA, "--trials", "1").stderr


def test_mistakes_in_the_task_are_found_before_anything_runs(here: Here) -> None:
    ended = here("run", "wrong.space", "--data", DATA)
    assert ended.returncode == 1
    assert "error[SL803]: `log_loss` is not a scorer of scikit-learn" in ended.stderr
    assert "write `maximize neg_log_loss`" in ended.stderr


@pytest.mark.parametrize(("split", "message"), [("cv(1)", "an integer of at least 2"), ("5", "invalid validation `5`")])
def test_a_split_that_does_not_exist(here: Here, split: str, message: str) -> None:
    ended = here("run", "screening.space", "--data", DATA, "--validate", split)
    assert ended.returncode == 2
    assert message in ended.stderr


def test_a_class_with_fewer_rows_than_folds(here: Here) -> None:
    ended = here("run", "screening.space", "--data", DATA, "--validate", "cv(300)")
    assert ended.returncode == 1
    assert "has 212 rows, but the split needs at least 300" in ended.stderr
    assert "give more rows, or use at most 212 folds" in ended.stderr


def test_a_column_that_is_not_there(here: Here) -> None:
    ended = here("run", "unfair.space", "--data", DATA)
    assert ended.returncode == 1
    assert "the data has no column `town` to group rows by" in ended.stderr


def test_stats_show_the_task(here: Here) -> None:
    lines = [
        "maximize neg_log_loss", "subject to predict_latency <= 1s", "subject to pickled_size < 1MB",
        "validate cv(3)", "fidelity samples from 50 by 3", "limit run 20s",
    ]  # fmt: skip
    found = document(here("stats", "screening.space", "--json"))
    assert found["task"] == {"kind": "classification", "settings": lines}
    shown = here("stats", "screening.space").stdout
    assert f"task             {', '.join(['classification', *lines])}" in shown


def test_a_search_in_python_does_the_same(folder: Path) -> None:
    people = pd.read_csv(folder / "people.csv")
    features, labels = people.drop(columns="label"), people["label"]
    result = sl.search(folder / "unfair.space", features, labels, optimizer="random", trials=2)
    assert not result.is_feasible
    assert result.loss == min(result.trials["loss"])
    assert (result.trials["constraint.disparity(accuracy, town)"] > 0).all()
    assert list(result.incumbent.columns) == ["seconds", "trial", "score", "loss"]
    assert result.feasible_share == 0
    other = sl.search(
        folder / "unfair.space", features, labels, optimizer="random", trials=1, metric="f1", validate="cv(2)"
    )
    assert (other.objective.metric.name, other.objective.training_size) == ("f1", 120)
    assert other.trials["fidelity"].isna().all(), "all training rows"


def test_a_search_in_python_warns_of_what_is_not_enforced(folder: Path) -> None:
    people = pd.read_csv(folder / "people.csv")
    with pytest.warns(UserWarning, match="`limit trial 300s 4GB` is not enforced without workers"):
        sl.search(folder / "limited.space", people[["x"]], people["label"], trials=1, workers=0)
