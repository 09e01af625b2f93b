"""`spacelang compare`: on tables and on data, stopped and gone on with, and with everything that can be mistaken."""

import csv
import json
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest
from commands import document, spacelang, write_spaces
from trying import IS_FULL

from spacelang.bench import run_comparison
from spacelang.bench.comparison import RunKey, RunResult, plots, progress
from spacelang.bench.comparison.progress import SilentComparisonListener
from spacelang.cli import main
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.run_listing import list_runs as stored_runs

Here = Callable[..., CompletedProcess[str]]

GRID = """\
space grid
stage scaler = none | StandardScaler | RobustScaler
stage estimator = GaussianNB | DecisionTreeClassifier | LogisticRegression | KNeighborsClassifier
"""
AXES = (
    ("none", "StandardScaler", "RobustScaler"),
    ("GaussianNB", "DecisionTreeClassifier", "LogisticRegression", "KNeighborsClassifier"),
)
SIZES = (100, 200, 400)

TWO = ("--data", "table:one.npz", "--data", "table:two.npz")
COMPARE = ("compare", "grid.space", *TWO, "--optimizers", "blds,blds:disc=2,random", "--repeats", "3", "--time", "9s")
KINDS = tuple(
    f"{name}.{kind}" for name in ("losses_any", "losses_full", "ranks", "ranks_of_runs") for kind in ("png", "svg")
)


def write_table(path: Path, seed: int, failing: bool = False) -> None:
    """Losses that fall with the rows, at costs that rise with them."""
    rng = np.random.default_rng(seed)
    shape = (*map(len, AXES), len(SIZES))
    loss = np.ones(shape) if failing else rng.uniform(0.05, 0.6, shape[:2])[..., None] * np.array([1.3, 1.1, 1.0])
    cost = rng.uniform(0.05, 0.3, shape[:2])[..., None] * np.array([1.0, 2.0, 4.0])
    axes = np.array([json.dumps(names) for names in AXES])
    np.savez(path, loss=loss, cost=cost, sizes=np.array(SIZES), axes=axes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_spaces(tmp_path)
    (tmp_path / "grid.space").write_text(GRID, encoding="utf-8")
    for number, name in enumerate(("one", "two", "three")):
        write_table(tmp_path / f"{name}.npz", number)
    write_table(tmp_path / "hopeless.npz", 0, failing=True)
    return tmp_path


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Run a command in this process: one of its own would import everything anew each time."""
    monkeypatch.chdir(folder)

    def run(*arguments: str) -> CompletedProcess[str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        shown = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        assert "Traceback" not in shown.err
        return CompletedProcess(arguments, ended.value.code, shown.out, shown.err)

    return run


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if matplotlib were not installed: drawing takes longer than all else."""
    monkeypatch.setattr(plots, "can_draw_plots", lambda: False)


def test_the_command_compares_on_tables_and_draws(folder: Path) -> None:
    ended = spacelang(*COMPARE, "-o", "out", "--verbose", folder=folder)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("grid: 3 optimizers, 2 data sets, 3 seeds; 18 runs of 9 s\n")
    assert "ranks of mean losses, averaged over 2 data sets, " in ended.stdout
    assert "ranks of runs, averaged over 2 data sets and 3 seeds, " in ended.stdout
    assert "The intervals do not hold for other data: 2 data sets are too few." in ended.stdout
    assert ended.stdout.splitlines()[-1].startswith("Verdict: ")
    assert "note" not in ended.stderr
    made = sorted(path.name for path in (folder / "out").iterdir())
    assert made == ["comparison.csv", "comparison.json", *KINDS[:4], "plan.json", *KINDS[4:], "runs"]


@pytest.mark.usefixtures("undrawn")
def test_json_says_what_the_files_say(here: Here, folder: Path) -> None:
    ended = here(*COMPARE, "-o", "out", "--json")
    found = document(ended)
    assert "plots need matplotlib" in ended.stderr
    assert not list((folder / "out").glob("*.png"))
    kept = json.loads((folder / "out" / "comparison.json").read_text())
    assert kept.pop("curves")["seconds"][-1] == 9.0
    assert (found.pop("folder"), found.pop("interrupted")) == ("out", False)
    assert found == kept
    assert found["optimizers"] == ["blds", "blds disc=2", "random"]
    assert found["seeds"] == [0, 1, 2]
    rows = list(csv.DictReader((folder / "out" / "comparison.csv").read_text().splitlines()))
    last = {(row["data"], row["optimizer"], row["seed"], row["models"]): float(row["loss"]) for row in rows}
    for run in found["runs"]:
        for models, loss in run["loss"].items():
            assert last[run["data"], run["optimizer"], str(run["seed"]), models] == loss
    listing = stored_runs(folder / "out" / "runs")
    assert len(listing.runs) == 18
    assert not listing.unreadable


@pytest.mark.usefixtures("undrawn")
def test_the_losses_are_those_of_the_table(here: Here, folder: Path) -> None:
    found = document(here(*COMPARE[:-2], "--time", "1h", "-o", "out", "--json"))
    for name in ("one", "two"):
        least = np.load(folder / f"{name}.npz")["loss"][..., -1].min()
        for optimizer in found["optimizers"]:
            assert found["losses"]["full"][name][optimizer]["median"][-1] == least, "with so much time all find it"
    assert {run["ended"] for run in found["runs"]} == {"exhausted"}
    for ranking in ("mean_losses", "runs"):
        assert found["ranks"][ranking]["full"]["random"]["rank"][-1] == 2.0
    assert all(pair["within_noise"][-1] for pair in found["differences"]["mean_losses"]["full"])


@pytest.mark.usefixtures("undrawn")
def test_equal_commands_give_equal_files_and_a_second_one_makes_nothing_anew(here: Here, folder: Path) -> None:
    here(*COMPARE, "-o", "first")
    here(*COMPARE, "-o", "second")
    before = {name: (folder / "first" / name).read_bytes() for name in ("comparison.csv", "comparison.json")}
    assert before == {name: (folder / "second" / name).read_bytes() for name in before}
    again = here(*COMPARE, "-o", "first")
    assert "18 of 18 runs were already done" in again.stderr
    assert before == {name: (folder / "first" / name).read_bytes() for name in before}


class Stopping(SilentComparisonListener):
    """The user stops the comparison at a trial of it."""

    def __init__(self, after: int) -> None:
        self.left = after
        self.ended: list[RunResult] = []
        self.done = 0

    def runs_planned(self, runs: int, done: int) -> None:  # noqa: ARG002
        self.done = done

    def on_trial(self, record: TrialRecord, best: TrialRecord) -> None:  # noqa: ARG002
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def run_finished(self, run: RunResult) -> None:
        self.ended.append(run)


def compared(folder: Path, place: str | None, **others: Any) -> run_comparison.Comparison:
    data = {name: f"table:{folder / name}.npz" for name in ("one", "two")}
    options = {"repeats": 2, "time": 9, "folder": None if place is None else folder / place, **others}
    return run_comparison.compare(str(folder / "grid.space"), data, ["blds", "hyperband", "random"], **options)


@pytest.mark.usefixtures("undrawn")
def test_stopped_anywhere_and_gone_on_with_it_equals_the_uninterrupted_one(folder: Path) -> None:
    whole = compared(folder, "whole")
    trials = int(whole.runs["trials"].sum())
    first_seed = int(whole.runs[whole.runs["seed"] == 0]["trials"].sum())
    for after in np.unique(np.linspace(1, trials - 1, 8 if IS_FULL else 4).astype(int)).tolist():
        place, listener = f"stopped {after}", Stopping(after)
        if after <= first_seed:
            with pytest.raises(KeyboardInterrupt):
                compared(folder, place, listener=listener)
        else:
            partial = compared(folder, place, listener=listener)
            assert partial.interrupted
            assert partial.results.seeds == (0,)
        again = Stopping(-1)
        compared(folder, place, listener=again)
        assert again.done == len(listener.ended)
        for name in ("comparison.csv", "comparison.json"):
            # Seconds of a run that was stopped are those of two sessions; on a table they are the same.
            assert (folder / place / name).read_bytes() == (folder / "whole" / name).read_bytes()


def test_python_gives_data_frames(folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    found = compared(folder, None)
    assert {path.name for path in folder.iterdir()} == before
    assert found.folder is None
    assert list(found.curves.columns) == ["data", "optimizer", "seed", "seconds", "loss", "models"]
    assert len(found.runs) == 12
    assert found.quartiles["median"].between(0, 1).all()
    assert found.ranks.groupby(["models", "ranking", "seconds"])["rank"].mean().round(9).eq(2).all()
    assert found.ranks["low"].isna().all(), "neither two data sets nor two seeds tell how much others differ"
    assert found.differences["within_noise"].all()
    assert set(found.ahead.columns) == {"models", "by", "data", "start", "end", "optimizers"}


@pytest.mark.usefixtures("undrawn")
def test_the_command_that_is_stopped_tells_what_to_do(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = document(here(*COMPARE, "-o", "whole", "--json"))["runs"]
    stop = Stopping(3)
    monkeypatch.setattr(progress.ComparisonProgress, "on_trial", lambda _, record, best: stop.on_trial(record, best))
    ended = here(*COMPARE, "-o", "out")
    assert ended.returncode == 130
    assert "interrupted before all runs of the first seed finished; finished runs are stored in `out`" in ended.stderr
    assert "run the same command again to continue" in ended.stderr
    # Trials that are replayed are told again.
    stop.left = 1 + sum(run["trials"] for run in runs if run["seed"] == 0)
    ended = here(*COMPARE, "-o", "out")
    assert ended.returncode == 130
    assert "interrupted after 1 complete seed\n" in ended.stderr
    assert ended.stdout.startswith("grid: 3 optimizers, 2 data sets, 1 seed; 6 runs of 9 s")
    assert len(ended.stdout.splitlines()) == 10
    assert ended.stdout.splitlines()[-1].endswith(" at the end, over 2 data sets and 1 seed.")
    assert here(*COMPARE, "-o", "out").returncode == 0


@pytest.mark.full
@pytest.mark.usefixtures("undrawn")
def test_optimizers_data_and_repeats_may_be_added_and_nothing_else_changed(here: Here) -> None:
    assert here(*COMPARE, "-o", "out").returncode == 0
    more = ("compare", "grid.space", "-d", "table:three.npz", *TWO, "--optimizers", "random,lds,blds,blds:disc=2")
    ended = here(*more, "--repeats", "4", "--time", "9s", "-o", "out")
    assert ended.returncode == 0
    assert "18 of 48 runs were already done" in ended.stderr
    for changed, told in {
        ("--time", "8s"): "seconds per run: 9.0 in the folder, 8.0 now",
        ("--trials", "5"): "trials per run: none in the folder, 5 now",
        ("--seed", "1"): "seeds: 0 to 3 in the folder, 1 to 4 now",
        ("--repeats", "2"): "seeds: 0 to 3 in the folder, 0 to 1 now",
        ("--workers", "2"): "workers: 1 in the folder, 2 now",
        ("--trial-limit", "5s"): "limits: none in the folder, limit trial 5s now",
        ("--isolate",): "limits: none in the folder, isolated trials now",
        ("--optimizers", "random"): "optimizer `blds`: in the folder, but not given now",
    }.items():
        ended = here(*more, "--repeats", "4", "--time", "9s", *changed, "-o", "out")
        assert ended.returncode == 1
        assert "`out` contains another comparison" in ended.stderr
        assert told in ended.stderr
        assert "may be added" in ended.stderr


@pytest.mark.usefixtures("undrawn")
def test_other_content_behind_the_same_name_is_another_comparison(here: Here, folder: Path) -> None:
    here(*COMPARE, "-o", "out")
    write_table(folder / "two.npz", 99)
    ended = here(*COMPARE, "-o", "out")
    assert ended.returncode == 1
    assert "data `two`, content: 12 x 3, " in ended.stderr
    (folder / "grid.space").write_text(GRID.replace("none | ", ""), encoding="utf-8")
    write_table(folder / "two.npz", 1)
    ended = here(*COMPARE, "-o", "out")
    assert ended.returncode == 1
    assert "space: `grid` in the folder and `grid` now have different definitions" in ended.stderr


@pytest.mark.usefixtures("undrawn")
def test_a_store_in_the_place_of_another_is_noticed(here: Here, folder: Path) -> None:
    here(*COMPARE, "-o", "out")
    runs = folder / "out" / "runs"
    (runs / "one@random@0.db").write_bytes((runs / "one@random@1.db").read_bytes())
    ended = here(*COMPARE, "-o", "out")
    assert ended.returncode == 1
    assert "should contain the run of one, random, seed 0, but contains another run" in ended.stderr


@pytest.mark.usefixtures("undrawn")
def test_runs_without_a_score_are_told_and_end_nothing(here: Here) -> None:
    command = ("compare", "grid.space", "--optimizers", "blds,random", "--repeats", "2", "--time", "9s")
    ended = here(*command, "-d", "table:hopeless.npz", "-d", "table:one.npz", "-o", "out")
    assert ended.returncode == 0
    assert ended.stderr.count("hopeless, ") == 4
    assert (
        "hopeless, random, seed 1: none of 12 trials succeeded; 12 x the trial failed when the table was made"
        in ended.stdout
    )
    row = next(line.split() for line in ended.stdout.splitlines() if line.startswith("random "))
    assert row[2] == "-", "no score on the first table, whatever ranks assume"
    ended = here(*command, "-d", "table:hopeless.npz", "-o", "nothing")
    assert ended.returncode == 3


@pytest.mark.usefixtures("undrawn")
def test_what_ends_after_the_budget_does_not_count(here: Here, folder: Path) -> None:
    ended = here("compare", "grid.space", *TWO, "--optimizers", "random", "--time", "50ms", "-o", "out", "--json")
    found = document(ended, status=3)
    assert {run["reason"] for run in found["runs"]} == {"no trial finished within the budget"}
    assert found["losses"]["any"]["one"]["random"]["median"] == [1.0, 1.0, 1.0]


@pytest.mark.usefixtures("undrawn")
def test_real_data_has_a_split_of_its_own_for_every_seed(here: Here, folder: Path) -> None:
    command = ("compare", "tiny.space", "-d", "sklearn:wine", "--workers", "0", "--trials", "4", "--repeats", "2")
    found = document(here(*command, "--optimizers", "random,lds", "-o", "out", "--json"))
    assert found["data"]["sklearn:wine"]["loss"] == "1 - balanced_accuracy"
    by_seed = {}
    for run in found["runs"]:
        assert run["trials"] == 4
        by_seed.setdefault(run["seed"], set()).add(run["loss"]["full"])
    # Both have tried all four pipelines, on the same split for the same seed.
    assert all(len(losses) == 1 for losses in by_seed.values())
    assert found["ranks"]["mean_losses"]["full"]["lds"]["rank"][-1] == 1.5
    assert (folder / "out" / "runs" / "sklearn%3Awine@lds@1.db").exists()


@pytest.mark.full
def test_a_run_of_its_own_process_is_compared_as_well(folder: Path) -> None:
    options = ("--trials", "3", "--repeats", "1", "--optimizers", "random,blds", "-o", "out", "--json")
    ended = spacelang("compare", "tiny.space", "-d", "sklearn:breast_cancer", *options, folder=folder)
    found = document(ended)
    assert [run["trials"] for run in found["runs"]] == [3, 3]
    assert all(run["loss"]["any"] < 0.5 for run in found["runs"])


def test_without_a_folder_there_is_a_new_one(here: Here, folder: Path, undrawn: None) -> None:
    for _ in range(2):
        assert here(*COMPARE[:-4], "--repeats", "1", "--time", "1s").returncode == 0
    assert len(list((folder / "comparisons").iterdir())) == 2


def test_names_of_stores_differ_where_runs_do() -> None:
    from spacelang.bench.comparison_runs import store_file_name

    keys = [
        RunKey(data, optimizer, seed)
        for data in ("a", "a@b", "b@", "a/b", "x" * 300, "x" * 299 + "y")
        for optimizer in ("blds", "blds disc=2", "b@blds", "blds+disc=2")
        for seed in (1, 11)
    ]
    names = {store_file_name(key) for key in keys}
    assert len(names) == len(keys)
    assert all("/" not in name and len(name) < 255 for name in names)


MISTAKES = {
    "everything in the optimizers at once": (
        (
            "-d",
            "table:one.npz",
            "--optimizers",
            "bldz,blds:dics=2:b=x,lds:disc=0,blds:disc,random,random",
            "--time",
            "0s",
        ),
        2,
        (
            "`0s` is not a positive, finite duration",
            "unknown optimizer `bldz`",
            "did you mean `blds`?",
            "`dics` is not an option of `blds`",
            "did you mean `disc`?",
            "`x` is not a value of the option `b`",
            "`disc` is 0",
            "`disc` in `blds:disc` is not an option",
            "`random` is given twice",
        ),
    ),
    "two that are the same": (
        ("-d", "table:one.npz", "--optimizers", "blds,blds:disc=1"),
        2,
        ("has the same options as `blds`",),
    ),
    "an option twice": (("-d", "table:one.npz", "--optimizers", "blds:b=1:b=2"), 2, ("`b` of `blds` is set twice",)),
    "no optimizer": (("-d", "table:one.npz", "--optimizers", " ,"), 2, ("no optimizer is given",)),
    "no data": (("--optimizers", "blds"), 2, ("no data is given to compare optimizers on",)),
    "no repeats": (("-d", "table:one.npz", "--optimizers", "blds", "--repeats", "0"), 2, ("`--repeats`",)),
    "a budget that allows nothing": (
        ("-d", "table:one.npz", "--optimizers", "blds", "--trials", "0"),
        2,
        ("`--trials`",),
    ),
    "no validation": (
        ("-d", "table:one.npz", "--optimizers", "blds", "--validate", "half"),
        2,
        ("invalid validation `half`",),
    ),
    "no limit": (("-d", "table:one.npz", "--optimizers", "blds", "--trial-limit", "soon"), 2, ("is not a limit",)),
    "isolation without processes": (
        ("-d", "table:one.npz", "--optimizers", "blds", "--isolate", "--workers", "0"),
        2,
        ("`--isolate` needs worker processes",),
    ),
    "no metric": (
        ("-d", "sklearn:wine", "--optimizers", "blds", "--metric", "roc_acu"),
        2,
        ("did you mean `roc_auc`?",),
    ),
    "everything in the data at once": (
        ("-d", "nowhere.csv", "-d", "sklearn:wien", "-d", "table:none.npz", "--optimizers", "blds"),
        1,
        ("the file `nowhere.csv` does not exist", "did you mean `sklearn:wine`?", "the file `none.npz` does not exist"),
    ),
    "what a table has settled": (
        ("-d", "table:one.npz", "-d", "sklearn:wine", "--optimizers", "blds", "--metric", "accuracy"),
        1,
        ("a metric has no effect on the table `one.npz`",),
    ),
    "data twice": (("-d", "table:one.npz", "-d", "table:one.npz", "--optimizers", "blds"), 1, ("is given twice",)),
    "rows that a table does not have": (
        ("-d", "table:one.npz", "-d", "table:two.npz", "--optimizers", "blds:b=150"),
        1,
        ("the table `one.npz` has no trials on 150", "the table `two.npz` has no trials on 150"),
    ),
    "data of another kind": (("-d", "sklearn:diabetes", "--optimizers", "blds"), 1, ("looks continuous",)),
    "a file in the place of the folder": (
        ("-d", "table:one.npz", "--optimizers", "blds", "-o", "grid.space"),
        1,
        ("is not a folder",),
    ),
    "a folder of something else": (
        ("-d", "table:one.npz", "--optimizers", "blds", "-o", "."),
        1,
        ("is not empty and contains no comparison",),
    ),
    "a folder that cannot be": (
        ("-d", "table:one.npz", "--optimizers", "blds", "-o", "grid.space/x"),
        1,
        ("cannot be stored in `grid.space/x`",),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_before_anything_is_made(here: Here, folder: Path, mistake: str) -> None:
    arguments, status, telling = MISTAKES[mistake]
    before = {path.name for path in folder.iterdir()}
    ended = here("compare", "grid.space", *arguments, *(() if "-o" in arguments else ("-o", "out")))
    assert ended.returncode == status
    assert ended.stdout == ""
    for words in telling:
        assert words in ended.stderr
    assert {path.name for path in folder.iterdir()} == before


def test_a_space_with_errors_and_a_damaged_plan(here: Here, folder: Path, undrawn: None) -> None:
    ended = here("compare", "wrong.space", "-d", "table:one.npz", "--optimizers", "blds", "-o", "out")
    assert ended.returncode == 1
    assert "did you mean `GaussianNB`?" in ended.stderr
    here(*COMPARE, "-o", "out")
    for spoilt in (b"{}", b"\xff", b'{"version": 9}', b"[1]"):
        (folder / "out" / "plan.json").write_bytes(spoilt)
        ended = here(*COMPARE, "-o", "out")
        assert ended.returncode == 1
        assert "plan.json` is damaged" in ended.stderr


def test_the_api_refuses_what_allows_nothing(folder: Path) -> None:
    for options in ({"repeats": 0}, {"time": 0}, {"trials": 0}, {"time": "never"}, {"validate": "half"}):
        with pytest.raises(ValueError, match=r"must be|not a|invalid"):
            compared(folder, "out", **options)
    with pytest.raises(run_comparison.ConfiguredOptimizersError, match="did you mean `blds`"):
        run_comparison.compare(str(folder / "grid.space"), {"one": f"table:{folder}/one.npz"}, ["bldz"])
    with pytest.raises(run_comparison.ComparisonDataError, match="no data"):
        run_comparison.compare(str(folder / "grid.space"), {}, ["blds"])


def test_features_and_labels_are_data_as_well(folder: Path) -> None:
    from sklearn.datasets import load_wine

    features, labels = load_wine(return_X_y=True)
    found = run_comparison.compare(
        str(folder / "tiny.space"), {"wine": (features, labels)}, ["random"], repeats=1, trials=2, workers=0
    )
    assert found.results.data == ("wine",)
    assert (found.runs["trials"] == 2).all()


EXAMPLE = Path(__file__).parents[2] / "examples" / "blds_paper" / "compare.py"


def stages(space: str) -> list[list[str]]:
    """The alternatives of every stage of a space that has one a line."""
    text = (EXAMPLE.parents[2] / "spaces" / f"{space}.space").read_text(encoding="utf-8")
    return [re.findall(r"^  \| (\w+)", stage, re.MULTILINE) for stage in text.split("\nstage ")[1:]]


@pytest.mark.usefixtures("undrawn")
def test_the_example_of_the_blds_paper_compares_on_the_tables_that_there_are(
    here: Here, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = runpy.run_path(str(EXAMPLE))
    axes, rng = stages(example["SPACE"]), np.random.default_rng(0)
    shape = (*map(len, axes), len(SIZES))
    assert shape[:-1] == (8, 8, 6, 8)
    (folder / "out").mkdir()
    for name in example["DATA"]:
        loss, cost = rng.uniform(0.05, 0.6, shape), rng.uniform(0.05, 0.3, shape)
        rows = np.array([json.dumps(names) for names in axes])
        np.savez(folder / "out" / f"{name}.npz", loss=loss, cost=cost, sizes=np.array(SIZES), axes=rows)
    said = []

    def run(*command: str) -> int:
        said.append(here(*command))
        return said[-1].returncode

    monkeypatch.setitem(example["main"].__globals__, "run_spacelang", run)
    monkeypatch.setattr(sys, "argv", ["compare.py", str(folder), "--output", "out", "--repeats", "2", "--time", "2s"])
    assert example["main"]() == 0
    claims = capsys.readouterr().out
    assert claims.count("beyond noise: ") == 2 * len(example["CLAIMS"])
    assert "blds_table1: 10 optimizers, 3 data sets, 2 seeds; 60 runs of 2 s" in said[0].stdout


def test_it_is_told_of_which_class_a_metric_is() -> None:
    """Of each data set by itself: labels are called otherwise there."""
    features = np.arange(40.0).reshape(-1, 1)
    data = {"one": (features, ["no", "yes"] * 20), "more": (features, ["-", "+"] * 20), "three": "artificial:1"}
    space = "stage e = GaussianNB\n"
    options = {"repeats": 1, "trials": 1, "workers": 0}
    found = run_comparison.compare(
        space, {name: data[name] for name in ("one", "more")}, ["blds"], metric="f1", **options
    )
    assert found.notes == (
        "one: the positive class of `f1` is `yes`, the second class in sorted order",
        "more: the positive class of `f1` is `-`, the second class in sorted order",
    )
    assert run_comparison.compare(space, {"three": data["three"]}, ["blds"], **options).notes == ()
