"""New rows for a pipeline that was fitted on others, and what it predicts for them."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.data.loading import Table, load_rows
from spacelang.runtime.data.reading import PLAIN, Reading
from spacelang.runtime.data.sparse import Features, SparseTable
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.testing import alike, listed
from spacelang.runtime.failures import described
from spacelang.suggest import suggestion

COLUMN: Final = "prediction"
"""What the column of predicted labels is called."""

PROBABILITY: Final = "probability "
"""How the columns of probabilities begin, each with its class behind that."""


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """Rows of features like those that a pipeline was fitted on.

    `passed_over` are the columns that it does not take, the column of labels aside; `gaps` those that have missing
    values, and had none in the run.
    """

    features: Features
    passed_over: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


def new_rows(reference: str, dataset: Dataset, reading: Reading = PLAIN) -> NewRows:
    """The rows of a file, their columns by name; the column of labels may be there, and others are passed over.

    What was text in the run is text here, such as codes of which these few rows look like numbers. Raises DataError for
    what cannot be read, for columns that are missing, and for such as hold something else.
    """
    label, known = str(dataset.target.name), dataset.features
    if not isinstance(known, pd.DataFrame):
        return NewRows(_sparse(load_rows(reference, reading), label))
    read = load_rows(reference, reading, _texts(known))
    table = read.dense if isinstance(read, SparseTable) else read
    names = [*known.columns]
    if missing := [name for name in names if name not in table.columns]:
        what = f"`{reference}` lacks {'a column' if len(missing) == 1 else 'columns'} of the run: {listed(missing)}"
        raise DataError(what, suggestion(missing[0], map(str, table.columns)))
    given = Table(reference, table[names], pd.Series(np.zeros(len(table)), name=label))
    features = alike(given, Table(dataset.name, known, dataset.target))
    assert isinstance(features, pd.DataFrame)
    gaps = tuple(name for name in names if features[name].isna().any() and not known[name].isna().any())
    return NewRows(features, tuple(str(name) for name in table.columns if name not in {*names, label}), gaps)


def _texts(table: pd.DataFrame) -> list[str]:
    """The columns that hold nothing but texts."""
    return [name for name in table.columns if pd.api.types.infer_dtype(table[name], skipna=True) == "string"]


def _sparse(read: pd.DataFrame | SparseTable, label: str) -> Features:
    """The features of data whose columns are known by their places alone."""
    if isinstance(read, SparseTable):
        return read.without(frozenset({label}))
    return read.drop(columns=[name for name in read.columns if name == label])


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """A row for each of n rows: what is predicted, and where there are such the probabilities of the classes."""

    table: pd.DataFrame

    @property
    def csv(self) -> str:
        """The table as comma-separated values."""
        return self.table.to_csv(index=False)

    @property
    def document(self) -> dict[str, object]:
        """What `predict --json` prints: how many rows, n predictions, and n probabilities by the name of each class."""
        # JSON has no numbers that are not finite.
        finite = self.table.replace([np.inf, -np.inf], np.nan).astype(object)
        known = {str(name): finite[name].where(finite[name].notna(), None).tolist() for name in finite.columns}
        predicted = known.pop(COLUMN)
        shares = {name.removeprefix(PROBABILITY): values for name, values in known.items()}
        return {"rows": len(predicted), "predictions": predicted, "probabilities": shares}


def predictions(fitted: Any, rows: NewRows) -> Predictions:
    """What a fitted pipeline predicts for rows; raises DataError where it cannot."""
    features = rows.features
    try:
        found: dict[str, npt.NDArray[Any]] = {COLUMN: np.asarray(fitted.predict(features))}
        if hasattr(fitted, "predict_proba"):
            shares = np.asarray(fitted.predict_proba(features))
            found |= {f"{PROBABILITY}{name}": shares[:, place] for place, name in enumerate(fitted.classes_)}
    except Exception as error:  # whatever a stranger's class does with rows that it has not seen
        remedy = f"values are missing where none were in the run: {listed(rows.gaps)}" if rows.gaps else ""
        raise DataError(f"the pipeline cannot predict these rows: {described(error)}", remedy) from error
    return Predictions(pd.DataFrame(found))
