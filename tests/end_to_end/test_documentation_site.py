"""The documentation site: it is built without a broken link, and its generated pages are complete."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

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


def part_of_build(name: str) -> ModuleType:
    """Import a module of `examples/documentation`."""
    if (examples := str(ROOT / "examples")) not in sys.path:
        sys.path.insert(0, examples)
    return import_module(f"documentation.{name}")


def test_every_document_is_a_page() -> None:
    folders = ("spacelang", "grammars", "spaces", "examples", "tests")
    found = (*ROOT.glob("*.md"), *(path for folder in folders for path in (ROOT / folder).rglob("*.md")))
    assert {path.relative_to(ROOT).as_posix() for path in found} == part_of_build("pages").PAGES.keys()


@pytest.mark.slow
def test_every_word_in_the_diagrams_is_explained(site: Path) -> None:
    page = (site / "reference" / "grammar.html").read_text(encoding="utf-8")
    explained = part_of_build("grammar_diagrams").EXPLAINED
    assert set(re.findall(r'href="#words"[^>]*>.*?<text[^>]*>([^<]*)', page)) == explained.keys()
    drawn = set(re.findall(r'class="terminal[^"]*".*?<text[^>]*>([^<]*)', page))
    assert drawn >= {"repeat", "tuple", "of", "simplex", "var", "let", "implies", "**", ":=", "subject to"}


@pytest.mark.slow
def test_every_page_has_one_title_and_a_place_in_the_navigation(site: Path) -> None:
    start = (site / "index.html").read_text(encoding="utf-8")
    for page in site.rglob("*.html"):
        if page.name != "404.html":
            shown = page.read_text(encoding="utf-8")
            assert shown.count("<h1") == 1, page
            assert "```" not in re.sub(
                r"<code.*?</code>|<pre.*?</pre>|<script.*?</script>", "", shown, flags=re.DOTALL
            ), page
            place = page.relative_to(site).as_posix()
            assert re.search(rf'<a href="{re.escape(place)}" class="md-nav__link', start), page
    assert re.search(r"<span class=\"md-ellipsis\">\s*Overview", start)


def test_a_page_with_several_titles_keeps_the_first_one_and_its_code(tmp_path: Path) -> None:
    pages = part_of_build("pages")
    text = "# A\n\n# B\n\n## C\n\n```sh\n# a comment\n```\n\n```\n$ spacelang check\n```\n"
    text += "\n```space-error SL302\nstage e = SVC\n```\n"
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    for name in pages.PAGES.keys() - {"README.md"}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# One\n\n## Two\n", encoding="utf-8")
    pages.copy_pages(tmp_path, tmp_path / "site", "https://example.org")
    shown = (
        text.replace("## C", "### C")
        .replace("# B", "## B")
        .replace("```\n$", "```console\n$")
        .replace("-error SL302", "")
    )
    assert (tmp_path / "site" / "index.md").read_text(encoding="utf-8") == shown
    assert (tmp_path / "site" / "tutorial.md").read_text(encoding="utf-8") == "# One\n\n## Two\n"


def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path) -> None:
    pages = part_of_build("pages")
    (tmp_path / "README.md").write_text("[gone](gone.md)\n", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match=r"README.md: the link `gone.md` leads to no file"):
        pages.copy_pages(tmp_path, tmp_path / "site", "https://example.org")
