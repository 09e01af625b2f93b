"""`spacelang fmt` as a user starts it: what it writes, what it leaves alone, and how it ends."""

import subprocess
import sys
from pathlib import Path

import pytest
from commands import TIMEOUT, environment, spacelang

UNTIDY = "stage s=A|B   # two\n\n\n\nstage t = SVC { C:float[0.1,1], gamma : {scale,auto} }\n"
TIDY = """\
stage s = A | B  # two

stage t = SVC {
  C     : float[0.1, 1]
  gamma : {scale, auto}
}
"""
DIFFERENCE = "\n".join(
    [
        "--- untidy.space",
        "+++ untidy.space",
        "@@ -1,5 +1,6 @@",
        "-stage s=A|B   # two",
        "+stage s = A | B  # two",
        " ",
        "-",
        "-",
        "-stage t = SVC { C:float[0.1,1], gamma : {scale,auto} }",
        "+stage t = SVC {",
        "+  C     : float[0.1, 1]",
        "+  gamma : {scale, auto}",
        "+}",
        "",
    ]
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "untidy.space").write_text(UNTIDY)
    (tmp_path / "tidy.space").write_text(TIDY)
    (tmp_path / "broken.space").write_text("stage s = \n")
    return tmp_path


def test_writes_in_place_and_keeps_what_is_laid_out(folder: Path) -> None:
    (folder / "untidy.space").chmod(0o640)
    before = (folder / "tidy.space").stat()
    ended = spacelang("fmt", "untidy.space", "tidy.space", folder=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "untidy.space: formatted\ntidy.space: unchanged\n"
    assert (folder / "untidy.space").read_text() == TIDY
    assert (folder / "untidy.space").stat().st_mode & 0o777 == 0o640
    assert (folder / "tidy.space").stat().st_ino == before.st_ino
    assert sorted(path.name for path in folder.iterdir()) == ["broken.space", "tidy.space", "untidy.space"]


def test_check_names_what_would_change(folder: Path) -> None:
    ended = spacelang("fmt", "--check", "untidy.space", "tidy.space", folder=folder)
    assert (ended.returncode, ended.stdout) == (1, "untidy.space\n")
    assert (folder / "untidy.space").read_text() == UNTIDY
    assert spacelang("fmt", "tidy.space", "blds_table1", "--check", folder=folder).returncode == 0


def test_diff_can_be_applied(folder: Path) -> None:
    ended = spacelang("fmt", "--diff", "untidy.space", folder=folder)
    assert (ended.returncode, ended.stdout) == (0, DIFFERENCE)
    (folder / "untidy.space").write_text(UNTIDY.rstrip())
    ended = spacelang("fmt", "--diff", "untidy.space", folder=folder)
    assert "\\ No newline at end of file\n+stage t" in ended.stdout
    assert spacelang("fmt", "--diff", "tidy.space", folder=folder).stdout == ""


def test_the_standard_input_goes_to_the_standard_output(folder: Path) -> None:
    assert spacelang("fmt", "-", folder=folder, stdin=UNTIDY).stdout == TIDY
    assert spacelang("fmt", "--stdout", "untidy.space", folder=folder).stdout == TIDY
    assert spacelang("fmt", "--check", "-", folder=folder, stdin=UNTIDY).stdout == "<stdin>\n"
    assert (folder / "untidy.space").read_text() == UNTIDY


def test_a_file_with_syntax_errors_is_left_alone_and_the_others_are_not(folder: Path) -> None:
    ended = spacelang("fmt", "broken.space", "missing.space", "untidy.space", folder=folder)
    assert ended.returncode == 1
    assert "error[SL102]" in ended.stderr
    assert "error[SL001]" in ended.stderr
    assert (folder / "broken.space").read_text() == "stage s = \n"
    assert (folder / "untidy.space").read_text() == TIDY
    ended = spacelang("fmt", "-", folder=folder, stdin="stage s = ")
    assert (ended.returncode, ended.stdout) == (1, "")


def test_line_ends_and_byte_order_marks(folder: Path) -> None:
    (folder / "windows.space").write_bytes(b"\xef\xbb\xbf" + TIDY.replace("\n", "\r\n").encode())
    assert spacelang("fmt", "--check", "windows.space", folder=folder).returncode == 1
    assert spacelang("fmt", "windows.space", folder=folder).returncode == 0
    assert (folder / "windows.space").read_bytes() == TIDY.encode()


def test_a_link_stays_a_link(folder: Path) -> None:
    (folder / "link.space").symlink_to("untidy.space")
    assert spacelang("fmt", "link.space", folder=folder).returncode == 0
    assert (folder / "link.space").is_symlink()
    assert (folder / "untidy.space").read_text() == TIDY


def test_bundled_spaces_are_not_written(folder: Path) -> None:
    ended = spacelang("fmt", "untidy.space", "blds_table1", folder=folder)
    assert ended.returncode == 2
    assert "`blds_table1` is a bundled space, which cannot be overwritten" in ended.stderr
    assert (folder / "untidy.space").read_text() == UNTIDY
    ended = spacelang("fmt", "blds_table1", "--stdout", folder=folder)
    assert ended.returncode == 0
    assert "stage selector =" in ended.stdout


def test_wrong_usage(folder: Path) -> None:
    assert spacelang("fmt", "--check", "--diff", "tidy.space", folder=folder).returncode == 2
    assert spacelang("fmt", folder=folder).returncode == 2


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    code = """
import sys
from spacelang.cli import main

def refuse(event, given):
    if event == "open" and str(given[0]).rpartition("/")[2].startswith(".untidy"):
        raise PermissionError(13, "Permission denied")

sys.addaudithook(refuse)
main()
"""
    ended = subprocess.run(
        [sys.executable, "-c", code, "fmt", "untidy.space"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert ended.returncode == 1
    assert "cannot write `untidy.space`: permission denied" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert (folder / "untidy.space").read_text() == UNTIDY
