"""The first step of exported pipelines, which converts features to the table that trials had."""

from typing import Any, Final, Self

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, TransformerMixin

from spacelang.runtime.data.loading import default_column_names, make_features
from spacelang.runtime.data.tables import Features, canonical_csr, holds_numbers
from spacelang.runtime.pipelines import PipelineInput
from spacelang.runtime.pipelines.preparation import Preparation

FLOATS: Final = np.dtype(np.float64)
INTEGERS: Final = np.dtype(np.int64)


def pipeline_input_of(given: Any, features: Features, preparation: Preparation) -> PipelineInput:
    """Return the kind of features that the best pipeline should take, given what the user passed to the search.

    Plain scikit-learn suffices if the user's features are what the trials saw: the same columns, as floats. Otherwise
    the pipeline needs an `AsTable` step. `features` are the table that the search made of `given`.
    """
    if not isinstance(features, pd.DataFrame):
        return PipelineInput.TABLE if issparse(given) and given.dtype == FLOATS else PipelineInput.GIVEN
    if isinstance(given, pd.DataFrame):
        is_same = [*given.columns] == [*features.columns] and [*given.dtypes] == [*features.dtypes]
        is_plain = is_same and not _has_none(given) and _converts_to_floats(features, preparation)
        return PipelineInput.TABLE if is_plain else PipelineInput.GIVEN
    is_plain = type(given) is np.ndarray and given.dtype == FLOATS
    is_enough = is_plain and preparation.is_empty and not preparation.takes_dataframe
    return PipelineInput.ARRAY if is_enough else PipelineInput.GIVEN


def _has_none(table: pd.DataFrame) -> bool:
    """Return True if None marks missing values: the search read it as NaN, but imputers do not recognize it."""
    objects = (table[column] for column in table.columns if pd.api.types.is_object_dtype(table[column].dtype))
    return any(value is None for values in objects for value in values[values.isna()])


def _converts_to_floats(features: pd.DataFrame, preparation: Preparation) -> bool:
    """Return True if a pipeline without an `AsTable` step gets the same numbers from the table as in trials.

    It does if it takes a table, or if scikit-learn converts the table to an array of float64.
    """
    if preparation.takes_dataframe:
        return True
    columns = (*preparation.kept, *preparation.imputed)
    kinds = [features[column].dtype for column in columns if holds_numbers(features[column])]
    return all(kind in (FLOATS, INTEGERS) for kind in kinds) and (bool(preparation.encoded) or FLOATS in kinds)


def columns_cast_to_float(features: pd.DataFrame, preparation: Preparation) -> list[str]:
    """Return the numeric columns that are float64 in trials and have another type in the table."""
    if preparation.takes_dataframe:
        return []
    return [name for name in features.columns if holds_numbers(kind := features[name].dtype) and kind != FLOATS]


def make_table_step(preparation: Preparation) -> "AsTable":
    """Return the step `AsTable` for pipelines with this preparation.

    It gives a table if they take one, a table of floats if columns are prepared, and otherwise an array.
    """
    if preparation.takes_dataframe:
        return AsTable("table")
    return AsTable("array" if preparation.is_empty else "floats")


class AsTable(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer that converts n x d features to the table that a search makes of them.

    The names of its columns are text. It accepts a DataFrame with any column names, an array, lists, or a sparse
    matrix, which becomes a sparse array. Columns get the types that they had in `fit`. `gives` is the kind of output: a
    `table`, a table whose numbers are all `floats`, or an `array` of floats. Raise ValueError for features with other
    columns.
    """

    def __init__(self, gives: str = "table") -> None:
        self.gives = gives

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803, ARG002 - scikit-learn's names
        """Store the columns and their types."""
        features = make_features(X)
        self.n_features_in_ = int(features.shape[1])
        if isinstance(X, pd.DataFrame) and all(isinstance(name, str) for name in X.columns):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        self.types_: Any = features.dtypes if isinstance(features, pd.DataFrame) else None
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Return the features as a table, an array or a sparse array."""
        features = make_features(X)
        if self.types_ is None:
            return self._to_sparse(features)
        table = self._cast(self._to_named_table(features, is_named=isinstance(X, pd.DataFrame)))
        if self.gives == "table":
            return table
        if self.gives == "array":
            return table.to_numpy(dtype=np.float64, na_value=np.nan)
        numbers = [column for column in table.columns if holds_numbers(table[column])]
        return table.astype(dict.fromkeys(numbers, np.float64))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns."""
        if self.types_ is None:
            return np.asarray(default_column_names(self.n_features_in_), dtype=object)
        return np.asarray(self.types_.index, dtype=object) if input_features is None else np.asarray(input_features)

    def _to_sparse(self, features: Features) -> Features:
        self._check_width(features)
        is_table = isinstance(features, pd.DataFrame)
        return canonical_csr(csr_array(features.to_numpy(dtype=np.float64))) if is_table else features

    def _to_named_table(self, features: Features, *, is_named: bool) -> pd.DataFrame:
        """Return a DataFrame with the column names of `fit`; columns without names are identified by position."""
        names = [*self.types_.index]
        table = features if isinstance(features, pd.DataFrame) else pd.DataFrame(features.toarray())
        if is_named and set(names) <= {*table.columns}:
            return table[names]
        self._check_width(table)
        if is_named and names != default_column_names(len(names)):
            lacking = ", ".join(f"`{name}`" for name in names if name not in {*table.columns})
            raise ValueError(f"columns that the pipeline was fitted on are missing: {lacking}")
        return table.set_axis(names, axis=1)

    def _check_width(self, features: Features) -> None:
        if features.shape[1] != self.n_features_in_:
            raise ValueError(f"got {features.shape[1]} features, but the pipeline was fitted on {self.n_features_in_}")

    def _cast(self, table: pd.DataFrame) -> pd.DataFrame:
        pairs = {name: _target_type(kind, table[name].dtype) for name, kind in self.types_.items()}
        changed = {name: kind for name, kind in pairs.items() if table[name].dtype != kind}
        return table.astype(changed) if changed else table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _target_type(known: Any, found: Any) -> Any:
    if holds_numbers(known):
        return FLOATS if pd.api.types.is_object_dtype(found) else found
    if isinstance(known, pd.CategoricalDtype):
        return found if isinstance(found, pd.CategoricalDtype) else known
    return known if pd.api.types.is_object_dtype(known) or isinstance(known, pd.StringDtype) else found
