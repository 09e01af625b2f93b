"""The space that MOSAIC's authors published: ConfigSpace, given the same file, has the same members."""

import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from ConfigSpace import Configuration, ConfigurationSpace

import spacelang

FILE = Path(__file__).parents[4] / "shared" / "data" / "pcs" / "mosaic_1_0.pcs"
COUNT = 10_000 if os.environ.get("SPACELANG_FULL") else 500

pytestmark = pytest.mark.skipif(not FILE.is_file(), reason="../shared/data is absent")


@pytest.fixture(scope="module")
def imported() -> spacelang.ImportedSpace:
    return spacelang.import_space(FILE)


@pytest.fixture(scope="module")
def judge() -> ConfigurationSpace:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from ConfigSpace.read_and_write import pcs_new

        space = pcs_new.read(FILE.read_text(encoding="utf-8").splitlines())
    space.seed(0)
    return space


def test_nothing_is_lost(imported: spacelang.ImportedSpace) -> None:
    assert imported.warnings == ()
    assert imported.space.warnings == ()


def test_the_structures_are_those_of_the_file(imported: spacelang.ImportedSpace) -> None:
    """43 of the 16 x 13 pairs are forbidden: 165, by 2 encodings, 3 imputations, 6 rescalings, and 2 x 2 more."""
    assert imported.space.structures == 165 * 2 * 3 * 6 * 2 * 2
    alternatives = {stage.name: len(stage.branches) for stage in imported.space.checked.stages}
    assert alternatives == {
        "balancing": 2,
        "categorical_encoding": 2,
        "category_coalescence": 2,
        "imputation": 3,
        "rescaling": 6,
        "feature_preprocessor": 13,
        "classifier": 16,
    }


def test_the_text_is_for_readers(imported: spacelang.ImportedSpace) -> None:
    lines = imported.text.splitlines()
    assert lines[0] == "# Imported from mosaic_1_0.pcs."
    assert max(map(len, lines)) <= 120
    assert len(lines) < FILE.read_text(encoding="utf-8").count("\n")
    assert len(set(lines)) > 0.7 * len([line for line in lines if line.strip(" {}")])
    assert sum(line.startswith("forbid") for line in lines) == 3


def test_the_defaults_are_those_of_the_file(imported: spacelang.ImportedSpace, judge: ConfigurationSpace) -> None:
    assert imported.encode(imported.space.default()) == plain(judge.get_default_configuration())


def test_configspace_takes_what_ours_samples(imported: spacelang.ImportedSpace, judge: ConfigurationSpace) -> None:
    for ours in imported.space.sample(COUNT, seed=0):
        theirs = imported.encode(ours)
        taken = plain(Configuration(judge, values=theirs))
        assert taken.keys() == theirs.keys()
        for name, value in theirs.items():
            # ConfigSpace rounds to 13 digits.
            assert taken[name] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value)
        assert imported.decode(theirs) == ours


def test_ours_takes_what_configspace_samples(imported: spacelang.ImportedSpace, judge: ConfigurationSpace) -> None:
    for theirs in judge.sample_configuration(COUNT):
        ours = imported.decode(theirs)
        assert ours in imported.space
        assert imported.encode(ours) == plain(theirs)


def plain(configuration: Configuration) -> dict[str, Any]:
    return {name: value.item() if hasattr(value, "item") else value for name, value in dict(configuration).items()}
