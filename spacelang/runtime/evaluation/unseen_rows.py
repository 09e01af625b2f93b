"""Test rows that no trial sees: read, set aside, and converted to the columns and types of the other rows."""

from contextlib import suppress
from dataclasses import replace
from os import PathLike
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from spacelang.runtime.data.labels import (
    Dataset,
    TaskKind,
    check_and_encode_labels,
    describe_target_count,
    describe_targets,
    make_indicator_labels,
    regression_labels,
    target_names,
)
from spacelang.runtime.data.loading import Table, TargetColumns, load_dataset, make_table
from spacelang.runtime.data.tables import Features, holds_numbers, without_columns
from spacelang.runtime.errors import DataError, MetricError
from spacelang.runtime.evaluation.splits import (
    Rows,
    check_groups,
    grouped_holdout,
    plain_holdout,
    stratified_holdout,
    time_holdout,
)
from spacelang.runtime.pipelines.input_conversion import AsTable
from spacelang.runtime.scoring.metric import Metric, constant_prediction_loss
from spacelang.text import format_names

SEED_STREAM: Final = 12_073
"""Combined with the seed, so that test rows are drawn independently of the splits that the seed alone determines."""
MIN_ROWS: Final = 2  # The fewest test rows, and the fewest remaining rows of each class
MIN_GROUPS: Final = 3  # The fewest groups from which test rows are set aside: two remain to be split
TestRows: TypeAlias = float | Table  # The share of the rows that is set aside for testing, or a table of other rows


def read_test_rows(given: Any, table: Table) -> TestRows | None:
    """Return the test rows that a user gives: a share, a reference read as `table` was, `(X, y)` or a table."""
    match given:
        case None | Table():
            return given
        case (features, target):
            return make_table(without_columns(features, table.reading.drop_columns), target, "the test rows")
        case _ if (share := test_share_or_none(given)) is not None:
            if not 0 < share < 1:
                raise DataError(f"the share of test rows must be between 0 and 1, not {share:g}")
            return share
        case str() | PathLike():
            return _load_test_rows(str(given), table)
        case _:
            shown = f"`{given!r}`" if isinstance(given, int | float) else f"a `{type(given).__name__}`"
            what = f"{shown} is neither a share of the rows nor test rows with labels"
            raise DataError(what, "give a share such as 0.2, a file, or `(X, y)`")


def test_share_or_none(given: Any) -> float | None:
    """Return a number, or a text with a number, as the share of test rows; None for anything else.

    The caller must check that the share is between 0 and 1.
    """
    if isinstance(given, int | float | str | PathLike) and not isinstance(given, bool):
        with suppress(ValueError):
            return float(given if isinstance(given, int | float) else str(given))
    return None


def _load_test_rows(reference: str, table: Table) -> Table:
    """Load test rows, which may lack the columns that are dropped anyway."""
    reading, label = table.reading, target_names(table.target)
    found = load_dataset(reference, label, replace(reading, drop_columns=()))
    if isinstance(found.features, pd.DataFrame):
        return replace(found, features=without_columns(found.features, reading.drop_columns))
    return load_dataset(reference, label, reading)


def split_off_test_rows(
    table: Table, test: TestRows | None, kind: TaskKind, seed: int, time_column: str | None = None
) -> tuple[Table, Table | None]:
    """Return the rows for trials, and the test rows or None.

    A share of test rows is drawn by the seed, with every class in both parts. Raise DataError if that is impossible.
    `time_column` is the column that the times of the rows come from; None if they come from the order of the rows.
    """
    if not isinstance(test, float):
        return table, test
    if table.splits:
        what = f"`{table.name}` defines its own splits, so no share of its rows can be set aside for testing"
        raise DataError(what, "give the test rows as a file, not as a share")
    dataset = check_and_encode_labels(table, kind)
    kept, drawn = draw_test_rows(dataset, test, seed, time_column)
    return _select_rows(table, kept), _select_rows(table, drawn)


def draw_test_rows(dataset: Dataset, share: float, seed: int, time_column: str | None = None) -> tuple[Rows, Rows]:
    """Return the sorted numbers of the rows for trials and for tests; raise DataError if rows or classes are few.

    Rows of one group are on the same side. If the rows have times, the latest ones are the test rows. Errors
    name the `time_column` that the times come from.
    """
    rng = np.random.default_rng([seed, SEED_STREAM])
    target = dataset.target.to_numpy()
    if len(target) < 2 * MIN_ROWS:
        raise DataError(f"`{dataset.name}` has {len(target)} rows, too few to set some aside for testing")
    relations = dataset.relations
    if relations.times is not None:
        what = "the order of the rows" if time_column is None else f"the column `{time_column}`"
        kept, drawn = time_holdout(relations.times, share, what)
    elif relations.groups is not None:
        codes = np.zeros(len(target), dtype=np.int64) if not dataset.is_stratified else target
        # Each class needs groups for the test rows and for both sides of a later split.
        check_groups(relations, codes, dataset.classes, MIN_GROUPS, "the column of groups")
        kept, drawn = grouped_holdout(codes, relations.groups, share, rng)
    elif not dataset.is_stratified:
        kept, drawn = plain_holdout(len(target), share, rng)
    else:
        kept, drawn = stratified_holdout(target, share, rng)
    if dataset.is_stratified:
        left = np.bincount(target[kept], minlength=len(dataset.classes))
        if left.min() < MIN_ROWS:
            code = int(left.argmin())
            what = (
                f"the class `{dataset.classes[code]}` in the column `{dataset.target.name}` has "
                f"{np.sum(target == code)} rows, too few to set aside {share:g} for testing and to split the rest"
            )
            remedy = "drop the class, merge it with another, choose a smaller share, or give the test rows as a file"
            raise DataError(what, remedy)
    return np.sort(kept), np.sort(drawn)


def make_test_dataset(tested: Table, table: Table, dataset: Dataset) -> Dataset:
    """Return the test rows with the columns, types and class codes of the other rows; raise DataError if impossible."""
    features = align_features(tested, table)
    if describe_target_count(tested.target) != describe_target_count(table.target):
        theirs, ours = describe_target_count(tested.target), describe_target_count(table.target)
        what = f"`{tested.name}` has {theirs}, but `{table.name}` has {ours}"
        raise DataError(what, "test rows need the same targets as the other rows")
    lacking = int(tested.target.isna().to_numpy().reshape(len(tested.target), -1).any(axis=1).sum())
    if lacking:
        rows_have = "1 row has" if lacking == 1 else f"{lacking} rows have"
        raise DataError(f"in `{tested.name}`, {rows_have} no label in {describe_targets(tested.target)}")
    if len(tested.target) < MIN_ROWS:
        raise DataError(f"`{tested.name}` has {len(tested.target)} row, too few to test on")
    target = encode_test_labels(tested, dataset)
    if isinstance(features, pd.DataFrame) and features.equals(table.features):
        what = f"the test rows of `{tested.name}` are identical to the rows that trials see"
        raise DataError(what, "give other rows, or a share: `--test 0.2`")
    return Dataset(tested.name, features, target, dataset.kind, dataset.classes, relations=tested.relations)


def check_metric_on_test_rows(metric: Metric, dataset: Dataset, tested: Dataset) -> None:
    """Raise MetricError if a metric is undefined on the test rows, whatever is predicted."""
    try:
        loss = constant_prediction_loss(metric, dataset, tested)
    except (ValueError, TypeError, AttributeError) as error:
        raise _undefined_metric(metric, tested, str(error).strip().splitlines()[0]) from error
    if not np.isfinite(loss):
        raise _undefined_metric(metric, tested, "give rows of every class" if dataset.classes else "")


def _undefined_metric(metric: Metric, tested: Dataset, help_text: str) -> MetricError:
    return MetricError(f"the metric `{metric.name}` is undefined on the {len(tested.target)} test rows", help_text)


def _select_rows(table: Table, rows: Rows) -> Table:
    features = table.features
    is_table = isinstance(features, pd.DataFrame)
    chosen: Any = features.iloc[rows].reset_index(drop=True) if is_table else features[rows]
    target, weights = table.target.iloc[rows].reset_index(drop=True), table.weights
    weights = None if weights is None else weights[rows]
    relations = table.relations.select_rows(rows)
    return replace(table, features=chosen, target=target, splits=(), relations=relations, weights=weights)


def encode_test_labels(tested: Table, dataset: Dataset) -> TargetColumns:
    """Return the labels of test rows as numbers; classes get the codes that they have in `dataset`.

    Raise DataError for classes that `dataset` lacks.
    """
    if dataset.kind == "regression":
        return regression_labels(tested)
    if isinstance(tested.target, pd.DataFrame):
        return make_indicator_labels(tested)
    known = {label: code for code, label in enumerate(dataset.classes)}
    labels = tested.target.tolist()
    unknown = [label for label in dict.fromkeys(labels) if label not in known]
    if unknown:
        shown = format_names(unknown, 3)
        what = f"the column `{tested.target.name}` of `{tested.name}` has labels that the training rows lack: {shown}"
        raise DataError(what, "drop these rows, or add rows of these classes to train on")
    codes = np.array([known[label] for label in labels], dtype=np.int64)
    return pd.Series(codes, name=tested.target.name)


def align_features(tested: Table, table: Table) -> Features:
    """Return features with the columns and types of `table`, in its order; raise DataError with all differences."""
    ours, theirs = table.features, tested.features
    if isinstance(ours, pd.DataFrame) and isinstance(theirs, pd.DataFrame):
        _check_columns(tested, [*theirs.columns], table, [*ours.columns])
        _check_types(tested, theirs, table, ours)
    elif ours.shape[1] != theirs.shape[1]:
        what = f"`{tested.name}` has {theirs.shape[1]} feature columns, but `{table.name}` has {ours.shape[1]}"
        raise DataError(what, "test rows need the same columns as the training rows")
    try:
        found: Features = AsTable().fit(ours).transform(theirs)
    except (ValueError, TypeError) as error:
        raise DataError(f"cannot convert `{tested.name}` to the column types of `{table.name}`: {error}") from error
    return found


def _check_columns(tested: Table, theirs: list[Any], table: Table, ours: list[Any]) -> None:
    missing, more = [name for name in ours if name not in theirs], [name for name in theirs if name not in ours]
    if not missing and not more:
        return
    parts = [f"{kind} {format_names(names)}" for kind, names in (("missing", missing), ("unexpected", more)) if names]
    what = f"the columns of `{tested.name}` differ from those of `{table.name}`: {', '.join(parts)}"
    raise DataError(what, "test rows need the same columns as the training rows")


def _check_types(tested: Table, theirs: pd.DataFrame, table: Table, ours: pd.DataFrame) -> None:
    for name in ours.columns:
        pair = [_value_type(each[name]) for each in (theirs, ours)]
        if None not in pair and pair[0] != pair[1]:
            what = f"the column `{name}` holds {pair[0]} in `{tested.name}`, but {pair[1]} in `{table.name}`"
            raise DataError(what, "use the same type of values in both tables")


def _value_type(column: "pd.Series[Any]") -> str | None:
    """Return the type of values in one word; None if all are missing."""
    if bool(column.isna().all()):
        return None
    if pd.api.types.is_datetime64_any_dtype(column):
        return "dates"
    return "numbers" if holds_numbers(column) else "text"
