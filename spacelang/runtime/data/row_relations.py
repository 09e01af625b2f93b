"""Relations of the rows of a table: columns of groups and times, splitters of scikit-learn, and stored splits."""

import base64
import binascii
import json
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from spacelang.ir.validation import (
    SPLITTER_HELP,
    Validation,
    excluded_columns,
    group_column,
    parse_validation_or_none,
    time_column,
)
from spacelang.runtime.data.labels import Dataset, target_columns
from spacelang.runtime.data.loading import Table
from spacelang.runtime.data.read_options import REPEAT_OPTIONS
from spacelang.runtime.data.tables import (
    Features,
    Weights,
    check_weights,
    first_true_row_number,
    suggest_column,
    weights_fingerprint,
)
from spacelang.runtime.errors import DataError, describe_exception
from spacelang.runtime.evaluation.splits import RowRelations, Rows, Split, check_splits
from spacelang.runtime.random_state import preserve_global_random_state, seed_global_random_state
from spacelang.runtime.storage.run_header import GROUP_NAME, RELATIONS, SPLITS, WEIGHTS_SETTING, RunHeader
from spacelang.text import unique_name

YEAR_FIRST: Final = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"  # The beginning of a date in which the month precedes the day
ISO_HELP: Final = "write dates as `2026-01-31`, or times as numbers"


def attach_groups_and_times(table: Table, validation: Validation | None) -> Table:
    """Return the table with the groups and times of its rows, from the columns that a validation names.

    These columns are dropped, except for a column of times if the validation says `keep`. Relations that were given
    with the data remain. Raise DataError if a column does not exist, lacks values or cannot be ordered, if the rows
    would have both groups and times, or if no feature is left.
    """
    group, time = group_column(validation), time_column(validation)
    relations = table.relations
    if group is not None and relations.groups is None:
        relations = replace(relations, groups=encode_groups(_column(table, group, "group"), f"the column `{group}`"))
    if time is not None and relations.groups is not None:
        raise DataError(
            f"a split by the times in `{time}` cannot keep groups together", f"leave one of them out; {SPLITTER_HELP}"
        )
    if time is not None and relations.times is None:
        relations = replace(relations, times=rank_times(_column(table, time, "by"), f"the column `{time}`"))
    related = replace(table, relations=relations)
    return drop_columns(related, excluded_columns(validation))


def attach_groups(table: Table, values: Any) -> tuple[Table, str]:
    """Return the table with these groups of its rows, and their name, which is that of a Series or `groups`.

    A column of the table with the same name and groups is dropped; one with other values stays, and the groups get a
    name that no column has. Raise DataError unless each row has one group.
    """
    array = np.asarray(values)
    if array.shape != (len(table.target),):
        what = f"`groups` has the shape {array.shape}, but there are {len(table.target)} rows"
        raise DataError(what, "give one value per row")
    codes, name = encode_groups(array, "`groups`"), str(getattr(values, "name", None) or "groups")
    related, features = replace(table, relations=replace(table.relations, groups=codes)), table.features
    is_column = isinstance(features, pd.DataFrame) and name in features.columns
    if is_column and np.array_equal(pd.factorize(features[name])[0], codes):
        return drop_columns(related, (name,)), name
    return related, unique_name(name, target_columns(table.target) + _column_names(features))


def _column_names(features: Features) -> tuple[str, ...]:
    return tuple(map(str, features.columns)) if isinstance(features, pd.DataFrame) else ()


def attach_groups_to_test_rows(tested: Table, validation: Validation | None) -> Table:
    """Return test rows with the groups that a validation names, taken from their own columns if these exist.

    The columns of groups and times are dropped. Rows of one group are not independent, which the interval of a test
    score has to respect.
    """
    group, features = group_column(validation), tested.features
    if group is not None and isinstance(features, pd.DataFrame) and group in features.columns:
        codes = encode_groups(features[group], f"the column `{group}` of `{tested.name}`")
        tested = replace(tested, relations=replace(tested.relations, groups=codes))
    return drop_columns(tested, excluded_columns(validation))


def check_related_test_rows(table: Table, tested: Table, validation: Validation | None) -> None:
    """Raise DataError if test rows share a group with the other rows, or are earlier than one of them.

    Nothing is checked if the test rows lack the column of the groups or of the times.
    """
    ours, theirs = table.features, tested.features
    if not (isinstance(ours, pd.DataFrame) and isinstance(theirs, pd.DataFrame)):
        return
    group, time = group_column(validation), time_column(validation)
    if group is not None and group in ours.columns and group in theirs.columns:
        shared = int(theirs[group].isin(ours[group]).sum())
        if shared:
            what = f"{shared:,} of the {len(theirs):,} rows of `{tested.name}` have the same `{group}` as training rows"
            raise DataError(what, "remove these rows, or choose a validation without `group`")
    if time is not None and time in ours.columns and time in theirs.columns:
        both = pd.concat([ours[time], theirs[time]], ignore_index=True)
        ranks = rank_times(both, f"the column `{time}` of `{table.name}` and `{tested.name}`")
        early = int((ranks[len(ours) :] < ranks[: len(ours)].max()).sum())
        if early:
            what = (
                f"{early:,} of the {len(theirs):,} rows of `{tested.name}` are earlier than training rows (by `{time}`)"
            )
            raise DataError(what, "give later rows, or choose a validation without `by`")


def drop_columns(table: Table, names: tuple[str, ...]) -> Table:
    """Return the table without these columns, as far as it has them; raise DataError if no feature is left."""
    features = table.features
    if not isinstance(features, pd.DataFrame) or not (dropped := [name for name in names if name in features.columns]):
        return table
    if len(dropped) == features.shape[1]:
        what = f"the only feature of `{table.name}` is `{dropped[0]}`, which is used to split the rows"
        raise DataError(what, "give at least one column of features")
    return replace(table, features=features.drop(columns=dropped))


def encode_groups(values: Any, what: str) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Return an integer for each row that is equal for rows of the same group; raise DataError if a row has none.

    `what` names the values in messages.
    """
    codes, _ = pd.factorize(values)
    _check_no_missing(codes < 0, what, "a group")
    return np.asarray(codes, dtype=np.int64)


def rank_times(values: "pd.Series[Any]", what: str) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Return the rank of each row in time, from 0, equal for equal times.

    Raise DataError for values that are missing or have no order. `what` names the values in messages.
    """
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
            remedy = f"remove `{name}` from `--drop-columns`: columns of groups and times are no features anyway"
            raise DataError(f"the column `{name}` of `{option}={name}` is dropped", remedy)
        known = [str(column) for column in features.columns]
        what = f"`{table.name}` has no column `{name}`, which `{option}={name}` names"
        raise DataError(what, suggest_column(name, known))
    return features[name]


def _check_no_missing(missing: Any, column: str, lacking: str) -> None:
    if (row := first_true_row_number(missing)) is not None:
        count = int(missing.sum())
        rows_have = f"row {row:,} has" if count == 1 else f"{count:,} rows have"
        where = "" if count == 1 else f" (first in row {row:,})"
        raise DataError(
            f"{column} is incomplete: {rows_have} no value{where}", f"give each row {lacking}, or drop such rows"
        )


def _as_times(values: "pd.Series[Any]", what: str) -> "pd.Series[Any]":
    """Return the values as numbers or dates, which can be ordered; raise DataError if that is impossible."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.codes if values.cat.ordered else _as_times(values.astype(values.cat.categories.dtype), what)
    is_date = pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_timedelta64_dtype(values)
    if is_date or pd.api.types.is_numeric_dtype(values):
        return values.astype(np.int64) if is_date or pd.api.types.is_bool_dtype(values) else values.astype(np.float64)
    return _parse_dates(values.astype(str).str.strip(), what).astype(np.int64)


def _parse_dates(texts: "pd.Series[Any]", column: str) -> "pd.Series[Any]":
    if bool(texts.str.match(YEAR_FIRST).all()):
        for options in ({"format": "ISO8601"}, {"dayfirst": False}):
            if (read := _to_dates(texts, **options)) is not None:
                return read
    first, second = _to_dates(texts, dayfirst=False), _to_dates(texts, dayfirst=True)
    if first is None and second is None:
        shapes = texts.str.replace(r"\d", "0", regex=True)  # dates of one format have few shapes
        shown = " and ".join(f"`{text}`" for text in texts[~shapes.duplicated()].iloc[:2])
        raise DataError(f"{column} cannot be ordered: it holds texts such as {shown}", ISO_HELP)
    if first is not None and second is not None and not first.equals(second):
        differing = texts[(first != second).to_numpy()].iloc[0]
        raise DataError(f"{column} is ambiguous: in `{differing}` the day or the month may come first", ISO_HELP)
    found = first if first is not None else second
    assert found is not None
    return found


def _to_dates(texts: "pd.Series[Any]", **options: Any) -> "pd.Series[Any] | None":
    """Return the texts as dates in UTC; None if they cannot all be read in one format."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a format that is guessed for each text
        try:
            read: pd.Series[Any] = pd.to_datetime(texts, utc=True, **options)
        except (ValueError, TypeError, OverflowError):
            return None
    return read


SEED_COUNT: Final = 2**32  # The number of seeds that the global generator of NumPy accepts


def with_row_numbers_as_times(table: Table, splitter: Any) -> Table:
    """Return the table with its row numbers as times if a splitter splits by time; otherwise unchanged."""
    from sklearn.model_selection import TimeSeriesSplit

    if not isinstance(splitter, TimeSeriesSplit):
        return table
    return replace(table, relations=replace(table.relations, times=np.arange(len(table.target))))


def attach_splits_of_splitter(splitter: Any, dataset: Dataset, seed: int) -> Dataset:
    """Return the data set with the splits that a scikit-learn splitter yields, which are equal for equal seeds.

    The splitter gets the features, the labels as the user wrote them, and the groups if there are any. Raise DataError
    if the splitter raises.
    """
    source = describe_splitter(splitter)
    relations = dataset.relations
    with preserve_global_random_state(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of groups that are not used, which is checked below
        seed_global_random_state(seed % SEED_COUNT)  # for a splitter without a `random_state`
        try:
            found = [*splitter.split(dataset.features, dataset.original_labels, relations.groups)]
        except Exception as error:  # a splitter may raise anything
            what = f"the splitter `{source}` cannot split the {len(dataset.target)} rows: {describe_exception(error)}"
            raise DataError(
                what, "" if relations.groups is not None else "pass `groups` if the splitter needs them"
            ) from error
    if not found:
        raise DataError(f"the splitter `{source}` returned no splits of the {len(dataset.target)} rows")
    splits = tuple(Split(*(np.asarray(rows, dtype=np.int64) for rows in pair)) for pair in found)
    check_splits(splits, len(dataset.target), source)
    if relations.groups is not None:
        for split in splits:
            if len(np.intersect1d(relations.groups[split.training], relations.groups[split.held_out])):
                what = f"the splitter `{source}` puts rows of one group on both sides of a split"
                raise DataError(what, "use a splitter that keeps groups together, such as `GroupKFold`, or no `groups`")
    return replace(dataset, splits=splits, split_source=source)


def describe_splitter(splitter: Any) -> str:
    """Return a splitter as text on one line, without the addresses of objects."""
    text = " ".join(repr(splitter).split())
    return type(splitter).__name__ if " at 0x" in text else text


MAX_NUMBERS: Final = 2**31  # The most row numbers that are read, so that a strange store cannot exhaust the memory


@dataclass(frozen=True, slots=True, repr=False)
class StoredSplitter:
    """A splitter that yields the splits of a stored run, in place of the splitter that the program used."""

    splits: tuple[Split, ...]
    source: str

    def __repr__(self) -> str:
        return self.source

    def split(self, features: Any, *_: Any) -> Iterator[tuple[Rows, Rows]]:
        """Yield the training and the held-out rows of each split.

        Raise ValueError if there are fewer rows than the splits need.
        """
        for each in self.splits:
            if max(each.training.max(initial=0), each.held_out.max(initial=0)) >= features.shape[0]:
                raise ValueError(f"the stored splits need more rows than the {features.shape[0]} that are given")
            yield each.training, each.held_out

    def get_n_splits(self, *_: Any) -> int:
        """Return the number of splits."""
        return len(self.splits)


def serialize_splits_and_relations(splits: Sequence[Split], table: Table, group_name: str | None) -> dict[str, str]:
    """Return the splits, and the groups, times and weights of a table, as texts by name for the store of a run.

    Anything that the table does not have is left out. `group_name` is the name of groups that a program passed, else
    None.
    """
    relations = table.relations
    rows = [[_packed(split.training), _packed(split.held_out)] for split in splits]
    found = {SPLITS: json.dumps(rows)} if rows else {}
    known = {"groups": relations.groups, "times": relations.times}
    packed = {name: _packed(codes) for name, codes in known.items() if codes is not None}
    found |= {RELATIONS: json.dumps(packed)} if packed else {}
    found |= {} if group_name is None else {GROUP_NAME: group_name}
    if table.weights is not None:
        content = base64.b64encode(zlib.compress(np.ascontiguousarray(table.weights, dtype="<f8").tobytes()))
        found[WEIGHTS_SETTING] = json.dumps([weights_fingerprint(table.weights), content.decode("ascii")])
    return found


def stored_validation(header: RunHeader) -> Validation | None:
    """Return the validation of a stored run; None if its splits came with the data."""
    return parse_validation_or_none(header.validation)


def attach_stored_groups_times_and_weights(table: Table, header: RunHeader) -> Table:
    """Return the table with the groups, times and weights that its rows had in the stored run.

    They come from the store, or from columns that the validation of the run names. Raise DataError if they are not
    there.
    """
    return attach_groups_and_times(attach_stored_relations(table, header), stored_validation(header))


def attach_stored_relations(table: Table, header: RunHeader) -> Table:
    """Return the table with the groups, times and weights that a store holds; raise DataError if it has other rows.

    Groups, times and weights that the table has already take precedence.
    """
    packed = _read(header.data_options, RELATIONS, {})
    if isinstance(packed, dict) and packed:
        known = {name: _unpacked(packed.get(name)) for name in ("groups", "times") if name in packed}
        if any(len(codes) != len(table.target) for codes in known.values()):
            what = (
                f"the data is different: the {len(table.target)} rows of `{table.name}` are not as many as in the run"
            )
            raise DataError(what, REPEAT_OPTIONS)
        if not table.relations:
            table = replace(table, relations=RowRelations(**known))
    if (name := header.data_options.get(GROUP_NAME)) is not None:
        table = drop_columns(table, (name,))
    weights = table.weights if table.weights is not None else _stored_weights(header, len(table.target))
    return replace(table, weights=weights)


def attach_stored_splits(table: Table, header: RunHeader) -> Table:
    """Return the table with the splits that a store holds, or unchanged if the store holds none.

    The table has the rows of trials, without test rows. Raise DataError if the stored splits are invalid.
    """
    found = stored_splitter(header)
    return table if found is None else replace(table, splits=found.splits, split_source=found.source)


def stored_splitter(header: RunHeader) -> StoredSplitter | None:
    """Return a splitter that yields the splits in a store; None if it holds none.

    The splits are those of the rows of trials, without test rows. Raise DataError if they are invalid.
    """
    packed = _read(header.data_options, SPLITS, [])
    if not packed:
        return None
    if not isinstance(packed, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in packed):
        raise _unreadable()
    splits = tuple(Split(*map(_unpacked, pair)) for pair in packed)
    source = header.validation.partition(" of ")[2].rpartition(" (rows ")[0]
    return StoredSplitter(splits, source)


def _stored_weights(header: RunHeader, rows: int) -> Weights | None:
    """Return the sample weights that a store holds, None without any.

    Raise DataError if they are damaged, or if their number is not `rows`.
    """
    packed = _read(header.data_options, WEIGHTS_SETTING, None)
    if packed is None:
        return None
    if not isinstance(packed, list) or len(packed) != 2 or not isinstance(packed[1], str):
        raise _unreadable("weights")
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(packed[1], validate=True), 8 * MAX_NUMBERS)
        weights = np.frombuffer(content, dtype="<f8").astype(np.float64)
    except (binascii.Error, zlib.error, ValueError):
        raise _unreadable("weights") from None
    if weights_fingerprint(weights) != packed[0]:
        raise DataError("the sample weights in the store do not match their checksum", "pass them: `sample_weight=…`")
    if len(weights) != rows:
        what = f"the data is different: the run had {len(weights)} sample weights, and there are {rows} rows"
        raise DataError(what, REPEAT_OPTIONS)
    return check_weights(weights, rows)


def _packed(rows: Rows) -> str:
    numbers = np.ascontiguousarray(rows, dtype="<i8").tobytes()
    return base64.b64encode(zlib.compress(numbers)).decode("ascii")


def _unpacked(text: object) -> Rows:
    if not isinstance(text, str):
        raise _unreadable()
    try:
        reader = zlib.decompressobj()
        numbers = reader.decompress(base64.b64decode(text, validate=True), 8 * MAX_NUMBERS)
        found = np.frombuffer(numbers, dtype="<i8").astype(np.int64)
    except (binascii.Error, zlib.error, ValueError):
        raise _unreadable() from None
    if found.min(initial=0) < 0:
        raise _unreadable()
    return found


def _read(texts: Mapping[str, str], name: str, default: object) -> object:
    try:
        return json.loads(texts[name]) if name in texts else default
    except (ValueError, RecursionError):
        raise _unreadable() from None


def _unreadable(setting: str = "splits") -> DataError:
    return DataError(f"the store has invalid {setting}", REPEAT_OPTIONS)
