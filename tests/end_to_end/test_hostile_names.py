"""Whatever a stranger has put into names, values and files: no terminal is given what steers it or reorders a line."""

import json
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from storing import DATA, SMALL, stored
from tables import table_of

from spacelang import api
from spacelang.bench.tables.table_files import write_table
from spacelang.cli import main

EVIL = "\x1b]52;c;aGk=\x07\x9b2J\u202e\u2066"
"""Writes to the clipboard, clears the screen, turns the direction of what follows."""

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
STYLES = re.compile(r"\x1b\[[\d;]*m")

SPACE = f"""\
space evil "{EVIL}"   # {EVIL}
abstract encoder {{ kind : {{"{EVIL}", b}} = "{EVIL}" }}
stage encoder   = none | encoder
stage estimator = GaussianNB | DecisionTreeClassifier {{ max_depth : {{none}} | int[2, 5] = none }}
forbid encoder.encoder.kind == "{EVIL}" and estimator is GaussianNB
task classification {{
  subject to disparity(accuracy, "{EVIL}") <= 0.5
}}
"""

PLAIN = f"""\
space plain "{EVIL}"
stage estimator = GaussianNB | DecisionTreeClassifier {{ max_depth : int[2, 5] = 3 }}
"""

WRONG = f'stage e = GausianNB {{ kind : {{"{EVIL}"}} = "{EVIL}x" }} # {EVIL}\n'

FILE = f"evil{EVIL}.space"

PCS = f"kind {{{EVIL}, b}} [{EVIL}]\n"

COMMANDS = (
    ("check", "evil.space", "wrong.space", FILE),
    ("check", "wrong.space", "--json"),
    ("stats", "evil.space"),
    ("stats", FILE),
    ("stats", FILE, "--json"),
    ("stats", "evil.json"),
    ("sample", "evil.space", "-n", "5"),
    ("default", "evil.space"),
    ("contains", "evil.space", "configuration.json"),
    ("contains", "evil.space", "configuration.json", "--json"),
    ("compile", "evil.space", "--target", "blds"),
    ("compile", "evil.space", "--target", "mosaic"),
    ("compile", "evil.space", "--target", "boasf"),
    ("compile", "evil.space", "--target", "optuna", "--format", "python"),
    ("compile", "evil.space", "--target", "random", "--format", "json"),
    ("fmt", "--check", "evil.space", FILE),
    ("diff", "evil.space", FILE),
    ("diff", "evil.space", "plain.space", "--json"),
    ("explain", EVIL),
    ("init", "evil.csv"),
    ("catalogue", EVIL),
    (EVIL,),
    ("stats", EVIL),
    ("stats", "plain.space", "--bind", f"{EVIL}=1"),
    ("run", "plain.space", "--data", "evil.csv", "--trials", "2", "--workers", "0"),
    ("run", "plain.space", "--data", "evil.csv", "--trials", "2", "--workers", "0", "--json"),
    ("run", "plain.space", "--data", "evil.csv", "--target-column", "evil"),
    ("run", "evil.space", "--data", "evil.csv", "--trials", "1"),
    ("run", "plain.space", "--data", "text.csv", "--trials", "1", "--workers", "0"),
    ("run", "plain.space", "--data", f"evil{EVIL}.arff", "--trials", "1"),
    ("run", "plain.space", "--data", "table:evil.npz", "--trials", "2", "--optimizer", "random"),
    ("run", "plain.space", "--data", "evil.csv", "--trials", "1", "--store", "runs/evil.db", "--resume"),
    ("report", "runs/evil.db", "-o", "-"),
    ("tabulate", "plain.space", "--data", "evil.csv", "-o", f"table{EVIL}.npz", "--workers", "0"),
    ("compare", "plain.space", "--data", "table:evil.npz", "--optimizers", "random", "--trials", "2", "-o", "c"),
    ("runs",),
    ("runs", "--json"),
    ("runs", "runs/evil.db", "evil.csv"),
    ("show", "runs/evil.db"),
    ("show", "runs/evil.db", "--json"),
    ("show", "evil.csv"),
    ("export", "runs/evil.db", "--data", "evil.csv", "-o", f"{EVIL}.py"),
    ("export", "runs/evil.db", "-o", "evil.txt"),
    ("predict", "runs/evil.db", "--data", "evil.csv"),
    ("runs", "runs/evil.db", "--export", f"{EVIL}.txt"),
)

SLOW = ("run", "compare", "tabulate")
"""Commands that need trials: once is enough."""

FILES = (
    ("fmt", "--stdout", "evil.space"),
    ("fmt", "--diff", "evil.space"),
    ("import", "evil.pcs"),
)
"""Commands that print the text of a file, which goes to other files as it is."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one file of each kind."""
    made = tmp_path_factory.mktemp("hostile")
    for name, text in {"evil.space": SPACE, "plain.space": PLAIN, "wrong.space": WRONG, "evil.pcs": PCS}.items():
        (made / name).write_text(text, encoding="utf-8")
    (made / FILE).write_text(SPACE.replace("space evil", "# "), encoding="utf-8")
    (made / "configuration.json").write_text(json.dumps({f"estimator{EVIL}": EVIL}), encoding="utf-8")
    document = json.loads(json.dumps(api.load(made / "plain.space").document("blds")))
    document["definition"]["root"]["sequence"][0]["alternatives"][0]["alternative"] = EVIL
    (made / "evil.json").write_text(json.dumps(document), encoding="utf-8")
    rows = [f"{n % 7},{'ab'[n % 2]}{EVIL},{n},{'yn'[n * n % 3 % 2]}{EVIL}" for n in range(40)]
    header = f"age,kind{EVIL},{EVIL},label{EVIL}"
    (made / "evil.csv").write_text("\n".join((header, *rows, "")), encoding="utf-8")
    texts = [f"{EVIL}{n},{n % 2}" for n in range(500)]
    (made / "text.csv").write_text("\n".join((f"text{EVIL},label", *texts, "")), encoding="utf-8")
    (made / f"evil{EVIL}.arff").write_text(f"@relation r\n@attribute a real\n@data\n{EVIL}", encoding="utf-8")
    (made / "runs").mkdir()
    over = replace(SMALL, name=f"small{EVIL}")
    stored(made / "runs" / "evil.db", over=over, data=replace(DATA, name=f"wine{EVIL}"), metric=f"1 - {EVIL}")
    space = api.load(made / "plain.space").checked
    table = table_of(space, sizes=(20, 28), data=EVIL, metric=EVIL, formula=f"1 - {EVIL}", preparation=EVIL)
    write_table(table, made / "evil.npz")
    return made


@pytest.fixture
def said(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command; what it said on both streams."""
    monkeypatch.chdir(folder)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, terminal: bool = False) -> str:
        if terminal:
            for stream in (sys.stdout, sys.stderr):
                monkeypatch.setattr(stream, "isatty", lambda: True)
        with suppress(SystemExit):
            main([*arguments])
        ended = capsys.readouterr()
        assert "Traceback" not in ended.err
        return ended.out + ended.err

    return run


@pytest.mark.filterwarnings("ignore:Glyph")  # no font has the picture of everything
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: " ".join(arguments).encode().hex()[:30])
def test_nothing_steers_a_terminal(arguments: tuple[str, ...], said: Callable[..., str]) -> None:
    text = said(*arguments)
    assert text
    assert not STEERING.findall(text)


@pytest.mark.parametrize("arguments", [*(each for each in COMMANDS if each[0] not in SLOW), *FILES])
def test_on_a_terminal_styles_pass_alone(arguments: tuple[str, ...], said: Callable[..., str]) -> None:
    text = said(*arguments, terminal=True)
    assert not STEERING.findall(STYLES.sub("", text))


@pytest.mark.parametrize("arguments", FILES[:2])
def test_a_text_goes_to_a_file_as_it_is(arguments: tuple[str, ...], said: Callable[..., str]) -> None:
    assert EVIL in said(*arguments)
