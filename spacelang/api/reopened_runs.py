"""Stored runs, reopened with their data, to export, refit or extend what they found.

>>> finished = reopen_run("run.db", data="credit.csv")
>>> finished.unfitted_pipeline(finished.trial_of_rank(1))  # the best pipeline
>>> finished.fit_pipeline(finished.trial_of_rank(1))  # the same, fitted on all rows that trials could see

The store may come from an untrusted source. Its space is read like a compiled space: it can only build objects from
catalogues, and those of other libraries only if the caller allows them. The store's description of the data can only
refer to files in the current folder, and only the fingerprint of the data is trusted.
"""

from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from spacelang.api.executor_settings import check_store_has_predictions, make_executor, trial_limits
from spacelang.api.experiment import Experiment
from spacelang.api.resuming import stored_space, uses_loss_table
from spacelang.api.search_data import TabularData
from spacelang.api.space import Space
from spacelang.ir.trial import LossName
from spacelang.ir.validation import time_column
from spacelang.runtime.data.labels import TaskKind
from spacelang.runtime.data.loading import Table, load_dataset
from spacelang.runtime.data.read_options import REPEAT_OPTIONS, DataOptions, ReadOptions, parse_data_options
from spacelang.runtime.data.row_relations import (
    attach_stored_groups_times_and_weights,
    attach_stored_splits,
    stored_validation,
)
from spacelang.runtime.ensembles import DEFAULT_VOTES
from spacelang.runtime.ensembles.construction import EnsembleSelection, fit_ensemble, make_unfitted_vote, select_members
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.evaluation.splits import RELATION_NAMES
from spacelang.runtime.evaluation.unseen_rows import read_test_rows, split_off_test_rows
from spacelang.runtime.final_fit import fit_best_pipeline, rank_candidates
from spacelang.runtime.history import EndReason, NullTrialStorage, Outcome, RunHistory, TrialRecord, pareto_front
from spacelang.runtime.pipelines import PipelineInput
from spacelang.runtime.pipelines.catalogue_access import check_no_abstract_operators, task_kind
from spacelang.runtime.pipelines.preparation import used_columns
from spacelang.runtime.scoring.stored_scorers import stored_scorer
from spacelang.runtime.storage.run_header import (
    MISSING_VALUES_IMPUTED_EARLIER,
    MISSING_VALUES_SETTING,
    SCORER_SETTING,
    WEIGHTS_SETTING,
    RunHeader,
    current_versions,
    stored_objective_names,
    version_changes,
)
from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.stored_run import StoredRun, data_reference, readable_data

if TYPE_CHECKING:
    from spacelang.runtime.evaluation.objective import DataObjective

OTHER_VERSION: Final = (
    "the run used package versions that {do_what} differently: install those listed by `spacelang show`"
)


@dataclass(frozen=True, eq=False)
class ReopenedRun:
    """A stored run together with the data of its trials, as they were when the store was read.

    `space` is the space as stored, `bound_space` the same bound to the data. `rows` are the rows that trials could see,
    `reading` describes how their file was read. `votes` is the size of the ensemble that was last requested, if the
    store knows it, and `allowed` the packages that the caller allowed. The run itself may still be in progress.
    """

    store: Path
    header: RunHeader
    outcome: Outcome
    space: Space
    bound_space: Space
    objective: "DataObjective"
    rows: TabularData
    reading: ReadOptions
    votes: int | None = None
    allowed: tuple[str, ...] = ()

    @property
    def library_version_changes(self) -> list[str]:
        """One line for each library whose installed version differs from its version in the run.

        Pipelines fitted with other versions may predict differently.
        """
        return version_changes(self.header.versions, current_versions())

    @property
    def is_metric_known(self) -> bool:
        """True if the metric has a name or the store names its scorer; False if only the program of the run has it."""
        return self.objective.metric.formula == self.header.metric

    def trial_of_rank(self, rank: int | None = None) -> TrialRecord:
        """Return the trial of a rank, by default the best, in the order of `show`; raises InputError if there is none.

        The ranks of a run with several objectives are those of its Pareto front, of which no trial is the best.
        """
        if names := stored_objective_names(self.header):
            found = [*pareto_front(self.outcome.records, self.header.training_size)]
            if rank is None:
                what = f"the run in `{self.store}` has {len(names)} objectives, so no single pipeline is the best"
                raise InputError(what, "choose one of the Pareto front, such as `--rank 1` (see `spacelang show`)")
        else:
            found = [*rank_candidates(self.outcome, self.header.training_size)]
            rank = rank or 1
        if rank > len(found):
            what = f"no trial of the run in `{self.store}` succeeded, so there is no pipeline"
            if found:
                count = "one pipeline" if len(found) == 1 else f"{len(found)} pipelines"
                what = f"the run in `{self.store}` has only {count} that succeeded, so there is no rank {rank}"
            raise InputError(what, f"see `spacelang show {self.store}`")
        return found[rank - 1]

    def bind_other_space(self, space: Space) -> "tuple[Space, DataObjective]":
        """Return another space bound to the data of the run, and its objective with the splits of the run."""
        return _objective_for(self.header, space, self.rows, self.allowed)

    def select_ensemble(self, votes: int | None = None) -> EnsembleSelection:
        """Select an ensemble of stored trials, as a run with `--ensemble` does.

        `votes` defaults to the number that the run requested last, or else to the usual number. Raises EnsembleError if
        no trial can vote, and StoreError if the run stored no predictions.
        """
        if not self.is_metric_known:
            what = (
                f"the loss `{self.header.metric}` is computed by a function of the Python program that started the run"
            )
            raise InputError(what, "export a single pipeline, or use `Result.ensemble` in that program")
        check_store_has_predictions(self.store)
        with Store.read(self.store) as run:
            return select_members(self.outcome, self.objective, run.predictions, votes or self.votes or DEFAULT_VOTES)

    def unfitted_pipeline(self, chosen: TrialRecord | EnsembleSelection) -> Any:
        """Return the unfitted pipeline of a trial, or the voting estimator of an ensemble; it takes a table."""
        if isinstance(chosen, EnsembleSelection):
            return make_unfitted_vote(self.objective, chosen.members)
        return self.objective.make_pipeline(chosen.trial.request.configuration)

    def restricted_to_used_columns(self, chosen: TrialRecord | EnsembleSelection) -> "ReopenedRun":
        """Return the run with a table that has only the columns that the chosen pipelines use.

        Fitted to this table, they predict as if they were fitted to all columns.
        """
        objective = self.objective
        if not isinstance(objective.dataset.features, pd.DataFrame):
            return self  # the columns of sparse data are identified by position
        records = [each.record for each in chosen.members] if isinstance(chosen, EnsembleSelection) else [chosen]
        configurations = [each.trial.request.configuration for each in records]
        names = used_columns(self.bound_space.checked, configurations, objective.preparation)
        return replace(self, objective=objective.restricted_to(names))

    def columns_missing_in(self, restricted: "ReopenedRun") -> tuple[str, ...]:
        """Return the feature columns of this run that `restricted`, its copy with only the used columns, lacks."""
        ours, theirs = self.objective.dataset.features, restricted.objective.dataset.features
        if not (isinstance(ours, pd.DataFrame) and isinstance(theirs, pd.DataFrame)):
            return ()
        return tuple(str(name) for name in ours.columns if name not in theirs.columns)

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
    target: str | tuple[str, ...] | None = None,
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
    if not header.data.rows or uses_loss_table(header):
        what = f"the run was on `{header.data.name}`, which has no rows to fit a pipeline on"
        raise DataError(what, f"see the results of the run with `spacelang show {path}`")
    reference = _data_reference(header) if data is None else data
    space = stored_space(header, path, allow)
    check_no_abstract_operators(space.checked.root)
    options = _data_options(header, reference, DataOptions(target, test), reading)
    table = attach_stored_groups_times_and_weights(load_dataset(reference, options.target, options.reading), header)
    rows = TabularData(_rows_of_trials(header, table, task_kind(space.checked.root), options.test))
    bound, objective = _objective_for(header, space, rows, (*allow,))
    return ReopenedRun(path, header, outcome, space, bound, objective, rows, options.reading, votes, (*allow,))


def _stored_outcome(run: StoredRun) -> Outcome:
    history = RunHistory(lambda: 0.0, run.header.training_size, NullTrialStorage())
    for record in run.records():
        history.store(record)
    return replace(history.make_outcome(EndReason.BUDGET), seconds=run.seconds)


def _data_reference(header: RunHeader) -> str:
    """Return the reference of the data that the store names.

    Raises DataError unless the data is shipped with scikit-learn or lies in the current folder, because a store may be
    foreign.
    """
    if (found := readable_data(header)) is not None:
        return found
    where = data_reference(header)
    where = where if where.startswith("openml") else "FILE"
    remedy = (
        f"give the path of the data: `export --data {where}`, `predict --fitted-on {where}`, `migrate --data {where}`"
    )
    raise DataError(f"the run was on {header.data}, which is not in this folder", remedy)


def _data_options(header: RunHeader, reference: str, given: DataOptions, reading: ReadOptions | None) -> DataOptions:
    """Return the options of the data; those that the caller leaves out are taken from the store."""
    stored = parse_data_options(header.data_options)
    return DataOptions(
        stored.target if given.target is None else given.target,
        stored.test if given.test is None else given.test,
        stored.reading.applicable_to(reference) if reading is None else reading,
    )


def _rows_of_trials(header: RunHeader, table: Table, kind: TaskKind, share: float | None) -> Table:
    """Return the rows of a table that trials could see: all but the `share` of test rows that the run set apart.

    Raises DataError for a table that cannot be the data of the run.
    """
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
            f"{data_of_run}, and `{table.name}` has {rows} rows and {columns} columns besides the labels", remedy
        )
    time = time_column(stored_validation(header))
    seen, _ = split_off_test_rows(table, read_test_rows(share, table), kind, header.seed, time)
    if seen.features.shape[0] != header.data.rows:
        left = seen.features.shape[0]
        raise DataError(
            f"{data_of_run}, and `{table.name}` leaves {left} of its {rows} rows for trials", REPEAT_OPTIONS
        )
    return attach_stored_splits(seen, header)


def _objective_for(
    header: RunHeader, space: Space, rows: TabularData, allowed: tuple[str, ...]
) -> "tuple[Space, DataObjective]":
    """Return the space bound to the rows, and the objective with the stored metric.

    Raises DataError if the rows differ.
    A scorer that cannot be restored is not needed for a fit; then the objective has the metric of the task.
    """
    validation = stored_validation(header)  # None if the splits come with the data
    experiment = Experiment(space=space, data=rows, seed=header.seed, validation=validation)
    bound, objective = rows.bind_space(experiment)
    _check_same_data(header, objective)
    if WEIGHTS_SETTING in header.settings and rows.table.weights is None:
        what = "the run used sample weights, which its store does not have"
        raise DataError(what, "fit the pipeline in the program of the run, with `Result.best_pipeline`")
    if SCORER_SETTING in header.settings:
        with suppress(InputError):  # a scorer that is not known is not needed to fit a pipeline
            return rows.bind_space(replace(experiment, metric=stored_scorer(header, allowed)))
        return bound, objective
    if objective.metric.formula == header.metric:
        return bound, objective
    return rows.bind_space(replace(experiment, metric=LossName.of_formula(header.metric).name))


def _check_same_data(header: RunHeader, objective: "DataObjective") -> None:
    facts, size = objective.facts, objective.training_size
    if facts.fingerprint != header.data.fingerprint:
        raise DataError(f"the data is different: the run was on {header.data}, but you gave {facts}", REPEAT_OPTIONS)
    if size != header.training_size:
        what = f"trials of the run had {header.training_size} training rows, but with this data they have {size}"
        raise DataError(what, OTHER_VERSION.format(do_what="split the rows"))
    for name in RELATION_NAMES:
        before, now = (each.get(name, "absent") for each in (header.settings, objective.identifying_settings))
        if before != now:
            what = f"the {name} of the rows are different: {before} in the run, {now} in this data"
            raise DataError(what, REPEAT_OPTIONS)
    before, now = (
        each.get(MISSING_VALUES_SETTING, MISSING_VALUES_IMPUTED_EARLIER)
        for each in (header.settings, objective.identifying_settings)
    )
    if before != now:
        what = f"missing values were {before} in the trials of the run, and would be {now} now"
        raise DataError(what, OTHER_VERSION.format(do_what="prepare the table"))
