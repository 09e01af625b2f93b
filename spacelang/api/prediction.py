"""New rows for a fitted pipeline, checked against the data of its run, and the predictions for them."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.data.loading import Table, load_rows
from spacelang.runtime.data.read_options import DEFAULT_OPTIONS, ReadOptions
from spacelang.runtime.data.sparse import Features, SparseTable
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.unseen_rows import align_features, format_names
from spacelang.runtime.failures import describe_exception
from spacelang.suggest import suggestion

PREDICTION_COLUMN: Final = "prediction"
"""The name of the column of predictions."""

PROBABILITY_PREFIX: Final = "probability "
"""The prefix of the columns of probabilities; the name of the class follows."""


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """Rows of features with the same columns as the data of a run.

    `ignored_columns` are columns that the pipeline does not use, apart from the labels. `new_missing_columns` are
    columns with missing values that had none in the run.
    """

    features: Features
    ignored_columns: tuple[str, ...] = ()
    new_missing_columns: tuple[str, ...] = ()


def load_new_rows(reference: str, dataset: Dataset, reading: ReadOptions = DEFAULT_OPTIONS) -> NewRows:
    """Read rows from a file and match its columns by name; the column of labels and other columns are ignored.

    Columns that were text in the run are read as text, even if these rows look like numbers. Raises DataError for a
    file that cannot be read, for missing columns, and for columns of another type.
    """
    label, known = str(dataset.target.name), dataset.features
    if not isinstance(known, pd.DataFrame):
        return NewRows(_features_by_position(load_rows(reference, reading), label))
    read = load_rows(reference, reading, _text_columns(known))
    table = read.dense if isinstance(read, SparseTable) else read
    names = [*known.columns]
    if missing := [name for name in names if name not in table.columns]:
        columns = "a column" if len(missing) == 1 else "columns"
        what = f"`{reference}` is missing {columns} of the run: {format_names(missing)}"
        raise DataError(what, suggestion(missing[0], map(str, table.columns)))
    given = Table(reference, table[names], pd.Series(np.zeros(len(table)), name=label))
    features = align_features(given, Table(dataset.name, known, dataset.target))
    assert isinstance(features, pd.DataFrame)
    gaps = tuple(name for name in names if features[name].isna().any() and not known[name].isna().any())
    return NewRows(features, tuple(str(name) for name in table.columns if name not in {*names, label}), gaps)


def _text_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns that contain only strings."""
    return [name for name in table.columns if pd.api.types.infer_dtype(table[name], skipna=True) == "string"]


def _features_by_position(read: pd.DataFrame | SparseTable, label: str) -> Features:
    """Return the features of sparse data, whose columns are identified by position only."""
    if isinstance(read, SparseTable):
        return read.features_without(frozenset({label}))
    return read.drop(columns=[name for name in read.columns if name == label])


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """A table with one row for each input row: the prediction, and the class probabilities if there are any."""

    table: pd.DataFrame

    @property
    def csv(self) -> str:
        """The table as comma-separated values."""
        return self.table.to_csv(index=False)

    @property
    def document(self) -> dict[str, object]:
        """The output of `predict --json`: the number n of rows, n predictions, n probabilities for each class."""
        # JSON has no infinity and no nan.
        finite = self.table.replace([np.inf, -np.inf], np.nan).astype(object)
        known = {str(name): finite[name].where(finite[name].notna(), None).tolist() for name in finite.columns}
        predicted = known.pop(PREDICTION_COLUMN)
        shares = {name.removeprefix(PROBABILITY_PREFIX): values for name, values in known.items()}
        return {"rows": len(predicted), "predictions": predicted, "probabilities": shares}


def predict_rows(fitted: Any, rows: NewRows) -> Predictions:
    """Return the predictions of a fitted pipeline; raises DataError if it fails on these rows."""
    features = rows.features
    try:
        found: dict[str, npt.NDArray[Any]] = {PREDICTION_COLUMN: np.asarray(fitted.predict(features))}
        if hasattr(fitted, "predict_proba"):
            shares = np.asarray(fitted.predict_proba(features))
            found |= {f"{PROBABILITY_PREFIX}{name}": shares[:, place] for place, name in enumerate(fitted.classes_)}
    except Exception as error:  # third-party classes may raise anything on new rows
        remedy = (
            f"columns with missing values that had none in the run: {format_names(rows.new_missing_columns)}"
            if rows.new_missing_columns
            else ""
        )
        raise DataError(f"the pipeline cannot predict these rows: {describe_exception(error)}", remedy) from error
    return Predictions(pd.DataFrame(found))
