"""Tables that are kept and handed out again: how many bytes they take, and copies that nothing can tell from them."""

import copy
from functools import cache
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import sparse

PLAIN_OBJECTS: Final = frozenset({"string", "boolean", "integer", "floating", "mixed-integer-float", "empty"})
"""What arrays of objects may hold, as pandas names it: values that nobody can change."""

COMPRESSED: Final = frozenset({"csr", "csc", "bsr", "coo", "dia"})
"""The formats of sparse matrices that are kept: those made of arrays."""


def bytes_of(table: Any) -> int | None:
    """The bytes of a table; None where it is nothing that can be kept."""
    if type(table) is np.ndarray:
        return _array_bytes(table)
    if sparse.issparse(table):
        return _sparse_bytes(table)
    if type(table) is pd.DataFrame:
        return int(table.memory_usage(deep=True).sum()) if _keeps_layout() and _is_tidy(table) else None
    return None


def copied(table: Any) -> Any:
    """A copy, laid out in memory as the table is: sums over it are equal to the last digit.

    Only for tables that `bytes_of` knows.
    """
    if type(table) is np.ndarray:
        return _copied_array(table)
    if sparse.issparse(table):
        return copy.deepcopy(table)  # `copy` would forget whether the indices are sorted
    return table.copy(deep=True)


def arrays_of(table: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays that a table is made of; of the columns of a DataFrame only those that are arrays of NumPy."""
    if isinstance(table, np.ndarray):
        return [table]
    if isinstance(table, pd.DataFrame):
        return [block.values for block in table._mgr.blocks if isinstance(block.values, np.ndarray)]
    held = [part for value in vars(table).values() for part in (value if isinstance(value, tuple) else (value,))]
    return [part for part in held if isinstance(part, np.ndarray)]


def _array_bytes(array: np.ndarray[Any, Any]) -> int | None:
    extent = _extent(array)
    if extent is None or array.dtype.kind == "T":
        return None
    if not array.dtype.hasobject:
        return extent
    if array.dtype.kind != "O" or pd.api.types.infer_dtype(array.ravel(), skipna=True) not in PLAIN_OBJECTS:
        return None
    return extent + int(pd.Series(array.ravel()).memory_usage(index=False, deep=True))


def _extent(array: np.ndarray[Any, Any]) -> int | None:
    """The bytes from the first to the last element; None for one that overlaps itself or runs backwards."""
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


def _copied_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.flags.forc:
        return array.copy(order="K")
    extent = _extent(array)
    assert extent is not None
    result = np.ndarray(array.shape, array.dtype, bytearray(extent), strides=array.strides)
    result[...] = array
    return result


def _sparse_bytes(matrix: Any) -> int | None:
    if matrix.format not in COMPRESSED or matrix.dtype.hasobject:
        return None
    return sum(array.nbytes for array in arrays_of(matrix))


def _is_tidy(table: pd.DataFrame) -> bool:
    """Whether a copy would have the columns where they are: copying joins those of a type, and closes gaps."""
    blocks = [block.values for block in table._mgr.blocks]
    kinds = {block.dtype for block in blocks}
    return len(kinds) == len(blocks) and all(array.flags.forc for array in arrays_of(table))


@cache
def _keeps_layout() -> bool:
    """Whether this version of pandas copies columns as they lie, which old ones do not."""
    table = pd.DataFrame(np.zeros((2, 3)))
    try:
        before, after = (each._mgr.blocks[0].values.strides for each in (table, table.copy(deep=True)))
    except AttributeError:
        return False
    return bool(before == after)
