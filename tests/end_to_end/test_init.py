"""`spacelang init` as a user calls it."""

from pathlib import Path

import pandas as pd
import pytest
from commands import spacelang


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = range(60)
    table = pd.DataFrame({"id": rows, "town": ["Rome", "Oslo", None] * 20, "size": [row % 7 / 2 for row in rows]})
    table.assign(price=[row % 13 + 0.5 for row in rows], sold=["yes", "no"] * 30).to_csv(
        tmp_path / "my houses.csv", index=False
    )
    return tmp_path


def test_a_space_from_data_that_runs(folder: Path) -> None:
    made = spacelang("init", "my houses.csv", "-o", "my.space", folder=folder)
    assert made.returncode == 0
    assert "note: `id` looks like an identifier" in made.stderr
    assert made.stdout == "wrote `my.space`; next: `spacelang check my.space`\n"
    other = spacelang("init", "my houses.csv", "-o", "my houses.space", folder=folder)
    assert other.stdout.endswith("next: `spacelang check 'my houses.space'`\n")
    text = (folder / "my.space").read_text(encoding="utf-8")
    assert "task classification" in text
    (command,) = [line for line in text.splitlines() if "spacelang run" in line]
    assert command == "#     spacelang run my.space --data 'my houses.csv'"
    assert spacelang("check", "my.space", folder=folder).returncode == 0
    arguments = ("run", "my.space", "--data", "my houses.csv", "--optimizer", "random", "--trials", "2")
    ran = spacelang(*arguments, folder=folder)
    assert ran.returncode == 0
    assert "2 trials" in ran.stdout


def test_another_column_of_labels(folder: Path) -> None:
    printed = spacelang("init", "my houses.csv", "--target-column", "price", folder=folder)
    assert printed.returncode == 0
    assert "task regression" in printed.stdout
    assert "--target-column price" in printed.stdout


def test_what_a_run_would_refuse_is_a_warning(folder: Path) -> None:
    table = pd.read_csv(folder / "my houses.csv")
    table.loc[16, "size"] = float("inf")
    table.to_csv(folder / "endless.csv", index=False)
    made = spacelang("init", "endless.csv", "-o", "my.space", folder=folder)
    assert made.returncode == 0
    assert "warning: `size` holds infinite values, first in row 17, with which no run can start: replace" in made.stderr
    run = ("run", "my.space", "--data", "endless.csv", "--trials", "1")
    assert spacelang(*run, folder=folder).returncode == 1


def test_nothing_is_written_over(folder: Path) -> None:
    (folder / "my.space").write_text("mine", encoding="utf-8")
    made = spacelang("init", "my houses.csv", "-o", "my.space", folder=folder)
    assert made.returncode == 2
    assert "`my.space` already exists" in made.stderr
    assert (folder / "my.space").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("no.csv",), "`no.csv` does not exist"), (("my houses.csv", "--target-column", "prize"), "did you mean `price`")],
)
def test_wrong_data_is_told(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    made = spacelang("init", *arguments, folder=folder)
    assert made.returncode == 1
    assert said in made.stderr


def test_a_run_that_names_no_space_takes_the_one_for_its_labels_and_goes_on(folder: Path) -> None:
    arguments = ("--data", "my houses.csv", "--optimizer", "random", "--store", "run.db", "--workers", "0")
    ran = spacelang("run", *arguments, "--trials", "1", "--allow", "xgboost", folder=folder)
    assert ran.returncode == 0, ran.stderr
    reason = "as `sold` holds 2 distinct labels that are not numbers"
    assert f"note: no space given: using `tabular_classification` with `xgboost`, {reason}" in ran.stderr
    other = spacelang("run", *arguments, "--trials", "2", "--resume", folder=folder)
    assert other.returncode == 1
    assert "--allow xgboost" in other.stderr, "the space of the store needs it"
    again = spacelang("run", *arguments, "--trials", "2", "--resume", "--allow", "xgboost", folder=folder)
    assert again.returncode == 0, again.stderr
    assert "2 trials" in again.stdout


def test_what_has_no_rows_needs_a_space(folder: Path) -> None:
    ended = spacelang("run", "--data", "artificial:1", "--trials", "1", folder=folder)
    assert ended.returncode == 2
    assert "no space can be chosen for data without rows" in ended.stderr


EUROPEAN = ("--sep", ";", "--encoding", "cp1252", "--decimal", ",", "--drop-columns", "nr")
"""How the file is read that follows."""


def european(folder: Path) -> None:
    rows = "\n".join(f"{row};{row % 7},5;{'größe' if row % 2 else 'höhe'}" for row in range(60))
    (folder / "maße.csv").write_text(f"nr;länge;maß\n{rows}\n", encoding="cp1252")
    (folder / "my.space").write_text("stage estimator = DecisionTreeClassifier | GaussianNB\n", encoding="utf-8")


def test_a_file_of_another_kind_is_read_by_its_options(folder: Path) -> None:
    european(folder)
    made = spacelang("init", "maße.csv", *EUROPEAN, folder=folder)
    assert made.returncode == 0, made.stderr
    assert not made.stderr
    assert "--sep ';' --encoding cp1252 --decimal , --drop-columns nr" in made.stdout
    run = ("run", "my.space", "--data", "maße.csv", "--optimizer", "random", "--trials", "2", "--workers", "0")
    ran = spacelang(*run, *EUROPEAN, "--code", folder=folder)
    assert ran.returncode == 0, ran.stderr
    assert "looks like" not in ran.stderr
    assert 'low_memory=False, sep=";", encoding="cp1252", decimal=",")' in ran.stdout
    assert 'table.drop(columns=["maß", "nr"])' in ran.stdout
    warned = spacelang(*run, *EUROPEAN[:4], folder=folder)
    assert "warning: `nr` looks like an identifier: " in warned.stderr
    assert "warning: `länge` holds numbers with a decimal comma: " in warned.stderr


@pytest.mark.full
def test_comparisons_and_tables_read_it_so(folder: Path) -> None:
    european(folder)
    common = ("my.space", "--data", "maße.csv", *EUROPEAN, "--workers", "0")
    compared = ("--optimizers", "random", "--repeats", "1", "--trials", "1", "-o", "compared")
    assert spacelang("compare", *common, *compared, folder=folder).returncode == 0
    assert spacelang("tabulate", *common, "--b", "100", "-o", "table.npz", folder=folder).returncode == 0


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (("--sep", ";"), 1, "the separator seems to be `,`: give `--sep ,`"),
        (("--sep", "::"), 2, "`::` is not a separator"),
        (("--encoding", "utf9"), 2, "unknown text encoding `utf9`"),
        (("--drop-columns", "size,town,sizes"), 1, "did you mean `size`?"),
    ],
)
def test_options_that_do_not_fit_are_told(folder: Path, options: tuple[str, ...], status: int, said: str) -> None:
    ended = spacelang("init", "my houses.csv", *options, folder=folder)
    assert ended.returncode == status
    assert said in ended.stderr


def test_how_a_file_is_read_means_nothing_without_one(folder: Path) -> None:
    (folder / "my.space").write_text("stage estimator = GaussianNB | DecisionTreeClassifier\n", encoding="utf-8")
    ended = spacelang("run", "my.space", "--data", "artificial:1", "--sep", ";", folder=folder)
    assert ended.returncode == 2
    assert "`--sep` has no effect on `artificial:1`" in ended.stderr


def test_nothing_that_fits_is_imported(folder: Path) -> None:
    code = """
import sys
from spacelang.cli import main
try:
    main()
except SystemExit:
    print("sklearn" in sys.modules, file=sys.stderr)
"""
    made = spacelang("init", "my houses.csv", folder=folder, code=code, afresh=True)
    assert "task classification" in made.stdout
    assert made.stderr.splitlines()[-1] == "False"
