"""Configurations that a run starts from, as users give them; the trials are those of a table made by hand."""

import io
import json
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cheap import NAMES
from commands import document
from tables import recorded, table_of

import spacelang as sl
from spacelang.api.initial_configurations import InitialConfigurationError
from spacelang.bench.tables.table_files import write_table
from spacelang.cli._app import run_command_line
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import TotalBudget
from spacelang.ir.trial import Request
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.store_errors import StoreError

SPACE = """\
space small
stage scaler = none | StandardScaler | Binarizer
stage estimator =
  | GaussianNB
  | DecisionTreeClassifier { max_depth : int[1, 9] = 2 }
  | KNeighborsClassifier { n_neighbors : {1, 60} = 1 }
forbid scaler is Binarizer and estimator is KNeighborsClassifier
"""

TREE: dict[str, Any] = {"scaler": "none", "estimator": "DecisionTreeClassifier", "estimator.max_depth": 7}
NEAR: dict[str, Any] = {"scaler": "StandardScaler", "estimator": "KNeighborsClassifier", "estimator.n_neighbors": 60}
RUN = ("run", "small.space", "--data", "table:small.npz")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("initial")
    space = sl.parse(SPACE)
    (folder / "small.space").write_text(SPACE, encoding="utf-8")
    write_table(table_of(space.checked, metric="", formula="loss", seed=0), folder / "small.npz")
    write_table(table_of(space.checked, hyperparameters="default"), folder / "defaults.npz")
    (folder / "two.json").write_text(json.dumps([TREE, NEAR]), encoding="utf-8")
    (folder / "lines.json").write_text(f"{json.dumps(TREE)}\n{json.dumps(NEAR)}\n", encoding="utf-8")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    for each in made.iterdir():
        (tmp_path / each.name).symlink_to(each)
    return tmp_path


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        status = run_command_line(arguments)
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def trials(store: Path) -> list[Configuration]:
    with Store.read(store) as stored:
        return [each.trial.request.configuration for each in stored.records()]


GIVEN = {Configuration(TREE), Configuration(NEAR)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("file", ["two.json", "lines.json"])
def test_they_are_the_first_trials_whatever_the_optimizer(folder: Path, name: str, file: str) -> None:
    arguments = (*RUN, "--optimizer", name, "--initial", file, "--trials", "5", "--store", "a.db", "--json")
    grid = ("--set", "b=100", "--set", "eta=2") if name == "bohb" else ()  # the table has no other rows
    found = document(command(*arguments, *grid, folder=folder), 0)
    assert found["initial"] == [TREE, NEAR]
    assert {*trials(folder / "a.db")[:2]} == GIVEN


def test_the_winner_of_a_run_starts_the_next_one(folder: Path) -> None:
    ended = command(*RUN, "--optimizer", "random", "--trials", "20", "--json", folder=folder)
    yesterday = document(ended, 0)
    (folder / "won.json").write_text(ended.stdout, encoding="utf-8")
    told = command(*RUN, "--trials", "1", "--optimizer", "lds", "--initial", "won.json", folder=folder)
    assert f"Started from 1 given configuration, which has loss {yesterday['score']:.6g} (trial 1)." in told.stdout
    assert "(given)" in told.stdout, "its values are no defaults, though `lds` keeps others at theirs"
    assert "(default)" not in told.stdout


def test_the_default_is_that_of_the_space(folder: Path) -> None:
    found = document(command(*RUN, "--initial", "default", "--trials", "1", "--json", folder=folder), 0)
    assert found["initial"] == [sl.parse(SPACE).default().to_dict()]


def test_a_run_goes_on_with_what_it_began_with(folder: Path) -> None:
    options = (*RUN, "--optimizer", "cmab", "--store", "b.db")
    command(*options, "--initial", "two.json", "--trials", "1", folder=folder)
    silent = document(command(*options, "--trials", "3", "--resume", "--json", folder=folder), 0)
    same = document(command(*options, "--initial", "lines.json", "--trials", "4", "--resume", "--json", folder=folder))
    assert silent["initial"] == same["initial"] == [TREE, NEAR]
    assert {*trials(folder / "b.db")[:2]} == GIVEN
    other = command(*options, "--initial", "default", "--trials", "9", "--resume", folder=folder)
    assert (other.returncode, other.stdout) == (1, "")
    assert "belongs to another run: initial configuration 1: `{" in other.stderr
    assert "help: start the run with the same settings as before, or choose another path with `--store`" in other.stderr
    none = command(*RUN, "--optimizer", "cmab", "--store", "c.db", "--trials", "1", folder=folder)
    assert none.returncode == 0
    late = command(*RUN, "--optimizer", "cmab", "--store", "c.db", "--resume", "--initial", "two.json", folder=folder)
    assert late.returncode == 1
    assert "initial configuration 1: nothing in the store, `{" in late.stderr


def test_all_that_is_wrong_is_told_at_its_place_and_nothing_is_kept(folder: Path) -> None:
    (folder / "bad.json").write_text(json.dumps([TREE | {"new": 1}, {"scaler": "none"}, TREE, TREE, 3], indent=1))
    ended = command(*RUN, "--initial", "bad.json", "--store", "d.db", folder=folder)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "bad.json:6:10" in ended.stderr
    assert "the space has no `new`" in ended.stderr
    assert "`estimator` is missing" in ended.stderr
    assert "this configuration is given twice" in ended.stderr
    assert "a configuration must be a JSON object" in ended.stderr
    assert "4 errors in 1 file" in ended.stderr
    assert not (folder / "d.db").exists()
    told = document(command(*RUN, "--initial", "bad.json", "--json", folder=folder), 1)
    assert [each["code"] for each in told["diagnostics"]] == ["SL022", "SL022", "SL023", "SL021"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing.json", None, "the file does not exist"),
        ("folder", None, "it is a folder"),
        ("latin.json", '{"scaler": "gr\u00f6\u00dfe"}'.encode("latin-1"), "is not a text file"),
        ("empty.json", b"", "this is not JSON"),
        ("deep.json", b"[" * 100_000, "nested more than 64 levels deep"),
        ("nan.json", b'{"scaler": NaN}', "this is not JSON"),
        ("huge.json", b'{"scaler": 1' + b"0" * 400 + b"}", "expected a number of at most 300 digits"),
        ("surrogate.json", b'{"scaler": "\\ud800"}', "is not an alternative of `scaler`"),
        ("control.json", b'{"sca\\u001b[31mler": "none"}', "the space has no `sca"),
        ("trials.csv", b"trial,loss\n1,0.5\n", "this is not JSON"),
    ],
)
def test_a_file_that_has_none_says_so(folder: Path, name: str, content: bytes | None, said: str) -> None:
    if content is not None:
        (folder / name).write_bytes(content)
    elif name == "folder":
        (folder / name).mkdir()
    ended = command(*RUN, "--initial", name, "--store", "e.db", folder=folder)
    assert (ended.returncode, ended.stdout) == (1, ""), ended.stderr
    assert said in ended.stderr
    assert "\x1b" not in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "help: " in ended.stderr
    assert not (folder / "e.db").exists()


def test_a_table_of_defaults_has_no_others(folder: Path) -> None:
    ended = command("run", "small.space", "-d", "table:defaults.npz", "--initial", "two.json", folder=folder)
    assert ended.returncode == 1
    assert ended.stderr.count("the table `defaults.npz` has only default hyperparameters") == 2
    assert "--> two.json:1:2" in ended.stderr


@pytest.mark.parametrize("data", ["table:small.npz", "artificial:7"])
def test_a_comparison_starts_all_runs_from_them(folder: Path, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacelang.bench.comparison.plots.can_draw_plots", lambda: False)
    arguments = ("compare", "small.space", "-d", data, "--optimizers", "lds,random", "--repeats", "2", "--workers", "0")
    options = (*arguments, "--trials", "3", "-o", data[:5], "--json")
    assert command(*options, "--initial", "two.json", folder=folder).returncode == 0
    stores = sorted((folder / data[:5] / "runs").rglob("*.db"))
    assert len(stores) == 4
    assert all({*trials(store)[:2]} == GIVEN for store in stores)
    other = command(*options, folder=folder)
    assert other.returncode == 1
    assert "initial: " in other.stderr
    wrong = command(*arguments, "-o", "d", "--initial", "missing.json", folder=folder)
    assert wrong.returncode == 1
    assert "the file does not exist" in wrong.stderr


def test_they_are_members_of_the_space_for_the_data(folder: Path) -> None:
    """30 components are too many for four columns, and not for the thirty of another set."""
    text = "stage transformer = PCA { n_components : int[1, n_features] = 2 }\nstage estimator = GaussianNB\n"
    (folder / "bound.space").write_text(text, encoding="utf-8")
    (folder / "all.json").write_text(
        '{"transformer": "PCA", "transformer.n_components": 30, "estimator": "GaussianNB"}'
    )
    arguments = ("run", "bound.space", "--initial", "all.json", "--workers", "0", "--trials", "1", "--json")
    told = document(command(*arguments, "-d", "sklearn:iris", folder=folder), 1)
    assert "`30` is not a value of `transformer.n_components`" in told["diagnostics"][0]["message"]
    found = document(command(*arguments, "-d", "sklearn:breast_cancer", folder=folder), 0)
    assert found["configuration"] == found["initial"][0]


# ---- programs


def test_programs_give_them_as_they_hold_them(folder: Path) -> None:
    table, space = folder / "small.npz", sl.parse(SPACE)
    for initial in (folder / "two.json", str(folder / "two.json"), [TREE, NEAR], iter([TREE, NEAR])):
        found = sl.search_table(space, table, optimizer="lds", trials=2, initial=initial)  # type: ignore[arg-type]
        assert {each.trial.request.configuration for each in found.outcome.records} == GIVEN
    numpys = TREE | {"estimator.max_depth": np.int64(7)}
    found = sl.search_table(space, table, optimizer="lds", trials=1, initial=numpys)
    assert found.initial == (Configuration(TREE),)
    assert found.best_configuration is None or found.at_defaults == []
    with pytest.raises(InitialConfigurationError, match="initial:2:1") as caught:
        sl.search_table(space, table, trials=1, initial=[TREE, NEAR | {"estimator.n_neighbors": 2}])
    assert "`2` is not a value of `estimator.n_neighbors`" in str(caught.value)
    assert isinstance(caught.value, sl.SpaceError)
    with pytest.raises(TypeError, match="an object is not a value"):
        sl.search_table(space, table, trials=1, initial={"scaler": {}})
    for strange, told in ((3, "a configuration, several, a file or `default`, not 3"), ([TREE, 3], "a mapping, not 3")):
        with pytest.raises(TypeError, match=told):
            sl.search_table(space, table, trials=1, initial=strange)  # type: ignore[arg-type]


def test_a_black_box_is_asked_for_them_first() -> None:
    asked = []
    for wanted in sl.ask_and_tell(sl.parse(SPACE), optimizer="blds", initial=[NEAR, TREE], trials=8):
        asked.append(wanted.configuration.to_dict())
        wanted.tell(recorded(Request(wanted.configuration)).loss)
    assert asked[:2] == [NEAR, TREE]
    assert len(set(map(str, asked))) == len(asked)


# ---- the budget that a search is told


def test_a_search_is_told_the_budget_that_its_run_began_with(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[TotalBudget] = []
    lds = OPTIMIZERS.load("lds")
    search = lds.search

    def overheard(self: Any, problem: Any) -> Any:
        told.append(problem.budget)
        return search(self, problem)

    monkeypatch.setattr(lds, "search", overheard)
    space, table, store = sl.parse(SPACE), folder / "small.npz", folder / "f.db"
    options: dict[str, Any] = {"optimizer": "lds", "store": store, "workers": 3}
    sl.search_table(space, table, time=1.0, trials=2, **options)
    sl.search_table(space, table, time="5s", trials=4, resume=True, **{**options, "workers": 1})
    assert told == [TotalBudget(3.0, 2)] * 2, "seconds of all workers; more of them on a resume are more rounds"
    with Store.read(store) as kept:
        assert kept.header.budget == TotalBudget(3.0, 2)
    sl.search_table(space, table, trials=2, optimizer="lds")
    assert told[-1] == TotalBudget(None, 2)
    next(sl.ask_and_tell(space, optimizer="lds", trials=7))
    assert told[-1] == TotalBudget(None, 7)


def test_a_program_that_resumes_with_others_is_refused(folder: Path) -> None:
    store = folder / "g.db"
    command(*RUN, "--optimizer", "lds", "--store", str(store), "--trials", "1", "--initial", "two.json", folder=folder)
    with pytest.raises(StoreError, match="another run"):
        sl.search_table(
            sl.parse(SPACE), folder / "small.npz", optimizer="lds", store=store, resume=True, trials=2, initial=[NEAR]
        )
