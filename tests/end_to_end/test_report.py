"""`spacelang report`: what is written where, and what is said of what cannot be read."""

from pathlib import Path

import pytest
from commands import spacelang
from pages import Page
from storing import stored


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    stored(tmp_path / "run.db")
    return tmp_path


def test_a_page_is_written_or_printed(folder: Path) -> None:
    ended = spacelang("report", "run.db", "-o", "page.html", folder=folder)
    assert (ended.returncode, ended.stdout) == (0, "wrote page.html\n")
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    printed = spacelang("report", "run.db", "-o", "-", folder=folder)
    assert printed.stdout == text
    assert spacelang("report", ".", folder=folder).stdout == "wrote report.html\n"
    assert (folder / "report.html").read_text(encoding="utf-8") == text


def test_stores_are_not_replaced_and_damaged_ones_are_told(folder: Path) -> None:
    kept = (folder / "run.db").read_bytes()
    for output, telling in (
        ("run.db", "is the store of a run"),
        (".", "is a folder"),
        ("no/page.html", "cannot write"),
    ):
        ended = spacelang("report", "run.db", "-o", output, folder=folder)
        assert ended.returncode == 2
        assert telling in ended.stderr
    (folder / "cut.db").write_bytes(kept[:4096])
    (folder / "stranger.txt").write_text("no store", encoding="utf-8")
    for named in ("cut.db", "none.db", "stranger.txt"):
        ended = spacelang("report", "run.db", named, folder=folder)
        assert ended.returncode == 1
        assert named in ended.stderr
    assert not (folder / "report.html").exists()
    ended = spacelang("report", ".", folder=folder)
    assert ended.returncode == 0
    assert "cut.db" in Page((folder / "report.html").read_text(encoding="utf-8")).said
    assert (folder / "run.db").read_bytes() == kept


def test_a_folder_without_runs_is_told(tmp_path: Path) -> None:
    ended = spacelang("report", ".", folder=tmp_path)
    assert ended.returncode == 1
    assert "no stored runs found" in ended.stderr
