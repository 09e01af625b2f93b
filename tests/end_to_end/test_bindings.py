"""`--bind`, and what a run binds by its data."""

from pathlib import Path

import pytest
from commands import document, spacelang

SPACE = """stage scaler = none | QuantileTransformer { n_quantiles : int[10, min(2000, n_samples)] log = 1000 }
stage selector = none | SelectKBest { k : int[1, min(99, n_features)] = 10 }
stage estimator = GaussianNB
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.space").write_text(SPACE, encoding="utf-8")
    (tmp_path / "unlimited.space").write_text(SPACE.replace("min(99, n_features)", "n_features"), encoding="utf-8")
    return tmp_path


def test_commands_take_bindings(folder: Path) -> None:
    sizes = ("--bind", "n_samples=100", "--bind", "n_features=30")
    assert spacelang("check", "unlimited.space", *sizes, folder=folder).stdout == "unlimited.space: no problems\n"
    assert document(spacelang("stats", "data.space", "--json", *sizes, folder=folder))["configurations"] == 92 * 31
    assert document(spacelang("default", "unlimited.space", *sizes, folder=folder))["selector"] == "none"
    sampled = spacelang("sample", "unlimited.space", "-n", "20", *sizes, folder=folder)
    assert (sampled.returncode, sampled.stderr, sampled.stdout.count("\n")) == (0, "", 20)
    assert spacelang("compile", "unlimited.space", "-t", "blds", *sizes, folder=folder).returncode == 0
    member = '{"estimator": "GaussianNB", "scaler": "none", "selector": "SelectKBest", "selector.k": 31}'
    for columns, status in (("30", 1), ("31", 0)):
        bound = ("--bind", f"n_features={columns}")
        assert spacelang("contains", "unlimited.space", "-", *bound, folder=folder, stdin=member).returncode == status


def test_what_is_not_bound_is_said(folder: Path) -> None:
    counted = spacelang("stats", "data.space", "--json", "--bind", "n_features=30", folder=folder)
    assert document(counted)["symbols"] == {"n_features": 30, "n_samples": None}
    assert counted.stderr == "note: `n_samples` may be arbitrarily large; give a number with `--bind n_samples=…`\n"
    compared = spacelang("diff", "data.space", "data.space", "--bind", "n_features=30", folder=folder)
    assert compared.stderr == counted.stderr, "once for both spaces"
    unlimited = spacelang("check", "unlimited.space", folder=folder)
    assert unlimited.returncode == 1
    assert "error[SL406]" in unlimited.stderr


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ["n_feature=3"],
            "error: `n_feature` is not a symbol for a size of the data\n  = help: did you mean `n_features`?\n",
        ),
        (["rows=3"], "  = help: the symbols are `n_categorical`, `n_classes`, `n_datetime`, `n_features`, "),
        (["n_features=abc"], "error: `n_features` cannot be `abc`\n  = help: give a whole number greater than 0\n"),
        (["n_features=0"], "error: `n_features` cannot be `0`\n"),
        (["n_features=-3"], "error: `n_features` cannot be `-3`\n"),
        (["n_features=2.5"], "error: `n_features` cannot be `2.5`\n"),
        ([f"n_features={'9' * 9000}"], "cannot be `999"),
        (["n_features"], "error: `--bind n_features` is not of the form NAME=NUMBER\n"),
        (["n_features=2", "n_features=3"], "error: `--bind` gives `n_features` twice\n"),
    ],
)
def test_wrong_bindings(folder: Path, given: list[str], message: str) -> None:
    arguments = [word for pair in given for word in ("--bind", pair)]
    ended = spacelang("check", "data.space", *arguments, folder=folder)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr


def test_a_run_refuses_wrong_bindings_too(folder: Path) -> None:
    ended = spacelang("run", "data.space", "--data", "sklearn:iris", "--bind", "n_features=0", folder=folder)
    assert (ended.returncode, ended.stdout) == (2, "")


def test_a_run_binds_by_its_data(folder: Path) -> None:
    ended = spacelang("run", "unlimited.space", "--data", "sklearn:iris", "--trials", "6", "--json", folder=folder)
    assert document(ended)["loss"] is not None
    assert ended.stderr.count("arbitrarily") == 0


def test_data_that_leaves_nothing(folder: Path) -> None:
    rows = "\n".join(f"{row},{row % 2}" for row in range(12))
    (folder / "few.csv").write_text(f"x,target\n{rows}\n", encoding="utf-8")
    ended = spacelang("run", "unlimited.space", "--data", "few.csv", "--trials", "3", folder=folder)
    assert ended.returncode == 1
    assert "for n_samples = 9 the upper bound is 9" in ended.stderr
    overridden = spacelang(
        "run", "unlimited.space", "--data", "few.csv", "--trials", "3", "--bind", "n_samples=20", folder=folder
    )
    assert overridden.returncode == 0
