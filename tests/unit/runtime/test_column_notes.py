import numpy as np
import pandas as pd
import pytest

import spacelang as sl
from spacelang.runtime.errors import DataError
from spacelang.runtime.pipelines.column_notes import column_notes
from spacelang.runtime.pipelines.preparation import plan_preparation

ROWS = 60
TABLE = pd.DataFrame(
    {
        "income": np.where(np.arange(ROWS) % 3 == 0, np.nan, np.arange(ROWS) * 1.5),
        "rooms": np.where(np.arange(ROWS) % 3 == 0, np.nan, np.arange(ROWS) % 4),
        "town": ["a", "b", None] * 20,
        "month": pd.period_range("2020-01", periods=ROWS, freq="M"),
        "void": [None] * ROWS,
    }
)
IMPUTED = "missing numbers in the column `income` are imputed with the most frequent number"


def notes(pipeline, columns):
    checked = sl.parse(f"pipeline = {pipeline} -> LogisticRegression").checked
    table = TABLE[columns]
    return [*column_notes(checked, plan_preparation(checked, table), table)]


@pytest.mark.parametrize(
    ("pipeline", "columns", "expected"),
    [
        (
            "columns(numeric: SimpleImputer)",
            ["income", "town", "month", "void"],
            ["2 columns (`town`, `month`) are not used: no part of `columns(…)` selects them"],
        ),
        (
            '(columns(numeric: SimpleImputer) | columns("^inc": SimpleImputer)) as part',
            ["income", "town"],
            ["the column `town` is not used: no part of `columns(…)` selects it"],
        ),
        ("(columns(numeric: SimpleImputer) | columns(categorical: OneHotEncoder)) as part", ["income", "town"], []),
        ("columns(numeric: SimpleImputer, rest: OneHotEncoder)", ["income", "town"], []),
    ],
)
def test_columns_that_no_part_selects_are_named(pipeline, columns, expected):
    assert notes(pipeline, columns) == expected


@pytest.mark.parametrize(
    ("pipeline", "is_noted"),
    [
        ("StandardScaler", True),
        ("SimpleImputer { strategy = median }", False),
        ("columns(numeric: StandardScaler, categorical: OneHotEncoder)", True),
        ("columns(numeric: SimpleImputer { strategy = median }, categorical: OneHotEncoder)", False),
    ],
)
def test_numbers_of_many_values_that_the_preparation_imputes_are_named(pipeline, is_noted):
    found = notes(pipeline, ["income", "rooms", "town"])
    assert len(found) == is_noted
    assert all(note.startswith(IMPUTED) for note in found)


@pytest.mark.parametrize("others", [[], ["income"]])
@pytest.mark.parametrize("pipeline", ["StandardScaler", "columns(numeric: SimpleImputer)", "columns(rest: PCA)"])
def test_durations_are_refused_where_they_would_reach_a_step(pipeline, others):
    table = TABLE[others].assign(stay=pd.to_timedelta(np.arange(ROWS), unit="h"))
    checked = sl.parse(f"pipeline = {pipeline} -> LogisticRegression").checked
    with pytest.raises(DataError, match="the column `stay` holds values of the type `timedelta64"):
        plan_preparation(checked, table)


def test_durations_that_no_part_selects_are_not_refused():
    table = TABLE[["town"]].assign(stay=pd.to_timedelta(np.arange(ROWS), unit="h"))
    checked = sl.parse("pipeline = columns(categorical: OneHotEncoder) -> LogisticRegression").checked
    assert plan_preparation(checked, table).kept == ("town", "stay")
