"""Features that are mostly zeros, held as a compressed sparse row (CSR) array whose columns have no names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from spacelang.runtime.errors import DataError

Features: TypeAlias = pd.DataFrame | csr_array
"""n rows of d features: a table whose columns have unique text names, or a canonical sparse array of floats."""

SPARSE_SHARE: Final = 0.1
"""A table stays sparse up to this share of nonzero numbers. Above it, a dense table is hardly larger."""

INDEX_TYPE: Final = np.int32
"""The index type that all operators accept."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseTable:
    """A table of named columns that is mostly zeros.

    `numbers` is an n x d array with zeros in place of the columns `others`, which are not numeric.
    """

    names: tuple[str, ...]
    numbers: csr_array
    others: Mapping[str, pd.Series]

    def __len__(self) -> int:
        return int(self.numbers.shape[0])

    @property
    def dense(self) -> pd.DataFrame:
        """The table as a DataFrame."""
        numbers = self.numbers.toarray()
        columns = (self.others.get(name, pd.Series(numbers[:, place])) for place, name in enumerate(self.names))
        return pd.concat(columns, axis=1, keys=self.names)

    def column(self, name: str) -> pd.Series:
        """Return one column."""
        if name in self.others:
            return self.others[name].rename(name)
        return pd.Series(self.numbers[:, [self.names.index(name)]].toarray().ravel(), name=name)

    def features_without(self, left_out: frozenset[str]) -> Features:
        """Return the other columns: as a sparse array if they are numeric and mostly zero, else as a DataFrame."""
        kept = [place for place, name in enumerate(self.names) if name not in left_out]
        numbers = self.numbers[:, kept]
        if self.others.keys() <= left_out and numbers.nnz <= SPARSE_SHARE * len(self) * len(kept):
            return canonical(numbers)
        return self.dense.drop(columns=[*left_out])


def canonical(features: Any) -> csr_array:
    """Return a canonical CSR copy of a sparse matrix or array: indices sorted, no duplicates, no explicit zeros.

    Raises DataError unless it is two-dimensional and numeric.
    """
    if features.ndim != 2:
        raise DataError(f"features must have two dimensions (rows, columns), not the shape {features.shape}")
    if features.dtype.kind not in "biuf":
        raise DataError(f"sparse features must be numbers, not of the type `{features.dtype}`")
    rows = csr_array(features, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    rows.sort_indices()
    if max(rows.nnz, *rows.shape) <= np.iinfo(INDEX_TYPE).max:
        rows.indices, rows.indptr = rows.indices.astype(INDEX_TYPE), rows.indptr.astype(INDEX_TYPE)
    return rows
