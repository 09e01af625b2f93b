"""Tables of features: the content of their columns, sparse tables, sample weights, and fingerprints."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import nan
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from spacelang.runtime.errors import DataError
from spacelang.runtime.storage.run_header import SHOWN_DIGITS, DataFacts
from spacelang.spelling_suggestions import format_suggestion
from spacelang.text import format_names

TEXT_VALUES: Final = 200
"""A column of strings is free text if it has more distinct values than this, and more than half of its rows differ."""
Features: TypeAlias = pd.DataFrame | csr_array
"""n rows of d features: a table whose columns have unique text names, or a canonical sparse array of floats."""
SPARSE_SHARE: Final = 0.1
"""A table stays sparse up to this share of nonzero numbers. Above it, a dense table is hardly larger."""
INDEX_TYPE: Final = np.int32  # The index type that all operators accept
LARGE_INTEGERS: Final = "integers of 2^63 or more"  # The content of some columns, in messages
Weights: TypeAlias = npt.NDArray[np.float64]


class ColumnContent(Enum):
    """The kind of content of a table's column."""

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    OTHER = "other"
    EMPTY = "empty"


def column_content(column: pd.Series) -> ColumnContent:
    """Return the content of a column by its type; text and booleans are categories.

    A column whose values are all missing is empty, whatever its type.
    """
    if bool(column.isna().all()):
        return ColumnContent.EMPTY
    if pd.api.types.is_datetime64_any_dtype(column):
        return ColumnContent.DATE
    strings = pd.api.types.is_object_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype | pd.StringDtype)
    if strings or pd.api.types.is_bool_dtype(column):
        return ColumnContent.CATEGORY
    return ColumnContent.NUMBER if pd.api.types.is_numeric_dtype(column) else ColumnContent.OTHER


def holds_large_integers(column: "pd.Series[Any]") -> bool:
    """Return True if a column holds integers of Python, some of which are too large for 64 bits with a sign."""
    if not pd.api.types.is_object_dtype(column) or pd.api.types.infer_dtype(column, skipna=True) != "integer":
        return False
    return any(abs(value) >= 2**63 for value in column.dropna())


def holds_numbers(column: Any) -> bool:
    """Return True if a column, or a type of columns, is numeric; booleans are not."""
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def suggest_column(name: str, columns: Sequence[str]) -> str:
    """Return the remedy for a name that is no column: the similar one, or the columns."""
    return format_suggestion(name, columns) or f"the columns are {format_names(columns, 12)}"


def first_true_row_number(mask: Any) -> int | None:
    """Return the 1-based number of the first true row of a boolean array; None if there is none."""
    return int(mask.argmax()) + 1 if mask.any() else None


def first_infinite_row_number(column: "pd.Series[Any]") -> int | None:
    """Return the 1-based number of the first row with an infinite number, also a complex one; None without any."""
    is_complex = pd.api.types.is_complex_dtype(column)
    numbers = column.to_numpy() if is_complex else column.to_numpy(dtype=float, na_value=nan)
    return first_true_row_number(np.isinf(numbers))


def is_free_text(column: Any) -> bool:
    """Return True if a column of strings holds free text, by the number of its distinct values."""
    return is_mostly_different(int(column.nunique()), len(column))


def is_mostly_different(distinct: int, rows: int) -> bool:
    """Return True if the distinct strings are more than `TEXT_VALUES` and more than half of the rows: free text."""
    return distinct > TEXT_VALUES and 2 * distinct > rows


@dataclass(frozen=True, slots=True, eq=False)
class SparseTable:
    """A table that is mostly zeros: `numbers` (n x d) has its numeric columns, `others` those of other types.

    `names` are the names of all d columns. The columns of `others` are zeros in `numbers`.
    """

    names: tuple[str, ...]
    numbers: csr_array
    others: Mapping[str, pd.Series]

    def __len__(self) -> int:
        return int(self.numbers.shape[0])

    @property
    def as_dataframe(self) -> pd.DataFrame:
        """The table as a dense DataFrame with all d columns, in their order."""
        numbers = self.numbers.toarray()
        columns = (self.others.get(name, pd.Series(numbers[:, place])) for place, name in enumerate(self.names))
        return pd.concat(columns, axis=1, keys=self.names)

    def column(self, name: str) -> pd.Series:
        """Return the column with this name as a dense Series."""
        if name in self.others:
            return self.others[name].rename(name)
        return pd.Series(self.numbers[:, [self.names.index(name)]].toarray().ravel(), name=name)

    def features_without(self, left_out: frozenset[str]) -> Features:
        """Return the other columns: as a sparse array if they are numeric and mostly zero, else as a DataFrame."""
        kept = [place for place, name in enumerate(self.names) if name not in left_out]
        numbers = self.numbers[:, kept]
        if self.others.keys() <= left_out and numbers.nnz <= SPARSE_SHARE * len(self) * len(kept):
            return canonical_csr(numbers)
        return self.as_dataframe.drop(columns=[*left_out])


def canonical_csr(features: Any) -> csr_array:
    """Return a CSR copy with sorted indices and without stored zeros.

    Raise DataError for an array that is not numeric or has not two dimensions.
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


def make_data_facts(name: str, features: Features, labels: Any) -> DataFacts:
    """Return the name, the shape and the fingerprint of n rows of features and n labels."""
    return DataFacts(name, features.shape[0], features.shape[1], data_fingerprint(features, labels))


def data_fingerprint(features: Features, labels: Any) -> str:
    """Return the fingerprint of features and labels, as 64 hexadecimal digits.

    It is a SHA-256 of the names, types and values of all columns and of the labels.

    The order of the columns counts. The index and the name of the labels do not. Text is the same in every text type of
    pandas, and so are all missing values. Of sparse features, the shape and the nonzero numbers count, not the way they
    are stored. A dense table of the same numbers has another fingerprint.
    """
    total = hashlib.sha256(f"{features.shape[0]}".encode())
    if isinstance(features, pd.DataFrame):
        for place, name in enumerate(features.columns):
            total.update(_hashed(str(name), features.iloc[:, place]))
    else:
        total.update(_hashed_sparse(features))
    given = labels if isinstance(labels, pd.Series) else np.asarray(labels)
    # Each of several targets counts like a column.
    for column in given.T if given.ndim == 2 else (given,):
        total.update(_hashed("", pd.Series(column)))
    return total.hexdigest()


def _hashed_sparse(features: Any) -> bytes:
    rows = canonical_csr(features)
    digest = hashlib.sha256(json.dumps(["sparse", rows.shape[1]]).encode())
    for part in (_bytes(rows.indptr, np.int64), _bytes(rows.indices, np.int64), _numbers(rows.data)):
        digest.update(hashlib.sha256(part).digest())
    return digest.digest()


def _hashed(name: str, column: "pd.Series[Any]") -> bytes:
    kind, parts = _content(column)
    digest = hashlib.sha256(json.dumps([name, kind]).encode())
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.digest()


def _content(column: "pd.Series[Any]") -> tuple[object, list[bytes]]:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        # The order of the categories matters, as encoders use it.
        categories = _content(pd.Series(dtype.categories))
        codes = column.cat.codes.to_numpy()
        return ["category", bool(dtype.ordered), categories[0]], [*categories[1], _bytes(codes, np.int64)]
    if isinstance(dtype, pd.SparseDtype):
        return _content(pd.Series(np.asarray(column)))
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return f"{dtype.kind}{dtype.itemsize}", [_numbers(column.to_numpy())]
    missing = column.isna().to_numpy()
    if pd.api.types.is_numeric_dtype(dtype):  # a masked array of numbers
        held = dtype.numpy_dtype  # type: ignore[union-attr]
        values = column.to_numpy(dtype=held, na_value=held.type(0))
        return f"masked {held.kind}{held.itemsize}", [_numbers(values), _bytes(missing, np.uint8)]
    if isinstance(dtype, pd.DatetimeTZDtype) or (isinstance(dtype, np.dtype) and dtype.kind in "mM"):
        instants = column.to_numpy(dtype="m8[ns]" if dtype.kind == "m" else "M8[ns]")
        zone = str(dtype.tz) if isinstance(dtype, pd.DatetimeTZDtype) else ""
        return [dtype.kind, zone], [_bytes(instants.view(np.int64), np.int64)]
    return "values", _texts(column)


def _texts(column: "pd.Series[Any]") -> list[bytes]:
    """Return two parts as bytes: the code of each row, -1 if missing, and the distinct values with their types as JSON.

    A code is the position of the row's value among the distinct values, which are in the order of first appearance.
    """
    values = column.astype(object).to_numpy()
    names: dict[tuple[str, str], int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for row, (value, is_missing) in enumerate(zip(values, column.isna().to_numpy(), strict=True)):
        if is_missing:
            codes[row] = -1
            continue
        # The type is part of the name: the number 1 and the text "1" may be in the same column.
        name = ("", value) if type(value) is str else (type(value).__name__, str(value))
        codes[row] = names.setdefault(name, len(names))
    return [_bytes(codes, np.int64), json.dumps(list(names)).encode()]


def _numbers(values: npt.NDArray[Any]) -> bytes:
    """Return the bytes of numbers, with a single representation of NaN and 0 for -0."""
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), values.dtype.type(np.nan), values + values.dtype.type(0))
    return _bytes(values, values.dtype)


def _bytes(values: npt.NDArray[Any], kind: npt.DTypeLike) -> bytes:
    return np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<")).tobytes()


def without_columns(features: Any, names: Collection[str]) -> Any:
    """Return a DataFrame without the columns of these names; features without names of columns stay as they are."""
    if not names or not isinstance(features, pd.DataFrame):
        return features
    return features.loc[:, [str(name) not in names for name in features.columns]]


def check_weights(given: Any, rows: int) -> Weights:
    """Return the weights of n rows as numbers; raise DataError unless they are finite, at least 0 and not all 0."""
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("the sample weights are not numbers", "give one number for each row") from error
    if weights.shape != (rows,):
        what = f"the sample weights have the shape {weights.shape}, but there are {rows} rows"
        raise DataError(what, "give one number for each row")
    if not np.isfinite(weights).all() or weights.min(initial=0.0) < 0:
        raise DataError("a sample weight is negative or not finite", "give numbers that are at least 0")
    if not weights.any():
        raise DataError("all sample weights are 0", "give at least some rows a weight above 0")
    return weights


def weights_fingerprint(weights: Weights) -> str:
    """Return a text that is equal for equal weights, by which a run is resumed."""
    return f"{len(weights)} weights, content {hashlib.sha256(weights.tobytes()).hexdigest()[:SHOWN_DIGITS]}"
