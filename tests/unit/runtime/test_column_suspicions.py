import pandas as pd
import pytest

import spacelang as sl
from spacelang.runtime.data.loading import load_dataset, make_table
from spacelang.runtime.data.profile import column_warnings, profile_table
from spacelang.runtime.data.tables import holds_large_integers
from spacelang.runtime.errors import DataError
from spacelang.runtime.pipelines.preparation import plan_preparation

LARGE = str(2**63)


@pytest.mark.parametrize(
    ("values", "warning"),
    [
        (
            ["1", "2.5", "?"],
            "`a` holds numbers and `?`: the numbers count as categories; if `?` marks missing values, ",
        ),
        (["1", "-2e3", " - "], "`a` holds numbers and ` - `: "),
        ([*map(str, range(30)), "see below"], "`a` holds numbers and `see below`: "),
        ([*map(str, range(30)), "$ 4"], "`a` holds numbers as text, such as `$ 4`: "),
        (["1", "2", "3", "many"], None),
        (["1", "?"], None),
        (
            [LARGE, "-5"],
            f"`a` holds integers of 2^63 or more, such as `{LARGE}`: they count as categories; write them ",
        ),
        ([LARGE, "5", ""], f"`a` holds integers of 2^63 or more, such as `{LARGE}`: "),
        (["1" * 5000, "2"], f"`a` holds integers of 2^63 or more, such as `{'1' * 5000}`: "),
    ],
)
def test_numbers_that_are_text_are_named_with_an_example(values, warning):
    found = column_warnings(pd.DataFrame({"a": values}))
    assert len(found) == (warning is not None)
    assert all(each.startswith(warning) for each in found)


def test_columns_with_the_same_mark_are_named_together():
    table = pd.DataFrame({"a": ["1", "2", "?"], "b": ["1", "2", "-"], "c": ["3", "?", "4"]})
    assert [each.partition(":")[0] for each in column_warnings(table)] == [
        "`a`, `c` hold numbers and `?`",
        "`b` holds numbers and `-`",
    ]


def test_empty_fields_instead_of_a_mark_are_missing_values(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,y\n1,1,0\n2.5,2,1\n?,,1\n")
    assert len(column_warnings(load_dataset(str(path)).features)) == 1
    path.write_text(path.read_text().replace("?", ""))
    assert column_warnings(load_dataset(str(path)).features) == []


def test_integers_that_no_type_of_pandas_holds_are_refused_as_such(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("".join(["big,x,y\n", *(f"{10**20 + row},{row % 7},{row % 2}\n" for row in range(12))]))
    table = load_dataset(str(path))
    assert column_warnings(table.features) == []
    assert profile_table(table).refused == (
        "`big` holds integers of 2^63 or more, with which no run can start: write them with a decimal point, "
        "or drop it with `--drop-columns big`",
    )
    space = sl.parse("pipeline = LogisticRegression").checked
    with pytest.raises(DataError, match=r"the column `big` holds integers of 2\^63 or more"):
        plan_preparation(space, table.features)
    plan_preparation(space, make_table(table.features.astype(float), table.target).features)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([2**70, 1], True), ([-(2**70), None], True), ([2**63, -1], True), ([1, pd.NA, 3], False), ([1, 2], False)],
)
def test_only_objects_with_large_integers_hold_them(values, expected):
    assert holds_large_integers(pd.Series(values, dtype=object)) is expected
