"""Meta-features: by hand, beside those of auto-sklearn's archive, and whose rows a run takes."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from openml_holdout import training_rows
from scipy.sparse import csr_array

from spacelang.api import load
from spacelang.runtime.archives import meta_features as module
from spacelang.runtime.archives.auto_sklearn import read_auto_sklearn
from spacelang.runtime.archives.meta_features import COMPARABLE, compute_meta_features

REAL = Path(__file__).parents[4] / "shared" / "data"
ARCHIVE = REAL / "metalearning"
SETS = ("diabetes", "jm1", "oil_spill", "pc4", "pm10")
"""Sets that are given and in the archive: `jm1` has gaps, `oil_spill` a constant column."""

needs_real_data = pytest.mark.skipif(not ARCHIVE.is_dir(), reason="../shared/data is absent")


def test_by_hand() -> None:
    table = pd.DataFrame(
        {
            "number": [0.0, 0.0, 0.0, 4.0],
            "gap": [1.0, np.nan, 3.0, 2.0],
            "constant": [7.0, 7.0, 7.0, 7.0],
            "word": ["a", "b", "a", None],
        }
    )
    found = compute_meta_features(table, pd.Series([0, 0, 0, 1]), is_classification=True)
    assert len(found) == 37
    assert found["NumberOfInstances"] == found["NumberOfFeatures"] == 4
    assert found["LogNumberOfInstances"] == pytest.approx(np.log(4))
    assert (found["DatasetRatio"], found["LogDatasetRatio"]) == (1, 0)
    assert found["ClassEntropy"] == pytest.approx(0.811278)
    assert (found["ClassProbabilityMin"], found["ClassProbabilityMax"]) == (0.25, 0.75)
    assert (found["ClassProbabilityMean"], found["ClassProbabilitySTD"]) == (0.5, 0.25)
    assert (found["NumberOfMissingValues"], found["PercentageOfMissingValues"]) == (2, 2 / 16)
    assert (found["NumberOfInstancesWithMissingValues"], found["NumberOfFeaturesWithMissingValues"]) == (2, 2)
    assert (found["NumberOfNumericFeatures"], found["NumberOfCategoricalFeatures"]) == (3, 1)
    assert (found["RatioNumericalToNominal"], found["RatioNominalToNumerical"]) == (3, 1 / 3)
    assert (found["SymbolsMin"], found["SymbolsMean"], found["SymbolsSum"], found["SymbolsSTD"]) == (2, 2, 2, 0)
    # `number`: 2 / sqrt(3) and -2/3, as each column of zeros and ones with a share of 1/4; `gap`, filled with 2: 0 and
    # -1; a share of one half: 0 and -2. The constant one is left out.
    one = 2 / 3**0.5
    assert found["SkewnessMean"] == pytest.approx((3 * one + 0 + 0) / 5)
    assert found["SkewnessMax"] == pytest.approx(one)
    assert found["KurtosisMean"] == pytest.approx((3 * -2 / 3 - 1 - 2) / 5)
    assert found["KurtosisMin"] == pytest.approx(-2)


def test_a_category_is_the_column_of_zeros_and_ones_that_encodes_it() -> None:
    rng = np.random.default_rng(0)
    words = pd.Series(rng.choice(["a", "b", "c", None], 90, p=[0.6, 0.2, 0.1, 0.1]))
    ones = pd.get_dummies(words, dummy_na=True).astype(float)
    labels = pd.Series(np.arange(90) % 3)
    encoded = compute_meta_features(ones, labels, is_classification=True)
    found = compute_meta_features(pd.DataFrame({"words": words}), labels, is_classification=True)
    for name in (f"{what}{which}" for what in ("Skewness", "Kurtosis") for which in ("Min", "Max", "Mean", "STD")):
        assert found[name] == pytest.approx(encoded[name]), name


def test_regressions_have_no_classes_and_sparse_features_sizes_alone() -> None:
    table = pd.DataFrame({"x": [1.0, 2.0, 4.0]})
    regression = compute_meta_features(table, pd.Series([0.1, 0.2, 0.3]), is_classification=False)
    assert not [name for name in regression if name.startswith("Class") or name == "NumberOfClasses"]
    assert "KurtosisMean" in regression
    sparse = compute_meta_features(csr_array(np.eye(4)), pd.Series([0, 1, 0, 1]), is_classification=True)
    assert (sparse["NumberOfInstances"], sparse["ClassEntropy"]) == (4, 1)
    assert "KurtosisMean" not in sparse


def test_blocks_of_columns_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame(np.random.default_rng(1).exponential(size=(30, 7)))
    labels = pd.Series(np.arange(30) % 2)
    whole = compute_meta_features(table, labels, is_classification=True)
    monkeypatch.setattr(module, "BLOCK_SIZE", 60)
    assert compute_meta_features(table, labels, is_classification=True) == pytest.approx(whole, rel=1e-12)


def test_columns_without_finite_moments_count_for_nothing() -> None:
    table = pd.DataFrame({"infinite": [1.0, np.inf, 2.0, 3.0], "x": [0.0, 0.0, 0.0, 4.0], "empty": [np.nan] * 4})
    found = compute_meta_features(table, pd.Series([0, 1, 0, 1]), is_classification=True)
    assert found["KurtosisMax"] == found["KurtosisMin"] == pytest.approx(-2 / 3)
    assert found["NumberOfNumericFeatures"] == 2


@needs_real_data
@pytest.mark.parametrize("name", SETS)
def test_they_agree_with_the_archive_of_auto_sklearn(name: str) -> None:
    """Within 1 % on five sets, on the rows of which the archive has them."""
    theirs = _theirs()[name]
    table = pd.read_csv(REAL / "datasets" / f"{name}.csv.gz")
    training = table.iloc[training_rows(len(table))]
    ours = compute_meta_features(training.drop(columns="target"), training["target"], is_classification=True)
    assert ours.keys() == theirs.keys()
    for feature in COMPARABLE:
        assert ours[feature] == pytest.approx(theirs[feature], rel=0.01, abs=1e-12), feature


@needs_real_data
def test_those_that_do_not_count_are_zero_on_all_of_the_sets() -> None:
    """Where both are 0 nothing was shown."""
    theirs = [_theirs()[name] for name in SETS]
    assert {name for name in theirs[0] if not any(each[name] for each in theirs)} == theirs[0].keys() - {*COMPARABLE}
    assert len(COMPARABLE) == 29


@cache
def _theirs() -> dict[str, Mapping[str, float]]:
    return {row.data: row.meta_features for row in read_auto_sklearn(ARCHIVE, load("mosaic").checked).rows}
