"""Copies of cached tables that keep their memory layout, and the sizes of tables in bytes."""

import copy
from functools import cache
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import sparse

IMMUTABLE_KINDS: Final = frozenset({"string", "boolean", "integer", "floating", "mixed-integer-float", "empty"})
"""Contents of object arrays, by the names of `pandas.api.types.infer_dtype`, that consist of immutable values."""

SPARSE_FORMATS: Final = frozenset({"csr", "csc", "bsr", "coo", "dia"})
"""The sparse matrix formats that can be cached: those stored in arrays."""


def table_bytes(table: Any) -> int | None:
    """Return the bytes of a table, or None if it cannot be cached.

    Tables are NumPy arrays, SciPy sparse matrices and DataFrames. Those that `copy_table` could not reproduce exactly,
    such as arrays of mutable objects, cannot be cached.
    """
    if type(table) is np.ndarray:
        return _array_bytes(table)
    if sparse.issparse(table):
        return _sparse_bytes(table)
    if type(table) is pd.DataFrame:
        return (
            int(table.memory_usage(deep=True).sum()) if _pandas_keeps_layout() and _copy_keeps_layout(table) else None
        )
    return None


def copy_table(table: Any) -> Any:
    """Return a copy with the memory layout of the table, so that sums over both agree to the last digit.

    Only for tables for which `table_bytes` is not None.
    """
    if type(table) is np.ndarray:
        return _copy_array(table)
    if sparse.issparse(table):
        return copy.deepcopy(table)  # `copy` would lose the flag that the indices are sorted
    return table.copy(deep=True)


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
    """Return the bytes from the first to the last element of an array.

    Return None if its elements overlap, if a stride is negative, or if it is neither contiguous nor free of Python
    objects.
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


def _copy_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.flags.forc:
        return array.copy(order="K")
    extent = _spanned_bytes(array)
    assert extent is not None
    result = np.ndarray(array.shape, array.dtype, bytearray(extent), strides=array.strides)
    result[...] = array
    return result


def _sparse_bytes(matrix: Any) -> int | None:
    if matrix.format not in SPARSE_FORMATS or matrix.dtype.hasobject:
        return None
    return sum(array.nbytes for array in arrays_of(matrix))


def _copy_keeps_layout(table: pd.DataFrame) -> bool:
    """Return True if copying the DataFrame keeps its memory layout.

    A copy joins the columns of each data type in one block, and makes blocks contiguous.
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
