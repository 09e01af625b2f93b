"""Test rows: kept from all trials, and as alike to the other rows as a fitted pipeline needs them to be."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from spacelang.runtime.data.labels import Dataset, TaskKind, check_labels, quantities
from spacelang.runtime.data.loading import Table, load_dataset, make_table
from spacelang.runtime.data.sparse import Features
from spacelang.runtime.errors import DataError, MetricError
from spacelang.runtime.evaluation.split import Rows, plain_holdout, stratified_holdout
from spacelang.runtime.judging.metric import Metric, blind_loss
from spacelang.runtime.pipelines.taking import AsTable

DRAWING: Final = 12_073
"""With this number beside the seed test rows are drawn: no split that the seed alone draws is like it."""

FEWEST: Final = 2
"""So many test rows there must be, and so many rows of each class beside them."""

TestRows: TypeAlias = float | Table
"""The share of the rows that is kept for testing, or other rows."""


def read_test(given: Any, table: Table) -> TestRows | None:
    """What a user gives for test rows: a share (also as text), a file or other reference to data, `(X, y)`, a table.

    A file is read as that of the other rows, whose `table` names the column of labels. Raises DataError for what cannot
    be read, and for no share.
    """
    match given:
        case None | Table():
            return given
        case (features, target):
            return make_table(features, target, "the test rows")
        case _ if (share := share_of(given)) is not None:
            return _share(share)
        case str() | PathLike():
            return _read(str(given), table)
        case _:
            shown = f"`{given!r}`" if isinstance(given, int | float) else f"a `{type(given).__name__}`"
            what = f"{shown} is neither a share of the rows nor test rows with labels"
            raise DataError(what, "give a share such as 0.2, a file, or `(X, y)`")


def share_of(given: Any) -> float | None:
    """The share of the rows that a user gives for test rows, as it is given; None where that is something else."""
    match given:
        case bool():
            return None
        case int() | float():
            return float(given)
        case str() | PathLike():
            return _number(str(given))
        case _:
            return None


def _read(reference: str, table: Table) -> Table:
    """A file of test rows, which may lack columns that are left out anyway."""
    reading, label = table.reading, str(table.target.name)
    found = load_dataset(reference, label, replace(reading, drop_columns=()))
    if isinstance(found.features, pd.DataFrame):
        kept = [name for name in found.features.columns if name not in reading.drop_columns]
        return replace(found, features=found.features[kept])
    return load_dataset(reference, label, reading)


def set_apart(table: Table, test: TestRows | None, kind: TaskKind, seed: int) -> tuple[Table, Table | None]:
    """The rows that trials may see, and those that they may not, both in their order.

    Of a share each class has its part among the test rows, one row at least; they are drawn by the seed. Raises
    DataError where that cannot be.
    """
    if not isinstance(test, float):
        return table, test
    if table.splits:
        what = f"`{table.name}` says itself on which rows trials are judged: no share of them can be kept for testing"
        raise DataError(what, "give a file with other rows")
    dataset = check_labels(table, kind)
    kept, drawn = draw(dataset, test, seed)
    return _rows_of(table, kept), _rows_of(table, drawn)


def draw(dataset: Dataset, share: float, seed: int) -> tuple[Rows, Rows]:
    """The numbers of the rows that trials may see, and of those for testing, both ascending; raises DataError."""
    rng = np.random.default_rng([seed, DRAWING])
    target = dataset.target.to_numpy()
    if len(target) < 2 * FEWEST:
        raise DataError(f"`{dataset.name}` has {len(target)} rows, too few to keep some for testing")
    if dataset.kind == "regression":
        kept, drawn = plain_holdout(len(target), share, rng)
    else:
        kept, drawn = stratified_holdout(target, share, rng)
        left = np.bincount(target[kept], minlength=len(dataset.classes))
        if left.min() < FEWEST:
            code = int(left.argmin())
            rows = int(np.sum(target == code))
            raise DataError(
                f"the class `{dataset.classes[code]}` in the column `{dataset.target.name}` has {rows} rows, "
                f"too few to keep {share:g} of them for testing and to split the others",
                "leave the class out, join it to another, keep a smaller share, or give a file with test rows",
            )
    return np.sort(kept), np.sort(drawn)


def made_alike(tested: Table, table: Table, dataset: Dataset) -> Dataset:
    """The test rows with the columns, their types and the codes of classes that the other rows have.

    Raises DataError, with all that differs, for other columns, for labels that no other row has, and for too few rows.
    """
    features = alike(tested, table)
    lacking = int(tested.target.isna().sum())
    if lacking:
        raise DataError(f"{_counted(lacking)} of `{tested.name}` no label in the column `{tested.target.name}`")
    if len(tested.target) < FEWEST:
        raise DataError(f"`{tested.name}` has {len(tested.target)} row, too few to test on")
    target = quantities(tested) if dataset.kind == "regression" else _codes(tested, dataset)
    if isinstance(features, pd.DataFrame) and features.equals(table.features):
        what = f"the test rows of `{tested.name}` are the very rows that trials see"
        raise DataError(what, "give rows of their own, or a share: `--test 0.2`")
    return Dataset(tested.name, features, target, dataset.kind, dataset.classes)


def check_defined(metric: Metric, dataset: Dataset, tested: Dataset) -> None:
    """Raise MetricError where a metric is undefined on the test rows, whatever is predicted."""
    try:
        loss = blind_loss(metric, dataset, tested)
    except (ValueError, TypeError, AttributeError) as error:
        raise _undefined(metric, tested, str(error).strip().splitlines()[0]) from error
    if not np.isfinite(loss):
        raise _undefined(metric, tested, "give rows of every class" if dataset.classes else "")


def _undefined(metric: Metric, tested: Dataset, help_text: str) -> MetricError:
    return MetricError(f"the metric `{metric.name}` is undefined on the {len(tested.target)} test rows", help_text)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _share(share: float) -> float:
    if not 0 < share < 1:
        raise DataError(f"the share of test rows must lie between 0 and 1, not be {share:g}")
    return share


def _rows_of(table: Table, rows: Rows) -> Table:
    features = table.features
    is_table = isinstance(features, pd.DataFrame)
    chosen: Any = features.iloc[rows].reset_index(drop=True) if is_table else features[rows]
    return replace(table, features=chosen, target=table.target.iloc[rows].reset_index(drop=True), splits=())


def _codes(tested: Table, dataset: Dataset) -> "pd.Series[Any]":
    known = {label: code for code, label in enumerate(dataset.classes)}
    labels = tested.target.tolist()
    unknown = [label for label in dict.fromkeys(labels) if label not in known]
    if unknown:
        shown = ", ".join(f"`{label}`" for label in unknown[:3]) + (", ..." if len(unknown) > 3 else "")
        what = f"the column `{tested.target.name}` of `{tested.name}` has labels that no other row has: {shown}"
        raise DataError(what, "leave these rows out, or give other rows of these classes to learn from")
    codes = np.array([known[label] for label in labels], dtype=np.int64)
    return pd.Series(codes, name=tested.target.name)


def alike(tested: Table, table: Table) -> Features:
    """The features of the first with the columns of the second in their order, and of their types.

    Raises DataError, with all that differs, for other columns and for such as hold something else.
    """
    ours, theirs = table.features, tested.features
    if isinstance(ours, pd.DataFrame) and isinstance(theirs, pd.DataFrame):
        _check_columns(tested, [*theirs.columns], table, [*ours.columns])
        _check_types(tested, theirs, table, ours)
    elif ours.shape[1] != theirs.shape[1]:
        what = f"`{tested.name}` has {theirs.shape[1]} columns of features, and `{table.name}` {ours.shape[1]}"
        raise DataError(what, "test rows must have the columns of the others")
    try:
        found: Features = AsTable().fit(ours).transform(theirs)
    except (ValueError, TypeError) as error:
        raise DataError(f"`{tested.name}` is not like `{table.name}`: {error}") from error
    return found


def _check_columns(tested: Table, theirs: list[Any], table: Table, ours: list[Any]) -> None:
    """Raise DataError for columns that only one has, unless neither has names and the numbers are equal."""
    missing, more = [name for name in ours if name not in theirs], [name for name in theirs if name not in ours]
    if not missing and not more:
        return
    told = [f"it {verb} {listed(names)}" for verb, names in (("lacks", missing), ("has besides", more)) if names]
    what = f"`{tested.name}` has other columns than `{table.name}`: {', and '.join(told)}"
    raise DataError(what, "test rows must have the columns of the others")


def _check_types(tested: Table, theirs: pd.DataFrame, table: Table, ours: pd.DataFrame) -> None:
    """Raise DataError for columns that hold numbers in one and none in the other."""
    for name in ours.columns:
        pair = [_holds(each[name]) for each in (theirs, ours)]
        if None not in pair and pair[0] != pair[1]:
            what = f"the column `{name}` holds {pair[0]} in `{tested.name}`, and {pair[1]} in `{table.name}`"
            raise DataError(what, "write its values alike")


def _holds(column: "pd.Series[Any]") -> str | None:
    """What a column holds in one word; None where it has no value at all."""
    if bool(column.isna().all()):
        return None
    if pd.api.types.is_datetime64_any_dtype(column):
        return "dates"
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    return "numbers" if is_number else "words"


def listed(names: Sequence[Any]) -> str:
    """The first names, as a message tells them."""
    return ", ".join(f"`{name}`" for name in names[:6]) + (", ..." if len(names) > 6 else "")


def _counted(rows: int) -> str:
    return "1 row has" if rows == 1 else f"{rows} rows have"
