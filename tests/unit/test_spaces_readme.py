"""The tables in `spaces/README.md` say what the compiler counts."""

import re
from functools import cache

import pytest

from spacelang.analysis import check
from spacelang.ir.statistics import Statistics, statistics
from spacelang.resources import folder
from spacelang.text import Source

README = (folder("spaces") / "README.md").read_text(encoding="utf-8")
SPACES = sorted(path.stem for path in folder("spaces").glob("*.space"))
ROWS = dict(re.findall(r"^\| \[(\w+)\]\(\1\.space\) \| (.+) \|$", README, re.MULTILINE))


@cache
def counted(name: str) -> Statistics:
    checked = check(Source(name, (folder("spaces") / f"{name}.space").read_text(encoding="utf-8")))
    assert checked.structures is not None
    return statistics(checked.structures)


def test_every_space_has_its_row_and_its_section() -> None:
    assert sorted(ROWS) == SPACES
    assert sorted(re.findall(r"^## (\w+)$", README, re.MULTILINE)) == SPACES


@pytest.mark.parametrize("name", SPACES)
def test_the_row_says_what_the_compiler_counts(name: str) -> None:
    found = counted(name)
    expected = (
        " x ".join(str(alternatives) for _, alternatives in found.stages),
        f"{found.structures:,}",
        str(len(found.by_algorithm)),
        str(found.hyperparameters.continuous),
        str(found.hyperparameters.discrete),
        str(found.conditions),
        str(found.constraints),
        "infinite" if found.configurations is None else f"{found.configurations:,}",
    )
    assert tuple(ROWS[name].split(" | ")) == expected


def test_the_hyperparameters_of_the_admm_space_are_counted_by_algorithm() -> None:
    section = README.split("## admm_table_a3")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| ([\dcd +]+) \| ([\dcd +]+) \|$", section, re.MULTILINE)
    searched = {
        name: tally
        for name, tally in counted("admm_table_a3").by_algorithm.items()
        if tally.continuous + tally.discrete
    }
    assert {name: _written(tally.continuous, tally.discrete) for name, tally in searched.items()} == {
        name: here for name, _, here in rows
    }
    assert sum(map(_sum, (paper for _, paper, _ in rows))) == sum(map(_sum, (here for _, _, here in rows))) == 36
    assert "Both sums are 36." in section


def _written(continuous: int, discrete: int) -> str:
    return " + ".join(f"{count}{kind}" for count, kind in ((continuous, "c"), (discrete, "d")) if count)


def _sum(written: str) -> int:
    return sum(map(int, re.findall(r"\d+", written)))
