"""What code, tests and documents cite is in the repository: `spacelang/optimizers/README.md`, by its headings.

Its lines `Defaults of NAME` are those of the classes, so that it cannot say others for long.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import pytest

from spacelang.optimizers import OPTIMIZERS

ROOT: Final = Path(__file__).parents[2]
DOCUMENT: Final = ROOT / "spacelang" / "optimizers" / "README.md"
TEXT: Final = DOCUMENT.read_text(encoding="utf-8")
HEADINGS: Final = re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)
FOLDERS: Final = ("spacelang", "tests", "examples", "spaces", "grammars")
KINDS: Final = frozenset({".py", ".md", ".space", ".lark", ".toml", ".txt"})
ELSEWHERE: Final = re.compile(r"\b(?:ALGORITHMS|LANGUAGE|INTERFACE|HOUSE|RELIABILITY)\.md|\(A\d+\)")
"""Design documents, which are not in the repository, and how what stands in them was numbered."""
CITED: Final = re.compile(r"optimizers/README\.md,\s+sections? ((?:\"[^\"]+\"(?:,\s+|\s+and\s+)?)+)")
DEFAULTS: Final = re.compile(r"^Defaults of `(\w+)`:((?:\s`\w+=[^`]+`,?)+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """What the repository says in words, by file; no data."""
    found = chain(ROOT.iterdir(), *((ROOT / folder).rglob("*") for folder in FOLDERS))
    paths = [path for path in found if path.suffix in KINDS and path.is_file()]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8", errors="replace") for path in paths}


def test_nothing_is_cited_that_is_not_here(texts: dict[str, str]) -> None:
    found = {path: ELSEWHERE.findall(text) for path, text in texts.items()}
    assert not {path: cited for path, cited in found.items() if cited}


def test_every_heading_that_is_cited_is_there_once(texts: dict[str, str]) -> None:
    assert not [heading for heading, times in Counter(HEADINGS).items() if times > 1]
    cited = {
        " ".join(heading.split()): path
        for path, text in texts.items()
        for sections in CITED.findall(text)
        for heading in re.findall(r'"([^"]+)"', sections)
    }
    assert len(cited) > 30
    assert not {heading: path for heading, path in cited.items() if heading not in HEADINGS}


def told() -> Iterator[tuple[str, str, str]]:
    """The optimizers with the options and the defaults that the document tells of them."""
    for name, options in DEFAULTS.findall(TEXT):
        for option, value in re.findall(r"`(\w+)=([^`]+)`", options):
            yield name, option, value


@pytest.mark.parametrize("name", sorted({name for name, _, _ in told()}))
def test_defaults_are_those_of_the_class(name: str) -> None:
    plugin = OPTIMIZERS.load(name)
    for other, option, value in told():
        if other == name:
            assert getattr(OPTIMIZERS.configure(plugin, {option: value}), option) == getattr(plugin(), option), option


def test_all_lines_of_defaults_are_read() -> None:
    assert len(DEFAULTS.findall(TEXT)) == TEXT.count("\nDefaults of ") > 15
