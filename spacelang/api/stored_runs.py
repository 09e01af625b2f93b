"""Stored runs, reopened with their data, to export, refit or extend what they found.

>>> finished = reopen_run("run.db", data="credit.csv")
>>> finished.unfitted_pipeline(finished.trial_of_rank(1))  # the best pipeline
>>> finished.fit_pipeline(finished.trial_of_rank(1))  # the same, fitted on all rows that trials could see

The store may come from an untrusted source. Its space is read like a compiled space: it can only build objects from
catalogues, and those of other libraries only if the caller allows them. The store's description of the data can only
refer to files in the current folder, and only the fingerprint of the data is trusted.
"""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from spacelang.api.execution import check_stored_predictions, make_executor, trial_limits
from spacelang.api.experiment import Experiment
from spacelang.api.search_data import TabularData
from spacelang.api.space import Space
from spacelang.api.stored_spaces import stored_space
from spacelang.ir.loss_name import LossName
from spacelang.runtime.data.labels import Dataset, TaskKind
from spacelang.runtime.data.loading import Table, load_dataset, load_rows
from spacelang.runtime.data.read_options import (
    DEFAULT_OPTIONS,
    REPEAT_OPTIONS,
    DataOptions,
    ReadOptions,
    parse_data_options,
)
from spacelang.runtime.data.stored_splits import related_table, validation_of, with_stored_splits
from spacelang.runtime.data.tables import Features, SparseTable
from spacelang.runtime.ensembles import DEFAULT_VOTES
from spacelang.runtime.ensembles.construction import EnsembleSelection, fit_ensemble, make_unfitted, select_members
from spacelang.runtime.errors import DataError, InputError, describe_exception
from spacelang.runtime.evaluation.related_rows import RELATION_NAMES
from spacelang.runtime.evaluation.unseen_rows import align_features, format_names, read_test_rows, split_off_test_rows
from spacelang.runtime.final_fit import fit_best_pipeline, rank_candidates
from spacelang.runtime.history import EndReason, History, NullTrialStorage, Outcome, TrialRecord
from spacelang.runtime.pipelines import PipelineInput
from spacelang.runtime.pipelines.catalogue_access import check_buildable, task_kind
from spacelang.runtime.storage.data_reference import named_data, readable_data
from spacelang.runtime.storage.header import (
    IMPUTED_EARLIER,
    MISSING_VALUES_SETTING,
    RunHeader,
    current_versions,
    version_changes,
)
from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.stored_run import StoredRun
from spacelang.spelling_suggestions import format_suggestion

if TYPE_CHECKING:
    from spacelang.runtime.evaluation.objective import DataObjective

OTHER_VERSION: Final = (
    "the run used package versions that {do_what} differently: install those listed by `spacelang show`"
)


@dataclass(frozen=True, eq=False)
class ReopenedRun:
    """A stored run together with the data of its trials, as they were when the store was read.

    `rows` are the rows that trials could see. `reading` describes how their file was read. `votes` is the size of the
    ensemble that was last requested, if the store knows it. The run itself may still be in progress.
    """

    store: Path
    header: RunHeader
    outcome: Outcome
    space: Space
    objective: "DataObjective"
    rows: TabularData
    reading: ReadOptions
    votes: int | None = None

    @property
    def version_changes(self) -> list[str]:
        """One line for each library whose version differs from that of the run, which may change predictions."""
        return version_changes(self.header.versions, current_versions())

    def trial_of_rank(self, rank: int) -> TrialRecord:
        """Return the trial of a rank, 1 being the best, in the order of `show`; raises InputError if there is none."""
        found = [*rank_candidates(self.outcome, self.header.training_size)]
        if rank > len(found):
            what = f"no trial of `{self.store}` succeeded, so there is no pipeline"
            if found:
                count = "one pipeline" if len(found) == 1 else f"{len(found)} pipelines"
                what = f"`{self.store}` has {count} that succeeded, so rank {rank} does not exist"
            raise InputError(what, f"see `spacelang show {self.store}`")
        return found[rank - 1]

    def with_space(self, space: Space) -> "tuple[Space, DataObjective]":
        """Return another space bound to the data, and its objective with the same splits; raises as a new run."""
        return _objective_for(self.header, space, self.rows)

    def select_ensemble(self, votes: int | None = None) -> EnsembleSelection:
        """Select an ensemble of stored trials, as a run with `--ensemble` does.

        `votes` defaults to the number that the run requested last, or else to the usual number. Raises EnsembleError if
        no trial can vote, and StoreError if the run stored no predictions.
        """
        check_stored_predictions(self.store)
        with Store.read(self.store) as run:
            return select_members(self.outcome, self.objective, run.predictions, votes or self.votes or DEFAULT_VOTES)

    def unfitted_pipeline(self, chosen: TrialRecord | EnsembleSelection) -> Any:
        """Return the unfitted pipeline of a trial, or the voting estimator of an ensemble; it takes a table."""
        if isinstance(chosen, EnsembleSelection):
            return make_unfitted(self.objective, chosen.members)
        return self.objective.make_pipeline(chosen.trial.request.configuration)

    def fit_pipeline(
        self, chosen: TrialRecord | EnsembleSelection, form: PipelineInput = PipelineInput.TABLE, *, forks: bool = False
    ) -> Any:
        """Fit a pipeline or an ensemble on all rows that trials could see, and return it.

        A worker fits it within the limits of a trial. `form` is the kind of input that it takes. `forks` is as for
        `make_executor`. Raises InputError if the fit fails.
        """
        limits = trial_limits(self.space)
        with closing(make_executor(self.objective, forks=forks)) as executor:
            if isinstance(chosen, EnsembleSelection):
                voted = fit_ensemble(
                    chosen, self.outcome, self.objective, executor, limits=limits, form=form, is_wanted=True
                )
                if voted.left_out:
                    raise self._fit_error(voted.left_out[0], "use fewer `--votes`, or a single pipeline")
                return voted.estimator
            alone = replace(self.outcome, records=(chosen,), incumbent=chosen)
            found = fit_best_pipeline(alone, self.objective, executor, limits=limits, form=form, is_wanted=True)
        if found.record is None:
            raise self._fit_error(found.skipped[0], "use another pipeline: `--rank 2`")
        return found.pipeline

    def _fit_error(self, failed: Any, remedy: str) -> InputError:
        rows = self.objective.rows
        what = f"the pipeline of trial {failed.record.index} cannot be fitted on all {rows} rows: {failed.reason}"
        return InputError(what, remedy)


def reopen_run(
    store: str | PathLike[str],
    *,
    data: str | None = None,
    target: str | None = None,
    test: float | None = None,
    reading: ReadOptions | None = None,
    allow: Iterable[str] = (),
) -> ReopenedRun:
    """Reopen a stored run together with its data.

    `data`, `target`, `test` (a share of the rows) and `reading` describe the data; by default they are those of the
    run. Without `data`, the data must be a set that scikit-learn ships or a file in the current folder.

    Raises SpaceError if the space is invalid for this version or uses a package that is not allowed. Raises StoreError,
    and InputError if the data differs from that of the run.
    """
    path = Path(store)
    with Store.read(path) as run:
        header, outcome, votes = run.header, _stored_outcome(run), run.requested_ensemble_votes
    if not header.data.rows:
        what = f"`{header.data.name}` has no rows to fit a pipeline on"
        raise DataError(what, f"see the results of the run with `spacelang show {path}`")
    reference = _data_reference(header) if data is None else data
    space = stored_space(header, path, allow)
    check_buildable(space.checked.root)
    said = _data_options(header, reference, DataOptions(target, test), reading)
    table = related_table(load_dataset(reference, said.target, said.reading), header)
    rows = TabularData(_rows_of_trials(header, table, task_kind(space.checked.root), said.test))
    return ReopenedRun(path, header, outcome, space, _objective_for(header, space, rows)[1], rows, said.reading, votes)


def _stored_outcome(run: StoredRun) -> Outcome:
    history = History(lambda: 0.0, run.header.training_size, NullTrialStorage())
    for record in run.records():
        history.store(record)
    return replace(history.make_outcome(EndReason.BUDGET, 0), seconds=run.seconds)


def _data_reference(header: RunHeader) -> str:
    """Return the data that the store names; raises DataError unless it may be read because of the store alone."""
    if (found := readable_data(header)) is not None:
        return found
    where = named_data(header)
    where = where if where.startswith("openml") else "FILE"
    remedy = (
        f"give the path of the data: `export --data {where}`, `predict --fitted-on {where}`, `migrate --data {where}`"
    )
    raise DataError(f"the run was on {header.data}, which is not in this folder", remedy)


def _data_options(header: RunHeader, reference: str, given: DataOptions, reading: ReadOptions | None) -> DataOptions:
    """Return the options of the data; those that the caller leaves out are taken from the store."""
    said = parse_data_options(header.data_options)
    return DataOptions(
        said.target if given.target is None else given.target,
        said.test if given.test is None else given.test,
        said.reading.applicable_to(reference) if reading is None else reading,
    )


def _rows_of_trials(header: RunHeader, table: Table, kind: TaskKind, share: float | None) -> Table:
    """Return the rows that trials could see; raises DataError for a table that cannot be the data of the run."""
    rows, columns = table.features.shape
    data_of_run = f"the data is different: the run was on {header.data}"
    if columns != header.data.columns or (share is None and rows != header.data.rows):
        reserved = header.settings.get("test") if rows > header.data.rows else None
        remedy = (
            REPEAT_OPTIONS
            if reserved is None
            else f"the run reserved test rows ({reserved}): give their share with `--test`"
        )
        raise DataError(
            f"{data_of_run}, and `{table.name}` has {rows} rows and {columns} columns beside the labels", remedy
        )
    seen, _ = split_off_test_rows(table, read_test_rows(share, table), kind, header.seed)
    if seen.features.shape[0] != header.data.rows:
        left = seen.features.shape[0]
        raise DataError(
            f"{data_of_run}, and `{table.name}` leaves {left} of its {rows} rows for trials", REPEAT_OPTIONS
        )
    return with_stored_splits(seen, header)


def _objective_for(header: RunHeader, space: Space, rows: TabularData) -> "tuple[Space, DataObjective]":
    """Return the bound space, and the objective with the run's metric; raises DataError if the rows differ."""
    validation = validation_of(header)  # None if the splits come with the data
    experiment = Experiment(space=space, data=rows, seed=header.seed, validation=validation)
    bound, objective = rows.bind_space(experiment)
    _check_same_data(header, objective)
    if objective.metric.formula == header.metric:
        return bound, objective
    return rows.bind_space(replace(experiment, metric=LossName.of_formula(header.metric).name))


def _check_same_data(header: RunHeader, objective: "DataObjective") -> None:
    facts, size = objective.facts, objective.training_size
    if facts.fingerprint != header.data.fingerprint:
        raise DataError(f"the data is different: the run was on {header.data}, and this is {facts}", REPEAT_OPTIONS)
    if size != header.training_size:
        what = f"trials had {header.training_size} training rows, and would have {size} now"
        raise DataError(what, OTHER_VERSION.format(do_what="split the rows"))
    for name in RELATION_NAMES:
        before, now = (each.get(name, "absent") for each in (header.settings, objective.further))
        if before != now:
            what = f"the {name} of the rows are different: {before} in the run, {now} in this data"
            raise DataError(what, REPEAT_OPTIONS)
    before, now = (each.get(MISSING_VALUES_SETTING, IMPUTED_EARLIER) for each in (header.settings, objective.further))
    if before != now:
        what = f"missing values were {before} in the trials of the run, and would be {now} now"
        raise DataError(what, OTHER_VERSION.format(do_what="prepare the table"))


PREDICTION_COLUMN: Final = "prediction"
PROBABILITY_PREFIX: Final = "probability "  # The prefix of the columns of probabilities; the name of the class follows


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
        # The columns of sparse data are identified by position only.
        sparse = load_rows(reference, reading)
        if isinstance(sparse, SparseTable):
            return NewRows(sparse.features_without(frozenset({label})))
        return NewRows(sparse.drop(columns=[name for name in sparse.columns if name == label]))
    texts = [name for name in known.columns if pd.api.types.infer_dtype(known[name], skipna=True) == "string"]
    read = load_rows(reference, reading, texts)
    table = read.dense if isinstance(read, SparseTable) else read
    names = [*known.columns]
    if missing := [name for name in names if name not in table.columns]:
        columns = "a column" if len(missing) == 1 else "columns"
        what = f"`{reference}` is missing {columns} of the run: {format_names(missing)}"
        raise DataError(what, format_suggestion(missing[0], map(str, table.columns)))
    given = Table(reference, table[names], pd.Series(np.zeros(len(table)), name=label))
    features = align_features(given, Table(dataset.name, known, dataset.target))
    assert isinstance(features, pd.DataFrame)
    gaps = tuple(name for name in names if features[name].isna().any() and not known[name].isna().any())
    return NewRows(features, tuple(str(name) for name in table.columns if name not in {*names, label}), gaps)


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
        gaps = rows.new_missing_columns
        remedy = (
            f"values are missing in columns that had no missing values in the run: {format_names(gaps)}" if gaps else ""
        )
        raise DataError(f"the pipeline cannot predict these rows: {describe_exception(error)}", remedy) from error
    return Predictions(pd.DataFrame(found))
