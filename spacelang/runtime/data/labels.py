"""Checks of one or several targets before a pipeline is fitted, and the encoding of classes as numbers.

Several targets per row are multi-label classification with columns of 0 and 1, or multi-output regression.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
import pandas as pd

from spacelang.ir.task import Kind
from spacelang.ir.validation import PredefinedSplits
from spacelang.runtime.data.loading import Table, TargetColumns
from spacelang.runtime.data.tables import Features, first_true_row_number, holds_numbers
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.splits import UNRELATED, RowRelations, Split, predefined_splits
from spacelang.text import count_with_noun, format_names

TargetNames: TypeAlias = str | tuple[str, ...]
"""The name of the target column, or the names of several columns."""


def target_names(target: "pd.Series[Any] | pd.DataFrame") -> TargetNames:
    """Return the name of the target column, or a tuple of names if there are several target columns."""
    return tuple(map(str, target.columns)) if isinstance(target, pd.DataFrame) else str(target.name)


def target_columns(target: "pd.Series[Any] | pd.DataFrame") -> tuple[str, ...]:
    """Return the names of the target columns as a tuple, usually with one element."""
    names = target_names(target)
    return (names,) if isinstance(names, str) else names


def describe_targets(target: "pd.Series[Any] | pd.DataFrame") -> str:
    """Return the target columns for a message, such as "the column `price`"."""
    names = target_names(target)
    if isinstance(names, str):
        return f"the column `{names}`"
    return f"the columns {', '.join(f'`{name}`' for name in names[:6])}{', ...' if len(names) > 6 else ''}"


def describe_target_count(target: "pd.Series[Any] | pd.DataFrame") -> str:
    """Return a text with the number of targets, for messages."""
    return count_with_noun(target.shape[1] if isinstance(target, pd.DataFrame) else 1, "target")


def target_series(target: "pd.Series[Any] | pd.DataFrame") -> "list[pd.Series[Any]]":
    """Return the targets as a list with one series for each target column."""
    return [target[name] for name in target.columns] if isinstance(target, pd.DataFrame) else [target]


def make_indicator_labels(table: Table) -> pd.DataFrame:
    """Return the targets of a multi-label classification as integers; raise DataError unless all are 0 or 1."""
    return pd.concat([_indicators(each) for each in target_series(table.target)], axis=1)


def check_labels_vary(targets: pd.DataFrame) -> None:
    """Raise DataError if a target of a multi-label classification is the same in all rows."""
    for name in targets.columns:
        if len(found := targets[name].unique()) == 1:
            what = f"all labels in the column `{name}` are {found[0]}"
            raise DataError(what, "leave this target out: a classifier needs rows with 0 and rows with 1")


def _indicators(labels: "pd.Series[Any]") -> "pd.Series[Any]":
    values = labels.tolist()
    wrong = next((value for value in values if not _is_indicator(value)), None)
    if wrong is not None:
        what = f"the column `{labels.name}` has the label `{wrong}`, but with several targets all labels must be 0 or 1"
        reason = "scikit-learn has no metrics for several targets with other classes"
        raise DataError(what, f"write the labels as 0 and 1, or search one target at a time: {reason}")
    return pd.Series(np.array(values, dtype=np.int64), name=labels.name, index=labels.index)


def _is_indicator(value: Any) -> bool:
    return isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating) and value in (0, 1)


def refuse_single_target_operators(names: Sequence[str], table: Table, kind: Kind) -> None:
    """Raise DataError if `names` is not empty: it lists the operators that take one target, and there are several."""
    if not names:
        return
    shown = format_names(names, 8)
    takes = "takes" if len(names) == 1 else "take"
    outer = "MultiOutputRegressor" if kind == "regression" else "MultiOutputClassifier"
    what = f"{describe_targets(table.target)} are several targets, but {shown} {takes} only one"
    remedy = f"leave such operators out, or wrap an estimator in `{outer} {{ estimator = … }}`"
    raise DataError(what, f"{remedy}; `spacelang catalogue NAME` says whether an operator takes several targets")


TaskKind: TypeAlias = Kind
MAX_NUMERIC_CLASSES: Final = 20
"""The maximum number of distinct whole numbers that count as classes if they hardly repeat; fractions never do."""


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A table that is ready for a run. `target` has a float per row (regression) or the index of the row's class.

    `classes` are the labels in sorted order, empty for a regression. If there are several targets, `target` has a
    column for each, of floats for a regression and of 0 and 1 for a classification, and `classes` are empty. `splits`,
    `split_source` and `relations` are those of the table. Data sets are equal only if they are the same object, as
    tables have no truth value.
    """

    name: str
    features: Features
    target: TargetColumns
    kind: TaskKind
    classes: tuple[Any, ...] = ()
    splits: tuple[Split, ...] = ()
    split_source: str = ""
    relations: RowRelations = UNRELATED
    weights: npt.NDArray[np.float64] | None = None  # The sample weights, with which pipelines are fitted

    @property
    def validation(self) -> PredefinedSplits | None:
        """The predefined splits on which trials are scored; None if the data defines none."""
        return predefined_splits(self.splits, self.split_source or self.name) if self.splits else None

    @property
    def target_columns(self) -> tuple[str, ...]:
        """The names of the target columns, mostly of a single one."""
        return target_columns(self.target)

    @property
    def has_several_targets(self) -> bool:
        """True if there are several targets per row."""
        return isinstance(self.target, pd.DataFrame)

    @property
    def is_stratified(self) -> bool:
        """True if splits keep the shares of the classes, as there is one target with classes."""
        return self.kind == "classification" and not self.has_several_targets

    @property
    def original_labels(self) -> npt.NDArray[Any]:
        """The n labels as the user wrote them, which a fitted pipeline predicts."""
        return self.target.to_numpy() if not self.is_stratified else np.asarray(self.classes)[self.target.to_numpy()]


def check_no_missing_labels(table: Table) -> None:
    """Raise DataError if a row has no label."""
    lacking = table.target.isna().to_numpy().reshape(len(table.target), -1).any(axis=1)
    if (row := first_true_row_number(lacking)) is not None:
        missing = int(lacking.sum())
        what = f"1 row has no label in {describe_targets(table.target)} (row {row:,})"
        if missing > 1:
            what = f"{missing} rows have no label in {describe_targets(table.target)} (first in row {row:,})"
        raise DataError(what, "drop or label these rows")


def check_and_encode_labels(table: Table, kind: TaskKind, *, folds: int = 2) -> Dataset:
    """Return the data set with encoded labels, ready for a run.

    Raise DataError if labels are missing or do not fit the kind of task, or if a class has fewer rows than `folds`.
    """
    if table.kind not in {None, kind}:
        help_text = f"use a space that ends in {'regressors' if table.kind == 'regression' else 'classifiers'}"
        raise DataError(f"`{table.name}` is a {table.kind} task, but the space is for {kind}", help_text)
    check_no_missing_labels(table)
    match kind:
        case "classification" if isinstance(table.target, pd.DataFrame):
            targets = make_indicator_labels(table)
            check_labels_vary(targets)
            return _make_dataset(table, targets, kind)
        case "classification":
            return _encode_classes(table, folds)
        case "regression":
            return _make_dataset(table, regression_labels(table), kind)
        case _:
            assert_never(kind)


def _encode_classes(table: Table, folds: int) -> Dataset:
    from sklearn.preprocessing import LabelEncoder

    labels = table.target
    assert isinstance(labels, pd.Series)
    _refuse_continuous_labels(labels)
    kinds = {type(label) for label in labels.astype(object)}
    if any(issubclass(kind, str) for kind in kinds) and len(kinds) > 1:
        raise DataError(f"the column `{labels.name}` mixes text and other labels", "use one type for all labels")
    encoder = LabelEncoder()
    # Text as objects: the encoder would turn pandas' text type into an array that scikit-learn rejects.
    codes = encoder.fit_transform(labels.to_numpy(dtype=object) if _is_text(labels) else labels.to_numpy())
    classes = tuple(encoder.classes_.tolist())
    _check_counts(classes, np.bincount(codes).tolist(), str(labels.name), folds)
    target = pd.Series(codes.astype(np.int64), index=labels.index, name=labels.name)
    return _make_dataset(table, target, "classification", classes)


def _make_dataset(table: Table, target: TargetColumns, kind: TaskKind, classes: tuple[Any, ...] = ()) -> Dataset:
    of_table = (table.splits, table.split_source, table.relations, table.weights)
    return Dataset(table.name, table.features, target, kind, classes, *of_table)


def _refuse_continuous_labels(labels: pd.Series) -> None:
    if not holds_numbers(labels):
        return
    distinct = labels.nunique()
    with_fractions = bool((labels % 1 != 0).any())
    if with_fractions or (distinct > MAX_NUMERIC_CLASSES and distinct > len(labels) / 4):
        held = "with fractions" if with_fractions else f"in {len(labels):,} rows"
        what = f"the column `{labels.name}` looks continuous: it holds {distinct:,} distinct numbers {held}"
        remedy = "use a space that ends in regressors, choose another label column, or write the classes as words"
        raise DataError(what, remedy)


def _check_counts(classes: Iterable[Any], counts: list[int], column: str, folds: int) -> None:
    label, rows = min(zip(classes, counts, strict=True), key=lambda item: item[1])
    if len(counts) == 1:
        raise DataError(f"all labels in the column `{column}` are `{label}`", "a classifier needs at least two classes")
    if rows < folds:
        remedy = "drop the class, merge it with another, or give more rows"
        if rows > 1:
            remedy = f"drop the class, merge it with another, give more rows, or use at most {rows} folds"
        rows_found = f"{rows} row{'s' if rows > 1 else ''}, but the split needs at least {folds}"
        what = f"the class `{label}` in the column `{column}` has {rows_found}"
        raise DataError(what, remedy)


def regression_labels(table: Table) -> TargetColumns:
    """Return the labels of a regression as floats; raise DataError for text and for infinite numbers."""
    if isinstance(table.target, pd.DataFrame):
        return pd.concat([_numbers(each) for each in target_series(table.target)], axis=1)
    return _numbers(table.target)


def _numbers(labels: "pd.Series[Any]") -> "pd.Series[Any]":
    if _is_text(labels) or not (pd.api.types.is_numeric_dtype(labels) or pd.api.types.is_bool_dtype(labels)):
        example = next(iter(labels.astype(object)))
        what = f"the column `{labels.name}` holds labels such as `{example}`, which a regressor cannot learn"
        raise DataError(what, "use a space that ends in classifiers, or choose another label column")
    numbers = labels.astype(np.float64)
    if (row := first_true_row_number(~np.isfinite(numbers.to_numpy()))) is not None:
        what = f"the column `{labels.name}` holds infinite labels, first in row {row:,}"
        raise DataError(what, "drop these rows")
    return numbers


def _is_text(labels: pd.Series) -> bool:
    return pd.api.types.is_object_dtype(labels) or isinstance(labels.dtype, pd.StringDtype | pd.CategoricalDtype)


def constant_target_warnings(dataset: Dataset) -> list[str]:
    """Return a warning for each target of a regression that is the same number in all rows."""
    if dataset.kind != "regression":
        return []
    constant = [labels for labels in target_series(dataset.target) if labels.nunique() == 1]
    return [
        f"all labels in the column `{labels.name}` are `{labels.iloc[0]}`, so nothing can be learned and scores say "
        "nothing: choose another label column"
        for labels in constant
    ]


FEW_ROWS: Final = 200  # The rows of a column that are compared with the labels before all rows are


def label_column_warnings(dataset: Dataset) -> list[str]:
    """Return a warning for each column of features that holds the labels, as numbers or as other names of the classes.

    A pipeline would only copy it, and no new row has it.
    """
    features = dataset.features
    if not isinstance(features, pd.DataFrame):
        return []
    found, is_regression = [], dataset.kind == "regression"
    few = slice(None, None, max(1, len(features) // FEW_ROWS))  # tell most other columns apart, which is fast
    for labels in target_series(dataset.target):
        if labels.nunique() < 2:
            continue  # equal labels tell nothing
        for name in features.columns:
            pairs = ((features[name].iloc[rows], labels.iloc[rows]) for rows in (few, slice(None)))
            if all(_holds_labels(*pair, is_regression=is_regression) for pair in pairs):
                what = f"the column `{name}` holds the labels, which makes every score too good"
                found.append(f"{what}: drop it from the features")
    return found


def _holds_labels(column: "pd.Series[Any]", labels: "pd.Series[Any]", *, is_regression: bool) -> bool:
    if is_regression:
        return holds_numbers(column) and np.array_equal(column.to_numpy(np.float64, na_value=np.nan), labels)
    return np.array_equal(pd.factorize(column, use_na_sentinel=False)[0], pd.factorize(labels)[0])
