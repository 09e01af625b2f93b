"""Read Parquet files with pyarrow."""

from collections import Counter

import numpy as np
import pandas as pd

from spacelang.runtime.data.csv_files import FETCH_AGAIN
from spacelang.runtime.errors import DataError


def read_parquet(content: bytes, name: str) -> pd.DataFrame:
    """Return the table of a Parquet file, with the types of pandas but without masked arrays; days become dates.

    An index that pandas stored is dropped. Raises DataError, with `name` as the file's name, if the file is no Parquet
    file or is damaged, or if pyarrow is missing.
    """
    try:
        import pyarrow as arrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise DataError(
            f"`{name}` cannot be read without pyarrow", "install it with `pip install 'spacelang[parquet]'`"
        ) from None
    try:
        with ParquetFile(arrow.BufferReader(content), page_checksum_verification=True) as file:
            frame: pd.DataFrame = file.read().to_pandas(date_as_object=False, use_threads=False)
    except (arrow.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"`{name}` is not a valid Parquet file", f"it may be truncated or damaged: {FETCH_AGAIN}"
        ) from error
    _check(frame, name)
    return pd.DataFrame(
        {str(column): _remove_mask(frame[column]) for column in frame.columns}, index=pd.RangeIndex(len(frame))
    )


def _check(frame: pd.DataFrame, name: str) -> None:
    if frame.shape[1] == 0:
        raise DataError(f"`{name}` has no columns")
    if len(frame) == 0:
        raise DataError(f"`{name}` has no rows")
    names = [str(column) for column in frame.columns]
    for place, column in enumerate(names, start=1):
        if not column.strip():
            raise DataError(f"column {place} of `{name}` has no name", "name or remove it")
    twice = [column for column, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"`{name}` has several columns `{twice[0]}`", "give every column a unique name")


def _remove_mask(column: pd.Series) -> pd.Series:
    """Return the column with a fresh index and without pandas' mask, as scikit-learn does not accept `pd.NA`.

    Numbers with missing values become floats; booleans and text with missing values become objects.
    """
    values = column.reset_index(drop=True)
    if getattr(values.dtype, "na_value", None) is not pd.NA:
        return values
    is_whole = not bool(values.isna().any())
    if not pd.api.types.is_numeric_dtype(values):
        return values if is_whole else values.astype(object).where(values.notna(), None)
    if is_whole:
        return values.astype(values.dtype.numpy_dtype)  # type: ignore[union-attr]
    if pd.api.types.is_bool_dtype(values):
        return values.astype(object).where(values.notna(), None)
    return pd.Series(values.to_numpy(dtype=np.float64, na_value=np.nan), name=values.name)
