"""What each phase makes of each bundled space, kept as files: `tests/golden/PHASE/SPACE.txt`.

A new space or a new phase needs nothing but that files are written anew; a file without its space fails.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from goldens import FOLDER, must_be_kept
from printed import show

from spacelang.analysis import CheckResult, check
from spacelang.diagnostics.terminal import render_diagnostics
from spacelang.files import resource_folder
from spacelang.ir.space import Space
from spacelang.solver.defaults import default_configuration
from spacelang.solver.statistics import statistics
from spacelang.text import Source

SPACES = sorted(path.stem for path in resource_folder("spaces").glob("*.space"))


def diagnostics_of(checked: CheckResult) -> str:
    return render_diagnostics(checked.diagnostics, color=False) + "\n" if checked.diagnostics else "no problems\n"


def ir_of(checked: CheckResult) -> str:
    return show(space_of(checked))


def default_of(checked: CheckResult) -> str:
    return json.dumps(default_configuration(space_of(checked)).to_dict(), indent=2, sort_keys=True) + "\n"


def statistics_of(checked: CheckResult) -> str:
    assert checked.structures is not None
    return json.dumps(statistics(checked.structures).to_json(), indent=2) + "\n"


def space_of(checked: CheckResult) -> Space:
    assert checked.space is not None, render_diagnostics(checked.diagnostics, color=False)
    return checked.space


PHASES: dict[str, Callable[[CheckResult], str]] = {
    "check": diagnostics_of,
    "ir": ir_of,
    "default": default_of,
    "stats": statistics_of,
}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", SPACES)
def test_is_what_it_was(name: str, phase: str, tmp_path: Path) -> None:
    text = (resource_folder("spaces") / f"{name}.space").read_text(encoding="utf-8")
    found = PHASES[phase](check(Source(f"{name}.space", text)))
    must_be_kept(FOLDER / phase / f"{name}.txt", found, tmp_path)


@pytest.mark.parametrize("phase", PHASES)
def test_no_file_is_left_over(phase: str) -> None:
    assert {path.stem for path in (FOLDER / phase).iterdir()} == {*SPACES}
