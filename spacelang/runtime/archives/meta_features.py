"""Meta-features: numbers that describe a data set, computed on its training rows only.

These are the 37 simple and statistical meta-features of auto-sklearn's archive, with its names (Feurer et al. 2015,
after Reif et al. 2014), so that data sets can be compared with those in it. README.md says why pymfe is not used.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite, log, nan
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from spacelang.runtime.data.tables import ColumnContent, Features, column_content

Floats = npt.NDArray[np.float64]
COMPARABLE: Final = (
    *("ClassEntropy", "ClassProbabilityMax", "ClassProbabilityMean", "ClassProbabilityMin", "ClassProbabilitySTD"),
    *("DatasetRatio", "InverseDatasetRatio", "LogDatasetRatio", "LogInverseDatasetRatio"),
    *("KurtosisMax", "KurtosisMean", "KurtosisMin", "KurtosisSTD"),
    *("LogNumberOfFeatures", "LogNumberOfInstances", "NumberOfClasses", "NumberOfFeatures", "NumberOfInstances"),
    *("NumberOfFeaturesWithMissingValues", "NumberOfInstancesWithMissingValues", "NumberOfMissingValues"),
    "NumberOfNumericFeatures",
    *("PercentageOfFeaturesWithMissingValues", "PercentageOfInstancesWithMissingValues", "PercentageOfMissingValues"),
    *("SkewnessMax", "SkewnessMean", "SkewnessMin", "SkewnessSTD"),
)
"""The meta-features that distances use. They agree with auto-sklearn's within 1 % on five data sets.

The other eight describe categorical columns. No data set that is available here and in that archive has any.
"""
BLOCK_SIZE: Final = 2**22  # The numbers that are processed at a time, so that a large table is not copied as a whole
CONSTANT_MOMENTS: Final = (0.0, -3.0)  # Skewness and excess kurtosis of a column of zeros or of ones


def compute_meta_features(features: Features, labels: Any, *, is_classification: bool) -> dict[str, float]:
    """Return the finite meta-features by name; of sparse features only the sizes and classes are described."""
    rows, columns = features.shape
    found = _sizes(rows, columns)
    if is_classification:
        found |= _classes(labels.value_counts().to_numpy() / rows)
    if isinstance(features, pd.DataFrame):
        found |= _columns(features)
    return {name: float(value) for name, value in found.items() if isfinite(value)}


def _sizes(rows: int, columns: int) -> dict[str, float]:
    return {
        "NumberOfInstances": rows,
        "LogNumberOfInstances": log(rows),
        "NumberOfFeatures": columns,
        "LogNumberOfFeatures": log(columns),
        "DatasetRatio": columns / rows,
        "LogDatasetRatio": log(columns / rows),
        "InverseDatasetRatio": rows / columns,
        "LogInverseDatasetRatio": log(rows / columns),
    }


def _classes(shares: Floats) -> dict[str, float]:
    present = shares[shares > 0]
    return {
        "NumberOfClasses": len(present),
        "ClassEntropy": float(-(present * np.log2(present)).sum()),
        **_summary("ClassProbability", present),
    }


def _columns(table: pd.DataFrame) -> dict[str, float]:
    contents = [column_content(table.iloc[:, place]) for place in range(table.shape[1])]
    numeric = [place for place, content in enumerate(contents) if content is ColumnContent.NUMBER]
    nominal = [place for place, content in enumerate(contents) if content is ColumnContent.CATEGORY]
    symbols = [table.iloc[:, place].nunique() for place in nominal]
    counts = [table.iloc[:, place].value_counts(dropna=False).to_numpy() for place in nominal]
    moments = np.array([*_numeric_moments(table, numeric), *_categorical_moments(counts, len(table))]).reshape(-1, 2)
    return {
        **_gaps(table),
        **_column_types(len(numeric), len(nominal)),
        **_symbols(symbols),
        **_summary("Skewness", moments[:, 0]),
        **_summary("Kurtosis", moments[:, 1]),
    }


def _gaps(table: pd.DataFrame) -> dict[str, float]:
    missing = table.isna().to_numpy()
    columns, rows, values = int(missing.any(axis=0).sum()), int(missing.any(axis=1).sum()), int(missing.sum())
    return {
        "NumberOfFeaturesWithMissingValues": columns,
        "PercentageOfFeaturesWithMissingValues": columns / missing.shape[1],
        "NumberOfInstancesWithMissingValues": rows,
        "PercentageOfInstancesWithMissingValues": rows / missing.shape[0],
        "NumberOfMissingValues": values,
        "PercentageOfMissingValues": values / missing.size,
    }


def _column_types(numeric: int, nominal: int) -> dict[str, float]:
    """Return the counts and ratios of column types; a ratio is 0 if its denominator is 0, as in the archive."""
    return {
        "NumberOfNumericFeatures": numeric,
        "NumberOfCategoricalFeatures": nominal,
        "RatioNumericalToNominal": numeric / nominal if nominal else 0.0,
        "RatioNominalToNumerical": nominal / numeric if numeric else 0.0,
    }


def _symbols(counts: Iterable[int]) -> dict[str, float]:
    """Return statistics of the number of categories per categorical column; all are 0 without such columns."""
    found = np.array([count for count in counts if count > 0] or [0], dtype=np.float64)
    return {**_summary("Symbols", found), "SymbolsSum": float(found.sum())}


def _summary(name: str, values: Floats) -> dict[str, float]:
    """Return the minimum, maximum, mean and population standard deviation of the finite values; 0 without any."""
    known = values[np.isfinite(values)]
    if not len(known):
        known = np.zeros(1)
    return {
        f"{name}Min": float(known.min()),
        f"{name}Max": float(known.max()),
        f"{name}Mean": float(known.mean()),
        f"{name}STD": float(known.std()),
    }


def _numeric_moments(table: pd.DataFrame, places: Sequence[int]) -> Iterator[tuple[float, float]]:
    """Yield skewness and excess kurtosis of each non-constant numeric column, with gaps filled by its mean."""
    from scipy.stats import kurtosis, skew

    width = max(1, BLOCK_SIZE // max(1, len(table)))
    for start in range(0, len(places), width):
        block = table.iloc[:, list(places[start : start + width])].to_numpy(dtype=np.float64, na_value=nan)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            # The moments of infinite or almost constant columns are NaN or inaccurate; both cases warn.
            warnings.simplefilter("ignore", RuntimeWarning)
            filled = np.where(np.isnan(block), np.nanmean(block, axis=0), block)
            varied = filled[:, filled.min(axis=0) < filled.max(axis=0)]
            yield from zip(skew(varied, axis=0).tolist(), kurtosis(varied, axis=0).tolist(), strict=True)


def _categorical_moments(counts: Iterable[npt.NDArray[Any]], rows: int) -> Iterator[tuple[float, float]]:
    """Yield skewness and excess kurtosis of each one-hot encoded column, where missing values are a category.

    `counts` has one array for each categorical column: the number of rows of each category.
    """
    for each in counts:
        for count in each:
            share = float(count) / rows
            spread = share * (1 - share)
            if count:
                yield ((1 - 2 * share) / spread**0.5, 1 / spread - 6) if spread else CONSTANT_MOMENTS
