"""Splitters of scikit-learn, whose splits become those of the data, and the splits, groups and weights in stores."""

import base64
import binascii
import json
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from spacelang.ir.validation import Validation, parse_validation_or_none
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.data.loading import Table
from spacelang.runtime.data.read_options import REPEAT_OPTIONS
from spacelang.runtime.data.related_columns import relate_rows, without_columns
from spacelang.runtime.errors import DataError, describe_exception
from spacelang.runtime.evaluation.fitting import Weights, check_weights, describe_weights
from spacelang.runtime.evaluation.splits import RowRelations, Rows, Split, check_splits
from spacelang.runtime.random_state import preserve_global_random_state, seed_global_random_state
from spacelang.runtime.storage.header import GROUP_NAME, RELATIONS, SPLITS, WEIGHTS_SETTING, RunHeader

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


@dataclass(frozen=True, slots=True, repr=False)
class StoredSplitter:
    """A splitter with the splits of a stored run, which takes the place of the splitter of its program."""

    splits: tuple[Split, ...]
    source: str

    def __repr__(self) -> str:
        return self.source

    def split(self, features: Any, *_: Any) -> Iterator[tuple[Rows, Rows]]:
        """Yield the training and the held-out rows of each split; raise ValueError for other rows."""
        for each in self.splits:
            if max(each.training.max(initial=0), each.held_out.max(initial=0)) >= features.shape[0]:
                raise ValueError("the stored splits are those of more rows")
            yield each.training, each.held_out

    def get_n_splits(self, *_: Any) -> int:
        """Return the number of splits."""
        return len(self.splits)


def rows_as_texts(splits: Sequence[Split], table: Table, group_name: str | None) -> dict[str, str]:
    """Return the data options for splits, and for the groups, times and weights of a table; none for those without."""
    relations = table.relations
    rows = [[_packed(split.training), _packed(split.held_out)] for split in splits]
    found = {SPLITS: json.dumps(rows)} if rows else {}
    known = {"groups": relations.groups, "times": relations.times}
    packed = {name: _packed(codes) for name, codes in known.items() if codes is not None}
    found |= {RELATIONS: json.dumps(packed)} if packed else {}
    found |= {} if group_name is None else {GROUP_NAME: group_name}
    if table.weights is not None:
        content = base64.b64encode(zlib.compress(np.ascontiguousarray(table.weights, dtype="<f8").tobytes()))
        found[WEIGHTS_SETTING] = json.dumps([describe_weights(table.weights), content.decode("ascii")])
    return found


def validation_of(header: RunHeader) -> Validation | None:
    """Return the validation of a stored run; None if its splits came with the data."""
    return parse_validation_or_none(header.validation)


def related_table(table: Table, header: RunHeader) -> Table:
    """Return the table with the groups, times and weights of its rows, as the run had them.

    Raise DataError if that is impossible.
    """
    return relate_rows(with_stored_relations(table, header), validation_of(header))


def with_stored_relations(table: Table, header: RunHeader) -> Table:
    """Return the table with the groups, times and weights that a store holds; raise DataError if it has other rows.

    Those that the table has already are kept.
    """
    packed = _read(header.data_options, RELATIONS, {})
    if isinstance(packed, dict) and packed:
        known = {name: _unpacked(packed.get(name)) for name in ("groups", "times") if name in packed}
        if any(len(codes) != len(table.target) for codes in known.values()):
            raise DataError(f"the data is different: `{table.name}` has {len(table.target)} rows", REPEAT_OPTIONS)
        if not table.relations:
            table = replace(table, relations=RowRelations(**known))
    if (name := header.data_options.get(GROUP_NAME)) is not None:
        table = without_columns(table, (name,))
    weights = table.weights if table.weights is not None else _stored_weights(header, len(table.target))
    return replace(table, weights=weights)


def with_stored_splits(table: Table, header: RunHeader) -> Table:
    """Return the rows of trials with the splits that a store holds, if it holds any; raise DataError if invalid."""
    found = stored_splitter(header)
    return table if found is None else replace(table, splits=found.splits, split_source=found.source)


def stored_splitter(header: RunHeader) -> StoredSplitter | None:
    """Return the splits that a store holds as a splitter of the rows of trials, if any; raise DataError if invalid."""
    packed = _read(header.data_options, SPLITS, [])
    if not packed:
        return None
    if not isinstance(packed, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in packed):
        raise _unreadable()
    splits = tuple(Split(*map(_unpacked, pair)) for pair in packed)
    source = header.validation.partition(" of ")[2].rpartition(" (rows ")[0]
    return StoredSplitter(splits, source)


def _stored_weights(header: RunHeader, rows: int) -> Weights | None:
    """Return the weights of n rows that a store holds, if any; raise DataError if they are damaged or others."""
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
    if describe_weights(weights) != packed[0]:
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


def _unreadable(what: str = "splits") -> DataError:
    return DataError(f"the store has invalid {what}", REPEAT_OPTIONS)
