"""The fits on all rows after a search: of the best pipeline and of an ensemble, and the error if none succeeds."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spacelang.api.executor_settings import make_executor
from spacelang.errors import PicklableError
from spacelang.runtime.errors import InputError
from spacelang.runtime.objective import EnsembleObjective, ObjectiveInfo, RefittableObjective

if TYPE_CHECKING:
    import numpy.typing as npt

    from spacelang.runtime.ensembles.construction import Ensemble
    from spacelang.runtime.executors import Executor, WorkerSettings
    from spacelang.runtime.final_fit import FinalFit, SkippedTrial
    from spacelang.runtime.history import Outcome, TrialRecord
    from spacelang.runtime.pipelines import PipelineInput
    from spacelang.runtime.run_deadline import RunDeadline


@dataclass(frozen=True, eq=False)
class FinalFitter:
    """Fits the pipelines of a search on all rows: its outcome with all that the fits need.

    `form` is the kind of input that pipelines take, or None if nothing can be fitted. With a `store`, the score of the
    best pipeline on the test rows is saved.
    """

    outcome: "Outcome"
    objective: ObjectiveInfo
    workers: "WorkerSettings"
    form: "PipelineInput | None"
    store: Path | None = None

    @property
    def refittable_objective(self) -> RefittableObjective | None:
        """The objective if it can fit a pipeline on all rows, otherwise None."""
        objective = self.objective
        return objective if self.form is not None and isinstance(objective, RefittableObjective) else None

    @property
    def has_test_rows(self) -> bool:
        """True if a fitted pipeline can be scored on test rows."""
        return self.refittable_objective is not None and self.refittable_objective.test_rows > 0

    def new_executor(self) -> "AbstractContextManager[Executor]":
        """Return a context manager of a new executor with one worker, or none if the run has none.

        Raises InputError if the objective has no rows to fit a pipeline on.
        """
        objective, workers = self.refittable_objective, self.workers
        if objective is None:
            message = (
                f"the run minimized the objective `{self.objective.facts.name}`, which has no data to fit a pipeline on"
            )
            raise InputError(message, "`space.build(configuration)` returns the unfitted pipeline of a configuration")
        return closing(make_executor(objective, replace(workers, count=min(workers.count, 1), isolate=False)))

    def fit_best(self, executor: "Executor", answer_time: "RunDeadline | None" = None) -> "FinalFit":
        """Fit the best pipeline that can be fitted, store its test score if there is a store, and return the fit.

        `refittable_objective` must not be None.
        """
        from spacelang.runtime.final_fit import fit_best_pipeline

        objective, limits, form = self.refittable_objective, self.workers.limits, self.form
        assert objective is not None
        assert form is not None
        found = fit_best_pipeline(
            self.outcome, objective, executor, limits=limits, form=form, is_wanted=True, answer_time=answer_time
        )
        if self.store is not None:
            store_test_score(self.store, found)
        return found

    def fit_trial(self, record: "TrialRecord") -> "FinalFit":
        """Fit the pipeline of one trial with a new executor and return the fit; raises RefitError if it fails."""
        outcome = replace(self.outcome, records=(record,), incumbent=record)
        alone = replace(self, outcome=outcome, store=None)
        with alone.new_executor() as executor:
            return check_final_fit(alone.fit_best(executor))

    def predict_held_out_rows(self, records: "Sequence[TrialRecord]") -> "dict[int, npt.NDArray[Any]]":
        """Evaluate trials again; return their predictions for the held-out rows by number, without failed trials."""
        from spacelang.runtime.executors import Job
        from spacelang.runtime.final_fit import HeldOutPredictionsWork, run_final_jobs

        requests = [record.trial.request for record in records]
        works = [HeldOutPredictionsWork(each.configuration, fidelity=each.fidelity) for each in requests]
        with self.new_executor() as executor:
            results = run_final_jobs(executor, *(Job(number, work) for number, work in enumerate(works)))
        pairs = zip(records, results, strict=True)
        return {record.index: result.value for record, result in pairs if result.value is not None}

    def fit_ensemble(
        self,
        votes: int,
        predictions: "Callable[[int], npt.NDArray[Any] | None]",
        executor: "Executor",
        answer_time: "RunDeadline | None" = None,
    ) -> "Ensemble":
        """Select an ensemble with this number of votes by predictions of trials, and fit its members on all rows.

        `predictions` returns those of a trial, numbered from 1, for the held-out rows; None if there are none. With an
        `answer_time`, members are fitted only while there is time.

        Raises EnsembleError if there is no possible member.
        """
        from spacelang.runtime.ensembles.construction import EnsembleError, fit_ensemble, select_members

        objective, limits, form = self.objective, self.workers.limits, self.form
        if form is None or not isinstance(objective, EnsembleObjective):
            what = f"trials of the objective `{objective.facts.name}` make no predictions, which an ensemble needs"
            raise EnsembleError(what)
        choice = select_members(self.outcome, objective, predictions, votes, answer_time)
        return fit_ensemble(
            choice,
            self.outcome,
            objective,
            executor,
            limits=limits,
            form=form,
            is_wanted=True,
            answer_time=answer_time,
        )


class RefitError(PicklableError):
    """None of the best pipelines (or `members` of an ensemble) could be fitted on all rows.

    `passed_over` lists them with the reasons.
    """

    def __init__(self, passed_over: "tuple[SkippedTrial, ...]", *, members: bool = False) -> None:
        number, reasons = len(passed_over), describe_skipped_trials(passed_over)
        if number == 1:
            message = f"the best pipeline cannot be fitted on all rows: {reasons}"
            if members:
                message = f"the only member of the ensemble cannot be fitted on all rows: {reasons}"
        else:
            message = f"none of the {number} best pipelines can be fitted on all rows: {reasons}"
            if members:
                message = f"none of the {number} members of the ensemble can be fitted on all rows: {reasons}"
        super().__init__(message)
        self.passed_over = passed_over


SHOWN_FRAME: Final = 5  # Warnings are shown at the line that accesses a property of the result, five frames above


def check_final_fit(found: "FinalFit") -> "FinalFit":
    """Return a final fit; warns if better pipelines failed, raises RefitError if all did."""
    if found.record is None:
        raise RefitError(found.skipped)
    if found.skipped:
        message = (
            "the best pipeline cannot be fitted on all rows,"
            f" trial {found.record.index} is used instead: {describe_skipped_trials(found.skipped)}"
        )
        warnings.warn(message, stacklevel=SHOWN_FRAME)
    return found


def check_ensemble(found: "Ensemble") -> "Ensemble | None":
    """Return an ensemble, or None if there was no time for any member; warns of members that failed.

    Raises RefitError if all members failed.
    """
    if not found.members and not found.left_out:
        return None
    if not found.members:
        raise RefitError(found.left_out, members=True)
    if found.left_out:
        problem = "some members of the ensemble cannot be fitted on all rows; their votes go to the others"
        warnings.warn(f"{problem}: {describe_skipped_trials(found.left_out)}", stacklevel=SHOWN_FRAME)
    return found


def store_test_score(store: Path, finale: "FinalFit") -> None:
    """Save the score on the test rows, if there is one, in the store of the run; raises StoreError."""
    from spacelang.runtime.storage.optional_tables import StoredUnseenScore, save_unseen_score

    if finale.record is not None and finale.test is not None:
        save_unseen_score(store, StoredUnseenScore(finale.record.index, finale.test))


def describe_skipped_trials(passed_over: "Iterable[SkippedTrial]") -> str:
    """Return one line that lists trials and the reasons why their pipelines could not be fitted."""
    return "; ".join(f"trial {each.record.index}: {each.reason}" for each in passed_over)
