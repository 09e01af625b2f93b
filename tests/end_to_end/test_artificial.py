"""`spacelang run` and `compare` on the artificial black box: any space, no data."""

import json
from pathlib import Path

import pytest
from commands import TINY, TOY, spacelang

SIZED = "space sized\nstage e = KNeighborsClassifier { n_neighbors : int[1, n_features] = 1 }\n"
BOUNDED = TINY + "task classification {\n  maximize accuracy\n  subject to predict_latency <= 1ms\n}\n"
ABSTRACT = "space own\nabstract thing { x : float[0, 1] = 0.5 }\nstage e = thing\n"

RUN = ("run", "toy.space", "--data", "artificial:7", "--workers", "0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {"toy": TOY, "tiny": TINY, "sized": SIZED, "bounded": BOUNDED, "abstract": ABSTRACT}
    for name, text in texts.items():
        (tmp_path / f"{name}.space").write_text(text)
    return tmp_path


@pytest.mark.full
def test_a_run_finds_the_same_again_and_goes_on(folder: Path) -> None:
    first = spacelang(*RUN, "--trials", "10", "--store", "run.db", "--json", folder=folder)
    assert first.returncode == 0
    found = json.loads(first.stdout)
    assert (found["metric"], found["validation"], found["refit"], found["trials"]) == ("loss", None, None, 10)
    more = json.loads(
        spacelang(*RUN, "--trials", "20", "--store", "run.db", "--resume", "--json", folder=folder).stdout
    )
    whole = json.loads(spacelang(*RUN, "--trials", "20", "--json", folder=folder, afresh=True).stdout)
    assert {name: more[name] for name in ("loss", "configuration", "trials")} == {
        name: whole[name] for name in ("loss", "configuration", "trials")
    }
    listed = spacelang("runs", ".", folder=folder).stdout
    assert "artificial:7" in listed
    other = spacelang(
        "run", "toy.space", "--data", "artificial:8", "--trials", "3", "--store", "run.db", "--resume", folder=folder
    )
    assert (other.returncode, "data: `artificial:7` (content" in other.stderr) == (1, True)


def test_nothing_is_said_of_fitting(folder: Path) -> None:
    for space in ("toy", "abstract"):
        ended = spacelang("run", f"{space}.space", "--data", "artificial:7", "--trials", "5", folder=folder)
        assert ended.returncode == 0
        assert "Best loss: " in ended.stdout
        assert "Losses come from `artificial:7`; nothing was fitted." in ended.stdout
        assert "import" not in ended.stdout
        assert "fit it" not in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "telling"),
    [
        (("sized.space", "artificial:7"), 1, ("`n_features` is not bound", "sized.space:2")),
        (
            ("bounded.space", "artificial:7"),
            1,
            ("bounds `predict_latency`, but the objective `artificial:7` does not",),
        ),
        (("toy.space", "artificial:x"), 1, ("`artificial:x` has no seed", "`artificial:7`")),
        (("toy.space", "artificial:7", "--metric", "f1"), 2, ("`--metric` has no effect on `artificial:7`",)),
        (("toy.space", "artificial:7", "--test", "0.2"), 2, ("`--test` needs rows, but `artificial:7` has none",)),
        (("toy.space", "artificial:7", "--ensemble", "3"), 2, ("`--ensemble` needs predictions",)),
    ],
)
def test_mistakes_are_told(arguments: tuple[str, ...], status: int, telling: tuple[str, ...], folder: Path) -> None:
    space, data, *more = arguments
    ended = spacelang("run", space, "--data", data, "--trials", "2", *more, folder=folder)
    assert ended.returncode == status
    assert all(each in ended.stderr for each in telling), ended.stderr
    assert [path.name for path in folder.glob("runs/*")] == []


@pytest.mark.parametrize("data", ["artificial:7", "table:t.npz"])
def test_no_table_is_made_of_what_has_no_rows(folder: Path, data: str) -> None:
    ended = spacelang("tabulate", "tiny.space", "--data", data, "-o", "new.npz", folder=folder)
    assert (ended.returncode, f"a table needs rows, but `{data}` has none" in ended.stderr) == (2, True)


def test_a_symbol_may_be_bound(folder: Path) -> None:
    ended = spacelang(
        "run", "sized.space", "--data", "artificial:7", "--trials", "3", "--bind", "n_features=5", folder=folder
    )
    assert ended.returncode == 0
