"""Output files: commands that replace an earlier output keep stores and all other files of the user."""

import gzip
from pathlib import Path

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.cli._app import run_command_line
from spacelang.cli._output import DATABASE, exit_if_not_replaceable

TOY = "stage estimator = GaussianNB | SVC\n"
PYTHON = ("compile", "toy.space", "-t", "optuna", "--format", "python", "-o")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a space."""
    monkeypatch.chdir(tmp_path)
    Path("toy.space").write_text(TOY, encoding="utf-8")
    return tmp_path


@settings(max_examples=25)
@given(
    st.one_of(st.binary(max_size=9), st.binary(max_size=9).map(b"<svg ".__add__), st.just(DATABASE + b"more")),
    st.booleans(),
    st.sampled_from(["", "<svg "]),
)
def test_only_files_that_begin_as_an_output_are_replaceable(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, is_packed: bool, begins: str
) -> None:
    """LAW: no database is replaceable, nor a file with another start, compressed or not; an empty file always is."""
    file = tmp_path_factory.mktemp("output") / "file"
    file.write_bytes(gzip.compress(content) if is_packed else content)
    if not content or (content.startswith(begins.encode()) and not content.startswith(DATABASE)):
        exit_if_not_replaceable(file, begins, "a picture")
    else:
        with pytest.raises(typer.Exit) as ended:
            exit_if_not_replaceable(file, begins, "a picture")
        assert ended.value.exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "run.db", "-o"),
        ("runs", "run.db", "--export"),
        ("archive", "run.db", "-o"),
        PYTHON,
        ("compile", "toy.space", "-t", "blds", "--format", "dot", "-o"),
        ("compile", "toy.space", "-t", "blds", "--format", "json", "-o"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("content", [b"id,loss\n1,0.5\n", DATABASE + b"\x10"], ids=["table", "database"])
def test_other_files_are_kept(
    folder: Path, arguments: tuple[str, ...], content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "keep.csv").write_bytes(content)
    assert run_command_line([*arguments, "keep.csv"]) == 2
    assert (folder / "keep.csv").read_bytes() == content
    said = capsys.readouterr().err
    assert "`keep.csv`" in said
    assert f"choose another file with `{arguments[-1]}`" in said


def test_earlier_outputs_are_replaced_and_other_spaces_are_not(folder: Path) -> None:
    assert run_command_line([*PYTHON, "by_optuna.py"]) == 0
    first = (folder / "by_optuna.py").read_text(encoding="utf-8")
    (folder / "toy.space").write_text(f"space renamed\n{TOY}", encoding="utf-8")
    assert run_command_line([*PYTHON, "by_optuna.py"]) == 0
    assert (folder / "by_optuna.py").read_text(encoding="utf-8") != first
    (folder / "other.space").write_text(TOY, encoding="utf-8")
    assert run_command_line(["compile", "toy.space", "-t", "blds", "-o", "other.space"]) == 2
    assert (folder / "other.space").read_text(encoding="utf-8") == TOY
