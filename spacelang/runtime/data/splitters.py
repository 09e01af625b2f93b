"""Splitters of scikit-learn as the validation of a search: their splits become those of the data."""

import warnings
from dataclasses import replace
from typing import Any, Final

import numpy as np

from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.data.loading import Table
from spacelang.runtime.errors import DataError, describe_exception
from spacelang.runtime.evaluation.splits import Split, check_splits
from spacelang.runtime.random_state import preserve_global_random_state, seed_global_random_state

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
