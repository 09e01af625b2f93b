"""What clumsy and hostile users give: the right exit status and telling words on standard error, never a traceback."""

import gzip
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import TINY, TOY, document, spacelang, write_spaces

from spacelang.cli import main

ROWS = [(f"{n % 7}", f"{n % 5 - 2}", "yes" if n % 2 else "no") for n in range(40)]


def table(*rows: tuple[str, ...], header: str = "age,income,label") -> bytes:
    return "\n".join([header, *(",".join(row) for row in rows)]).encode() + b"\n"


ARFF = b"@relation r\n@attribute age numeric\n@attribute income numeric\n@attribute label {yes, no}\n@data\n"

FILES: dict[str, bytes] = {
    "good.csv": table(*ROWS),
    "one class.csv": table(*((a, b, "yes") for a, b, _ in ROWS)),
    "few.csv": table(("1", "2", "yes"), ("2", "3", "no"), ("3", "4", "yes")),
    "three.csv": table(("1", "2"), ("2", "3"), ("3", "4"), header="age,label"),
    "measured.csv": table(*((a, b, f"{n * 0.37:.2f}") for n, (a, b, _) in enumerate(ROWS))),
    "text.csv": table(*((a, b, "high" if n else "low") for n, (a, b, _) in enumerate(ROWS))),
    "mixed.csv": table(("1", "2", "3.5"), ("2", "2", "4.5"), ("3", "2", "oops"), ("4", "2", "4")),
    "infinite.csv": table(*(("inf", b, c) for _, b, c in ROWS)),
    "unlabelled.csv": table(*ROWS, ("1", "2", "")),
    "no rows.csv": table(),
    "only labels.csv": table(*((c,) for _, _, c in ROWS), header="label"),
    "ragged.csv": table(*ROWS, ("1",)),
    "semicolons.csv": table(header="age;income;label"),
    "twice.csv": table(*ROWS, header="age,age,label"),
    "nameless.csv": table(*ROWS, header=",age,label"),
    "quote.csv": table(*ROWS, ('"never closed', "1", "yes")),
    "empty.csv": b"",
    "blank.csv": b"\n \n",
    "binary.csv": bytes(range(256)),
    "nul.csv": b"a,b\n1,\0\n",
    "cut.csv.gz": gzip.compress(table(*ROWS), mtime=0)[:-30],
    "spoilt.csv.gz": gzip.compress(table(*ROWS), mtime=0)[:20] + b"\xff" * 40,
    "not.csv.gz": table(*ROWS),
    "data.xlsx": b"PK\3\4",
    "cut.arff": ARFF + table(*ROWS, ("1",), header="").strip(),
    "headless.arff": b"@relation r\n@attribute age numeric\n",
    "undeclared.arff": ARFF + b"1,2,maybe\n",
    "cut.parquet": b"PAR1" + bytes(40),
    "empty.parquet": b"",
}

CUTS = {
    "in a word": "space toy\nstage scaler = none | Standar",
    "after the equals sign": "stage scaler =",
    "in a body": "stage e = LogisticRegression { C : float[0.1, ",
    "in a range": "stage e = LogisticRegression {\n  C : float[0.1",
    "in a condition": "stage e = SVC { kernel : {rbf, poly}, degree : int[2, 5] when kernel ==",
    "in a string": 'space toy "A to',
    "after a bar": "stage e = GaussianNB |",
    "in a rule": TINY + "forbid scaler is",
    "in the header": "space",
}

SMALL = ("run", "tiny.space", "--trials", "2", "--data")
GOOD = (*SMALL, "good.csv")
BLDS = (*GOOD, "--optimizer", "blds")


@dataclass(frozen=True)
class Case:
    """A command with a mistake, the status that it ends with and words that tell the mistake."""

    arguments: tuple[str, ...]
    status: int
    telling: tuple[str, ...]
    stdin: str = ""


def case(*arguments: str, status: int, telling: tuple[str, ...], stdin: str = "") -> Case:
    return Case(arguments, status, telling, stdin)


DATA = [
    case(*SMALL, "nowhere.csv", status=1, telling=("the file `nowhere.csv` does not exist",)),
    case(*SMALL, "goood.csv", status=1, telling=("did you mean `good.csv`?",)),
    case(*SMALL, "no/where.csv", status=1, telling=("the folder `no` does not exist",)),
    case(*SMALL, "", status=1, telling=("``",)),
    case(*SMALL, "folder", status=1, telling=("`folder` is a folder",)),
    case(*SMALL, "folder.csv", status=1, telling=("`folder.csv` is a folder",)),
    case(*SMALL, "one class.csv", status=1, telling=("all labels", "`yes`", "two classes")),
    case(*SMALL, "few.csv", status=1, telling=("class `no`", "1 row", "at least 2")),
    case("run", "lines.space", "--data", "three.csv", status=1, telling=("3 rows", "at least 4")),
    case(*SMALL, "measured.csv", status=1, telling=("looks continuous", "regressors")),
    case("run", "lines.space", "--data", "text.csv", status=1, telling=("such as `low`", "classifiers")),
    case("run", "lines.space", "--data", "mixed.csv", status=1, telling=("column `label`", "regressor")),
    case(*SMALL, "infinite.csv", status=1, telling=("`age`", "infinite")),
    case(*SMALL, "unlabelled.csv", status=1, telling=("1 row has no label", "`label`")),
    case(*SMALL, "no rows.csv", status=1, telling=("a header but no rows",)),
    case(*SMALL, "only labels.csv", status=1, telling=("no column besides the label",)),
    case(*SMALL, "ragged.csv", status=1, telling=("line 42", "1 field where the header has 3", "truncated")),
    case(*SMALL, "semicolons.csv", status=1, telling=("not separated by commas",)),
    case(*SMALL, "twice.csv", status=1, telling=("several columns `age`",)),
    case(*SMALL, "nameless.csv", status=1, telling=("column 1", "has no name")),
    case(*SMALL, "quote.csv", status=1, telling=("`quote.csv` cannot be read", "unexpected end")),
    case(*SMALL, "empty.csv", status=1, telling=("`empty.csv` is empty",)),
    case(*SMALL, "blank.csv", status=1, telling=("`blank.csv` is empty",)),
    case(*SMALL, "binary.csv", status=1, telling=("not a text file in UTF-8",)),
    case(*SMALL, "nul.csv", status=1, telling=("binary file",)),
    case(*SMALL, "cut.csv.gz", status=1, telling=("ends in the middle",)),
    case(*SMALL, "spoilt.csv.gz", status=1, telling=("not a valid gzip file",)),
    case(*SMALL, "not.csv.gz", status=1, telling=("not a valid gzip file",)),
    case(*SMALL, "data.xlsx", status=1, telling=("`.xlsx` are not supported", "`.csv`")),
    case(*SMALL, "sklearn:iri", status=1, telling=("no data set `iri`", "did you mean `sklearn:iris`?")),
    case(
        *SMALL,
        "sklearn:linnerud",
        "--target-column",
        "Waist",
        "--target-column",
        "Pulse",
        status=1,
        telling=("takes only one",),
    ),
    case(*SMALL, "openml:iris", status=1, telling=("`openml:iris` is not an OpenML ID", "`openml:31`")),
    case(
        *SMALL,
        "cut.arff",
        status=1,
        telling=("line 46", "1 value, but the number of declared attributes is 3", "truncated"),
    ),
    case(*SMALL, "headless.arff", status=1, telling=("no `@data` line",)),
    case(*SMALL, "undeclared.arff", status=1, telling=("line 6", "`maybe`", "none of its declared values")),
    case(*SMALL, "cut.parquet", status=1, telling=("not a valid Parquet file", "truncated")),
    case(*SMALL, "empty.parquet", status=1, telling=("`empty.parquet` is empty",)),
    case(*GOOD, "--target-column", "lable", status=1, telling=("no column `lable`", "did you mean `label`?")),
    case(*GOOD, "--target-column", "zzz", status=1, telling=("no column `zzz`", "`income`")),
    case(*GOOD, "--metric", "acuracy", status=2, telling=("unknown metric `acuracy`", "did you mean `accuracy`?")),
    case("run", "lines.space", "--data", "sklearn:diabetes", "--metric", "roc_auc", status=2, telling=("`roc_auc`",)),
]

OPTIONS = [
    case(
        *GOOD,
        "--isolate",
        "--workers",
        "0",
        status=2,
        telling=("`--isolate` needs worker processes", "leave out one of the two options"),
    ),
    case(
        *SMALL,
        "good.csv",
        "--workers",
        "0",
        "--executor",
        "dask",
        status=2,
        telling=("`--executor` needs worker processes", "leave out one of the two options"),
    ),
    case(*SMALL, "table:t.npz", "--isolate", status=2, telling=("`--isolate` has no effect on a table",)),
    case(*GOOD, "--optimizer", "bdls", status=2, telling=("unknown optimizer `bdls`", "did you mean `blds`?")),
    case(*BLDS, "--set", "disk=2", status=2, telling=("`disk` is not an option of `blds`", "did you mean `disc`?")),
    case(*BLDS, "--set", "disc=0", status=2, telling=("`disc` is 0", "at least 1")),
    case(*BLDS, "--set", "disc=abc", status=2, telling=("`abc` is not a value of the option `disc`", "whole number")),
    case(*BLDS, "--set", "disc=", status=2, telling=("not a value of the option `disc`",)),
    case(*BLDS, "--set", "disc=1.5", status=2, telling=("`1.5` is not a value of the option `disc`",)),
    case(*GOOD, "--set", "eta=1", status=2, telling=("`eta` is 1", "greater than 1")),
    case(*GOOD, "--set", "eta=nan", status=2, telling=("`nan` is not a value of the option `eta`",)),
    case(*GOOD, "--set", "eta=1/0", status=2, telling=("`1/0` is not a value of the option `eta`",)),
    case(*GOOD, "--set", "b=-3", status=2, telling=("`b` is -3", "at least 1")),
    case(
        *GOOD,
        "--optimizer",
        "mosaic",
        "--set",
        "variant=metalearning",
        status=2,
        telling=("starts with configurations of an archive", "`--archive FILE`"),
    ),
    case(*BLDS, "--set", "log_rule=x", status=2, telling=("`x`", "`log_rule`", "`theory`")),
    case(*GOOD, "--set", "disc", status=2, telling=("`--set disc`", "NAME=VALUE")),
    case(*GOOD, "--set", "=3", status=2, telling=("NAME=VALUE",)),
    case(*BLDS, "--set", "disc=1", "--set", "disc=2", status=2, telling=("`disc` is given twice",)),
    case(*GOOD, "--set", "a\x1b[31mb", status=2, telling=("`--set a\u241b[31mb`",)),
    case("run", "tiny.space", "--data", "good.csv", "--trials", "0", status=2, telling=("`--trials`", "1")),
    case(
        "run",
        "tiny.space",
        "--data",
        "good.csv",
        "--trials",
        "many",
        status=2,
        telling=("`--trials`", "is not a whole number"),
    ),
    case("run", "tiny.space", "--data", "good.csv", "--time", "nonsense", status=2, telling=("`nonsense`", "`30s`")),
    case("run", "tiny.space", "--data", "good.csv", "--time", "-5s", status=2, telling=("`-5s`", "`30s`")),
    case("run", "tiny.space", "--data", "good.csv", "--time", "0", status=2, telling=("`0`",)),
    case(*GOOD, "--seed", "-1", status=2, telling=("`--seed`", "0")),
    case("run", "tiny.space", status=2, telling=("`--data`", "see `spacelang run --help`")),
    case("compile", "toy.space", status=2, telling=("`--target`",)),
    case("compile", "toy.space", "-t", "bldz", status=2, telling=("unknown target `bldz`", "did you mean `blds`?")),
    case("compile", "toy.space", "-t", "blds", "--set", "x=1", status=2, telling=("`x` is not an option of `blds`",)),
    case("compile", "toy.space", "-t", "blds", "-f", "xml", status=2, telling=("`--format`", "`xml`", "json")),
    case("compile", "toy.space", "-t", "blds", "-f", "python", status=2, telling=("no output in Python", "`text`")),
    case("compile", "toy.space", "-t", "blds", "-o", "no/where", status=2, telling=("cannot write `no/where`",)),
    case("compile", "toy.space", "-t", "blds", "-o", "folder", status=2, telling=("cannot write `folder`", "director")),
    case(
        "compile", "toy.space", "-t", "blds", "-o", "toy.space", status=2, telling=("`toy.space` is the space itself",)
    ),
    case("sample", "toy.space", "-n", "-1", status=2, telling=("`-n`", "0")),
    case("sample", "toy.space", "-n", "few", status=2, telling=("`-n`", "is not a whole number")),
    case("sample", "toy.space", "-n", status=2, telling=("`-n` requires an argument",)),
    case("explain", "SL9999", status=2, telling=("unknown diagnostic `SL9999`", "SL001")),
    case("explain", "", status=2, telling=("unknown diagnostic ``",)),
    case("catalogue", "PAC", status=2, telling=("`PAC`", "did you mean `PCA`?")),
    case("catalogue", "-o", "x.json", status=2, telling=("`--refresh`",)),
    case("catalogue", "--refresh", "-o", "good.csv/x.json", status=1, telling=("cannot write the catalogue",)),
    case(status=2, telling=("Usage: spacelang", "check")),
    case("chek", status=2, telling=("no such command `chek`", "did you mean `check`?")),
    case("frobnicate", status=2, telling=("no such command `frobnicate`", "see `spacelang --help`")),
    case("check", status=2, telling=("missing argument", "SPACE")),
    case("check", "toy.space", "--jsn", status=2, telling=("--jsn", "did you mean `--json`?")),
    case("stats", "toy.space", "tiny.space", status=2, telling=("unexpected extra argument", "tiny.space")),
    case("run", "tiny.space", "--optimiser", "blds", status=2, telling=("did you mean `--optimizer`?",)),
]

CONFIGURATIONS = [
    case("contains", "toy.space", "nowhere.json", status=1, telling=("cannot read `nowhere.json`",)),
    case("contains", "toy.space", "folder", status=1, telling=("cannot read `folder`", "director")),
    case("contains", "toy.space", "binary.csv", status=1, telling=("`binary.csv` is not text in UTF-8",)),
    case("contains", "toy.space", "good.csv", status=1, telling=("`good.csv` is not a configuration",)),
    case("contains", "toy.space", "-", status=1, stdin="", telling=("the standard input", "expecting value")),
    case("contains", "toy.space", "-", status=1, stdin='{"scaler": "none"', telling=("is not a configuration",)),
    case("contains", "toy.space", "-", status=1, stdin="[1, 2]", telling=("one JSON object",)),
    case("contains", "toy.space", "-", status=1, stdin="NaN", telling=("one JSON object",)),
    case("contains", "toy.space", "-", status=1, stdin='{"scaler": {"a": 1}}', telling=("is not a configuration",)),
    case("contains", "toy.space", "-", status=1, stdin="[" * 100_000, telling=("nested too deeply",)),
    case("contains", "toy.space", "-", status=1, stdin='{"scaler": ' + "[" * 100_000, telling=("nested too deeply",)),
    case("contains", "toy.space", "-", status=1, stdin=f'{{"scaler": {"9" * 5000}}}', telling=("not a configuration",)),
]

SPACES = [
    case("check", "toy.spac", status=1, telling=("SL001", "did you mean `toy.space`?")),
    case("check", "blds_tabel1", status=1, telling=("the file does not exist", "did you mean `blds_table1`?")),
    case("check", "", status=1, telling=("SL001", "the name is empty")),
    case("check", "folder", status=1, telling=("SL001", "it is a folder")),
    case("check", "toy.space/x", status=1, telling=("SL001", "not a directory")),
    case("check", "x" * 5000, status=1, telling=("SL001", "too long")),
    case("check", "good.csv", status=1, telling=("good.csv",)),
    case("check", "binary.csv", status=1, telling=("SL002", "is not UTF-8")),
    case("check", "latin.space", status=1, telling=("SL002", "byte 11 is not UTF-8")),
    case("check", "nul.space", status=1, telling=("SL002", "NUL")),
    case("check", "big.space", status=1, telling=("SL003", "1 MiB")),
    case("check", "empty.space", status=1, telling=("SL004", "no stage")),
    case("check", "comments.space", status=1, telling=("SL004", "no stage")),
    case(
        "check",
        "mit Leerzeichen \u00e9\u4e2d.space",
        status=1,
        telling=("mit Leerzeichen \u00e9\u4e2d.space:1:11", "SL201"),
    ),
    case("check", "esc\x1b[31m\u202e.space", status=1, telling=("esc\u241b[31m<U+202E>.space:1:11", "SL201")),
    case("check", "escape.space", status=1, telling=("SL101", "\u241b[31m")),
    case("check", "toy.space", "wrong.space", "wrong.space", status=1, telling=("1 error in 1 file",)),
    case("stats", "nowhere.space", status=1, telling=("SL001",)),
    case("compile", "wrong.space", "-t", "blds", status=1, telling=("SL201", "wrong.space:2:19")),
    case("sample", "wrong.space", status=1, telling=("SL201",)),
    case("default", "wrong.space", status=1, telling=("SL201",)),
    case("contains", "wrong.space", "-", status=1, telling=("SL201",)),
    case("run", "wrong.space", "--data", "good.csv", status=1, telling=("SL201",)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("clumsy")
    write_spaces(made)
    for name, content in FILES.items():
        (made / name).write_bytes(content)
    for name in ("folder", "folder.csv"):
        (made / name).mkdir()
    misspelt = b"stage e = GausianNB\n"
    texts = {
        "empty.space": b"",
        "comments.space": b"# nothing\n\n   # at all\n",
        "latin.space": "stage a = \u00fc".encode("latin-1"),
        "nul.space": b"stage a = PCA\0",
        "big.space": b"#" * 2**21,
        "mit Leerzeichen \u00e9\u4e2d.space": misspelt,
        "esc\x1b[31m\u202e.space": misspelt,
        "escape.space": b'stage e = GaussianNB "\x1b[31m"',
    }
    for name, content in texts.items():
        (made / name).write_bytes(content)
    return made


@pytest.fixture
def here(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process, as the data commands would import scikit-learn anew each time."""
    monkeypatch.chdir(folder)

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err
        assert isinstance(ended.value.code, int)
        return ended.value.code, shown.out, shown.err

    return run


@pytest.mark.parametrize("wrong", [*DATA, *OPTIONS], ids=lambda wrong: " ".join(wrong.arguments).replace("\x1b", "ESC"))
def test_bad_data_and_options(wrong: Case, here: Callable[..., tuple[int, str, str]]) -> None:
    status, out, err = here(*wrong.arguments)
    assert status == wrong.status, err
    assert out == ""
    assert all(words in err for words in wrong.telling), err
    assert "\x1b" not in err


def test_the_space_is_not_overwritten(folder: Path) -> None:
    assert (folder / "toy.space").read_text(encoding="utf-8") == TOY


@pytest.mark.parametrize("number", range(len(SPACES)), ids=lambda n: " ".join(SPACES[n].arguments).encode()[:40].hex())
def test_bad_spaces(number: int, folder: Path) -> None:
    wrong = SPACES[number]
    ended = spacelang(*wrong.arguments, folder=folder)
    assert ended.returncode == wrong.status, ended.stderr
    assert all(words in ended.stderr for words in wrong.telling), ended.stderr
    assert "no problems" not in ended.stdout.replace("toy.space: no problems", "")


@pytest.mark.parametrize("number", range(len(CONFIGURATIONS)))
def test_bad_configurations(number: int, folder: Path) -> None:
    wrong = CONFIGURATIONS[number]
    ended = spacelang(*wrong.arguments, folder=folder, stdin=wrong.stdin)
    assert (ended.returncode, ended.stdout) == (wrong.status, "")
    assert all(words in ended.stderr for words in wrong.telling), ended.stderr


@pytest.mark.parametrize("where", CUTS)
def test_a_space_that_was_cut(where: str, tmp_path: Path, here: Callable[..., tuple[int, str, str]]) -> None:
    (tmp_path / "cut.space").write_text(CUTS[where], encoding="utf-8")
    status, out, err = here("check", str(tmp_path / "cut.space"))
    assert (status, out) == (1, "")
    assert "error[SL" in err
    assert f"cut.space:{CUTS[where].count(chr(10)) + 1}:" in err


def test_every_beginning_of_a_space_is_judged(tmp_path: Path, here: Callable[..., tuple[int, str, str]]) -> None:
    cut = tmp_path / "cut.space"
    for length in range(0, len(TOY), 7):
        cut.write_text(TOY[:length], encoding="utf-8")
        status, _, err = here("check", str(cut))
        assert (status == 1) == ("error[SL" in err)


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "wrong.space", "--json"],
        ["stats", "wrong.space", "--json"],
        ["compile", "wrong.space", "-t", "blds", "-f", "json"],
        ["sample", "wrong.space", "--json"],
        ["default", "wrong.space", "--json"],
        ["contains", "wrong.space", "-", "--json"],
        ["run", "wrong.space", "--data", "good.csv", "--json"],
        ["stats", "nowhere.space", "--json"],
    ],
    ids=" ".join,
)
def test_a_wrong_space_as_json_is_one_document(arguments: list[str], here: Callable[..., tuple[int, str, str]]) -> None:
    status, out, err = here(*arguments)
    assert status == 1
    found = json.loads(out)
    (only,) = (found["spaces"][0] if "spaces" in found else found)["diagnostics"]
    assert only["severity"] == "error"
    assert {"code", "message", "file", "line", "column", "help"} <= only.keys()
    assert arguments[0] == "check" or "error[SL" in err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")
@pytest.mark.parametrize("path", ["pipe.space", "/dev/zero", "/dev/null"])
def test_what_is_no_file_does_not_hang(path: str, folder: Path) -> None:
    if not path.startswith("/") and not (folder / path).exists():
        os.mkfifo(folder / path)
    for arguments in (("check", path), ("contains", "toy.space", path), ("why-not", "toy.space", path)):
        ended = spacelang(*arguments, folder=folder)
        assert ended.returncode == 1
        assert "not a regular file" in ended.stderr
        assert (
            arguments[0] == "check"
            or "help: pipe the file into the command: the path `-` stands for the standard input" in ended.stderr
        )


def test_data_that_is_no_file_does_not_hang(folder: Path, here: Callable[..., tuple[int, str, str]]) -> None:
    assert here(*SMALL, "/dev/zero")[0] == 1


def test_a_file_name_that_is_no_text(folder: Path) -> None:
    name = b"\xff.space"
    try:
        (folder / os.fsdecode(name)).write_text("stage e = GaussianNB\n")
    except OSError:
        pytest.skip("the file system takes no such name")
    assert spacelang("check", name, folder=folder).stdout == "<U+DCFF>.space: no problems\n"
    found = document(spacelang("check", name, "--json", folder=folder))
    assert found["spaces"][0]["space"] == "\udcff.space"
    assert document(spacelang("stats", name, "--json", folder=folder))["structures"] == 1
    assert spacelang("compile", name, "-t", "blds", folder=folder).returncode == 0
    assert spacelang("compile", name, "-t", "blds", "-o", "out.txt", folder=folder).returncode == 0


def test_a_name_that_steers_a_terminal_is_shown_harmlessly(folder: Path) -> None:
    name = "sound\x1b[31m.space"
    (folder / name).write_text("stage e = GaussianNB\n")
    for arguments in (["check", name], ["stats", name], ["compile", name, "-t", "blds"]):
        ended = spacelang(*arguments, folder=folder)
        assert ended.returncode == 0
        assert "sound" in ended.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("arguments", [["stats", "toy.space", "--json"], ["catalogue"]], ids=" ".join)
def test_a_full_disk(arguments: list[str], folder: Path) -> None:
    code = "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1); from spacelang.cli import main; main()"
    ended = spacelang(*arguments, folder=folder, code=code)
    assert ended.returncode == 1
    assert "cannot write the output: no space left" in ended.stderr


def test_a_terminal_of_few_characters(folder: Path) -> None:
    code = "import sys; sys.stdout.reconfigure(encoding='ascii'); from spacelang.cli import main; main()"
    (folder / "titled.space").write_text('space titled "\u00e9"\nstage e = SVC { kernel : {rbf, poly} }\n', "utf-8")
    assert spacelang("compile", "titled.space", "-t", "blds", folder=folder, code=code).returncode == 0
    assert json.loads(spacelang("default", "titled.space", folder=folder, code=code).stdout)


def test_a_damaged_catalogue_of_the_user(folder: Path) -> None:
    import sklearn

    home = folder / "home" / "spacelang" / "catalogues"
    home.mkdir(parents=True, exist_ok=True)
    (home / f"sklearn-{sklearn.__version__}.json").write_text("{", encoding="utf-8")
    code = f"import os; os.environ['XDG_DATA_HOME'] = {str(folder / 'home')!r}; from spacelang.cli import main; main()"
    ended = spacelang("check", "toy.space", folder=folder, code=code)
    assert ended.returncode == 1
    assert "cannot read the catalogue" in ended.stderr
    assert "spacelang catalogue --refresh" in ended.stderr
