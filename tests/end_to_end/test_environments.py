"""Commands where a shell gives them less than usual: a clear sentence, and a store that goes on elsewhere."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import TIMEOUT, TINY, environment, spacelang

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and streams of a POSIX shell")
RUN = ("run", "tiny.space", "--data", "sklearn:iris", "--validate", "holdout(0.3)", "--optimizer", "random")
RUN += ("--store", "run.db", "--workers", "0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tiny.space").write_text(TINY, encoding="utf-8")
    return tmp_path


def shell(folder: Path, before: str, after: str = "", trials: int = 1) -> subprocess.CompletedProcess[str]:
    """A fresh run with what the shell does before, and with its streams."""
    line = shlex.join([sys.executable, "-m", "spacelang", *RUN, "--trials", f"{trials}"])
    command = ["bash", "-c", f"{before} exec {line} {after}"]
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=TIMEOUT
    )


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ("ulimit -n 12;", "error: this command opens 24 files at a time, but the limit of the shell is 12"),
        ("ulimit -v 400000;", "error: `pandas` needs 512MB of address space, but the limit of the shell is 410MB"),
    ],
)
def test_too_small_limits_are_refused_before_there_is_a_store(folder: Path, limit: str, sentence: str) -> None:
    ended = shell(folder, limit)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(sentence)
    assert "help: raise the limit" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (folder / "run.db").exists()


def test_who_closes_the_output_has_the_store(folder: Path) -> None:
    """No file that is opened later stands in the place of a stream."""
    ended = shell(folder, "", "<&- >&-")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr.splitlines()[0] == "warning: the standard output is closed, so nothing is printed to it"
    assert "Traceback" not in ended.stderr
    resumed = spacelang(*RUN, "--trials", "2", "--resume", folder=folder)
    assert resumed.returncode == 0, resumed.stderr
    assert "2 trials with" in resumed.stdout + resumed.stderr
