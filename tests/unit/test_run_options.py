"""Each option of a run is one entry, from which signatures, help texts, stores and documents derive."""

import inspect
import re
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from goldens import ROOT, UPDATE

import spacelang as sl
from spacelang.api.argument_checks import INTEGER
from spacelang.api.resuming import open_resumable_run
from spacelang.api.run_options import (
    AskOptions,
    CompareOptions,
    ResumeOptions,
    RunOption,
    RunOptions,
    SearchCVOptions,
    SearchOptions,
    SearchTableOptions,
    TabulateOptions,
    accept_options,
    options_of,
)
from spacelang.bench.run_comparison import ComparisonOptions
from spacelang.cli._app import _build_app, run

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
    options, taken = options_of(FUNCTIONS[function]), inspect.signature(function).parameters
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
    assert run([command, "--help"]) == 0
    shown = "".join(capsys.readouterr().out.split())
    for name, option in options_of(COMMANDS[command]).items():
        if option.help:
            assert option.flag_of(name) in found[name].opts
            assert "".join(option.variants.get(command, option.help).split()) in shown
            assert found[name].default == (option.default if option.form == "text" else None)


def test_light_commands_say_the_same_of_options_that_they_share() -> None:
    """They must not import the entries, so that they start at once."""
    found = parameters_of("check")
    assert {name: found[name].help for name in ("allow", "bind")} == {
        name: options_of(RunOptions)[name].help for name in ("allow", "bind")
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
    assert run(["run", "--help"]) == 0
    assert re.search(r"--made-up <int range> +A number that was made up\.", capsys.readouterr().out)
    store = tmp_path / "run.db"
    space = tmp_path / "own.space"
    space.write_text(SPACE, encoding="utf-8")
    given = ["--data", "artificial:1", "--trials", "2", "--workers", "0", "--store", str(store)]
    assert run(["run", str(space), *given, "--made-up", "7"]) == 0
    options: Any = dict.fromkeys(options_of(ResumeOptions)) | {"allow": (), "trials": 3}
    found: Any = open_resumable_run(store).options(options)
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
        **options_of(SearchOptions),
        **options_of(CompareOptions),
        **options_of(SearchOptions),
    }.items():
        flag = f"`{option.flag_of(name)}`" if option.help else ""
        meaning = (option.help or re.split(r"(?<=\.) ", option.doc)[0]).replace("|", "\\|")
        default = "" if option.default in (None, ()) else f"`{option.default}`"
        rows.append(f"| `{name}` | {flag} | {default} | {meaning} |")
    return "\n" + "\n".join(rows) + "\n\n"
