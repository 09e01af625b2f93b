"""The lines that `run` and `show` print for the next steps run as they are pasted."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import document, spacelang

OWN = """\
space own
use own_estimators
stage scaler = none | SelectKBest { k : int[1, n_features] = 2 }
stage estimator = GaussianNB | Shifted | LogisticRegression { C : float[0.01, 100] log = 1 }
"""
PARTS = """\
space parts
stage reader = TfidfVectorizer { min_df : int[1, 3] = 1 } | CountVectorizer
stage estimator = LogisticRegression | GaussianNB
pipeline = columns(text: reader -> TruncatedSVD { n_components = 2 }, numeric: SimpleImputer -> StandardScaler)
           -> estimator
task classification {
  maximize accuracy
  validate holdout(0.3)
}
"""
ESTIMATORS = """\
from sklearn.naive_bayes import GaussianNB


class Shifted(GaussianNB):
    \"\"\"A classifier that is in no library.\"\"\"
"""
ROWS = 320


def table() -> pd.DataFrame:
    """Numbers, some of them missing, a category, a text, a column without values, and labels."""
    rng = np.random.default_rng(0)
    size, town = rng.normal(size=ROWS).round(3), rng.choice(["Rome", "Oslo"], ROWS)
    labels = np.where(size + (town == "Rome") > 0.4, "yes", "no")
    return pd.DataFrame(
        {
            "size": np.where(rng.random(ROWS) < 0.1, np.nan, size),
            "width": rng.normal(size=ROWS).round(3),
            "town": town,
            "note": [f"a {label} day, number {row}" for row, label in enumerate(labels)],
            "empty": np.nan,
            "label": labels,
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for commands, with spaces, a module, and rows below it and beside it."""
    here, rows = tmp_path / "here", table()
    (here / "my data").mkdir(parents=True)
    (here / "own.space").write_text(OWN, encoding="utf-8")
    (here / "parts.space").write_text(PARTS, encoding="utf-8")
    (here / "own_estimators.py").write_text(ESTIMATORS, encoding="utf-8")
    rows[:240].to_csv(here / "my data" / "rows.csv", index=False)
    rows[240:].to_csv(here / "my data" / "later.csv", index=False)
    rows.drop(columns="note").to_csv(tmp_path / "beside.csv", index=False, sep=";", decimal=",")
    return here


def next_lines(output: str) -> list[str]:
    """The lines below the heading of the next steps."""
    lines = output.partition("\nNext:\n")[2].splitlines()
    return [line.strip() for line in lines if line.startswith("  spacelang ")]


def check_lines(folder: Path, printed: str, store: str, trials: int) -> None:
    """Paste the lines of `show`, which are those that the run printed, but for an advised budget; this resumes it.

    A run names all packages, `show` only those that have a catalogue: the one who pastes names others.
    """
    lines = next_lines(spacelang("show", store, folder=folder).stdout)
    named = printed.replace("--allow own_estimators", "--allow PACKAGE")
    assert lines[:-1] == next_lines(named)[:-1]
    for line in lines:
        program, *words = shlex.split(line.replace("--allow PACKAGE", "--allow own_estimators"))
        assert program == "spacelang"
        ended = spacelang(*words, folder=folder)
        assert ended.returncode == 0, (line, ended.stderr)
    assert document(spacelang("show", store, "--json", folder=folder))["trials"] == trials


SPLIT = "holdout(0.3)"
CASES: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "no_space": (("--data", "my data/rows.csv", "--ensemble", "2", "--test", "0.2", "--validate", SPLIT), set()),
    "text_and_test_file": (
        *(("parts.space", "--data", "my data/rows.csv", "--test", "my data/later.csv", "--metric", "neg_log_loss"),),
        set(),
    ),
    "package_and_rows_beside": (
        (
            *("own.space", "--data", "../beside.csv", "--sep", ";", "--decimal", ",", "--drop-columns", "town,empty"),
            *("--allow", "own_estimators", "--bind", "n_features=2", "--optimizer", "admm", "--validate", "cv(3)"),
            *("--set", "z=blds(disc=2)", "--set", "theta=random", "--metrics", "accuracy,f1_macro"),
        ),
        {"--data ../beside.csv", "--allow own_estimators"},
    ),
}
"""The arguments of a run, and options that its resumption needs."""


@pytest.mark.parametrize("case", CASES)
def test_lines_run_as_pasted(folder: Path, case: str) -> None:
    arguments, needed = CASES[case]
    run = ("run", *arguments, "--target-column", "label", "--trials", "2", "--store", "my run.db")
    ended = spacelang(*run, folder=folder)
    assert ended.returncode == 0, ended.stderr
    resumed = next_lines(ended.stdout)[-1]
    assert resumed.startswith("spacelang resume 'my run.db'")
    assert all(each in resumed for each in needed)
    assert resumed.count(" --") == len(needed) + 1, "with a larger budget, and nothing else"
    check_lines(folder, ended.stdout, "my run.db", 4)


def test_lines_of_runs_without_rows_and_of_tables_run_as_pasted(folder: Path) -> None:
    formula = spacelang(
        "run", "parts.space", "--data", "artificial:3", "--trials", "2", "--store", "f.db", folder=folder
    )
    assert formula.returncode == 0, formula.stderr
    check_lines(folder, formula.stdout, "f.db", 4)
    rows = ("--data", "my data/rows.csv", "--target-column", "label", "--b", "200", "--workers", "0")
    made = spacelang("tabulate", "parts.space", *rows, "-o", "made.npz", "--hyperparameters", "default",
                     "--store", "made.db", folder=folder)  # fmt: skip
    assert made.returncode == 0, made.stderr
    check_lines(folder, spacelang("show", "made.db", folder=folder).stdout, "made.db", 4)
    assert (folder / "TABLE.npz").read_bytes()


def test_what_has_moved_or_is_not_allowed_is_asked_for_by_name(folder: Path) -> None:
    arguments: tuple[Any, ...] = ("--allow", "own_estimators", "--test", "my data/later.csv", "--drop-columns", "note")
    rows = ("--data", "my data/rows.csv", "--target-column", "label", "--trials", "1", "--store", "run.db")
    assert spacelang("run", "own.space", *rows, *arguments, folder=folder).returncode == 0
    resume = ("resume", "run.db", "--trials", "2")
    refused = spacelang(*resume, folder=folder)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the space of the run in `run.db` imports `own_estimators`, which you have not allowed" in refused.stderr
    assert "add `--allow own_estimators`" in refused.stderr
    (folder / "my data").rename(folder.parent / "moved")
    found = spacelang(*resume, "--allow", "own_estimators", folder=folder)
    assert "add `--data 'my data/rows.csv'`, or its new path" in found.stderr
    found = spacelang(*resume, "--allow", "own_estimators", "--data", "../moved/rows.csv", folder=folder)
    assert "add `--test 'my data/later.csv'`, or the new path" in found.stderr
    moved = ("--data", "../moved/rows.csv", "--test", "../moved/later.csv")
    other = spacelang(*resume, "--allow", "own_estimators", *moved[:3], "../moved/rows.csv", folder=folder)
    assert other.returncode == 1
    ended = spacelang(*resume, "--allow", "own_estimators", *moved, folder=folder)
    assert ended.returncode == 0, ended.stderr
    assert "\nTest set (80 rows): roc_auc " in ended.stdout
