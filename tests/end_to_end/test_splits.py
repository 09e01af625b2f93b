"""Rows that belong together, as a user of the commands meets them: a warning, the option, the run, and what follows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import spacelang

SPACE = "stage estimator = KNeighborsClassifier { n_neighbors : int[1, 5] = 1 }\n"
RUN = ("run", "my.space", "--data", "visits.csv", "--optimizer", "random", "--workers", "0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(40), 10)
    table = pd.DataFrame(rng.normal(size=(40, 3))[who] + 1e-3 * rng.normal(size=(400, 3)), columns=[*"abc"])
    table = table.assign(**{"patient id": who}, sick=rng.permutation(np.arange(40) % 2)[who])
    table.sample(frac=1, random_state=0).to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "my.space").write_text(SPACE, encoding="utf-8")
    return tmp_path


def test_a_run_is_warned_and_split_by_groups_from_then_on(folder: Path) -> None:
    warned = spacelang(*RUN, "--trials", "1", folder=folder)
    assert "warning: `patient id` looks like an identifier and repeats: 40 values in 400 rows" in warned.stderr
    option = """--validate 'cv(5, group="patient id")'"""
    assert f"use `{option}`" in warned.stderr
    assert "roc_auc, mean over 5 folds: 1 [0.9904, 1] (trial 1, 1 - roc_auc 0)" in warned.stdout
    common = (*RUN, "--validate", 'cv(5, group="patient id")', "--test", "0.2", "--store", "run.db")
    ran = spacelang(*common, "--trials", "2", "--code", folder=folder)
    assert ran.returncode == 0, ran.stderr
    assert "looks like an identifier" not in ran.stderr
    assert 'mean over 5 folds as whole groups of "patient id": 0.' in ran.stdout
    assert 'table.drop(columns=["sick", "patient id"])' in ran.stdout
    shown = spacelang("show", "run.db", folder=folder)
    assert 'cv(5, group="patient id")' in shown.stdout
    resumed = spacelang("resume", "run.db", "--trials", "3", folder=folder)
    assert "3 trials" in resumed.stdout
    other = spacelang(*RUN, "--test", "0.2", "--store", "run.db", "--trials", "3", "--resume", folder=folder)
    assert other.returncode == 1
    assert 'validation: `cv(5, group="patient id")` in the store, `cv(5)` now' in other.stderr
    assert spacelang("export", "run.db", "-o", "best.py", folder=folder).returncode == 0
    predicted = spacelang("predict", "run.db", "--data", "visits.csv", folder=folder)
    assert len(predicted.stdout.splitlines()) == 401


def test_a_space_is_written_with_the_split_that_the_rows_need(folder: Path) -> None:
    made = spacelang("init", "visits.csv", "-o", "new.space", folder=folder)
    assert 'therefore the new space has `validate cv(5, group="patient id")`' in made.stderr
    ran = spacelang("run", "new.space", *RUN[2:], "--trials", "1", folder=folder)
    assert ran.returncode == 0, ran.stderr
    assert "as whole groups of" in ran.stdout


@pytest.mark.parametrize(
    ("split", "said"),
    [
        ("cv(5, group=patient)", "error: `visits.csv` has no column `patient`, which `group=patient` names"),
        ('cv(50, group="patient id")', "the column `patient id` forms 40 groups, but the split needs at least 50"),
        ("cv(5, by=a)", "`cv` has no option `by`, because its folds train on later rows: write `time(5, by=COLUMN)`"),
        ("holdout(0.3, group=a, keep)", "`keep` needs `by`, whose column it keeps as a feature"),
        ("holdout(0.3, by=sick)", "`by=sick` names the column of labels"),
    ],
)
def test_a_wrong_split_is_told(folder: Path, split: str, said: str) -> None:
    ran = spacelang(*RUN, "--trials", "1", "--validate", split, folder=folder)
    assert ran.returncode in {1, 2}
    assert said in ran.stderr
    assert not [*folder.glob("runs/*")]
