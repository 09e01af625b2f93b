"""The tables in `spaces/README.md` say what the compiler counts."""

import re
from functools import cache

import pytest

from spacelang.analysis import CheckSettings, check
from spacelang.files import resource_folder
from spacelang.solver.statistics import HyperparameterCounts, Statistics, statistics
from spacelang.text import Source

README = (resource_folder("spaces") / "README.md").read_text(encoding="utf-8")
SPACES = sorted(path.stem for path in resource_folder("spaces").glob("*.space"))
ROWS = dict(re.findall(r"^\| \[(\w+)\]\(\1\.space\) \| (.+) \|$", README, re.MULTILINE))


def source(name: str) -> Source:
    return Source(name, (resource_folder("spaces") / f"{name}.space").read_text(encoding="utf-8"))


@cache
def counted(name: str) -> Statistics:
    checked = check(source(name))
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


@pytest.mark.parametrize(("name", "total"), [("admm_table_a3", 36), ("admm_table_a2", 92)])
def test_the_hyperparameters_of_the_admm_spaces_are_counted_by_algorithm(name: str, total: int) -> None:
    section = README.split(f"## {name}")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| ([\dcd +]+) \| ([\dcd +]+) \|$", section, re.MULTILINE)
    searched = {
        algorithm: _written(tally.continuous, tally.discrete)
        for algorithm, tally in counted(name).by_algorithm.items()
        if tally.continuous + tally.discrete
    }
    # The paper counts the strategy of the imputer besides.
    assert searched.pop("SimpleImputer", "1d") == "1d"
    assert searched == {algorithm: here for algorithm, _, here in rows}
    assert [paper for _, paper, _ in rows] == [here for _, _, here in rows]
    assert sum(_sum(here) for _, _, here in rows) == total
    assert f"Both sums are {total}." in section


def test_the_imputer_of_the_large_admm_space_has_one_hyperparameter_besides() -> None:
    found = counted("admm_table_a2")
    assert found.by_algorithm["SimpleImputer"] == HyperparameterCounts(0, 1)
    assert found.hyperparameters.continuous + found.hyperparameters.discrete == 92 + 1
    assert [count for _, count in found.stages] == [8, 11, 7, 11]
    assert found.structures == 8 * 11 * 7 * 11 == 6776


def test_the_pairs_of_mosaic_are_the_only_structures_that_are_left_out() -> None:
    found = counted("mosaic")
    assert dict(found.stages) == {"imputation": 3, "rescaling": 6, "encoding": 2, "preprocessor": 13, "estimator": 16}
    assert found.structures == (16 * 13 - 43) * 2 * 3 * 6
    assert "forbids 43 of the 16 x 13 pairs" in README


@pytest.mark.parametrize("sizes", [(398, 30, 2), (1257, 64, 10), (105, 4, 3), (100_000, 5_000, 100)])
@pytest.mark.parametrize("name", ["admm_table_a2", "mosaic", "boasf_models"])
def test_no_data_takes_a_structure_or_a_hyperparameter_away(name: str, sizes: tuple[int, int, int]) -> None:
    bindings = dict(zip(("n_samples", "n_features", "n_classes"), sizes, strict=True))
    checked = check(source(name), CheckSettings(bindings=bindings))
    assert not checked.diagnostics
    assert checked.structures is not None
    bound, unbound = statistics(checked.structures), counted(name)
    assert bound.structures == unbound.structures
    assert bound.by_algorithm == unbound.by_algorithm


def _written(continuous: int, discrete: int) -> str:
    return " + ".join(f"{count}{kind}" for count, kind in ((continuous, "c"), (discrete, "d")) if count)


def _sum(written: str) -> int:
    return sum(map(int, re.findall(r"\d+", written)))
