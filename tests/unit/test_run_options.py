"""Each option of a run is one entry, from which signatures, help texts, stores and documents derive."""

import inspect
import re
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from goldens import ROOT, UPDATE

import spacelang as sl
from spacelang.api.experiment import Experiment
from spacelang.api.experiment_run import run_experiment
from spacelang.api.option_checks_and_signatures import INTEGER, RunOption, accept_options, run_options_by_name
from spacelang.api.resuming import open_resumable_run
from spacelang.api.run_options import (
    AskOptions,
    CompareOptions,
    ResumeOptions,
    RunOptions,
    SearchCVOptions,
    SearchOptions,
    SearchTableOptions,
    TabulateOptions,
)
from spacelang.api.search_data import BlackBoxData
from spacelang.bench.run_comparison import ComparisonOptions
from spacelang.cli._app import _build_app, run_command_line
from spacelang.runtime.budget import Budget
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import WorkerSettings
from spacelang.runtime.storage.store_errors import StoreError

README = ROOT / "spacelang" / "api" / "README.md"
FUNCTIONS: dict[Any, Any] = {
    sl.search: SearchOptions,
    sl.compare: ComparisonOptions,
    sl.ask_and_tell: AskOptions,
    sl.search_table: SearchTableOptions,
    sl.SpaceSearchCV: SearchCVOptions,
}
COMMANDS: dict[str, Any] = {
    "run": RunOptions,
    "compare": CompareOptions,
    "tabulate": TabulateOptions,
    "resume": ResumeOptions,
}
SPACE = "stage scaler = none | StandardScaler\nstage e = GaussianNB\n"
EXTRA = RunOption(1, "A number that was made up.", check=INTEGER, least=1, is_stored=True)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_signatures_and_docstrings_have_all_options(function: Any) -> None:
    options, taken = run_options_by_name(FUNCTIONS[function]), inspect.signature(function).parameters
    assert {name: taken[name].default for name in options} == {name: each.default for name, each in options.items()}
    said = inspect.getdoc(function) or ""
    section = re.split(r"\n\n(Notes|Raises)\n-", said.partition("Parameters\n----------\n")[2])[0]
    assert [*options] == [name for name in re.findall(r"(?m)^(\w+)$", section) if name in options]
    with pytest.raises(TypeError, match="unexpected keyword argument 'sed'"):
        function(SPACE, sed=1)


def parameters_of(command: str) -> dict[str, Any]:
    app = typer.main.get_command(_build_app([command]))
    return {each.name: each for each in app.commands[command].params}  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_have_all_options_with_help_and_default(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = parameters_of(command)
    assert run_command_line([command, "--help"]) == 0
    shown = "".join(capsys.readouterr().out.split())
    for name, option in run_options_by_name(COMMANDS[command]).items():
        if option.help:
            assert option.command_line_flag(name) in found[name].opts
            assert "".join(option.variants.get(command, option.help).split()) in shown
            assert found[name].default == (option.default if option.form == "text" else None)


def test_light_commands_say_the_same_of_options_that_they_share() -> None:
    """They must not import the entries, so that they start at once."""
    found = parameters_of("check")
    assert {name: found[name].help for name in ("allow", "bind")} == {
        name: run_options_by_name(RunOptions)[name].help for name in ("allow", "bind")
    }


def test_a_new_option_is_one_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for group in (RunOptions, SearchOptions):
        monkeypatch.setitem(group.__annotations__, "made_up", Annotated[int, EXTRA])
    search: Any = accept_options(SearchOptions)(inspect.unwrap(sl.search))
    assert inspect.signature(search).parameters["made_up"].default == 1
    assert f"made_up\n    {EXTRA.help}\n" in search.__doc__
    with pytest.raises(TypeError, match="`made_up` takes a whole number, not `'2'`"):
        search(SPACE, [[0.0], [1.0]] * 20, [0, 1] * 20, made_up="2")
    assert run_command_line(["run", "--help"]) == 0
    assert re.search(r"--made-up <int range> +A number that was made up\.", capsys.readouterr().out)
    store = tmp_path / "run.db"
    space = tmp_path / "own.space"
    space.write_text(SPACE, encoding="utf-8")
    given = ["--data", "artificial:1", "--trials", "2", "--workers", "0", "--store", str(store)]
    assert run_command_line(["run", str(space), *given, "--made-up", "7"]) == 0
    options: Any = dict.fromkeys(run_options_by_name(ResumeOptions)) | {"allow": (), "trials": 3}
    found: Any = open_resumable_run(store).given_or_stored_options(options)
    assert found["made_up"] == 7


def test_the_table_of_options_is_in_the_readme() -> None:
    """`UPDATE_GOLDEN=1 python -m pytest tests/unit/test_run_options.py` writes it."""
    text = README.read_text(encoding="utf-8")
    before, begin, rest = text.partition("<!-- options: begin -->\n")
    _, end, after = rest.partition("<!-- options: end -->\n")
    wanted = f"{before}{begin}{table_of_options()}{end}{after}"
    if UPDATE:
        README.write_text(wanted, encoding="utf-8")
    assert begin
    assert text == wanted or UPDATE


def table_of_options() -> str:
    rows = ["| in Python | as a flag | default | meaning |", "| --- | --- | --- | --- |"]
    for name, option in {
        **run_options_by_name(SearchOptions),
        **run_options_by_name(CompareOptions),
        **run_options_by_name(SearchOptions),
    }.items():
        flag = f"`{option.command_line_flag(name)}`" if option.help else ""
        meaning = (option.help or re.split(r"(?<=\.) ", option.doc)[0]).replace("|", "\\|")
        default = "" if option.default in (None, ()) else f"`{option.default}`"
        rows.append(f"| `{name}` | {flag} | {default} | {meaning} |")
    return "\n" + "\n".join(rows) + "\n\n"


OPTIONS: dict[str, Any] = {
    "sep": ";",
    "encoding": "cp1252",
    "decimal": ",",
    "drop_columns": ("number",),
    "optimizer": "hyperband",
    "optimizer_options": {"b": "10"},
    "metric": "accuracy",
    "validate": "holdout(0.4)",
    "test": 0.25,
    "time": "7m",
    "trials": 1,
    "seed": 3,
    "initial": "default",
    "archive": None,  # what it suggests is stored as initial configurations
    "archive_norm": "l2",  # only for `archive`
    "allow": ("lightgbm",),  # asked for again
    "bind": {"n_text": "0"},  # the stored space is bound
    "store": "run.db",
    "resume": False,
    "workers": 0,
    "trial_limit": "50s",
    "isolate": True,
    "executor": "dask",
    "search_time": "6m",
    "metrics": ("f1_macro",),
    "training_score": True,
    "predictions": True,
    "ensemble": 5,
}
"""A value of each option, which is not its default."""
SETTLED = {
    "initial": None,
    "archive_norm": "l1",
    "allow": (),
    "bind": None,
    "resume": True,
}
"""The values of options that a resumed run has not to repeat, because the store has what they led to."""
APART = {"isolate", "executor"}
"""Options that `--workers 0` excludes."""


def resumed_options(store: Path, **given: Any) -> Any:
    options: Any = dict.fromkeys(run_options_by_name(ResumeOptions)) | {"allow": ()} | given
    return open_resumable_run(store).given_or_stored_options(options)


def test_every_option_survives_a_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert OPTIONS.keys() == run_options_by_name(RunOptions).keys()
    rows = "".join(f"{row};{row % 7},5;{'ab'[row % 2]}\n" for row in range(60))
    Path("rows.csv").write_text(f"number;size;label\n{rows}", encoding="cp1252")
    Path("own.space").write_text(SPACE, encoding="utf-8")
    words = ["run", "own.space", "--data", "rows.csv"]
    for name, option in run_options_by_name(RunOptions).items():
        value = OPTIONS[name]
        if name in APART or value is None or value is False:
            continue
        flag = option.command_line_flag(name)
        texts = [f"{key}={each}" for key, each in value.items()] if isinstance(value, dict) else value
        texts = texts if isinstance(texts, list | tuple) else [texts]
        words += [flag] if value is True else [word for text in texts for word in (flag, str(text))]
    assert run_command_line(words) == 0
    found = resumed_options(Path("run.db"), trials=2)
    wanted = OPTIONS | SETTLED | {"trials": 2, "store": Path("run.db")}
    assert {name: found[name] for name in wanted.keys() - APART} == {
        name: wanted[name] for name in wanted.keys() - APART
    }
    with pytest.raises(StoreError, match="has used up its budget of `--trials`: 1 trial in"):
        resumed_options(Path("run.db"))
    longer = resumed_options(Path("run.db"), time="20m")
    limits = {"time": "20m", "search_time": "6m", "trials": None}
    assert {name: longer[name] for name in limits} == limits, "what is used up is replaced, what is left stays"


def test_options_of_processes_survive_a_resume(tmp_path: Path) -> None:
    options = {name: OPTIONS[name] for name in APART}
    header = store_with(tmp_path / "run.db", options)
    found = resumed_options(header, trials=9)
    assert {name: found[name] for name in APART} == options
    away = store_with(tmp_path / "away.db", {"executor": "tcp://10.0.0.1:80"})
    with pytest.raises(
        InputError, match=r"used the cluster at `tcp://10\.0\.0\.1:80`, which is not contacted without your consent"
    ):
        resumed_options(away, trials=9)
    assert resumed_options(away, trials=9, executor="dask")["executor"] == "dask"


def store_with(path: Path, options: dict[str, Any]) -> Path:
    """Run one trial, and return its store, which has these options."""
    data = BlackBoxData("artificial:1")
    experiment = Experiment(
        space=sl.parse(SPACE), data=data, workers=WorkerSettings(0), budget=Budget(trials=1), options=options
    )
    prepared = experiment.with_optimizer("random").prepare()
    with closing(prepared.make_executor()) as executor:
        run_experiment(prepared, executor, store=path)
    return path
