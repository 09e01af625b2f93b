"""The scripts of the tour run as they stand, with fewer trials in the reduced form; so does the notebook."""

import json
import os
import re
from pathlib import Path
from typing import Any, Final

import nbclient
import nbformat
import pytest

TOUR: Final = Path(__file__).parents[2] / "examples" / "tour"
NOTEBOOK: Final = TOUR / "notebook.ipynb"
MODULES: Final = {"nearest_mean"}
SCRIPTS: Final = sorted(path.stem for path in TOUR.glob("*.py") if path.stem not in MODULES)

IS_FULL: Final = bool(os.environ.get("SPACELANG_FULL"))
FEWER: Final = {"10": "3", "20": "5", "30": "5", "40": "8", "50": "6", "60": "55"}
"""As many trials as the scripts make, and as many as are made here."""


@pytest.mark.usefixtures("quick_zygotes")
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = TOUR / f"{name}.py"
    text = shortened(path.read_text(encoding="utf-8"))
    exec(compile(text, str(path), "exec"), {"__name__": "__main__", "__file__": str(path)})
    assert capsys.readouterr().out.strip()


def shortened(text: str) -> str:
    """Return a script with fewer trials and repetitions; in the full form as it stands."""
    if IS_FULL:
        return text
    return re.sub(r"(?<=repeats=)\d+", "2", re.sub(r"(?<=trials=)\d+", lambda found: FEWER[found[0]], text))


def test_the_notebook_runs(tmp_path: Path) -> None:
    """Each cell gives outputs of the same kinds as those in the file."""
    book = nbformat.read(NOTEBOOK, as_version=4)
    kinds = [_kinds(cell) for cell in book.cells]
    for cell in book.cells:
        cell.source = shortened(cell.source)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert [_kinds(cell) for cell in book.cells] == kinds
    assert sum(map(len, kinds)) > 10
    assert not [*tmp_path.iterdir()]


def _kinds(cell: Any) -> list[tuple[str, ...]]:
    return [(each["output_type"], *sorted(each.get("data", ()))) for each in cell.get("outputs", ())]


def test_the_notebook_has_its_outputs_but_nothing_of_a_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    cells = [each for each in json.loads(text)["cells"] if each["cell_type"] == "code"]
    assert [each["execution_count"] for each in cells] == [*range(1, len(cells) + 1)]
    assert not re.search(r"/home/|/tmp/|/root|/Users/|site-packages|[A-Z]:\\\\", text)
    assert "Traceback" not in text
    assert len(text) < 400_000


def test_the_page_names_each_script() -> None:
    page = (TOUR / "README.md").read_text(encoding="utf-8")
    assert {*re.findall(r"^\| \[(\w+)\.py\]", page, flags=re.MULTILINE)} == {*SCRIPTS}
    assert "[notebook.ipynb](notebook.ipynb)" in page
