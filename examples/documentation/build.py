"""Build the documentation site: `python examples/documentation/build.py SITE [--pyodide FOLDER]`."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import yaml  # type: ignore[import-untyped]

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from documentation.generated_pages import commands_page, how_to_page, plugin_page, python_page
from documentation.grammar_diagrams import diagrams_page
from documentation.pages import copy_pages, navigation
from documentation.playground import add_playground

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
STYLE = """\
.railroad { overflow-x: auto; }
.railroad svg { background: none; }
.railroad path { stroke: currentColor; stroke-width: 1.5; fill: none; }
.railroad text { font: 13px var(--md-code-font-family, monospace); text-anchor: middle; fill: currentColor; }
.railroad rect { stroke: currentColor; stroke-width: 1.2; fill: var(--md-code-bg-color); }
.railroad .terminal rect { fill: var(--md-accent-fg-color--transparent); }
.md-typeset table:not([class]) { font-size: .7rem; }
.md-typeset td:first-child code { word-break: normal; overflow-wrap: normal; }
"""


def gather(folder: Path, pyodide: Path | None) -> list[str]:
    """Write all pages below a folder and return those that are not files of the repository."""
    home = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
    copy_pages(REPOSITORY, folder, home)
    made = {
        "guides/how-to.md": how_to_page(REPOSITORY / "examples" / "tour"),
        "reference/grammar.md": diagrams_page(REPOSITORY / "grammars" / "spacelang.lark"),
        "reference/commands.md": commands_page(),
        "reference/python.md": python_page(),
        "reference/plug-in-interfaces.md": plugin_page(),
    }
    for page, text in made.items():
        (folder / page).write_text(text, encoding="utf-8")
    (folder / "site.css").write_text(STYLE, encoding="utf-8")
    if pyodide is not None:
        add_playground(folder, pyodide, REPOSITORY)
    return [*made, *(["playground.md"] if pyodide is not None else [])]


def build(output: Path, pyodide: Path | None) -> int:
    """Build the site into a folder, which is replaced, and return the exit status of MkDocs."""
    with tempfile.TemporaryDirectory() as name:
        docs = Path(name) / "docs"
        docs.mkdir()
        settings = {
            "INHERIT": str(HERE / "mkdocs.yml"),
            "docs_dir": str(docs),
            "site_dir": str(output.resolve()),
            "nav": navigation(gather(docs, pyodide)),
        }
        configuration = Path(name) / "mkdocs.yml"
        configuration.write_text(yaml.safe_dump(settings), encoding="utf-8")
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(configuration)]
        # MkDocs Material prints an advertisement for its successor without this variable.
        environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        return subprocess.run(command, check=False, cwd=REPOSITORY, env=environment).returncode


def main() -> int:
    """Read the arguments and build."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, metavar="SITE", help="the folder of the site; an existing one is replaced")
    parser.add_argument("--pyodide", type=Path, metavar="FOLDER", help="the folder of the npm package `pyodide`")
    arguments = parser.parse_args()
    if (
        arguments.output.exists()
        and not (arguments.output / "sitemap.xml").exists()
        and any(arguments.output.iterdir())
    ):
        parser.error(f"`{arguments.output}` contains something else than a site; give an empty or a new folder")
    if arguments.output.exists():
        shutil.rmtree(arguments.output)
    return build(arguments.output, arguments.pyodide)


if __name__ == "__main__":
    sys.exit(main())
