"""The lighter installation: commands that read spaces work where only the packages that README names are installed."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import TIMEOUT, TOY, environment
from packaging.requirements import Requirement

from spacelang.errors import CORE, LIGHT

REPOSITORY = Path(__file__).parents[2]

STARTED = "import sys; sys.path.insert(0, sys.argv.pop(1)); from spacelang.cli import main; "

MANY = """
import contextlib, importlib.util, io, json
ended = []
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as exit:
            ended.append([exit.code, out.getvalue(), err.getvalue()])
there = [name for name in json.loads(sys.argv[2]) if importlib.util.find_spec(name)]
json.dump([ended, there], sys.stdout)
"""
"""Code that runs all commands in one process, which takes the start of one."""

LIGHT_TARGETS = {
    "configspace": "estimator",
    "hyperopt": "hp.",
    "irace": "forbidden",
    "nevergrad": "ng.p.Choice",
    "optuna": "suggest",
    "ray": "tune.choice",
    "sklearn": "one of",
}
"""The targets that README names, with a part of their text."""

PRODUCTS = """\
stage e = HistGradientBoostingClassifier {
  max_iter       : int[10, 900]
  max_leaf_nodes : int[2, 900]
  require max_iter * max_leaf_nodes < 9000
}
"""
"""A space with a constraint that random draws are tested with."""

READING = {
    "check toy.space": "no problems",
    "check mosaic": "no problems",
    "fmt toy.space --stdout": "space toy",
    "stats toy.space": "scaler 3 x estimator 3",
    "diff toy.space tiny.space": "- toy.space",
    "check products.space": "how many pass is measured if NumPy is installed",
    "stats products.space": "finite, but too complex to count exactly",
    "explain SL301": "SL301",
    "default toy.space": '"estimator"',
    **{f"{target} text": part for target, part in LIGHT_TARGETS.items()},
    **{f"{target} json": f'"target": "{target}"' for target in LIGHT_TARGETS},
    **{f"{target} dot": "digraph" for target in LIGHT_TARGETS},
}
"""Commands, or targets and formats of `compile`, with a part of their output."""

NEEDING = {
    "sample toy.space": "numpy",
    "run toy.space --data sklearn:iris": "numpy",
    "compile toy.space --target random": "numpy",
    "compile toy.space --target optuna --format python": "pandas",
    "verify toy.space --target optuna": "numpy",
    "catalogue --refresh": "scikit-learn",
}
"""Commands that need more packages, with the first one that is missing."""


def closure(names: tuple[str, ...]) -> set[str]:
    """Return the distributions and all that they need without extras."""
    found, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            needed = map(Requirement, distribution(name).requires or ())
            waiting += [each.name for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found


def link(folder: Path, *distributions: str) -> Path:
    """Fill a folder with links to this package and to what the distributions install, and nothing else."""
    folder.mkdir()
    for name in ("spacelang", "grammars", "spaces"):
        (folder / name).symlink_to(REPOSITORY / name)
    for name in closure(distributions):
        for file in distribution(name).files or ():
            top, installed = file.parts[0], Path(str(distribution(name).locate_file(file.parts[0])))
            if top not in ("..", "__pycache__") and not (folder / top).exists():
                (folder / top).symlink_to(installed)
    return folder


def python(site: Path, code: str, *arguments: str, folder: Path, stdin: bytes = b"") -> bytes:
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", STARTED + code, str(site), *arguments],
        cwd=folder,
        env=environment(),
        input=stdin,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the status, the output and the errors of each command."""
    folder = tmp_path_factory.mktemp("light")
    site = link(folder / "site", *LIGHT)
    (folder / "toy.space").write_text(TOY, encoding="utf-8")
    (folder / "tiny.space").write_text(TOY.replace(" | RobustScaler", ""), encoding="utf-8")
    (folder / "products.space").write_text(PRODUCTS, encoding="utf-8")
    commands = {
        each: each.split()
        if ".space" in each or each.split()[0] in ("check", "explain", "catalogue")
        else ["compile", "toy.space", "--target", each.split()[0], "--format", each.split()[1]]
        for each in (*READING, *NEEDING)
    }
    told = python(site, MANY, json.dumps(list(commands.values())), json.dumps(sorted(CORE)), folder=folder)
    found, there = json.loads(told)
    assert there == []
    return dict(zip(commands, found, strict=True))


@pytest.mark.parametrize("command", READING)
def test_commands_that_read_spaces_work(command: str, ended: dict[str, Any]) -> None:
    status, out, err = ended[command]
    assert status == 0, err
    assert READING[command] in (err if command == "check products.space" else out)


@pytest.mark.parametrize("command", NEEDING)
def test_other_commands_name_what_is_missing(command: str, ended: dict[str, Any]) -> None:
    status, out, err = ended[command]
    assert (status, out) == (1, "")
    assert err.splitlines() == [
        f"error: the package `{NEEDING[command]}` is not installed",
        "  = help: `pip install spacelang` installs it; without it, only commands that read spaces work",
    ]


def test_the_language_server_answers_and_ends(tmp_path: Path) -> None:
    opened = {"uri": "file:///toy.space", "languageId": "space", "version": 1, "text": TOY}
    place = {"line": 3, "character": TOY.splitlines()[3].index("LogisticRegression")}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": opened}},
        {"id": 2, "method": "textDocument/hover", "params": {"textDocument": opened, "position": place}},
        {"id": 3, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **each}).encode() for each in messages]
    stdin = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    said = python(link(tmp_path / "site", *LIGHT, "pygls"), "main(['lsp'])", folder=tmp_path, stdin=stdin)
    hover = next(line for line in said.split(b"Content-Length") if b'"id": 2' in line)
    assert b"in 3 structures" in hover


def test_readme_and_the_package_name_the_same_dependencies() -> None:
    told = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {Requirement(each).name: each for each in told["dependencies"]}
    assert sorted(needed) == sorted([*CORE.values(), *LIGHT])
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```sh\n(pip install --no-deps spacelang\n.*?)```", readme, re.S)
    light = " ".join(f'"{needed[name]}"' for name in LIGHT)
    (server,) = told["optional-dependencies"]["lsp"]
    assert lines.splitlines()[1:] == [f"pip install {light}", f'pip install "{server}"']


def test_readme_names_the_light_targets() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"writes the formats `text`, `json` and `dot` for the targets (.*?)\.", readme, re.DOTALL)
    assert re.findall(r"`(\w+)`", named) == [*LIGHT_TARGETS]


def test_the_local_hooks_of_readme_are_those_of_this_repository() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", readme, re.DOTALL)
    ((local,), ours) = map(yaml.safe_load, (block, (REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")))
    assert local["repo"] == "local"
    told = [{name: text for name, text in hook.items() if name != "description"} for hook in ours]
    assert local["hooks"] == [{**hook, "language": "system"} for hook in told]
