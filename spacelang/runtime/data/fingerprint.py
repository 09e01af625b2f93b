"""Fingerprints of data sets: hashes of their content that are equal on every machine."""

import hashlib
import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from spacelang.runtime.data.sparse import Features, canonical
from spacelang.runtime.storage.header import DataFacts


def data_facts(name: str, features: Features, labels: Any) -> DataFacts:
    """Return the facts of n rows of features and n labels."""
    return DataFacts(name, features.shape[0], features.shape[1], fingerprint(features, labels))


def fingerprint(features: Features, labels: Any) -> str:
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
    total.update(_hashed("", pd.Series(np.asarray(labels) if not isinstance(labels, pd.Series) else labels)))
    return total.hexdigest()


def _hashed_sparse(features: Any) -> bytes:
    rows = canonical(features)
    digest = hashlib.sha256(json.dumps(["sparse", rows.shape[1]]).encode())
    for part in (_bytes(rows.indptr, np.int64), _bytes(rows.indices, np.int64), _numbers(rows.data)):
        digest.update(hashlib.sha256(part).digest())
    return digest.digest()


def _hashed(name: str, column: "pd.Series[Any]") -> bytes:
    """Return the digest of one column. Columns are hashed separately, so their bytes cannot run into each other."""
    kind, parts = _content(column)
    digest = hashlib.sha256(json.dumps([name, kind]).encode())
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.digest()


def _content(column: "pd.Series[Any]") -> tuple[object, list[bytes]]:
    """Return a description of the column's type, and its values as bytes."""
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
    """Return the codes of the values and the distinct values, as bytes.

    A code is the index among the distinct values in order of appearance, or -1 for a missing value.
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
