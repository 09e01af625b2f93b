"""Columns that say which rows belong together: what they become, and what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from spacelang.ir.validation import CrossValidation, Holdout, TimeSeriesSplits, Validation
from spacelang.runtime.data.labels import check_and_encode_labels
from spacelang.runtime.data.loading import Table, make_table
from spacelang.runtime.data.read_options import ReadOptions
from spacelang.runtime.data.row_relations import (
    attach_groups,
    attach_groups_and_times,
    attach_splits_of_splitter,
    check_related_test_rows,
)
from spacelang.runtime.errors import DataError, MetricError
from spacelang.runtime.evaluation.folds import default_validation, split_rows
from spacelang.runtime.evaluation.unseen_rows import draw_test_rows, split_off_test_rows
from spacelang.runtime.scoring.metric import check_metric_on_splits, named_metric

ROWS = 12
LABELS = pd.Series(np.arange(ROWS) % 2, name="y")


def table(**columns: Any) -> Table:
    return make_table(pd.DataFrame({"a": np.arange(ROWS) / 7, **columns}), LABELS)


@pytest.mark.parametrize(
    ("times", "ranks"),
    [
        ([3, 1, 2] * 4, [2, 0, 1] * 4),
        ([0.5, -1.0, 7.25] * 4, [1, 0, 2] * 4),
        (pd.to_datetime(["2021-01-03", "2020-12-31", "2021-01-01"] * 4), [2, 0, 1] * 4),
        (["2021-01-03", "2020-12-31", "2021-01-01 10:30"] * 4, [2, 0, 1] * 4),
        (["2021/3/1", "2021/1/3", "2021/2/1"] * 4, [2, 0, 1] * 4),
        (["13.1.2021", "2.1.2021", "1.2.2021"] * 4, [1, 0, 2] * 4),
        (["3 Jan 2021", "31 Dec 2020", "1 Jan 2021"] * 4, [2, 0, 1] * 4),
        (pd.Categorical(["mid", "low", "high"] * 4, ["low", "mid", "high"], ordered=True), [1, 0, 2] * 4),
    ],
    ids=["whole", "floats", "dates", "texts", "year first", "day first", "names", "ordered"],
)
def test_rows_are_in_the_order_of_their_times(times: Any, ranks: list[int]) -> None:
    found = attach_groups_and_times(table(at=times), Holdout(0.3, by="at"))
    assert found.relations.times is not None
    assert found.relations.times.tolist() == ranks
    assert [*found.features.columns] == ["a"]


@pytest.mark.parametrize(
    ("columns", "validation", "message", "remedy"),
    [
        (
            {"subject": [1] * ROWS},
            CrossValidation(3, "subjct"),
            "has no column `subjct`, which `group=subjct` names",
            "`s",
        ),
        ({"subject": [1] * ROWS}, CrossValidation(3, "y"), "`group=y` names the column of labels", "another column"),
        (
            {"subject": [1.0, np.nan] * 6},
            CrossValidation(3, "subject"),
            "6 rows have no value (first in row 2)",
            "drop",
        ),
        ({"at": [None, *range(11)]}, Holdout(0.3, by="at"), "row 1 has no value", "give each row a time"),
        ({"at": ["x1", "x2"] * 6}, Holdout(0.3, by="at"), "it holds texts such as `x1`", "`2026-01-31`"),
        (
            {"at": ["31/01/2024", "01/02/2024", "2024-01-31"] * 4},
            Holdout(0.3, by="at"),
            "it holds texts such as `31/01/2024` and `2024-01-31`",
            "`2026-01-31`",
        ),
        ({"at": ["1/2/2020", "3/4/2020"] * 6}, Holdout(0.3, by="at"), "in `1/2/2020` the day or", "`2026-01-31`"),
    ],
)
def test_columns_that_relate_no_rows(columns: Any, validation: Validation, message: str, remedy: str) -> None:
    with pytest.raises(DataError) as raised:
        attach_groups_and_times(table(**columns), validation)
    assert message in raised.value.message
    assert remedy in raised.value.help


def test_a_dropped_column_and_sparse_features_relate_no_rows() -> None:
    dropped = Table("data", table().features, LABELS, reading=ReadOptions(drop_columns=("subject",)))
    with pytest.raises(DataError, match="is dropped") as raised:
        attach_groups_and_times(dropped, CrossValidation(3, "subject"))
    assert "remove `subject` from `--drop-columns`" in raised.value.help
    with pytest.raises(DataError, match="is sparse"):
        attach_groups_and_times(make_table(sparse.eye_array(ROWS).tocsr(), LABELS), CrossValidation(3, "subject"))
    with pytest.raises(DataError, match="the only feature of `data` is `a`"):
        attach_groups_and_times(table(), CrossValidation(3, "a"))


@pytest.mark.parametrize(
    ("columns", "validation", "message"),
    [
        (
            {"who": [0, 1] * 6},
            CrossValidation(3, "who"),
            "the column `who` forms 2 groups, but the split needs at least 3",
        ),
        ({"who": [7] * ROWS}, Holdout(0.3, "who"), "the column `who` forms 1 group,"),
        ({"who": [7, 8, 9, 8] * 3}, Holdout(0.3, "who"), "only one group of the column `who` has the class `1`"),
        (
            {"at": [0, 1, 2] * 4},
            TimeSeriesSplits(3, "at"),
            "has 3 different times, but the split needs at least 4",
        ),
        ({"at": [1] * ROWS}, Holdout(0.3, by="at"), "the column `at` has a single time"),
        ({"at": [*range(0, 12, 2), *range(1, 12, 2)]}, Holdout(0.3, by="at"), ""),
        ({"at": LABELS.to_numpy()}, Holdout(0.3, by="at"), "trains on a single class"),
    ],
)
def test_rows_that_cannot_be_split(columns: Any, validation: Validation, message: str) -> None:
    dataset = check_and_encode_labels(attach_groups_and_times(table(**columns), validation), "classification")
    if not message:
        split_rows(dataset, validation, 0)
        return
    with pytest.raises(DataError) as raised:
        split_rows(dataset, validation, 0)
    assert message in raised.value.message
    assert raised.value.help


def test_groups_of_a_program() -> None:
    given = table(who=np.arange(ROWS) // 2)
    found, name = attach_groups(given, given.features["who"])  # type: ignore[call-overload]
    assert (name, [*found.features.columns]) == ("who", ["a"])
    found, name = attach_groups(given, np.arange(ROWS) // 3)
    assert (name, [*found.features.columns]) == ("groups", ["a", "who"])
    taken, unique = attach_groups(given, pd.Series(np.arange(ROWS) // 3, name="who"))
    features = attach_groups_and_times(taken, CrossValidation(3, unique)).features
    assert (unique, [*features.columns]) == ("who_2", ["a", "who"])
    dataset = check_and_encode_labels(found, "classification")
    assert default_validation(dataset, name) == CrossValidation(4, "groups")
    with pytest.raises(DataError, match=r"has the shape \(3,\), but there are 12 rows"):
        attach_groups(given, [1, 2, 3])


def test_equal_times_leave_no_test_rows_and_the_error_names_their_column() -> None:
    validation = Holdout(0.3, by="at")
    related = attach_groups_and_times(table(at=[1] * ROWS), validation)
    with pytest.raises(DataError, match="the column `at` has a single time"):
        split_off_test_rows(related, 0.3, "classification", 0, "at")
    dataset = check_and_encode_labels(related, "classification")
    with pytest.raises(DataError, match="the order of the rows has a single time"):
        draw_test_rows(dataset, 0.3, 0)


def test_few_groups_leave_no_test_rows() -> None:
    dataset = check_and_encode_labels(attach_groups(table(), np.arange(ROWS) // 6)[0], "classification")
    with pytest.raises(DataError, match="forms 2 groups, but the split needs at least 3"):
        draw_test_rows(dataset, 0.3, 0)


class Broken:
    def get_n_splits(self) -> int:
        return 0

    def split(self, *_: Any) -> list[Any]:
        return []


def test_a_splitter_that_makes_no_splits_is_refused() -> None:
    dataset = check_and_encode_labels(table(), "classification")
    with pytest.raises(DataError, match="the splitter `Broken` returned no splits of the 12 rows"):
        attach_splits_of_splitter(Broken(), dataset, 0)


def test_a_metric_needs_the_classes_that_a_split_holds_out() -> None:
    dataset = check_and_encode_labels(table(), "classification")
    both, one = np.array([0, 1]), np.array([1, 3])
    check_metric_on_splits(named_metric("roc_auc"), dataset, [both])
    check_metric_on_splits(named_metric("accuracy"), dataset, [one])
    with pytest.raises(MetricError, match="undefined on split 2 of 2, which holds out `1` alone"):
        check_metric_on_splits(named_metric("roc_auc"), dataset, [both, one])


@pytest.mark.parametrize(
    ("validation", "values", "message"),
    [
        (Holdout(0.3, "at"), [12, 11], "1 of the 2 rows of `data` have the same `at` as training rows"),
        (Holdout(0.3, by="at"), [10, 11], "1 of the 2 rows of `data` are earlier than training rows"),
    ],
)
def test_other_test_rows_obey_the_groups_and_the_order(validation: Validation, values: Any, message: str) -> None:
    given, later = table(at=np.arange(ROWS)), table(at=np.arange(ROWS) + ROWS)
    check_related_test_rows(given, later, validation)
    check_related_test_rows(given, given, CrossValidation(5))
    other = make_table(pd.DataFrame({"a": [0.5, 1.5], "at": values}), [0, 1])
    with pytest.raises(DataError, match=message):
        check_related_test_rows(given, other, validation)
