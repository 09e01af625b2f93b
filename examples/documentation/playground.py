"""The playground: a page that runs commands of spacelang in the browser with Pyodide."""

import shutil
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

PYODIDE_FILES: Final = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.js",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
"""The files of Pyodide that a page loads; older versions have one of the two `pyodide.asm` scripts."""
DISTRIBUTIONS: Final = (
    "typer",
    "shellingham",
    "rich",
    "markdown-it-py",
    "mdurl",
    "pygments",
    "annotated-doc",
    "click",
    "typing-extensions",
)
"""What `check`, `fmt`, `stats`, `explain` and `diff` import."""


def add_playground(docs: Path, pyodide: Path, repository: Path) -> None:
    """Write the page, Pyodide and an archive with the package and what it imports below the folder of the pages."""
    folder = docs / "playground"
    folder.mkdir(parents=True)
    for name in PYODIDE_FILES:
        if (pyodide / name).exists():
            shutil.copy(pyodide / name, folder / name)
    if not (folder / "pyodide.mjs").exists():
        raise FileNotFoundError(f"`{pyodide}` is not the folder of the npm package `pyodide`: it has no `pyodide.mjs`")
    with zipfile.ZipFile(folder / "spacelang.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        _add_folder(archive, repository / "spacelang", "spacelang")
        for name in ("grammars", "spaces"):
            _add_folder(archive, repository / name, f"spacelang/{name}")
        for name in DISTRIBUTIONS:
            _add_distribution(archive, name)
    (docs / "playground.md").write_text(
        (Path(__file__).parent / "playground.html").read_text(encoding="utf-8"), encoding="utf-8"
    )


def _add_folder(archive: zipfile.ZipFile, folder: Path, name: str) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            archive.write(path, f"{name}/{path.relative_to(folder).as_posix()}")


def _add_distribution(archive: zipfile.ZipFile, name: str) -> None:
    try:
        found = distribution(name)
    except ModuleNotFoundError:  # not every version of typer needs each of them
        return
    for file in found.files or ():
        if file.suffix == ".py":
            archive.write(Path(str(found.locate_file(file))), file.as_posix())
