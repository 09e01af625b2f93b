"""The memory footprint of fitted estimators: their bytes, their arrays and their random generators."""

import random
import sys
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final, cast

import numpy as np
import pandas as pd

from spacelang.runtime.evaluation.estimator_identity import has_only_dict
from spacelang.runtime.evaluation.table_copies import arrays_of

LEAF_TYPES: Final = (str, bytes, bytearray, bool, int, float, complex, type(None), np.generic)
"""Types whose values contain no other objects."""

SHARED_TYPES: Final = (type, FunctionType, BuiltinFunctionType, ModuleType, np.ufunc, np.dtype)
"""Types of objects that exist anyway, so that a reference to them takes no memory."""

GENERATOR_BYTES: Final = 8_000
"""The bytes of a random generator and two copies of its state."""

MAX_OBJECTS: Final = 200_000
"""The largest number of objects that are visited."""


@dataclass(slots=True)
class MemoryFootprint:
    """The bytes, arrays and random generators that an object references, directly or indirectly."""

    bytes: int = 0
    arrays: list[np.ndarray[Any, Any]] = field(default_factory=list)
    generators: list[Any] = field(default_factory=list)

    def may_overlap(self, table: Any) -> bool:
        """Return True if an array of the object may share memory with the table."""
        return any(np.may_share_memory(mine, other) for other in arrays_of(table) for mine in self.arrays)


def memory_footprint(root: Any) -> MemoryFootprint | None:
    """Return the memory footprint of an object, or None if it references something that cannot be inspected.

    None is also returned if there are more than `MAX_OBJECTS` objects.
    """
    found, waiting = MemoryFootprint(), [root]
    seen: dict[int, Any] = {}  # holds the objects, so that their ids are not reused meanwhile
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, SHARED_TYPES):
            continue
        seen[id(value)] = value
        if len(seen) > MAX_OBJECTS:
            return None
        inside = _visit(value, found)
        if inside is None:
            return None
        waiting += inside
    return found


def _visit(value: Any, found: MemoryFootprint) -> Iterable[Any] | None:
    """Add a value to the footprint `found`, and return the objects directly inside it, or None if they are unknown."""
    if isinstance(value, LEAF_TYPES):
        found.bytes += sys.getsizeof(value)
        return ()
    if isinstance(value, np.ndarray):
        return _visit_array(value, found)
    if isinstance(value, pd.DataFrame | pd.Series | pd.Index):
        found.bytes += int(np.sum(value.memory_usage(deep=True)))
        found.arrays += _pandas_arrays(value)
        return ()
    if isinstance(value, np.random.RandomState | np.random.BitGenerator):
        if value is not np.random.mtrand._rand:  # the global generator belongs to no estimator
            found.generators.append(value)
            found.bytes += GENERATOR_BYTES
        return ()
    found.bytes += sys.getsizeof(value, 0)
    return _contents(value)


def _contents(value: Any) -> Iterable[Any] | None:
    match value:
        case random.Random() | Iterator():
            return None
        case dict():
            return [*value.keys(), *value.values()]
        case tuple() | list() | set() | frozenset():
            return value
        case _ if has_only_dict(cast(Hashable, type(value))) and not _customizes_pickling(cast(Hashable, type(value))):
            return (vars(value),)
        case _:
            return _pickled_contents(value)


def _visit_array(array: np.ndarray[Any, Any], found: MemoryFootprint) -> Iterable[Any] | None:
    found.arrays.append(array)
    if isinstance(array.base, np.ndarray):
        return (array.base,)  # a view keeps its whole base alive
    found.bytes += array.nbytes
    return array.ravel().tolist() if array.dtype.hasobject else ()


def _pandas_arrays(columns: Any) -> list[np.ndarray[Any, Any]]:
    """Return the NumPy arrays that store a DataFrame, Series or Index."""
    if isinstance(columns, pd.DataFrame):
        return arrays_of(columns)
    return [columns.array.to_numpy()] if isinstance(columns.dtype, np.dtype) else []


@cache
def _customizes_pickling(kind: Any) -> bool:
    """Return True if a class, or a base other than `object` and `BaseEstimator`, defines `__getstate__`.

    Such classes may wrap objects of a native library.
    """
    from sklearn.base import BaseEstimator

    return any("__getstate__" in vars(base) for base in kind.__mro__ if base not in {object, BaseEstimator})


def _pickled_contents(value: Any) -> Iterable[Any] | None:
    """Return the objects that pickling the value would store, or None if it cannot be pickled."""
    try:
        made = value.__reduce_ex__(5)
    except Exception:  # noqa: BLE001 - a foreign object may raise anything: its contents are unknown
        return None
    if not isinstance(made, tuple):
        return ()
    return [
        part for each in made[1:] if each is not None for part in ([*each] if isinstance(each, Iterator) else [each])
    ]
