"""Columns that say which rows belong together: they become relations of the rows, and are features no longer."""

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from spacelang.ir.validation import SPLITTER_HELP, Validation, excluded_columns, group_column, time_column
from spacelang.runtime.data.labels import target_columns
from spacelang.runtime.data.loading import Table
from spacelang.runtime.data.tables import Features, first_true_row_number
from spacelang.runtime.errors import DataError
from spacelang.spelling_suggestions import format_suggestion
from spacelang.text import unique_name

YEAR_FIRST: Final = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"  # The beginning of a date in which the month precedes the day
ISO_HELP: Final = "write dates as `2026-01-31`, or times as numbers"


def relate_rows(table: Table, validation: Validation | None) -> Table:
    """Return the table with the groups and times that a validation names, and without their columns.

    A column of times stays with `keep`. Relations that were given with the data remain. Raise DataError if a column
    does not exist, lacks values or cannot be ordered, or if no feature is left.
    """
    group, time = group_column(validation), time_column(validation)
    relations = table.relations
    if group is not None and relations.groups is None:
        relations = replace(relations, groups=group_codes(_column(table, group, "group"), f"the column `{group}`"))
    if time is not None and relations.groups is not None:
        raise DataError(
            f"a split by the times in `{time}` cannot keep groups together", f"leave one of them out; {SPLITTER_HELP}"
        )
    if time is not None and relations.times is None:
        relations = replace(relations, times=time_ranks(_column(table, time, "by"), f"the column `{time}`"))
    related = replace(table, relations=relations)
    return without_columns(related, excluded_columns(validation))


def with_groups(table: Table, values: Any) -> tuple[Table, str]:
    """Return the table with these groups of its rows, and their name, which is that of a Series or `groups`.

    A column of the table with the same name and groups is dropped; one with other values stays, and the groups get a
    name that no column has. Raise DataError unless each row has one group.
    """
    array = np.asarray(values)
    if array.shape != (len(table.target),):
        what = f"`groups` has the shape {array.shape}, but there are {len(table.target)} rows"
        raise DataError(what, "give one value per row")
    codes, name = group_codes(array, "`groups`"), str(getattr(values, "name", None) or "groups")
    related, features = replace(table, relations=replace(table.relations, groups=codes)), table.features
    is_column = isinstance(features, pd.DataFrame) and name in features.columns
    if is_column and np.array_equal(pd.factorize(features[name])[0], codes):
        return without_columns(related, (name,)), name
    return related, unique_name(name, target_columns(table.target) + _column_names(features))


def _column_names(features: Features) -> tuple[str, ...]:
    return tuple(map(str, features.columns)) if isinstance(features, pd.DataFrame) else ()


def relate_test_rows(tested: Table, validation: Validation | None) -> Table:
    """Return test rows with the groups that a validation names, if they have that column, and without its columns.

    Rows of one group are not independent, which an interval of a score has to respect.
    """
    group, features = group_column(validation), tested.features
    if group is not None and isinstance(features, pd.DataFrame) and group in features.columns:
        codes = group_codes(features[group], f"the column `{group}` of `{tested.name}`")
        tested = replace(tested, relations=replace(tested.relations, groups=codes))
    return without_columns(tested, excluded_columns(validation))


def check_related_test_rows(table: Table, tested: Table, validation: Validation | None) -> None:
    """Raise DataError if test rows have a group of the other rows, or precede one of them, as far as columns say so."""
    ours, theirs = table.features, tested.features
    if not (isinstance(ours, pd.DataFrame) and isinstance(theirs, pd.DataFrame)):
        return
    group, time = group_column(validation), time_column(validation)
    if group is not None and group in ours.columns and group in theirs.columns:
        shared = int(theirs[group].isin(ours[group]).sum())
        if shared:
            what = f"{shared:,} of the {len(theirs):,} rows of `{tested.name}` have a `{group}` that training rows have"
            raise DataError(what, "remove these rows, or choose a validation without `group`")
    if time is not None and time in ours.columns and time in theirs.columns:
        both = pd.concat([ours[time], theirs[time]], ignore_index=True)
        ranks = time_ranks(both, f"the column `{time}` of `{table.name}` and `{tested.name}`")
        early = int((ranks[len(ours) :] < ranks[: len(ours)].max()).sum())
        if early:
            what = f"{early:,} of the {len(theirs):,} rows of `{tested.name}` precede training rows, by `{time}`"
            raise DataError(what, "give later rows, or choose a validation without `by`")


def without_columns(table: Table, names: tuple[str, ...]) -> Table:
    """Return the table without these columns, as far as it has them; raise DataError if no feature is left."""
    features = table.features
    if not isinstance(features, pd.DataFrame) or not (dropped := [name for name in names if name in features.columns]):
        return table
    if len(dropped) == features.shape[1]:
        what = f"`{table.name}` has no feature besides `{dropped[0]}`, by which its rows are split"
        raise DataError(what, "give at least one column of features")
    return replace(table, features=features.drop(columns=dropped))


def group_codes(values: Any, what: str) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Return the number of the group of each row; raise DataError if a row has none. `what` names the values."""
    codes, _ = pd.factorize(values)
    _check_no_missing(codes < 0, what, "a group")
    return np.asarray(codes, dtype=np.int64)


def time_ranks(values: "pd.Series[Any]", what: str) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Return the rank of each value in time, equal for equal times; raise DataError for values without an order."""
    _check_no_missing(values.isna().to_numpy(), what, "a time")
    ordered = _as_times(values, what)
    return np.unique(ordered.to_numpy(), return_inverse=True)[1].astype(np.int64)


def _column(table: Table, name: str, option: str) -> "pd.Series[Any]":
    features = table.features
    if name in target_columns(table.target):
        raise DataError(f"`{option}={name}` names the column of labels", "choose another column")
    if not isinstance(features, pd.DataFrame):
        what = f"`{table.name}` is sparse, so its rows cannot be split by the column `{name}`"
        raise DataError(what, "pass a DataFrame, or `groups` in Python")
    if name not in features.columns:
        if name in table.reading.drop_columns:
            remedy = f"remove `{name}` from `--drop-columns`: a column of groups is no feature anyway"
            raise DataError(f"the column `{name}` of `{option}={name}` is dropped", remedy)
        known = [str(column) for column in features.columns]
        shown = ", ".join(f"`{column}`" for column in known[:12]) + (", ..." if len(known) > 12 else "")
        what = f"`{table.name}` has no column `{name}`, which `{option}={name}` names"
        raise DataError(what, format_suggestion(name, known) or f"its columns are {shown}")
    return features[name]


def _check_no_missing(missing: Any, what: str, lacking: str) -> None:
    if (row := first_true_row_number(missing)) is not None:
        count = int(missing.sum())
        have = f"row {row:,} has" if count == 1 else f"{count:,} rows have"
        where = "" if count == 1 else f" (first in row {row:,})"
        raise DataError(f"{what} is incomplete: {have} no value{where}", f"give each row {lacking}, or drop such rows")


def _as_times(values: "pd.Series[Any]", what: str) -> "pd.Series[Any]":
    """Return the values as numbers or dates, which can be ordered; raise DataError if that is impossible."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.codes if values.cat.ordered else _as_times(values.astype(values.cat.categories.dtype), what)
    is_date = pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_timedelta64_dtype(values)
    if is_date or pd.api.types.is_numeric_dtype(values):
        return values.astype(np.int64) if is_date or pd.api.types.is_bool_dtype(values) else values.astype(np.float64)
    return _parse_dates(values.astype(str).str.strip(), what).astype(np.int64)


def _parse_dates(texts: "pd.Series[Any]", what: str) -> "pd.Series[Any]":
    if bool(texts.str.match(YEAR_FIRST).all()):
        for options in ({"format": "ISO8601"}, {"dayfirst": False}):
            if (read := _to_dates(texts, **options)) is not None:
                return read
    first, second = _to_dates(texts, dayfirst=False), _to_dates(texts, dayfirst=True)
    if first is None and second is None:
        raise DataError(f"{what} cannot be ordered: it holds texts such as `{texts.iloc[0]}`", ISO_HELP)
    if first is not None and second is not None and not first.equals(second):
        differing = texts[(first != second).to_numpy()].iloc[0]
        raise DataError(f"{what} is ambiguous: in `{differing}` the day or the month may come first", ISO_HELP)
    found = first if first is not None else second
    assert found is not None
    return found


def _to_dates(texts: "pd.Series[Any]", **options: Any) -> "pd.Series[Any] | None":
    """Return the texts as dates in UTC; None if they cannot all be read in one format."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a format that is guessed for each text
        try:
            read: pd.Series[Any] = pd.to_datetime(texts, utc=True, **options)
        except (ValueError, TypeError, OverflowError):
            return None
    return read
