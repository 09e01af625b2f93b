"""What the documents show is run as it is printed, in a folder that has what they speak of; new blocks join in.

Commands behind `$` must print what stands below them, Python blocks must run as scripts, spaces must be without errors
and formatted, and commands, options and functions that the text names must exist. What the reference shows besides is
the business of `tests/unit/test_reference.py`; `pycon` blocks are run by `tests/unit/test_contracts.py`.
"""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pytest
import typer
from commands import TIMEOUT, environment
from sklearn.datasets import load_iris
from sklearn.utils.validation import check_is_fitted

import spacelang as sl
from spacelang.analysis import CheckSettings, check
from spacelang.cli._app import COMMANDS, _build_app, run_command_line
from spacelang.diagnostics.diagnostic import Severity
from spacelang.syntax.printer import format_text
from spacelang.text import Source

ROOT: Final = Path(__file__).parents[2]
DOCUMENTS: Final = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "grammars/REFERENCE.md")),
    *(
        page
        for folder in ("spaces", "spacelang", "tests", "examples")
        for page in sorted((ROOT / folder).rglob("README.md"))
    ),
]
FENCE: Final = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")

IS_FULL: Final = bool(os.environ.get("SPACELANG_FULL"))
FEWEST: Final = {"10m": 3, "1h": 6} if IS_FULL else {"30s": 5, "60s": 3, "10m": 3, "1h": 6}
"""What documents take their time for, and after how many trials it ends here: in seconds a busy machine has none."""

FEWER: Final = {} if IS_FULL else {"50": "3", "100": "5"}
"""As many trials as the documents have, and as many as are made here."""

EXCLUDED: Final = {
    "pip install -e '.[dev]' && .venv/bin/python tests/run.py": "this is the test command, which runs this test",
    "python examples/blds_paper/compare.py": "an hour; tests/end_to_end/test_compare.py runs the script on less",
    "python examples/admm_paper/artificial.py": "hours; tests/end_to_end/test_admm_paper.py runs the scripts on less",
    **{
        f"python examples/{name}.py": "hours; tests/end_to_end/test_contests.py runs its parts on less"
        for name in ("mosaic_paper/compare", "boasf_paper/compare", "blds_paper/large_tables", "paired_differences")
    },
    **dict.fromkeys(
        ("examples/default/benchmark.py", "examples/default/analysis.py", "examples/default/peers/"),
        "hours, and other tools; tests/end_to_end/test_default_benchmark.py runs the scripts on less",
    ),
    "examples/documentation/build.py": "tests/end_to_end/test_documentation_site.py builds the site",
    "pip install --no-deps spacelang": "tests/end_to_end/test_light_installation.py tests what these lines install",
    "python examples/default/portfolio.py": "hours; tests/end_to_end/test_default_benchmark.py runs parts on less",
}
"""The commands of `sh` blocks that are not run, by what stands in them, and why."""


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    document: Path
    line: int
    kind: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.document.relative_to(ROOT)}, line {self.line}"


def blocks_of(document: Path) -> Iterator[Block]:
    text = document.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        kind, content = found["kind"], found["text"]
        if not kind:
            kind = "session" if content.startswith("$ ") else "space" if content.startswith("space ") else "output"
        yield Block(document, text[: found.start()].count("\n") + 1, kind, content)


def name_of(value: object) -> str:
    return value.name if isinstance(value, Block) else ""


BLOCKS: Final = [block for document in DOCUMENTS for block in blocks_of(document)]
SESSIONS: Final = [block for block in BLOCKS if block.kind == "session"]
PYTHON: Final = [block for block in BLOCKS if block.kind == "python"]
SHELL: Final = [block for block in BLOCKS if block.kind == "sh"]
SPACES: Final = [block for block in BLOCKS if block.kind == "space"]
SPACES_IN_PYTHON: Final = [
    replace(block, text=text)
    for block in PYTHON
    for text in re.findall(r'sl\.parse\("""\n(.*?)"""\)', block.text, re.DOTALL)
]
CREDIT: Final = next(block.text for block in BLOCKS if block.text.startswith("space credit "))

BETTER_HALF: Final = next(block.text for block in PYTHON if "class BetterHalf:" in block.text)

MISSPELT: Final = {"max_depht": ("{ max_depth", "{ max_depht")}
"""What is wrong in the text that a session is about, by a word that it shows."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with what the documents speak of: the space of the first page, and a table for it."""
    (tmp_path / "credit.space").write_text(CREDIT, encoding="utf-8")
    (tmp_path / "better_half.py").write_text(BETTER_HALF, encoding="utf-8")
    table().to_csv(tmp_path / "my.csv", index=False)
    return tmp_path


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    amount, age = rng.lognormal(8, 1, 150), rng.integers(18, 80, 150).astype(float)
    home = rng.choice(["own", "rent", "free"], 150)
    target = np.where(np.log(amount) + (home == "rent") + rng.normal(0, 0.5, 150) > 8.3, "late", "paid")
    age[::17] = np.nan
    return pd.DataFrame({"amount": amount, "age": age, "home": home, "target": target})


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a user's shell makes of a line, where the installed commands come first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        shortened(command),
        cwd=folder,
        env=environment(PATH=path),
        shell=True,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def shortened(text: str) -> str:
    """The text with fewer trials, also for what takes its time; nothing else is changed."""
    fewer = re.sub(r"(?<=trials=)\d+", lambda found: FEWER.get(found[0], found[0]), text)
    fewer = fewer if IS_FULL else fewer.replace("--repeats 10", "--repeats 2")
    for time, trials in FEWEST.items():
        fewer = fewer.replace(f"--time {time}", f"--time {time} --trials {trials}")
        fewer = fewer.replace(f'time="{time}"', f'time="{time}", trials={trials}')
    return fewer


# ---- blocks


def test_every_block_is_run() -> None:
    here = [*SESSIONS, *PYTHON, *SHELL, *SPACES]
    outputs = [after for before, after in pairwise(BLOCKS) if before.kind == "sh" and after.kind == "output"]
    drawings = [block for block in BLOCKS if block.kind == "text"]
    hooks = [block for block in BLOCKS if block.kind == "yaml"]  # which test_light_installation.py reads
    others = [block for block in BLOCKS if block not in [*here, *outputs, *drawings, *hooks]]
    assert {block.document for block in hooks} == {ROOT / "README.md"}
    assert {block.kind.split()[0] for block in others if block.document.name == "REFERENCE.md"} == {
        "json",
        "space-error",
        "space-note",
    }
    (page,) = {block.document for block in others if block.document.name != "REFERENCE.md"}
    assert (page, {block.kind for block in others if block.document == page}) == (
        ROOT / "spacelang/README.md",
        {"pycon"},
    )
    assert SESSIONS
    assert PYTHON
    assert len(outputs) == 1
    assert len(SPACES_IN_PYTHON) == 1
    assert not any(re.search(r"^(\$|>>>|import|from|space|stage) ", block.text, re.MULTILINE) for block in drawings)


@pytest.mark.parametrize("block", [*SPACES, *SPACES_IN_PYTHON], ids=name_of)
def test_spaces_are_without_errors_and_formatted(block: Block) -> None:
    allowed = frozenset(re.findall(r"^use (\w+)", block.text, re.MULTILINE))
    found = check(Source(block.name, block.text), CheckSettings(allowed=allowed)).diagnostics
    assert not [each for each in found if each.severity is Severity.ERROR]
    assert format_text(block.text) == block.text


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.space")), ids=lambda path: path.name)
def test_example_spaces_are_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_text(text) == text


@pytest.mark.parametrize("block", SESSIONS, ids=name_of)
def test_commands_print_what_stands_below_them(block: Block, folder: Path) -> None:
    for word, (right, wrong) in MISSPELT.items():
        if word in block.text:
            (folder / "credit.space").write_text(CREDIT.replace(right, wrong), encoding="utf-8")
    for command, printed in commands_of(block.text):
        ended = shell(command, folder)
        is_error = printed.startswith("error")
        assert ended.returncode == (1 if is_error else 0), ended.stderr
        if printed:
            assert (ended.stdout + ended.stderr).strip() == printed
        for said in re.findall(r"#\s+(\d[^\n]*)$", command):
            assert said in ended.stdout


def commands_of(text: str) -> Iterator[tuple[str, str]]:
    """Each command with what stands below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed.strip()


# As a script of its own each block would import scikit-learn, once for itself and once for each of its searches; and
# there nobody would hear what libraries warn of.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("quick_zygotes")
@pytest.mark.parametrize("block", PYTHON, ids=name_of)
def test_python_runs(block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "printed.py").write_text(shortened(block.text), encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    runpy.run_path("printed.py", run_name="__main__")


# In few trials, as on a busy machine, the best may be a pipeline that scikit-learn has a word for.
@pytest.mark.filterwarnings("ignore:n_quantiles")
@pytest.mark.parametrize("block", SHELL, ids=name_of)
def test_what_is_printed_for_the_shell_is_run(block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if any(part in block.text for part in EXCLUDED):
        for arguments in commands_of_shell(block.text):
            parse_only(arguments, monkeypatch)
        return
    # That the wheel installs in a fresh environment is what `test_wheel.py` asserts.
    command = block.text.rpartition(".venv/bin/")[2].strip()
    assert command.startswith("spacelang ")
    ended = shell(command, folder)
    assert ended.returncode == 0, ended.stderr
    printed = BLOCKS[BLOCKS.index(block) + 1]
    assert printed.kind == "output"
    told, code = parts_of(ended.stdout)
    expected, expected_code = parts_of(printed.text)
    assert shape(told) == shape(expected)
    for each in (code, expected_code):
        names: dict[str, object] = {}
        exec(each.replace("# to fit it: ", ""), names)
        check_is_fitted(names["pipeline"])


def commands_of_shell(text: str) -> Iterator[list[str]]:
    """The commands of an excluded block, word for word, without comments and loops."""
    for line in text.replace("\\\n", " ").splitlines():
        for command in re.split(r"&&|;", re.sub(r"\s#.*", "", line)):
            if words := shlex.split(command):
                yield words


def parse_only(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Assert that a command exists and takes its arguments, without running it."""
    match arguments:
        case ["python" | ".venv/bin/python", "tests/run.py"]:
            assert (ROOT / "tests/run.py").is_file()  # it takes what it knows and runs everything: never start it here
        case ["python" | ".venv/bin/python", script, *rest]:
            assert script.startswith("examples/")
            assert ".parse_args(" in (ROOT / script).read_text(encoding="utf-8"), "it would run instead of being parsed"
            monkeypatch.chdir(ROOT)
            monkeypatch.setattr(sys, "argv", [script, *rest])
            monkeypatch.setattr(ArgumentParser, "parse_args", parse_and_stop)
            monkeypatch.setattr(subprocess, "Popen", RefusedProcess)  # nothing is started, whatever the script does
            with pytest.raises(ParsedError):
                runpy.run_path(script, run_name="__main__")
        case ["spacelang", name, *rest]:
            found = typer.main.get_command(_build_app(COMMANDS)).commands[name]  # type: ignore[attr-defined]
            found.make_context(name, rest)
        case [pip, "install", *rest] if pip.endswith("pip"):
            names = [name for name in rest if not name.startswith("-")]
            project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            extras = project["optional-dependencies"]
            known = {"spacelang", *project["dependencies"], *extras["lsp"]}
            for name in names:
                extra = re.fullmatch(r"(?:\.|spacelang)\[(\w+)\]", name)
                peers = ROOT / name.partition("$name")[0]
                assert extra[1] in extras if extra else name in known or peers.is_dir()
        case ["for", "name", "in", *names]:
            assert all((ROOT / f"examples/default/peers/{name}.txt").is_file() for name in names)
        case _:
            assert arguments[0] in {"do", "done", "npm", "python3", "python3.11"}, arguments


class RefusedProcess:
    """In the place of a process that a script would start."""

    def __init__(self, arguments: object, *_: object, **__: object) -> None:
        raise AssertionError(f"{arguments} would be started")


class ParsedError(Exception):
    """The arguments of a script are what it takes."""


def parse_and_stop(parser: ArgumentParser, *_: object) -> None:
    parser.parse_known_args()
    raise ParsedError


def parts_of(output: str) -> tuple[str, str]:
    """What a run tells, and its code."""
    told, mark, code = output.partition("\nfrom ")
    return re.sub(r"\n# the pipeline of trial \d+:\n", "", told), f"{mark.strip()} {code}"


def shape(text: str) -> list[str]:
    """The lines without what differs from run to run: numbers, failures, and the alternative that a stage took."""
    alike = re.sub(r"^\d+ trials? failed.*\n", "", text, flags=re.MULTILINE)
    alike = re.sub(r"^The best pipeline is .*: the time was up\.\n", "", alike, flags=re.MULTILINE)
    alike = re.sub(r"^Time: .*", "Time:", alike, flags=re.MULTILINE)
    alike = re.sub(r" \d+ trials? (was|were) still running\.", "", alike)
    # On a machine that has other things to do.
    alike = re.sub(r", on \d+ of \d+ training rows: no trial had all of them", "", alike)
    alike = re.sub(r"(?<=Saved to )\S+", "RUN.db", alike)
    # Steps of a pipeline, which may be fewer; commands are the same, but for a store and a budget.
    alike = re.sub(r"^  (?!spacelang )\w+ +.*\n", "", alike, flags=re.MULTILINE)
    alike = re.sub(r"runs/\S+|--(time|trials) \w+", "", alike)
    return [re.sub(r"\d[\d.e-]*", "0", line) for line in alike.splitlines() if line]


# ---- what the text names

PLACES: Final = {
    "SPACE": "tiny.space",
    "A": "a.space",
    "B": "b.space",
    "T": "blds",
    "NAME": "mosaic",  # an optimizer and a target
    "D": "my.csv",
    "DIR": "compared",
    "CODE": "SL301",
}
"""What stands for the words of the documents that a user replaces."""


SCRIPTS: Final = {
    *("--full", "--table", "--archive", "--part", "--jobs", "--pyodide", "--slowness"),
    *("--from-seed", "--report", "--results", "--seeds"),
}
"""The options of `tests/run.py` and of the scripts in `examples` and `tests`."""


def named(pattern: str, documents: list[Path] = DOCUMENTS) -> list[str]:
    """What documents name between backticks and that looks so, each once."""
    found = chain.from_iterable(SPAN.findall(outside_blocks(document)) for document in documents)
    return [*dict.fromkeys(span for span in found if re.fullmatch(pattern, span))]


def outside_blocks(document: Path) -> str:
    return FENCE.sub("", document.read_text(encoding="utf-8"))


@pytest.mark.usefixtures("quick_zygotes")
def test_commands_that_are_named_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tiny.space").write_text("stage s = none | StandardScaler\nstage e = GaussianNB | BernoulliNB\n")
    (folder / "old.pcs").write_text("a {x, y} [x]\n", encoding="utf-8")
    load_iris(as_frame=True).data.head().to_csv(folder / "new.csv", index=False)
    for name in ("a.space", "b.space"):
        shutil.copy(folder / "credit.space", folder / name)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    assert (
        run_command_line(
            [
                "run",
                "tiny.space",
                "--data",
                "sklearn:iris",
                "--optimizer",
                "mosaic",
                "--trials",
                "3",
                "--store",
                "RUN.db",
            ]
        )
        == 0
    )
    for command in commands_named():
        arguments = [PLACES.get(word, word) for word in shortened(command).split()[1:]]
        assert run_command_line(arguments) == 0, (command, capsys.readouterr())


def commands_named() -> list[str]:
    """The commands in the text that are whole: a name alone is one where it needs nothing, and `…` stands for more."""
    users = [document for document in DOCUMENTS if document.name != "CONTRIBUTING.md"]
    spans = named(r"spacelang \S+ [^-].+|spacelang (runs|optimizers|targets|spaces)", users)
    commands = [span for span in spans if "…" not in span]
    assert len(commands) > 8
    return commands


def test_options_and_functions_that_are_named_exist() -> None:
    commands = typer.main.get_command(_build_app(COMMANDS)).commands  # type: ignore[attr-defined]
    parameters = [each for command in commands.values() for each in command.params]
    known = {"--help", *(option for each in parameters for option in (*each.opts, *each.secondary_opts))}
    options = {span.split()[0] for span in named(r"--[a-z].*")}
    assert len(options) > 10
    assert options - SCRIPTS <= known
    assert {span.split()[1] for span in named(r"spacelang [a-z]+( .*)?")} <= {*COMMANDS}
    functions = named(r"sl\.\w+.*")
    assert functions
    assert all(hasattr(sl, re.split(r"\W", span)[1]) for span in functions)
