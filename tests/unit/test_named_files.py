"""The source files that the documents name exist."""

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
FOLDERS: Final = ("spacelang", "grammars", "spaces", "examples", "tests")
DOCUMENTS: Final = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md")))
    if path.name != "CHANGELOG.md"
)
"""All documents but the changelog, which also names files of earlier versions."""

FENCE: Final = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
FILE: Final = re.compile(r"`((?![^`]*\bNAME\b)[\w./]+\.(?:py|lark))`")
"""A source file in backticks; `NAME` stands for a name that a contributor chooses."""

FILES_OF_USERS: Final = {"pipeline.py", "mine.py"}


@pytest.fixture(scope="module")
def source_files() -> list[str]:
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".lark"})
    return [f"/{path.relative_to(ROOT).as_posix()}" for path in (*paths, ROOT / "hatch_build.py")]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_are_named_exist(document: str, source_files: list[str]) -> None:
    text = FENCE.sub("", (ROOT / document).read_text(encoding="utf-8"))
    names = {*FILE.findall(text)} - FILES_OF_USERS
    relative = {name for name in names if ((ROOT / document).parent / name).exists()}
    assert {name for name in names - relative if not any(path.endswith(f"/{name}") for path in source_files)} == set()


def test_the_tables_of_contributing_name_files_of_the_folders_in_their_first_column() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[a-z_]+/`[^|]*) \| (.*) \|$", text, re.MULTILINE)
    named = [
        (folder_names, name) for cell, files in rows if (folder_names := folders(cell)) for name in FILE.findall(files)
    ]
    assert len(named) > 40
    assert [
        each for each in named if not any((ROOT / "spacelang" / folder / each[1]).exists() for folder in each[0])
    ] == []


@pytest.mark.parametrize(("folder", "prefix"), [("tests", "tests/"), ("tests/benchmarks", "")])
def test_the_page_on_tests_lists_helpers_and_benchmarks(folder: str, prefix: str) -> None:
    named = {*FILE.findall((ROOT / "tests" / "README.md").read_text(encoding="utf-8"))}
    paths = (ROOT / folder).glob("*.py")
    assert {f"{prefix}{path.name}" for path in paths if not path.name.startswith("test_")} <= named


def folders(cell: str) -> list[str]:
    """Return the folders that a cell names."""
    return re.findall(r"`([a-z_/]+)/`", cell)
