"""The files of the repository that are pages of the site, and the rewriting of links between them."""

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Final

PAGES: Final = {
    "README.md": "index.md",
    "examples/tour/README.md": "guides/tour.md",
    "spacelang/language_server/README.md": "guides/editors.md",
    "grammars/vscode/README.md": "guides/vscode.md",
    "spacelang/runtime/README.md": "guides/runs.md",
    "spacelang/api/README.md": "guides/python.md",
    "spacelang/bench/README.md": "guides/comparisons.md",
    "spacelang/runtime/archives/README.md": "guides/archives.md",
    "spacelang/testing/README.md": "guides/plug-ins.md",
    "grammars/REFERENCE.md": "reference/language.md",
    "spacelang/targets/README.md": "reference/targets.md",
    "spacelang/optimizers/README.md": "reference/optimizers.md",
    "spaces/README.md": "reference/bundled-spaces.md",
    "examples/default/README.md": "evidence/default.md",
    "examples/blds_paper/README.md": "evidence/blds.md",
    "examples/admm_paper/README.md": "evidence/admm.md",
    "examples/mosaic_paper/README.md": "evidence/mosaic.md",
    "examples/boasf_paper/README.md": "evidence/boasf.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "spacelang/README.md": "project/package.md",
    "spacelang/solver/README.md": "project/solver.md",
    "spacelang/surrogates/README.md": "project/surrogates.md",
    "tests/README.md": "project/tests.md",
    "examples/documentation/README.md": "project/documentation.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
    "examples/documentation/tutorial.md": "tutorial.md",
}
"""The page of each source, both relative to their root."""

NAVIGATION: Final = {
    "Start": ["index.md", "tutorial.md", "playground.md"],
    "How-to guides": ["guides/"],
    "Reference": ["reference/"],
    "Evidence": ["evidence/"],
    "Project": ["project/"],
}
"""The sections; a folder stands for its pages in the order of `PAGES`, then the generated ones."""

TITLES: Final = {"index.md": "Overview"}
"""Titles in the navigation of pages whose own one is the name of the site."""

LINK: Final = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
FENCE: Final = re.compile(r"^(```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
TITLE: Final = re.compile(r"^# ", re.MULTILINE)
HEADING: Final = re.compile(r"^(#+ )", re.MULTILINE)
SESSION: Final = re.compile(r"^```\n(?=\$ )")
LABEL: Final = re.compile(r"^```space-[^\n]*")
PICTURES: Final = (".svg", ".png")


def copy_pages(repository: Path, target: Path, home: str) -> None:
    """Write every page below `target`. Links to files that are no page lead to the repository at `home`."""
    for source, page in PAGES.items():
        text = (repository / source).read_text(encoding="utf-8")
        path = target / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_with_links(text, source, page, repository, target, home), encoding="utf-8")


def _with_links(text: str, source: str, page: str, repository: Path, target: Path, home: str) -> str:
    def rewritten(match: re.Match[str]) -> str:
        return match[1] + _new_link(match[2], source, page, repository, target, home) + match[3]

    return _replace_in_prose(_with_one_title(text), lambda part: LINK.sub(rewritten, part))


def _with_one_title(text: str) -> str:
    """Return a page with its first heading as the only one of the first level, as its table of contents needs."""
    titles = 0

    def count(part: str) -> str:
        nonlocal titles
        titles += len(TITLE.findall(part))
        return part

    _replace_in_prose(text, count)
    if titles < 2:
        return text
    title, end, rest = text.partition("\n")
    return title + end + _replace_in_prose(rest, lambda part: HEADING.sub(r"#\1", part))


def _replace_in_prose(text: str, replace: Callable[[str], str]) -> str:
    """Return a text with replacements outside of its blocks of code."""
    # The parts with an odd index are blocks of code.
    parts = FENCE.split(text)
    return "".join(_named_block(part) if index % 2 else replace(part) for index, part in enumerate(parts))


def _named_block(block: str) -> str:
    """Return a block of code with its language alone: Markdown takes ```` ```space-error SL302 ```` for text."""
    return LABEL.sub("```space", SESSION.sub("```console\n", block))


def _new_link(link: str, source: str, page: str, repository: Path, target: Path, home: str) -> str:
    if re.match(r"[a-z]+:|#", link):
        return link
    path, mark, anchor = link.partition("#")
    name = normpath(str(PurePosixPath(source).parent / path))
    if name in PAGES:
        return relpath(PAGES[name], str(PurePosixPath(page).parent)) + mark + anchor
    if not (repository / name).exists():
        raise FileNotFoundError(f"{source}: the link `{link}` leads to no file")
    if name.endswith(PICTURES):
        copied = target / "pictures" / PurePosixPath(name).name
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_bytes((repository / name).read_bytes())
        return relpath(f"pictures/{copied.name}", str(PurePosixPath(page).parent))
    kind = "tree" if (repository / name).is_dir() else "blob"
    return f"{home}/{kind}/main/{name}{mark}{anchor}"


def navigation(generated: list[str]) -> list[dict[str, list[str | dict[str, str]]]]:
    """Return the navigation of the site; `generated` are the pages that are made of code."""
    pages = [*PAGES.values(), *generated]
    return [
        {title: [_entry(page) for member in members for page in pages if page.startswith(member)]}
        for title, members in NAVIGATION.items()
    ]


def _entry(page: str) -> str | dict[str, str]:
    return {TITLES[page]: page} if page in TITLES else page
