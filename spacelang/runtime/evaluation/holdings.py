"""What fitted estimators hold: how much memory, which arrays, and which generators of random numbers."""

import random
import sys
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final, cast

import numpy as np
import pandas as pd

from spacelang.runtime.evaluation.copies import arrays_of
from spacelang.runtime.evaluation.identity import is_plain

LEAVES: Final = (str, bytes, bytearray, bool, int, float, complex, type(None), np.generic)
"""Types of values that hold no others."""

SHARED: Final = (type, FunctionType, BuiltinFunctionType, ModuleType, np.ufunc, np.dtype)
"""Types of objects that are there whether anybody holds them or not."""

GENERATOR_BYTES: Final = 8_000
"""What a generator takes, and two of its states."""

MOST: Final = 200_000
"""The most objects that are looked at."""


@dataclass(slots=True)
class Holdings:
    """What an object holds, directly or not."""

    bytes: int = 0
    arrays: list[np.ndarray[Any, Any]] = field(default_factory=list)
    generators: list[Any] = field(default_factory=list)

    def overlaps(self, table: Any) -> bool:
        """Whether what is held may lie in the same memory as a table."""
        return any(np.may_share_memory(mine, other) for other in arrays_of(table) for mine in self.arrays)


def holdings(root: Any) -> Holdings | None:
    """What an object holds; None where it holds something that cannot be looked into."""
    found, waiting = Holdings(), [root]
    seen: dict[int, Any] = {}  # with the objects, so that no other is given the same number meanwhile
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, SHARED):
            continue
        seen[id(value)] = value
        if len(seen) > MOST:
            return None
        inside = _inside(value, found)
        if inside is None:
            return None
        waiting += inside
    return found


def _inside(value: Any, found: Holdings) -> Iterable[Any] | None:
    """What is directly in a value, after counting the value itself; None where that is not known."""
    if isinstance(value, LEAVES):
        found.bytes += sys.getsizeof(value)
        return ()
    if isinstance(value, np.ndarray):
        return _array(value, found)
    if isinstance(value, pd.DataFrame | pd.Series | pd.Index):
        found.bytes += int(np.sum(value.memory_usage(deep=True)))
        found.arrays += _behind(value)
        return ()
    if isinstance(value, np.random.RandomState | np.random.BitGenerator):
        if value is not np.random.mtrand._rand:  # that one belongs to all
            found.generators.append(value)
            found.bytes += GENERATOR_BYTES
        return ()
    found.bytes += sys.getsizeof(value, 0)
    return _parts(value)


def _parts(value: Any) -> Iterable[Any] | None:
    match value:
        case random.Random() | Iterator():
            return None
        case dict():
            return [*value.keys(), *value.values()]
        case tuple() | list() | set() | frozenset():
            return value
        case _ if is_plain(cast(Hashable, type(value))) and not _says_what_is_pickled(cast(Hashable, type(value))):
            return (vars(value),)
        case _:
            return _reduced(value)


def _array(array: np.ndarray[Any, Any], found: Holdings) -> Iterable[Any] | None:
    found.arrays.append(array)
    if isinstance(array.base, np.ndarray):
        return (array.base,)  # a view keeps all of it
    found.bytes += array.nbytes
    return array.ravel().tolist() if array.dtype.hasobject else ()


def _behind(columns: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays of NumPy that columns of pandas lie in."""
    if isinstance(columns, pd.DataFrame):
        return arrays_of(columns)
    return [columns.array.to_numpy()] if isinstance(columns.dtype, np.dtype) else []


@cache
def _says_what_is_pickled(kind: Any) -> bool:
    """Whether a class has its own idea of its state, such as those that hold a library's objects."""
    from sklearn.base import BaseEstimator

    return any("__getstate__" in vars(base) for base in kind.__mro__ if base not in {object, BaseEstimator})


def _reduced(value: Any) -> Iterable[Any] | None:
    """What would be pickled of an object whose parts cannot be seen."""
    try:
        made = value.__reduce_ex__(5)
    except Exception:  # noqa: BLE001 - whatever an object says when it is asked: it is not known what it holds
        return None
    if not isinstance(made, tuple):
        return ()
    return [
        part for each in made[1:] if each is not None for part in ([*each] if isinstance(each, Iterator) else [each])
    ]
