"""The scripts of the tour run as they stand, with fewer trials in the reduced form."""

import os
import re
from pathlib import Path
from typing import Final

import pytest

TOUR: Final = Path(__file__).parents[2] / "examples" / "tour"
MODULES: Final = {"nearest_mean"}
SCRIPTS: Final = sorted(path.stem for path in TOUR.glob("*.py") if path.stem not in MODULES)

IS_FULL: Final = bool(os.environ.get("SPACELANG_FULL"))
FEWER: Final = {"10": "3", "20": "5", "30": "5", "50": "6"}
"""As many trials as the scripts make, and as many as are made here."""


@pytest.mark.usefixtures("quick_zygotes")
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name == "optuna_study":
        pytest.importorskip("optuna")
    path = TOUR / f"{name}.py"
    text = path.read_text(encoding="utf-8")
    if not IS_FULL:
        text = re.sub(r"(?<=trials=)\d+", lambda found: FEWER[found[0]], text)
        text = re.sub(r"(?<=repeats=)\d+", "2", text)
    exec(compile(text, str(path), "exec"), {"__name__": "__main__", "__file__": str(path)})
    assert capsys.readouterr().out.strip()


def test_the_page_names_each_script() -> None:
    page = (TOUR / "README.md").read_text(encoding="utf-8")
    assert {*re.findall(r"^\| \[(\w+)\.py\]", page, flags=re.MULTILINE)} == {*SCRIPTS}
