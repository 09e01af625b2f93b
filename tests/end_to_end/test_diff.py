"""`spacelang diff` as a user starts it."""

import json
from pathlib import Path

import pytest
from commands import spacelang

from spacelang.cli._app import run_command_line

FIRST = """\
space first
stage scaler = none | StandardScaler | MinMaxScaler
stage estimator =
  | LogisticRegression { C : float[0.01, 100] log = 1, solver = saga }
  | KNeighborsClassifier { n_neighbors : int[1, 20] = 5, p : {1, 2} = 2 }
"""
SECOND = """\
space second
stage scaler = none | StandardScaler | RobustScaler
stage estimator =
  | LogisticRegression { C : float[0.01, 10] log = 1, solver = lbfgs }
  | KNeighborsClassifier { n_neighbors : int[1, 20] = 3 }
  | GaussianNB
forbid scaler is none and estimator is KNeighborsClassifier
"""
SHOWN = """\
- first.space
+ second.space

stage scaler
  - alternative scaler.MinMaxScaler
  + alternative scaler.RobustScaler

stage estimator
  - estimator.LogisticRegression.C : float[0.01, 100] log
  + estimator.LogisticRegression.C : float[0.01, 10] log
  - estimator.LogisticRegression.solver = saga
  + estimator.LogisticRegression.solver = lbfgs
  - default of estimator.KNeighborsClassifier.n_neighbors: 5
  + default of estimator.KNeighborsClassifier.n_neighbors: 3
  - estimator.KNeighborsClassifier.p : {1, 2} = 2
  + alternative estimator.GaussianNB

constraint
  + forbid scaler is none and estimator is KNeighborsClassifier

structures (combinations of alternatives, by name)
  3  in only the first
  5  in only the second
  3  in both
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("differences")
    (made / "first.space").write_text(FIRST)
    (made / "second.space").write_text(SECOND)
    (made / "wrong.space").write_text("stage e = GausianNB\n")
    return made


def test_what_differs_is_grouped_by_stage(folder: Path) -> None:
    ended = spacelang("diff", "first.space", "second.space", folder=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == SHOWN


def test_the_same_as_one_document(folder: Path) -> None:
    found = json.loads(spacelang("diff", "first.space", "second.space", "--json", folder=folder).stdout)
    assert list(found) == ["first", "second", "structures", "differences"]
    assert found["structures"] == {"first": 6, "second": 8, "both": 3, "only_first": 3, "only_second": 5}
    assert found["differences"][0] == {
        "stage": "scaler",
        "address": "scaler.MinMaxScaler",
        "aspect": "alternative",
        "first": "MinMaxScaler",
        "second": None,
    }
    (constraint,) = (each for each in found["differences"] if each["aspect"] == "constraint")
    assert (constraint["stage"], constraint["address"], constraint["first"]) == (None, None, None)
    assert constraint["second"] == "forbid scaler is none and estimator is KNeighborsClassifier"


def test_nothing_differs_from_itself(folder: Path) -> None:
    ended = spacelang("diff", "blds_table1", "blds_table1", "--exit-code", folder=folder)
    assert ended.returncode == 0
    assert "no differences" in ended.stdout
    assert "3,072  in both" in ended.stdout


def test_a_script_can_ask_by_the_status(folder: Path) -> None:
    assert spacelang("diff", "first.space", "second.space", "--exit-code", folder=folder).returncode == 1


def test_a_space_with_errors_cannot_be_compared(folder: Path) -> None:
    ended = spacelang("diff", "first.space", "wrong.space", "--json", folder=folder)
    assert ended.returncode == 1
    assert "error[SL201]" in ended.stderr
    assert json.loads(ended.stdout)["diagnostics"][0]["code"] == "SL201"


def test_orders_stand_in_quotes(tmp_path: Path) -> None:
    text = "stage e = GaussianNB\npipeline = permute(PCA, StandardScaler{}) -> e\n"
    (tmp_path / "two.space").write_text(text.format(""), encoding="utf-8")
    (tmp_path / "three.space").write_text(text.format(", MinMaxScaler"), encoding="utf-8")
    (tmp_path / "none.space").write_text("stage e = GaussianNB\n", encoding="utf-8")
    shown = spacelang("diff", "two.space", "three.space", folder=tmp_path).stdout
    assert '  - default of order: "PCA, StandardScaler"\n' in shown
    assert '  - alternative order."StandardScaler, PCA"\n' in shown
    shown = spacelang("diff", "two.space", "none.space", folder=tmp_path).stdout
    assert '  - order = "PCA, StandardScaler" | "StandardScaler, PCA"\n' in shown


def test_structures_are_shown_as_they_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = {
        "columns": "columns(numeric: SimpleImputer -> scaler, rest: OneHotEncoder)",
        "fewer": "columns(numeric: SimpleImputer -> scaler)",
        "chain": "PCA -> scaler | none",
    }
    for name, part in parts.items():
        text = f"stage scaler = MinMaxScaler | none\nstage prep = {part}\nstage e = SVC\npipeline = prep -> e\n"
        (tmp_path / f"{name}.space").write_text(text, encoding="utf-8")
    (tmp_path / "none.space").write_text("stage e = SVC\n", encoding="utf-8")

    def differences(first: str, second: str) -> str:
        assert run_command_line(["diff", *(str(tmp_path / f"{name}.space") for name in (first, second))]) == 0
        return capsys.readouterr().out.partition("stage prep\n")[2].partition("\n\n")[0]

    assert differences("columns", "fewer").splitlines() == [
        f"  - alternative of prep: {parts['columns']}",
        f"  + alternative of prep: {parts['fewer']}",
    ]
    assert differences("columns", "chain").splitlines() == [
        f"  - default of prep: {parts['columns']}",
        "  + default of prep: PCA -> scaler",
        f"  - alternative of prep: {parts['columns']}",
        "  + alternative of prep: PCA -> scaler",
        "  + alternative prep.none",
    ]
    assert differences("none", "columns") == f"  + prep = {parts['columns']}"
