"""What each phase makes of each bundled space, kept as files: `tests/golden/PHASE/SPACE.txt`.

A new space or a new phase needs nothing but that files are written anew; a file without its space fails.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from goldens import FOLDER, must_be_kept
from printed import show

from spacelang.analysis import Checked, check
from spacelang.diagnostics.terminal import render
from spacelang.ir.space import Space
from spacelang.resources import folder
from spacelang.solver.defaults import default
from spacelang.solver.statistics import statistics
from spacelang.text import Source

SPACES = sorted(path.stem for path in folder("spaces").glob("*.space"))


def diagnostics_of(checked: Checked) -> str:
    return render(checked.diagnostics, color=False) + "\n" if checked.diagnostics else "no problems\n"


def ir_of(checked: Checked) -> str:
    return show(space_of(checked))


def default_of(checked: Checked) -> str:
    return json.dumps(default(space_of(checked)).to_dict(), indent=2, sort_keys=True) + "\n"


def statistics_of(checked: Checked) -> str:
    assert checked.structures is not None
    return json.dumps(statistics(checked.structures).to_json(), indent=2) + "\n"


def space_of(checked: Checked) -> Space:
    assert checked.space is not None, render(checked.diagnostics, color=False)
    return checked.space


PHASES: dict[str, Callable[[Checked], str]] = {
    "check": diagnostics_of,
    "ir": ir_of,
    "default": default_of,
    "stats": statistics_of,
}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", SPACES)
def test_is_what_it_was(name: str, phase: str, tmp_path: Path) -> None:
    text = (folder("spaces") / f"{name}.space").read_text(encoding="utf-8")
    found = PHASES[phase](check(Source(f"{name}.space", text)))
    must_be_kept(FOLDER / phase / f"{name}.txt", found, found, tmp_path)


@pytest.mark.parametrize("phase", PHASES)
def test_no_file_is_left_over(phase: str) -> None:
    assert {path.stem for path in (FOLDER / phase).iterdir()} == {*SPACES}
