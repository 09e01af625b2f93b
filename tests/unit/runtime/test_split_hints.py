"""What is said of a table whose rows should not be split at random, and nothing of others."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

import spacelang as sl
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.data.profile import TableProfile, profile_table
from spacelang.runtime.data.split_hints import repeated_held_out_share, repeated_row_share
from spacelang.starter_spaces import starter_space_text

ROWS = 200
RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=ROWS)
OWNERS = np.arange(ROWS) // 5  # 40 groups of 5 rows
ALIKE = RNG.normal(size=40)[OWNERS] + 0.1 * NOISE
LABELS = RNG.permutation(np.arange(ROWS) % 2)


def profiled(labels: Any = LABELS, **columns: Any) -> TableProfile:
    return profile_table(make_table(pd.DataFrame(columns), pd.Series(labels, name="y")))


@pytest.mark.parametrize("name", ["subject", "Patient_ID", "customer id", "userId", "household", "session_key"])
def test_an_identifier_that_repeats_keeps_rows_that_are_alike_together(name: str) -> None:
    for owners in (OWNERS, [f"P{owner:03}" for owner in OWNERS]):
        found = profiled(**{name: owners, "a": ALIKE})
        (hint,) = found.split_hints
        assert hint.is_sure
        space = sl.parse(starter_space_text(found, "a.csv"))
        assert space.task is not None
        assert space.task.validation == hint.validation
        assert "cv(5, group=" in found.warnings[0]


@pytest.mark.parametrize(
    "columns",
    [
        {"town": OWNERS, "a": ALIKE},  # no name of an identifier
        {"subject": np.arange(ROWS), "a": NOISE},  # does not repeat
        {"subject": np.arange(ROWS) % 3, "a": NOISE},  # a category
        {"subject": OWNERS + 0.5, "a": ALIKE},  # a quantity
        {"number_of_customers": OWNERS, "a": ALIKE},
        {"acid": OWNERS, "a": ALIKE},
        {"birth date": pd.date_range("2020-01-01", periods=ROWS), "a": NOISE},
        {"date": ["2020-01-01", "2021-01-01"] * (ROWS // 2), "a": NOISE},  # two dates are a category
    ],
)
def test_other_columns_are_no_reason(columns: Any) -> None:
    assert not profiled(**columns).split_hints


def test_what_is_not_certain_is_a_comment() -> None:
    found = profiled(subject=RNG.permutation(OWNERS), a=NOISE)
    (hint,) = found.split_hints
    assert not hint.is_sure
    text = starter_space_text(found, "a.csv")
    assert "validate cv(5)\n" in text
    assert "# validate cv(5, group=subject)\n" in text
    assert "it is not certain that rows" in text
    assert found.split_hint is None
    assert [column.name for column in found.without_split_columns.columns] == ["subject", "a"]


@pytest.mark.parametrize("dates", [pd.date_range("2020-01-01", periods=ROWS), "text"])
def test_rows_in_the_order_of_their_dates_are_split_by_them(dates: Any) -> None:
    days = pd.date_range("2020-01-01", periods=ROWS)
    days = days.strftime("%Y-%m-%d") if isinstance(dates, str) else days
    found = profiled(NOISE, day=days, a=ALIKE)
    assert (
        sl.parse(starter_space_text(found, "a.csv")).task.validation
        == sl.parse(  # type: ignore[union-attr]
            "stage e = Ridge task regression { validate time(5, by=day) }"
        ).task.validation
    )  # type: ignore[union-attr]
    assert found.warnings == [
        "`day` holds dates, and the rows are in the order of `day`; "
        "therefore the new space has `validate time(5, by=day)`"
    ]
    shuffled = profiled(NOISE, day=pd.Series(days).sample(frac=1, random_state=0).to_numpy(), a=ALIKE)
    assert "# validate time(5, by=day)\n" in starter_space_text(shuffled, "a.csv")


def test_a_column_that_is_all_there_is_splits_nothing() -> None:
    found = profiled(NOISE, day=pd.date_range("2020-01-01", periods=ROWS), empty=[None] * ROWS)
    assert found.split_hint is None
    assert "validate cv(5)\n" in starter_space_text(found, "a.csv")


def test_many_rows_are_held_out_once() -> None:
    many = np.arange(1_500)
    found = profiled(many % 2, subject=many // 5, a=RNG.normal(size=300)[many // 5])
    assert [hint.validation_text for hint in found.split_hints] == ["holdout(0.3, group=subject)"]


def test_rows_that_occur_again_are_counted() -> None:
    once = pd.DataFrame({"a": NOISE, "b": ALIKE})
    halves = [(np.arange(ROWS), np.arange(ROWS, 2 * ROWS))]
    twice = pd.concat([once, once], ignore_index=True)
    assert (repeated_row_share(once), repeated_row_share(twice)) == (0, 1)
    assert repeated_held_out_share(twice, halves) == 1
    half = pd.concat([once, once.head(ROWS // 2) + 1, once.tail(ROWS // 2)], ignore_index=True)
    assert repeated_held_out_share(half, halves) == 0.5
    dense = sparse.csr_array(np.round(RNG.normal(size=(100, 50)), 2) * (RNG.random((100, 50)) < 0.3))
    assert repeated_row_share(dense) == 0
    assert repeated_row_share(sparse.vstack([dense, dense]).tocsr()) == 1


def test_columns_of_few_values_repeat_anyway() -> None:
    table = pd.DataFrame({name: RNG.integers(0, 2, ROWS) for name in "abcdef"})
    assert table.duplicated().mean() > 0.5
    assert repeated_row_share(table) == 0


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits, load_diabetes])
def test_known_data_sets_give_no_alarm(load: Any) -> None:
    found = profile_table(make_table(*load(return_X_y=True, as_frame=True)))
    assert not found.split_hints
    assert found.repeated_row_share == 0
