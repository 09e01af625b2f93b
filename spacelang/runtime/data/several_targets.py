"""Several targets per row: multi-label classification with columns of 0 and 1, and multi-output regression."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from spacelang.ir.task import Kind
from spacelang.runtime.data.loading import Table
from spacelang.runtime.errors import DataError
from spacelang.text import count_with_noun

TargetNames: TypeAlias = str | tuple[str, ...]
"""The name of the target column, or the names of several columns."""


def target_names(target: "pd.Series[Any] | pd.DataFrame") -> TargetNames:
    """Return the name of the target, or the names of several columns."""
    return tuple(map(str, target.columns)) if isinstance(target, pd.DataFrame) else str(target.name)


def target_columns(target: "pd.Series[Any] | pd.DataFrame") -> tuple[str, ...]:
    """Return the names of the target columns, mostly of a single one."""
    names = target_names(target)
    return (names,) if isinstance(names, str) else names


def describe_targets(target: "pd.Series[Any] | pd.DataFrame") -> str:
    """Return the target columns for a message, such as "the column `price`"."""
    names = target_names(target)
    if isinstance(names, str):
        return f"the column `{names}`"
    return f"the columns {', '.join(f'`{name}`' for name in names[:6])}{', ...' if len(names) > 6 else ''}"


def describe_shape(target: "pd.Series[Any] | pd.DataFrame") -> str:
    """Return the number of targets as text."""
    return count_with_noun(target.shape[1] if isinstance(target, pd.DataFrame) else 1, "target")


def each_target(target: "pd.Series[Any] | pd.DataFrame") -> "list[pd.Series[Any]]":
    """Return the target columns."""
    return [target[name] for name in target.columns] if isinstance(target, pd.DataFrame) else [target]


def indicator_labels(table: Table) -> pd.DataFrame:
    """Return the labels of a multi-label classification as integers, 0 or 1; raise DataError for others."""
    return pd.concat([_indicators(each) for each in each_target(table.target)], axis=1)


def check_both_indicators(targets: pd.DataFrame) -> None:
    """Raise DataError if a label is the same in all rows, as nothing can be learned about it."""
    for name in targets.columns:
        if len(found := targets[name].unique()) == 1:
            what = f"all labels in the column `{name}` are {found[0]}"
            raise DataError(what, "leave this target out: a classifier needs rows with 0 and rows with 1")


def _indicators(labels: "pd.Series[Any]") -> "pd.Series[Any]":
    values = labels.tolist()
    wrong = next((value for value in values if not _is_indicator(value)), None)
    if wrong is not None:
        what = f"the column `{labels.name}` holds the label `{wrong}`, but several targets of classes must be 0 or 1"
        reason = "scikit-learn has no metrics for several targets with other classes"
        raise DataError(what, f"write the labels as 0 and 1, or search one target at a time: {reason}")
    return pd.Series(np.array(values, dtype=np.int64), name=labels.name, index=labels.index)


def _is_indicator(value: Any) -> bool:
    return isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating) and value in (0, 1)


def refuse_single_target_operators(names: Sequence[str], table: Table, kind: Kind) -> None:
    """Raise DataError if there are operators in `names`, which take a single target."""
    if not names:
        return
    shown = ", ".join(f"`{name}`" for name in names[:8]) + (", ..." if len(names) > 8 else "")
    takes = "takes" if len(names) == 1 else "take"
    outer = "MultiOutputRegressor" if kind == "regression" else "MultiOutputClassifier"
    what = f"{describe_targets(table.target)} are several targets, but {shown} {takes} one"
    remedy = f"leave such operators out, or wrap an estimator in `{outer} {{ estimator = … }}`"
    raise DataError(what, f"{remedy}; `spacelang catalogue NAME` says whether an operator takes several targets")
