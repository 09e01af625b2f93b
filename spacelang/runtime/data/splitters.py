"""Splitters of scikit-learn as the validation of a search, whose splits become those of the data and of a store."""

import base64
import binascii
import json
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from spacelang.ir.validation import Validation, parse_validation_or_none
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.data.loading import Table
from spacelang.runtime.data.read_options import REPEAT_OPTIONS
from spacelang.runtime.data.related_columns import relate_rows
from spacelang.runtime.errors import DataError, describe_exception
from spacelang.runtime.evaluation.splits import RowRelations, Rows, Split, check_splits
from spacelang.runtime.random_state import preserve_global_random_state, seed_global_random_state
from spacelang.runtime.storage.header import RELATIONS, SPLITS, RunHeader

SEED_COUNT: Final = 2**32  # The number of seeds that the global generator of NumPy accepts


def with_row_numbers_as_times(table: Table, splitter: Any) -> Table:
    """Return the table with its row numbers as times if a splitter takes the rows as a series in time."""
    from sklearn.model_selection import TimeSeriesSplit

    if not isinstance(splitter, TimeSeriesSplit):
        return table
    return replace(table, relations=replace(table.relations, times=np.arange(len(table.target))))


def split_by(splitter: Any, dataset: Dataset, seed: int) -> Dataset:
    """Return the data set with the splits of a splitter, equal for equal seeds; raise DataError if it raises.

    The splitter gets the features, the labels as the user wrote them, and the groups if there are any.
    """
    source = describe_splitter(splitter)
    relations = dataset.relations
    with preserve_global_random_state(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of groups that are not used, which is checked below
        seed_global_random_state(seed % SEED_COUNT)  # for a splitter without a `random_state`
        try:
            found = [*splitter.split(dataset.features, dataset.original_labels, relations.groups)]
        except Exception as error:  # a splitter may raise anything
            what = f"`{source}` cannot split the {len(dataset.target)} rows: {describe_exception(error)}"
            raise DataError(what, "" if relations.groups is not None else "give `groups`, if it needs them") from error
    if not found:
        raise DataError(f"`{source}` makes no splits of the {len(dataset.target)} rows")
    splits = tuple(Split(*(np.asarray(rows, dtype=np.int64) for rows in pair)) for pair in found)
    check_splits(splits, len(dataset.target), source)
    if relations.groups is not None:
        for split in splits:
            if len(np.intersect1d(relations.groups[split.training], relations.groups[split.held_out])):
                what = f"`{source}` separates rows of one group"
                raise DataError(what, "use a splitter that keeps groups together, such as `GroupKFold`, or no `groups`")
    return replace(dataset, splits=splits, split_source=source)


def describe_splitter(splitter: Any) -> str:
    """Return a splitter as text on one line, without the addresses of objects."""
    text = " ".join(repr(splitter).split())
    return type(splitter).__name__ if " at 0x" in text else text


MAX_NUMBERS: Final = 2**31  # The most row numbers that are read, so that a strange store cannot exhaust the memory


def splits_as_texts(splits: Sequence[Split], relations: RowRelations) -> dict[str, str]:
    """Return the data options for these splits and relations; none for those that do not exist."""
    rows = [[_packed(split.training), _packed(split.held_out)] for split in splits]
    found = {SPLITS: json.dumps(rows)} if rows else {}
    known = {"groups": relations.groups, "times": relations.times}
    packed = {name: _packed(codes) for name, codes in known.items() if codes is not None}
    return found | ({RELATIONS: json.dumps(packed)} if packed else {})


def validation_of(header: RunHeader) -> Validation | None:
    """Return the validation of a stored run; None if its splits came with the data."""
    return parse_validation_or_none(header.validation)


def related_table(table: Table, header: RunHeader) -> Table:
    """Return the table with the groups and times of its rows, as the run had them; raise DataError if impossible."""
    packed = _read(header.data_options, RELATIONS, {})
    if isinstance(packed, dict) and packed:
        known = {name: _unpacked(packed.get(name)) for name in ("groups", "times") if name in packed}
        if any(len(codes) != len(table.target) for codes in known.values()):
            raise DataError(f"the data is different: `{table.name}` has {len(table.target)} rows", REPEAT_OPTIONS)
        table = replace(table, relations=RowRelations(**known))
    return relate_rows(table, validation_of(header))


def with_stored_splits(table: Table, header: RunHeader) -> Table:
    """Return the rows of trials with the splits that a store holds, if it holds any; raise DataError if invalid."""
    packed = _read(header.data_options, SPLITS, [])
    if not packed:
        return table
    if not isinstance(packed, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in packed):
        raise _unreadable()
    splits = tuple(Split(*map(_unpacked, pair)) for pair in packed)
    source = header.validation.partition(" of ")[2].rpartition(" (rows ")[0]
    return replace(table, splits=splits, split_source=source)


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


def _unreadable() -> DataError:
    return DataError("the store has invalid splits", REPEAT_OPTIONS)
