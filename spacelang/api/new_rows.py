"""Rows that a finished run has not seen: read from a file, predicted, and scored if they have labels."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from spacelang.ir.trial import TestScore
from spacelang.runtime.data.labels import Dataset
from spacelang.runtime.data.loading import Table, TargetColumns, load_rows
from spacelang.runtime.data.read_options import DEFAULT_OPTIONS, ReadOptions
from spacelang.runtime.data.tables import Features, SparseTable
from spacelang.runtime.errors import DataError, describe_exception
from spacelang.runtime.evaluation.splits import UNRELATED
from spacelang.runtime.evaluation.unseen_rows import align_features, encode_test_labels
from spacelang.runtime.scoring.bound_measures import CachedPredictions
from spacelang.runtime.scoring.unseen_scores import score_with_interval
from spacelang.spelling_suggestions import format_suggestion
from spacelang.text import format_names

if TYPE_CHECKING:
    from spacelang.runtime.evaluation.objective import DataObjective

PREDICTION_COLUMN: Final = "prediction"
PROBABILITY_PREFIX: Final = "probability "  # The prefix of the columns of probabilities; the name of the class follows


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """Rows of features with the same columns as the data of a run.

    `ignored_columns` are columns that are not in the data of the run. `new_missing_columns` are columns with missing
    values that had none in the run. `labels` are the labels as they were read, or None if the file lacks some of the
    columns `targets`.
    """

    name: str
    features: Features
    ignored_columns: tuple[str, ...] = ()
    new_missing_columns: tuple[str, ...] = ()
    labels: TargetColumns | None = None
    targets: tuple[str, ...] = (PREDICTION_COLUMN,)


def load_new_rows(
    reference: str, dataset: Dataset, reading: ReadOptions = DEFAULT_OPTIONS, unused: Collection[str] = ()
) -> NewRows:
    """Read rows from a file and match its columns by name with those of a data set; other columns are ignored.

    `unused` are columns of the run that are not needed, and that are ignored without notice. Columns that were text in
    the run are read as text, even if these rows look like numbers. Raises DataError for a file that cannot be read, for
    missing columns, and for columns of another type.
    """
    targets, known = dataset.target_columns, dataset.features
    texts = [*targets] if dataset.classes and isinstance(dataset.classes[0], str) else []
    if not isinstance(known, pd.DataFrame):
        # The columns of sparse data are identified by position only.
        sparse = load_rows(reference, reading, texts)
        if isinstance(sparse, SparseTable):
            given_labels = pd.DataFrame({name: sparse.column(name) for name in targets if name in sparse.names})
            features: Features = sparse.features_without(frozenset(targets))
            return NewRows(reference, features, labels=_labels(given_labels, targets), targets=targets)
        others = sparse.drop(columns=[name for name in sparse.columns if name in targets])
        return NewRows(reference, others, labels=_labels(sparse, targets), targets=targets)
    texts += [name for name in known.columns if pd.api.types.infer_dtype(known[name], skipna=True) == "string"]
    read = load_rows(reference, reading, texts)
    table = read.as_dataframe if isinstance(read, SparseTable) else read
    names = [*known.columns]
    if missing := [name for name in names if name not in table.columns]:
        columns = "a column" if len(missing) == 1 else "columns"
        what = f"`{reference}` is missing {columns} that the pipeline uses: {format_names(missing)}"
        raise DataError(what, format_suggestion(missing[0], map(str, table.columns)))
    given = Table(reference, table[names], pd.Series(np.zeros(len(table)), name=targets[0]))
    features = align_features(given, Table(dataset.name, known, dataset.target))
    assert isinstance(features, pd.DataFrame)
    gaps = tuple(name for name in names if features[name].isna().any() and not known[name].isna().any())
    ignored = tuple(str(name) for name in table.columns if name not in {*names, *unused, *targets})
    return NewRows(reference, features, ignored, gaps, _labels(table, targets), targets)


def _labels(table: pd.DataFrame, targets: tuple[str, ...]) -> TargetColumns | None:
    if not {*targets} <= {*table.columns}:
        return None
    return table[targets[0]] if len(targets) == 1 else table[[*targets]]


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """A table with one row for each input row: the prediction, and the class probabilities if there are any.

    Of several targets, it has only the prediction of each.
    """

    table: pd.DataFrame

    @property
    def csv_text(self) -> str:
        """The table as comma-separated values."""
        return self.table.to_csv(index=False)

    @property
    def json_document(self) -> dict[str, object]:
        """The output of `predict --json`: the number n of rows, n predictions, n probabilities for each class.

        With several targets, `predictions` has n of them for each target, and there are no probabilities.
        """
        # JSON has no infinity and no nan.
        finite = self.table.replace([np.inf, -np.inf], np.nan).astype(object)
        known = {str(name): finite[name].where(finite[name].notna(), None).tolist() for name in finite.columns}
        if PREDICTION_COLUMN not in known:
            several = {name.removeprefix(f"{PREDICTION_COLUMN} "): values for name, values in known.items()}
            return {"rows": len(self.table), "predictions": several, "probabilities": {}}
        predicted = known.pop(PREDICTION_COLUMN)
        shares = {name.removeprefix(PROBABILITY_PREFIX): values for name, values in known.items()}
        return {"rows": len(predicted), "predictions": predicted, "probabilities": shares}


def predict_rows(fitted: Any, rows: NewRows) -> Predictions:
    """Return the predictions of a fitted pipeline; raises DataError if it fails on these rows."""
    features = rows.features
    try:
        predicted = np.asarray(fitted.predict(features))
        if predicted.ndim == 2:
            names = [f"{PREDICTION_COLUMN} {name}" for name in rows.targets]
            return Predictions(pd.DataFrame(predicted, columns=names))
        found: dict[str, npt.NDArray[Any]] = {PREDICTION_COLUMN: predicted}
        if hasattr(fitted, "predict_proba"):
            shares = np.asarray(fitted.predict_proba(features))
            found |= {f"{PROBABILITY_PREFIX}{name}": shares[:, place] for place, name in enumerate(fitted.classes_)}
    except Exception as error:  # third-party classes may raise anything on new rows
        gaps = rows.new_missing_columns
        remedy = (
            f"values are missing in columns that had no missing values in the run: {format_names(gaps)}" if gaps else ""
        )
        raise DataError(f"the pipeline cannot predict these rows: {describe_exception(error)}", remedy) from error
    return Predictions(pd.DataFrame(found))


def score_rows(fitted: Any, rows: NewRows, objective: "DataObjective") -> TestScore | None:
    """Return the score of a fitted pipeline on the rows that have a label; None if none has.

    The score has a reason instead of a loss if a label is unknown to the pipeline, or if the metric is undefined.
    """
    if rows.labels is None:
        return None
    known = rows.labels.notna().to_numpy().reshape(len(rows.labels), -1).all(axis=1)
    places, dataset = np.flatnonzero(known), objective.dataset
    if not len(places):
        return None
    labels = rows.labels.iloc[places].infer_objects().reset_index(drop=True)
    try:
        target = encode_test_labels(Table(rows.name, dataset.features, labels), dataset)
    except DataError as error:
        return TestScore(None, None, None, len(places), error.message)
    answers = CachedPredictions(fitted, rows.features).subset(places)
    tested = replace(dataset, name=rows.name, target=target, splits=(), relations=UNRELATED)
    return score_with_interval(answers, None, tested, objective.metric, objective.random_state)


def share_of_fitted_rows(rows: NewRows, dataset: Dataset) -> float:
    """Return the share of rows whose features equal those of a row of the data set to which a pipeline was fitted.

    It is 0 if the share is small, or no larger than expected by chance in columns of few values.
    """
    from spacelang.runtime.data.split_hints import repeated_held_out_share

    known, new = dataset.features, rows.features
    if not (isinstance(known, pd.DataFrame) and isinstance(new, pd.DataFrame)):
        return 0.0  # the columns of sparse data are identified by position
    places = np.arange(len(known) + len(new))
    both = pd.concat([known, new], ignore_index=True)
    return repeated_held_out_share(both, [(places[: len(known)], places[len(known) :])])
