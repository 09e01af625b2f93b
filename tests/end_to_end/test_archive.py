"""`spacelang archive`, and runs that start from what it made."""

import io
import json
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from archives import SMALL, tree
from commands import document
from jsonschema import Draft202012Validator

import spacelang as sl
from spacelang.cli._app import run_command_line
from spacelang.files import resource_folder as shipped
from spacelang.runtime.archives.archive import ArchiveError
from spacelang.runtime.storage.store import Store

SCHEMA: Any = json.loads((shipped("grammars") / "archive.schema.json").read_text(encoding="utf-8"))


def write_data(folder: Path, name: str, rows: int) -> None:
    rng = np.random.default_rng(rows)
    table = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    table["target"] = np.where(table["a"] + rng.normal(size=rows) > 0, "yes", "no")
    table.to_csv(folder / f"{name}.csv", index=False)


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        status = run_command_line(arguments)
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def start(name: str, *arguments: str) -> tuple[str, ...]:
    options = ("--workers", "0", "--validate", "holdout(0.3)", "--optimizer", "random")
    return ("run", "small.space", "--data", f"{name}.csv", *options, *arguments)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs, each of one configuration of its own, and the archive of them."""
    folder = tmp_path_factory.mktemp("archive")
    (folder / "small.space").write_text(SMALL, encoding="utf-8")
    for name, rows, depth in (("few", 40, 2), ("more", 60, 3), ("many", 200, 4)):
        write_data(folder, name, rows)
        (folder / "first.json").write_text(json.dumps(tree(depth).to_dict()))
        given = ("--initial", "first.json", "--trials", "1", "--store", f"runs/{name}.db")
        (folder / "runs").mkdir(exist_ok=True)
        assert command(*start(name, *given), folder=folder).returncode == 0
    write_data(folder, "mine", 50)
    ended = command("archive", "runs", "-o", "a.json", folder=folder)
    assert (ended.returncode, ended.stdout) == (0, "wrote 3 rows for 3 data sets and `small` to a.json\n")
    return folder


def trials(store: Path) -> list[Any]:
    with Store.read(store) as stored:
        return [each.trial.request.configuration for each in stored.records()]


def test_the_file_is_as_it_is_described(made: Path) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    found = json.loads((made / "a.json").read_text())
    Draft202012Validator(SCHEMA).validate(found)
    rows = {row["data"]: row for row in found["rows"]}
    assert rows["few.csv"]["configuration"] == tree(2).to_dict()
    assert rows["many.csv"]["meta_features"]["NumberOfInstances"] == 140, "training rows alone"
    with Store.read(made / "runs" / "few.db") as stored:
        assert rows["few.csv"]["fingerprint"] == stored.header.data.fingerprint


def test_a_run_begins_with_what_was_best_on_data_like_its_own(made: Path, tmp_path: Path) -> None:
    store = tmp_path / "r.db"
    options = start("mine", "--archive", "a.json", "--store", str(store))
    ended = command(*options, "--trials", "3", "--json", folder=made)
    assert "left out" not in ended.stderr
    found = document(ended)
    assert found["initial"][2] == tree(4).to_dict(), "200 rows are farthest from 50"
    assert {*trials(store)} == {sl.Configuration(each) for each in found["initial"]}
    again = command(*options, "--trials", "4", "--resume", "--json", folder=made)
    assert document(again)["initial"] == found["initial"]
    by_square = command(*start("mine", "--archive", "a.json", "--archive-norm", "l2", "--trials", "1"), folder=made)
    assert "Started from 3 given configurations" in by_square.stdout


def test_mosaic_begins_with_the_archive(made: Path, tmp_path: Path) -> None:
    options = ("--set", "variant=metalearning", "--trials", "4", "--store", str(tmp_path / "r.db"))
    searched = ("mosaic" if each == "random" else each for each in start("mine", "--archive", "a.json", *options))
    assert command(*searched, folder=made).returncode == 0
    found = trials(tmp_path / "r.db")
    assert {*found[:3]} == {tree(2), tree(3), tree(4)}
    assert found[3] not in found[:3]


def test_the_data_set_under_examination_is_left_out_of_its_own_archive(made: Path, tmp_path: Path) -> None:
    first = ("--initial", "first.json", "--trials", "1", "--store", str(tmp_path / "r.db"))
    ended = command(*start("few", "--archive", "a.json", *first, "--json"), folder=made)
    assert "note: not used from `a.json`, because it may be the same data: `few.csv` (the same content)" in ended.stderr
    assert document(ended)["initial"] == [tree(4).to_dict(), tree(3).to_dict()], "what is given comes first, and once"


def test_what_cannot_be_is_refused_before_anything_is_kept(made: Path, tmp_path: Path) -> None:
    (made / "other.space").write_text("space other\nstage estimator = GaussianNB\n")
    place = tmp_path / "r.db"
    others = command(
        "run", "other.space", *start("mine", "--archive", "a.json", "--store", str(place))[2:], folder=made
    )
    assert (others.returncode, others.stdout) == (1, "")
    assert "error: `a.json` is an archive for another space" in others.stderr
    (made / "cut.json").write_text((made / "a.json").read_text()[:-40])
    for file, message in (("nowhere.json", "cannot be read"), ("cut.json", "is not JSON"), ("few.csv", "is not JSON")):
        ended = command(*start("mine", "--archive", file, "--store", str(place)), folder=made)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert f"error: `{file}` {message}" in ended.stderr
    none = command("run", "small.space", "--data", "artificial:7", "--archive", "a.json", folder=made)
    assert none.returncode == 2
    assert "`--archive` needs rows, but `artificial:7` has none" in none.stderr
    assert not place.exists()


def test_archive_tells_what_gives_no_row(made: Path, tmp_path: Path) -> None:
    boxed = command("run", "small.space", "--data", "artificial:7", "--trials", "1", "--store", "b.db", folder=made)
    assert boxed.returncode == 0
    ended = command("archive", "b.db", "runs/few.db", "-o", str(tmp_path / "b.json"), "--json", folder=made)
    reason = "`b.db` has no meta-features: the run had no data, or was made by an earlier version of spacelang"
    assert document(ended) == {"file": str(tmp_path / "b.json"), "rows": 1, "left_out": [reason]}
    assert f"note: skipped: {reason}" in ended.stderr
    alone = command("archive", "b.db", "-o", "c.json", folder=made)
    assert (alone.returncode, alone.stdout) == (1, "")
    assert "error: no run can be used for an archive" in alone.stderr
    assert not (made / "c.json").exists()
    assert command("archive", "runs", "-o", "nowhere/a.json", folder=made).returncode == 1


def test_a_program_starts_from_an_archive_too(made: Path) -> None:
    table = pd.read_csv(made / "mine.csv")
    options: dict[str, Any] = {"trials": 1, "workers": 0, "validate": "holdout(0.3)", "optimizer": "random"}
    rows, labels = table.drop(columns="target"), table["target"]
    found = sl.search(SMALL_SPACE, rows, labels, archive=made / "a.json", archive_norm="l2", **options)
    assert {*found.initial} == {tree(2), tree(3), tree(4)}
    deep = json.loads((made / "a.json").read_text())
    deep["rows"][0]["configuration"]["estimator.max_depth"] = 99
    (made / "deep.json").write_text(json.dumps(deep))
    with pytest.warns(UserWarning, match=r"skipped 1 configuration of `.*deep.json`: not in the space"):
        few = sl.search(SMALL_SPACE, rows, labels, archive=made / "deep.json", **options)
    assert len(few.initial) == 2
    other = sl.parse("space other\nstage estimator = GaussianNB\n")
    with pytest.raises(ArchiveError, match="another space"):
        sl.search(other, rows, labels, archive=made / "a.json", **options)
    with pytest.raises(ValueError, match="`archive` cannot be used with an objective"):
        sl.search(SMALL_SPACE, objective="artificial:7", archive=made / "a.json", trials=1)
    with pytest.raises(ValueError, match="l3"):
        sl.search(SMALL_SPACE, rows, labels, archive=made / "a.json", archive_norm="l3", **options)


def test_every_run_of_a_comparison_begins_so(made: Path, tmp_path: Path) -> None:
    options = ("--optimizers", "random,lds", "--repeats", "1", "--trials", "3", "--workers", "0", "-o", str(tmp_path))
    data = ("compare", "small.space", "--data", "few.csv", "--validate", "holdout(0.3)", "--archive", "a.json")
    ended = command(*data, *options, folder=made)
    assert ended.returncode == 0, ended.stderr
    assert (
        "note: few: not used from `a.json`, because it may be the same data: `few.csv` (the same content)"
        in ended.stderr
    )
    for store in (tmp_path / "runs").rglob("*.db"):
        assert {*trials(store)[:2]} == {tree(3), tree(4)}
    boxed = command("compare", "small.space", "--data", "artificial:7", *data[-2:], *options[:4], folder=made)
    assert boxed.returncode == 1
    assert "`artificial:7` has no rows, so an archive cannot find similar data sets" in boxed.stderr


SMALL_SPACE = sl.parse(SMALL)
