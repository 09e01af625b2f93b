"""Columns of features that hold the labels, which make every score too good, are named before the search."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spacelang as sl
from spacelang.ir.task import Kind
from spacelang.runtime.data.labels import check_and_encode_labels, constant_target_warnings, label_column_warnings
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.data.profile import profile_table
from spacelang.runtime.errors import DataError

RNG = np.random.default_rng(0)
ROWS = 60
CLASSES = np.array(["no", "yes", "yes"] * 20)
NUMBERS = RNG.normal(size=ROWS)


def warned(column: Any, labels: Any, kind: Kind) -> bool:
    features = pd.DataFrame({"x": RNG.normal(size=ROWS), "a, b": column})
    found = label_column_warnings(check_and_encode_labels(make_table(features, labels), kind))
    assert [each for each in found if "`x`" in each] == []
    return bool(found)


@pytest.mark.parametrize(
    ("column", "labels", "kind", "expected"),
    [
        (CLASSES, CLASSES, "classification", True),
        (np.where(CLASSES == "yes", 0, 7), CLASSES, "classification", True),
        (np.where(np.arange(ROWS) == 5, "yes", CLASSES)[::-1], CLASSES, "classification", False),
        (np.where(CLASSES == "yes", 1.0, np.nan), CLASSES, "classification", True),
        (np.arange(ROWS), CLASSES, "classification", False),
        (NUMBERS, NUMBERS, "regression", True),
        (NUMBERS + 1, NUMBERS, "regression", False),
        (np.where(np.arange(ROWS) == 5, np.nan, NUMBERS), NUMBERS, "regression", False),
        (NUMBERS.astype(str), NUMBERS, "regression", False),
        (np.ones(ROWS), np.ones(ROWS), "regression", False),
    ],
)
def test_a_column_that_holds_the_labels_is_named(column: Any, labels: Any, kind: Kind, expected: bool) -> None:
    assert warned(column, labels, kind) == expected


def test_targets_that_are_one_number_are_named() -> None:
    features = pd.DataFrame({"x": NUMBERS})
    table = make_table(features, pd.Series([2.5] * ROWS, name="price"))
    (warning,) = constant_target_warnings(check_and_encode_labels(table, "regression"))
    assert warning.startswith("all labels in the column `price` are `2.5`, so nothing can be learned")
    with pytest.raises(DataError, match=r"all labels in the column `price` are `2\.5`"):
        profile_table(table)
    both = make_table(features, pd.DataFrame({"price": [2.5] * ROWS, "size": NUMBERS}))
    assert constant_target_warnings(check_and_encode_labels(both, "regression")) == [warning]
    assert not constant_target_warnings(check_and_encode_labels(make_table(features, NUMBERS), "regression"))


@given(row=st.integers(0, 999))
def test_a_column_that_differs_from_the_labels_in_one_row_does_not_hold_them(row: int) -> None:
    """Most columns are told apart by few rows; the others have to be compared in all rows."""
    labels = np.arange(1000) // 500
    dataset = check_and_encode_labels(make_table(pd.DataFrame({"a": labels}), labels), "classification")
    assert label_column_warnings(dataset)
    changed = np.where(np.arange(1000) == row, 1 - labels, labels)
    assert not label_column_warnings(replace(dataset, features=pd.DataFrame({"a": changed})))


def test_a_search_warns_of_labels_among_its_features() -> None:
    features = pd.DataFrame({"x": RNG.normal(size=ROWS), "bought": CLASSES == "yes"})
    with pytest.warns(UserWarning, match="the column `bought` holds the labels") as caught:
        sl.search("stage e = GaussianNB", features, features["bought"], trials=1, workers=0, progress=False)
    assert caught[0].filename == __file__


def test_targets_of_a_search_with_cross_validation_keep_their_names() -> None:
    labels = pd.DataFrame(RNG.integers(0, 2, (ROWS, 2)), columns=["left", "right"])
    search = sl.SpaceSearchCV("stage e = SVC | RandomForestClassifier", trials=1, cv=2)
    with pytest.raises(ValueError, match="the columns `left`, `right` are several targets, but `SVC` takes only one"):
        search.fit(RNG.normal(size=(ROWS, 2)), labels)


def test_labels_with_the_name_of_a_feature_get_another_one() -> None:
    """So that an exported module does not take the feature for the labels."""
    features = pd.DataFrame({"age": NUMBERS, "target": NUMBERS})
    assert make_table(features, pd.Series(CLASSES, name="age")).target.name == "age_2"
    assert make_table(features, CLASSES).target.name == "target_2"
    several = make_table(features, pd.DataFrame({"age": CLASSES, "left": CLASSES})).target
    assert isinstance(several, pd.DataFrame)
    assert [*several.columns] == ["age_2", "left"]
