"""The documentation site: it is built without a broken link, and its generated pages are complete."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from lark import Lark

import spacelang
from spacelang.cli._app import COMMANDS

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "examples" / "documentation" / "build.py"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    ended = subprocess.run([sys.executable, str(BUILD), str(folder)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


def headings(page: Path) -> set[str]:
    return set(re.findall(r'<h[23] id="([^"]+)"', page.read_text(encoding="utf-8")))


@pytest.mark.slow
def test_it_has_all_commands_names_and_rules_and_works_without_a_network(site: Path) -> None:
    assert set(COMMANDS) <= headings(site / "reference" / "commands.html")
    shown = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert all(re.search(rf'id="spacelang\.[\w.]*\b{name}"', shown) for name in dir(spacelang))
    grammar = Lark.open(str(ROOT / "grammars" / "spacelang.lark"), parser="lalr", start="file")
    rules = {str(rule.origin.name).strip("_") for rule in grammar.rules if not rule.origin.name.startswith("__")}
    assert {f"rule-{name}" for name in rules} <= headings(site / "reference" / "grammar.html")
    for page in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img)[^>]* src="([^"]+)"|<link[^>]* href="([^"]+)"', page.read_text("utf-8"))
        assert not [link for pair in loaded for link in pair if link.startswith(("http", "//"))], page


@pytest.mark.slow
def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "examples"))
    pages = import_module("documentation.pages")
    (tmp_path / "README.md").write_text("[gone](gone.md)\n", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match=r"README.md: the link `gone.md` leads to no file"):
        pages.copy_pages(tmp_path, tmp_path / "site", "https://example.org")
