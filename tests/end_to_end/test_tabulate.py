"""Tables of known losses as a user makes them, and searches on them.

Most commands run in this process: together they would spend most of their time on importing scikit-learn.
"""

import io
import json
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import document, spacelang, write_spaces

from spacelang.cli._app import run_command_line

pytestmark = pytest.mark.usefixtures("quick_zygotes")

MEDIUM = """\
space medium
stage scaler = none | StandardScaler | Binarizer
stage estimator =
  | GaussianNB
  | DecisionTreeClassifier { max_depth : int[1, 3] = 2 }
  | KNeighborsClassifier { n_neighbors : {1, 60} = 1 }
forbid scaler is Binarizer and estimator is KNeighborsClassifier
"""

SYLVINE = Path(__file__).parents[3] / "shared" / "data" / "tables" / "sylvine.npz"

DATA = ("--data", "sklearn:breast_cancer")
HELD_OUT = (*DATA, "--validate", "holdout(0.3)")
MODULES = """
import json, sys
from spacelang.cli import main
try:
    main()
except SystemExit:
    json.dump(sorted({name.partition(".")[0] for name in sys.modules}), sys.__stderr__)
"""


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The same as `spacelang`, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        status = run_command_line(arguments)
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tables")
    write_spaces(made)
    (made / "medium.space").write_text(MEDIUM, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def tiny(folder: Path) -> Any:
    """What the command says of a table of four pipelines, `tiny.npz`."""
    return document(
        spacelang("tabulate", "tiny.space", *HELD_OUT, "-o", "tiny.npz", "--training-score", "--json", folder=folder)
    )


@pytest.fixture(scope="module")
def medium(folder: Path) -> Any:
    """The same of one with hyperparameters, a constraint and failures, `medium.npz`."""
    arguments = ("tabulate", "medium.space", *HELD_OUT, "-o", "medium.npz", "--b", "50", "--eta", "3", "--workers", "2")
    return document(spacelang(*arguments, "--store", "medium.db", "--json", folder=folder))


def trials(folder: Path, store: str, *, ordered: bool = True) -> list[tuple[str, ...]]:
    """What the trials of a run were of and came to, without what a clock says."""
    assert command("runs", store, "--export", "trials.csv", folder=folder).returncode == 0
    head, *lines = (folder / "trials.csv").read_text(encoding="utf-8").splitlines()
    clocked = {"trial", "cost", "cost_alone", "started", "finished", "worker"}
    names = [place for place, name in enumerate(head.split(",")) if name not in clocked]
    rows = [tuple(line.split(",")[place] for place in names) for line in lines]
    return rows if ordered else sorted(rows)


def test_a_table_of_a_plain_product(folder: Path, tiny: Any) -> None:
    assert (tiny["table"], tiny["configurations"], tiny["trials"], tiny["failed"]) == ("tiny.npz", 4, 12, 0)
    assert (tiny["space"], tiny["data"], tiny["loss"]) == ("tiny", "sklearn:breast_cancer", "1 - roc_auc")
    with np.load(folder / "tiny.npz", allow_pickle=False) as arrays:
        assert arrays["loss"].shape == arrays["cost"].shape == arrays["training_loss"].shape == (2, 2, 3)
        assert arrays["sizes"].tolist() == tiny["sizes"] == [100, 200, 398]
        assert [json.loads(names) for names in arrays["axes"]] == [
            ["none", "StandardScaler"],
            ["GaussianNB", "DecisionTreeClassifier"],
        ]
        assert (arrays["cost"] > 0).all()
        meta = json.loads(str(arrays["meta"]))
        assert (meta["seed"], meta["constant"]) == (0, 0.5)


def test_a_table_of_any_finite_space(folder: Path, medium: Any) -> None:
    # Of 3 scalers with 1 + 3 + 2 estimators the constraint forbids one with 2.
    assert (medium["configurations"], medium["trials"]) == (16, 48)
    assert medium["failed"] == 2, "50 rows are too few for 60 neighbours"
    with np.load(folder / "medium.npz", allow_pickle=False) as arrays:
        assert arrays["loss"].shape == (16, len(medium["sizes"]))
        assert len({*arrays["configurations"].tolist()}) == 16
        assert sorted({*arrays["status"].ravel().tolist()}) == ["error", "success"]


@pytest.mark.parametrize(("optimizer", "given"), [("random", ()), ("blds", ("--set", "b=50", "--set", "eta=3"))])
def test_a_run_on_a_table_is_the_run_on_its_data(
    optimizer: str, given: tuple[str, ...], folder: Path, medium: Any
) -> None:
    arguments = ("run", "medium.space", "--optimizer", optimizer, *given, "--trials", "14", "--seed", "3", "--json")
    real = document(command(*arguments, *HELD_OUT, "--seed", "0", "--store", f"{optimizer}.db", folder=folder))
    on_table = ("--data", "table:medium.npz", "--seed", "0", "--store", f"{optimizer}-table.db")
    found = document(command(*arguments, *on_table, folder=folder))
    for same in (
        "loss",
        "metric",
        "configuration",
        "fidelity",
        "trials",
        "failed",
        "validation",
        "failures",
        "reasons",
    ):
        assert found[same] == real[same], same
    assert trials(folder, f"{optimizer}-table.db") == trials(folder, f"{optimizer}.db")
    assert [each["loss"] for each in found["incumbent"]] == [each["loss"] for each in real["incumbent"]]


def test_a_run_on_a_table_for_people_and_among_the_runs(folder: Path, tiny: Any) -> None:
    ended = command("run", "tiny.space", "--data", f"table:{tiny['table']}", "--time", "1h", "--code", folder=folder)
    assert ended.returncode == 0, ended.stderr
    assert "Best roc_auc on 30 % of the rows, held out: " in ended.stdout
    assert "Losses come from the table `tiny.npz`; all times are recorded ones." in ended.stdout
    assert "# the best pipeline (not fitted, because a table of losses has no rows to fit on):" in ended.stdout
    compile(ended.stdout[ended.stdout.index("from sklearn.") :], "printed.py", "exec")
    listed = document(command("runs", "--json", folder=folder))
    assert {("table:tiny.npz", "blds"), ("sklearn:breast_cancer", "tabulate")} <= {
        (each["data"], each["optimizer"]) for each in listed
    }
    store = next(each["store"] for each in listed if each["data"] == "table:tiny.npz")
    exported = command("export", store, "-o", "pipeline.py", folder=folder)
    assert "the run was on `table:tiny.npz`, which has no rows to fit a pipeline on" in exported.stderr
    assert "spacelang show" in exported.stderr


def test_a_run_on_a_table_is_resumed(folder: Path, medium: Any) -> None:
    arguments = ("run", "medium.space", "--data", f"table:{medium['table']}", "--optimizer", "random", "--json")
    whole = document(command(*arguments, "--trials", "12", "--store", "w.db", folder=folder))
    document(command(*arguments, "--trials", "5", "--store", "p.db", folder=folder))
    again = document(command(*arguments, "--trials", "12", "--store", "p.db", "--resume", folder=folder))
    # What the optimizer took is that of the latest session.
    assert {**again, "store": "", "overhead": {}} == {**whole, "store": "", "overhead": {}}
    other = command(*arguments, "--trials", "20", "--seed", "5", "--store", "p.db", "--resume", folder=folder)
    assert other.returncode == 1
    assert "seed: 0 in the store, 5 now" in other.stderr


def test_workers_are_simulated(folder: Path, medium: Any) -> None:
    arguments = ("run", "medium.space", "--data", f"table:{medium['table']}", "--optimizer", "random", "--json")
    one = document(command(*arguments, "--time", "1h", folder=folder))
    four = document(command(*arguments, "--time", "1h", "--workers", "4", folder=folder))
    assert (one["trials"], one["loss"]) == (four["trials"], four["loss"])
    assert one["seconds"] / 4 <= four["seconds"] < one["seconds"]


def test_no_scikit_learn_is_needed(folder: Path, tiny: Any) -> None:
    arguments = ("run", "tiny.space", "--data", f"table:{tiny['table']}", "--json")
    found = spacelang(*arguments, folder=folder, code=MODULES, afresh=True).stderr.splitlines()[-1]
    assert "sklearn" not in json.loads(found)


@pytest.mark.full
def test_what_was_stopped_goes_on(folder: Path, medium: Any) -> None:
    arguments = ("tabulate", "medium.space", *HELD_OUT, "-o", "again.npz", "--b", "50", "--eta", "3")
    stop = "import os, signal; from spacelang.cli import main; from spacelang.runtime.history import RunHistory\n"
    stop += "keep, seen = RunHistory.store, []\n"
    stop += "def counted(self, *given):\n"
    stop += "    seen.append(given)\n"
    stop += "    os.kill(os.getpid(), signal.SIGTERM) if len(seen) == 20 else None\n"
    stop += "    return keep(self, *given)\n"
    stop += "RunHistory.store = counted\nmain()"
    stopped = spacelang(*arguments, "--store", "again.db", "--workers", "0", folder=folder, code=stop)
    assert stopped.returncode == 130
    assert "of 48 trials are missing, so no table was written" in stopped.stderr
    assert "continue with `spacelang resume again.db -o again.npz`" in stopped.stderr
    assert not (folder / "again.npz").exists()
    other = command(*arguments, "--eta", "4", "--store", "again.db", "--resume", folder=folder)
    assert other.returncode == 1
    assert "option `sizes`" in other.stderr
    ended = command(*arguments, "--store", "again.db", "--resume", "--workers", "0", folder=folder)
    assert ended.returncode == 0, ended.stderr
    assert "again.npz: 1 - roc_auc of 16 configurations on 50, 150, 398 training rows" in ended.stdout
    assert "of 48 trials 2 failed" in ended.stdout
    assert trials(folder, "again.db", ordered=False) == trials(folder, "medium.db", ordered=False)
    with np.load(folder / "again.npz") as again, np.load(folder / medium["table"]) as whole:
        for name in ("loss", "status", "configurations"):
            assert np.array_equal(again[name], whole[name])
    # Everything is there: the table is made anew without a single trial.
    (folder / "again.npz").unlink()
    assert command("resume", "again.db", "-o", "again.npz", folder=folder).returncode == 0
    assert (folder / "again.npz").is_file()


def test_a_budget_of_time_stops_it_too(folder: Path) -> None:
    arguments = ("tabulate", "blds_table1", *HELD_OUT, "-o", "large.npz", "--workers", "0", "--store", "large.db")
    ended = command(*arguments, "--time", "300ms", folder=folder)
    assert ended.returncode == 130
    assert "of 9,216 trials are missing" in ended.stderr
    assert not (folder / "large.npz").exists()


def test_pipelines_at_default_hyperparameters(folder: Path) -> None:
    ended = command("tabulate", "toy.space", *HELD_OUT, "-o", "toy.npz", folder=folder)
    assert ended.returncode == 1
    assert (
        "the configurations of `toy` cannot be listed: it has 8 pipelines, but `estimator.C` is continuous"
        in ended.stderr
    )
    assert "--hyperparameters default" in ended.stderr
    options = ("--hyperparameters", "default", "--b", "398", "--workers", "0", "--json")
    found = document(command("tabulate", "toy.space", *HELD_OUT, "-o", "toy.npz", *options, folder=folder))
    assert (found["configurations"], found["sizes"]) == (8, [398])
    on_table = ("run", "toy.space", "--data", "table:toy.npz", "--optimizer", "random", "--json")
    assert document(command(*on_table, "--set", "hyperparameters=default", folder=folder))["trials"] == 8
    drawn = command(*on_table, folder=folder)
    assert drawn.returncode == 1
    chosen = command("run", "toy.space", "--data", "table:toy.npz", "--set", "b=398", "--json", folder=folder)
    assert chosen.stderr == "note: the 3 hyperparameters of `toy` are kept at their defaults\n"
    found = document(chosen)
    assert (found["optimizer"], found["trials"], found["hyperparameters"]) == ("blds", 8, "default"), "it has no others"
    assert "--set hyperparameters=default" in drawn.stderr


def test_status_3_where_every_trial_fails(folder: Path) -> None:
    (folder / "failing.space").write_text(
        "stage reducer = PCA { n_components = 50 }\nstage e = GaussianNB | LogisticRegression\n"
    )
    arguments = ("tabulate", "failing.space", "--data", "sklearn:iris", "-o", "failing.npz", "--workers", "0")
    ended = command(*arguments, folder=folder)
    assert ended.returncode == 3
    assert "every trial failed, so no table was written" in ended.stderr
    assert "n_components=50" in ended.stderr
    assert not (folder / "failing.npz").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("tabulate", "tiny.space", *DATA, "-o", "tiny.csv"), 1, "`tiny.csv` is not an `.npz` file"),
        (("tabulate", "tiny.space", *DATA, "-o", "no/tiny.npz"), 1, "cannot be written: no such file or directory"),
        (("tabulate", "tiny.space", *DATA, "-o", "x.npz", "--resume"), 2, "`--resume` needs the store of a run"),
        (("tabulate", "tiny.space", *DATA, "-o", "x.npz", "--eta", "1"), 2, "`eta` is 1"),
        (("tabulate", "tiny.space", *DATA, "-o", "x.npz", "--b", "0"), 2, "0 is not in the range"),
        (
            ("tabulate", "admm_table_a2", *DATA, "-o", "x.npz"),
            1,
            "of `admm_table_a2` cannot be listed: it has 6,776 pipelines",
        ),
        (("run", "tiny.space", "--data", "table:none.npz"), 1, "the file `none.npz` does not exist"),
        (("run", "tiny.space", "--data", "table:tiny.space"), 1, "`tiny.space` is not an `.npz` file"),
        (("run", "toy.space", "--data", "table:tiny.npz"), 1, "the table `tiny.npz` lacks parts of the space `toy`"),
        (("run", "tiny.space", "--data", "table:tiny.npz", "--set", "b=64"), 1, "no trials on 64, 128, 256 training"),
        (("run", "tiny.space", "--data", "table:tiny.npz", "--metric", "f1"), 2, "`--metric` has no effect"),
        (("run", "tiny.space", "--data", "table:tiny.npz", "--predictions"), 2, "`--predictions` has no effect"),
        (("run", "tiny.space", "--data", "table:tiny.npz", "--test", "0.2"), 2, "a table of losses has none"),
        (("run", "tiny.space", "--data", "table:tiny.npz", "--executor", "dask"), 2, "`--executor` has no effect"),
    ],
)
def test_what_cannot_be_says_why_and_keeps_nothing(
    arguments: tuple[str, ...], status: int, message: str, folder: Path, tiny: Any
) -> None:
    assert tiny["table"] == "tiny.npz"
    runs = sorted((folder / "runs").iterdir())
    ended = command(*arguments, folder=folder)
    assert (ended.returncode, ended.stdout) == (status, "")
    assert message in ended.stderr
    assert sorted((folder / "runs").iterdir()) == runs


@pytest.mark.skipif(not SYLVINE.is_file(), reason="the shared data is not there")
def test_the_given_table(folder: Path) -> None:
    data = ("--data", f"table:{SYLVINE}")
    arguments = ("run", "blds_table1", *data, "--time", "2m", "--optimizer", "hyperband", "--json")
    found = document(command(*arguments, folder=folder))
    assert found["loss"] < 0.01
    assert (found["ended"], found["seconds"]) == ("budget", 120)


@pytest.mark.skipif(not SYLVINE.is_file(), reason="the shared data is not there")
def test_python_searches_a_table(folder: Path) -> None:
    code = f"import spacelang as sl; found = sl.search_table('blds_table1', {str(SYLVINE)!r}, time='5m', seed=1)\n"
    code += "import sys; print(found.loss < 0.01, round(found.outcome.seconds), 'sklearn' in sys.modules)"
    ended = spacelang(folder=folder, code=code, afresh=True)
    assert ended.stdout.split() == ["True", "300", "False"], ended.stderr
