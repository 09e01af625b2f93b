"""Identities, memory footprints and exact copies of estimators and tables, for the prefix cache."""

import copy
import random
import sys
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final, cast

import numpy as np
import pandas as pd
from scipy import sparse

LEAF_TYPES: Final = (str, bytes, bytearray, bool, int, float, complex, type(None), np.generic)
"""Types whose values contain no other objects."""
SHARED_TYPES: Final = (type, FunctionType, BuiltinFunctionType, ModuleType, np.ufunc, np.dtype)
"""Types of objects that exist anyway, so that a reference to them takes no memory."""
GENERATOR_BYTES: Final = 8_000  # The bytes of a random generator and two copies of its state
MAX_OBJECTS: Final = 200_000  # The largest number of objects that are visited
VALUE_TYPES: Final = (int, str, bytes, bool, type(None), type(...))
"""Types whose values are interchangeable if they are equal and of the same type."""
REFERENCE_TYPES: Final = (type, FunctionType, BuiltinFunctionType, np.ufunc)
"""Types whose objects are equal only to themselves."""
RANDOM_TYPES: Final = (np.random.RandomState, np.random.Generator, np.random.BitGenerator, random.Random)
"""Types of random generators, whose state changes with every use."""
SIMPLE_KINDS: Final = "biufcSUmM"  # The kinds of NumPy data types whose values are determined by their bytes
MAX_ARRAY_BYTES: Final = 2**20  # The largest array, in bytes, that is compared by its contents
IMMUTABLE_KINDS: Final = frozenset({"string", "boolean", "integer", "floating", "mixed-integer-float", "empty"})
"""Contents of object arrays, by the names of `pandas.api.types.infer_dtype`, that consist of immutable values."""
SPARSE_FORMATS: Final = frozenset({"csr", "csc", "bsr", "coo", "dia"})
"""The sparse matrix formats that can be cached: those stored in arrays."""


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
    """Return the memory footprint; None beyond `MAX_OBJECTS` objects, or if one of them cannot be inspected."""
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
        found.arrays.append(value)
        if isinstance(value.base, np.ndarray):
            return (value.base,)  # a view keeps its whole base alive
        found.bytes += value.nbytes
        return value.ravel().tolist() if value.dtype.hasobject else ()
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
        case _ if has_state_only_in_dict(cast(Hashable, type(value))) and not _customizes_pickling(
            cast(Hashable, type(value))
        ):
            return (vars(value),)
        case _:
            return _pickled_contents(value)


def _pandas_arrays(columns: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(columns, pd.DataFrame):
        return arrays_of(columns)
    return [columns.array.to_numpy()] if isinstance(columns.dtype, np.dtype) else []


@cache
def _customizes_pickling(kind: Any) -> bool:
    """Return True if a class, or a base other than `BaseEstimator`, defines `__getstate__`, as wrappers of C++ do."""
    from sklearn.base import BaseEstimator

    return any("__getstate__" in vars(base) for base in kind.__mro__ if base not in {object, BaseEstimator})


def _pickled_contents(value: Any) -> Iterable[Any] | None:
    try:
        made = value.__reduce_ex__(5)
    except Exception:  # noqa: BLE001 - a foreign object may raise anything: its contents are unknown
        return None
    if not isinstance(made, tuple):
        return ()
    held = [each for each in made[1:] if each is not None]
    return [part for each in held for part in (each if isinstance(each, Iterator) else (each,))]


class NoIdentityError(Exception):
    """An error for an object with a part that cannot be compared reliably."""


def identity_of(value: Any) -> Hashable:
    """Return a hashable value that is equal only for objects that behave alike; raise NoIdentityError without one."""
    kind = type(value)
    if kind in VALUE_TYPES or kind in REFERENCE_TYPES or isinstance(value, type):
        return (kind, value)
    if kind is float:
        return (kind, value.hex())
    if kind is tuple or kind is list:
        return (kind, *map(identity_of, value))
    if kind is dict:
        return (kind, *((identity_of(key), identity_of(held)) for key, held in value.items()))
    if has_state_only_in_dict(cast(Hashable, kind)):
        return (kind, identity_of(vars(value)))
    return (kind, _special_identity(value))


@cache
def has_state_only_in_dict(kind: Any) -> bool:
    """Return True if instances of a class store all of their state in `__dict__`."""
    return (
        kind.__basicsize__ <= _DictOnly.__basicsize__
        and kind.__itemsize__ == 0
        and kind.__dictoffset__ != 0
        and not any(vars(base).get("__slots__") for base in kind.__mro__)
        and not issubclass(kind, (Iterator, *RANDOM_TYPES))
    )


class _DictOnly:
    """A class whose instances have nothing but a `__dict__`; its size is compared with that of other classes."""


def _special_identity(value: Any) -> Hashable:
    if isinstance(value, (Iterator, *RANDOM_TYPES)):
        raise NoIdentityError
    match value:
        case slice() | range():
            return identity_of((value.start, value.stop, value.step))
        case set() | frozenset():
            return frozenset(map(identity_of, value))
        case complex():
            return (value.real.hex(), value.imag.hex())
        case np.dtype() if value.names is None:
            return value.str
        case np.generic() if value.dtype.kind in SIMPLE_KINDS:
            return (value.dtype.str, value.tobytes())
        case np.ndarray() if (
            type(value) is np.ndarray and value.dtype.kind in SIMPLE_KINDS and value.nbytes <= MAX_ARRAY_BYTES
        ):
            return (value.dtype.str, value.shape, value.strides, value.tobytes())
        case _:
            return _pickled_identity(value)


def _pickled_identity(value: Any) -> Hashable:
    """Return the identity of all that pickling would store, or the value itself if pickling would store only its name.

    Raise NoIdentityError if it cannot be pickled, or if it is pickled by name and its class defines `__hash__`.
    """
    try:
        made = value.__reduce_ex__(2)
    except Exception as error:
        raise NoIdentityError from error
    if not isinstance(made, tuple):
        by_itself: Any = object.__hash__
        if type(value).__hash__ is not by_itself:
            raise NoIdentityError
        return cast(Hashable, value)  # pickled by its name, such as a library function: there is only one
    return tuple(identity_of([*part] if isinstance(part, Iterator) else part) for part in made)


def copyable_table_bytes(table: Any) -> int | None:
    """Return the bytes of an array, a sparse matrix or a DataFrame; None if `copy_table` could not copy it exactly."""
    if type(table) is np.ndarray:
        return _array_bytes(table)
    if sparse.issparse(table):
        is_known = table.format in SPARSE_FORMATS and not table.dtype.hasobject
        return sum(array.nbytes for array in arrays_of(table)) if is_known else None
    if type(table) is pd.DataFrame:
        is_exact = _pandas_keeps_layout() and _copy_keeps_layout(table)
        return int(table.memory_usage(deep=True).sum()) if is_exact else None
    return None


def copy_table(table: Any) -> Any:
    """Return a copy with the same memory layout, so that sums over it agree to the last digit.

    The caller must have checked that `copyable_table_bytes` of the table is not None.
    """
    if sparse.issparse(table):
        return copy.deepcopy(table)  # `copy` would lose the flag that the indices are sorted
    if type(table) is not np.ndarray:
        return table.copy(deep=True)
    if table.flags.forc:
        return table.copy(order="K")
    extent = _spanned_bytes(table)
    assert extent is not None
    result = np.ndarray(table.shape, table.dtype, bytearray(extent), strides=table.strides)
    result[...] = table
    return result


def arrays_of(table: Any) -> list[np.ndarray[Any, Any]]:
    """Return the arrays that store a table; for a DataFrame, only the columns that are stored in NumPy arrays."""
    if isinstance(table, np.ndarray):
        return [table]
    if isinstance(table, pd.DataFrame):
        return [block.values for block in table._mgr.blocks if isinstance(block.values, np.ndarray)]
    held = [part for value in vars(table).values() for part in (value if isinstance(value, tuple) else (value,))]
    return [part for part in held if isinstance(part, np.ndarray)]


def _array_bytes(array: np.ndarray[Any, Any]) -> int | None:
    extent = _spanned_bytes(array)
    if extent is None or array.dtype.kind == "T":
        return None
    if not array.dtype.hasobject:
        return extent
    if array.dtype.kind != "O" or pd.api.types.infer_dtype(array.ravel(), skipna=True) not in IMMUTABLE_KINDS:
        return None
    return extent + int(pd.Series(array.ravel()).memory_usage(index=False, deep=True))


def _spanned_bytes(array: np.ndarray[Any, Any]) -> int | None:
    """Return the bytes from the first to the last element of an array, with the gaps between them.

    Return None if elements overlap, if strides are negative, or if the array has gaps and holds objects.
    """
    if array.flags.forc:
        return array.nbytes
    if array.size == 0 or array.dtype.hasobject:
        return None
    steps = sorted((stride, length) for stride, length in zip(array.strides, array.shape, strict=True) if length > 1)
    reach = array.itemsize
    for stride, length in steps:
        if stride < reach:
            return None
        reach = stride * (length - 1) + reach
    return reach


def _copy_keeps_layout(table: pd.DataFrame) -> bool:
    """Return True if a deep copy of a DataFrame keeps its memory layout.

    A copy joins columns of one type in a contiguous block, so each type must have a single contiguous block already.
    """
    blocks = [block.values for block in table._mgr.blocks]
    kinds = {block.dtype for block in blocks}
    return len(kinds) == len(blocks) and all(array.flags.forc for array in arrays_of(table))


@cache
def _pandas_keeps_layout() -> bool:
    """Return True if this version of pandas keeps the strides of blocks in a deep copy; old versions do not."""
    table = pd.DataFrame(np.zeros((2, 3)))
    try:
        before, after = (each._mgr.blocks[0].values.strides for each in (table, table.copy(deep=True)))
    except AttributeError:
        return False
    return bool(before == after)
