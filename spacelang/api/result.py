"""The result of a search: tables of its trials, the best pipeline, the ensemble, and views of the run."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacelang.api.experiment import Experiment
from spacelang.api.final_fits import FinalFitter, check_ensemble, check_final_fit
from spacelang.api.option_checks_and_signatures import check_argument_types
from spacelang.api.result_pickles import reduce_for_one_version
from spacelang.api.several_objectives import check_single_objective, pareto_front_of, record_of_successful_trial
from spacelang.deprecation import renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.runtime.errors import InputError
from spacelang.runtime.objective import ObjectiveInfo, objective_names, positive_class_of

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

    from spacelang.api.result_views import ResultViews
    from spacelang.ir.trial import TestScore
    from spacelang.report.page.rendering import InlinePage
    from spacelang.report.run_facts import SearchCoverage
    from spacelang.runtime.ensembles.construction import Ensemble
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.final_fit import FinalFit, SkippedTrial
    from spacelang.runtime.history import Outcome
    from spacelang.runtime.pipelines import PipelineInput
    from spacelang.runtime.run_deadline import RunDeadline


@renamed_attributes(assembled_by="with_ensemble", tested_by="with_final_fit")
@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The result of a search; `best_pipeline` is fitted on all data.

    `experiment` describes the run. `form` is the kind of input that pipelines take, or None if nothing is fitted.
    `finale` is the final fit of the best pipeline and `assembled` the ensemble; both are None until they are known.
    `searched` says how hyperparameters were treated. `kept` has predictions by trial number if neither the trials nor a
    store have them.
    """

    outcome: "Outcome"
    objective: "ObjectiveInfo"
    experiment: Experiment
    searched: "SearchCoverage"
    store: Path | None = None
    form: "PipelineInput | None" = None
    finale: "FinalFit | None" = None
    kept: "Mapping[int, npt.NDArray[Any]]" = field(default_factory=dict)
    assembled: "Ensemble | None" = None

    __reduce__ = reduce_for_one_version

    def __repr__(self) -> str:
        from spacelang.report.reprs import pareto_front_text, result_text

        return self._show(pareto_front_text, result_text)

    def _repr_html_(self) -> str:
        from spacelang.report.reprs import pareto_front_html, result_html

        return self._show(pareto_front_html, result_html)

    def _show(self, show_front: Callable[..., str], show_best: Callable[..., str]) -> str:
        from spacelang.report.reprs import result_rows

        positive = positive_class_of(self.objective)
        rows = result_rows(self.outcome, self.searched, self.store, self.experiment.chosen, positive)
        if names := objective_names(self.objective):
            order = [choice.key for choice in self.searched.space.decisions]
            return show_front(pareto_front_of(self.outcome, self.objective), names, order, rows)
        return show_best(self.outcome, self.objective.metric, rows)

    @property
    def best_configuration(self) -> Configuration | None:
        """The configuration of the best trial (see `Outcome.best`); None if no trial was successful.

        It is the incumbent if there is one. Otherwise it is of a lower fidelity, or it violates a bound.
        """
        check_single_objective(self.objective)
        return None if (best := self.outcome.best) is None else best.trial.request.configuration

    @property
    def objectives(self) -> tuple[str, ...]:
        """The names of the objectives; of a run with one objective, the name of its loss."""
        names = objective_names(self.objective) or (self.objective.metric,)
        return tuple(each.formula for each in names)

    @property
    def front(self) -> "pd.DataFrame":
        """The Pareto front: a table of the trials that no other trial dominates, indexed by `trial`.

        It is sorted by the first score, best first. It has a column for each objective, with scores in their own
        direction (`roc_auc`, not `1 - roc_auc`), the seconds of the trial (`cost`), and `param_KEY` for each decision
        and hyperparameter. Only trials on all training rows that satisfy all constraints are considered. Raises
        ValueError if the run has one objective.
        """
        from spacelang.api.result_views import pareto_front_table

        return pareto_front_table(pareto_front_of(self.outcome, self.objective), objective_names(self.objective))

    def pipeline_of(self, trial: int) -> Any:
        """Return the pipeline of a trial, numbered from 1, fitted on all rows; it takes data as `best_pipeline` does.

        Raises ValueError if there is no such trial or if it failed, RefitError if the pipeline cannot be fitted, and
        the runtime's InputError without data.
        """
        return self.final_fits.fit_trial(record_of_successful_trial(self.outcome, trial)).pipeline

    @property
    def hyperparameters(self) -> str:
        """The treatment of hyperparameters: `searched`, drawn `once` for each pipeline, or kept at their `default`."""
        return self.searched.hyperparameters.value

    @property
    def positive_class(self) -> Any:
        """The positive class of scorers such as `f1`, `precision` and `recall`: the last label in sorted order.

        None if the loss, the recorded metrics and the constraints all concern both classes.
        """
        found = positive_class_of(self.objective)
        return None if found is None else found.label

    @property
    def initial(self) -> tuple[Configuration, ...]:
        """The initial configurations of the run."""
        return self.searched.initial

    @property
    def at_defaults(self) -> list[str]:
        """The keys of hyperparameters in the best configuration that were not searched but kept at their defaults."""
        best = None if objective_names(self.objective) else self.best_configuration
        return [] if best is None else self.searched.keys_at_default(best)

    @property
    def loss(self) -> float | None:
        """The loss of the incumbent on the held-out rows. Raises SeveralObjectivesError if there are several."""
        check_single_objective(self.objective)
        return None if (best := self.outcome.best) is None else best.trial.loss

    @property
    def score(self) -> float | None:
        """The score of the incumbent on the held-out rows, as its metric defines it: 0.99 for the loss `1 - roc_auc`.

        A loss that is no such difference is its own score: an error such as `log_loss`, the loss of a function. Less is
        better then. `score_name` is the name of the score. None if no trial succeeded.
        """
        return self.objective.metric.maybe_score(self.loss)

    @property
    def score_name(self) -> str:
        """The name of `score` and `test_score`: `roc_auc` for the loss `1 - roc_auc`, and `log_loss` for that error."""
        return self.objective.metric.score_name

    @property
    def test_score(self) -> float | None:
        """The score of the best pipeline on the test rows (compare `score` and `test`); None without test rows."""
        return None if self.test is None else self.objective.metric.maybe_score(self.test.loss)

    @property
    def best_pipeline(self) -> Any:
        """The incumbent's pipeline fitted on all rows, including the preparation of the data as its first step.

        It takes the kind of data that the search was given, and predicts the original labels. A search with a `time`
        has fitted it; if there was not enough time, it is the model of its trial, which `time_note` says. Otherwise it
        is fitted on first access, by a worker as in the search. The limits of a trial hold; the time limit grows with
        the number of rows.

        If the fit fails, takes too long or crashes, the next best pipeline is used and a warning is issued;
        `passed_over` lists the others. None if no trial succeeded. Raises RefitError if five pipelines in a row cannot
        be fitted, and the runtime's InputError without data or if no worker can be started.
        """
        check_single_objective(self.objective)
        return None if self.outcome.best is None else self._final_fit.pipeline

    @property
    def passed_over(self) -> "tuple[SkippedTrial, ...]":
        """The better trials whose pipelines could not be fitted on all rows, each with a reason; usually empty."""
        return (
            () if self.outcome.best is None or self.final_fits.refittable_objective is None else self._final_fit.skipped
        )

    @property
    def test(self) -> "TestScore | None":
        """The loss of the best pipeline on the test rows, with a 95 % interval; None without test rows.

        The pipeline is fitted on all other rows. `constraints` has its values there for everything that trials are
        subject to. Raises as `best_pipeline` does.
        """
        return self._final_fit.test if self.outcome.best is not None and self.final_fits.has_test_rows else None

    @property
    def ensemble(self) -> Any:
        """The ensemble fitted on all rows: a `VotingClassifier` or `VotingRegressor` of scikit-learn.

        Its inputs and outputs are those of `best_pipeline`. Its members are feasible trials on all training rows,
        chosen by Caruana's ensemble selection using predictions for the held-out rows. Members that cannot be fitted on
        all rows are dropped with a warning; their votes are shared among the others.

        None if no ensemble was requested, no trial succeeded, or the time did not suffice for any member; without a
        given space also if there is no possible member. Raises RefitError if no member can be fitted, and the runtime's
        InputError if there is no possible member or no worker can be started.
        """
        return None if self._fitted_ensemble is None else self._fitted_ensemble.estimator

    @property
    def ensemble_loss(self) -> float | None:
        """The loss of the ensemble on the held-out rows, by which members were selected; None without one."""
        return None if self._fitted_ensemble is None else self._fitted_ensemble.loss

    @property
    def ensemble_test(self) -> "TestScore | None":
        """The loss of the ensemble on the test rows (compare `test`); None without an ensemble or test rows."""
        return None if self._fitted_ensemble is None else self._fitted_ensemble.test

    @property
    def ensemble_members(self) -> "pd.DataFrame | None":
        """The members: trial (its number), votes, weight, loss, seconds of the fit, configuration.

        `weight` is the share of all votes. None without an ensemble.
        """
        from spacelang.api.result_views import ensemble_members_table

        return None if self._fitted_ensemble is None else ensemble_members_table(self._fitted_ensemble)

    @cached_property
    def _fitted_ensemble(self) -> "Ensemble | None":
        """The ensemble, fitted on first access; issues a warning for members that could not be refitted."""
        votes = self.experiment.ensemble
        if votes is None or self.outcome.best is None:
            return None
        found = self.assembled
        if found is None:
            from spacelang.runtime.ensembles.construction import EnsembleError

            try:
                with self.final_fits.new_executor() as executor:
                    found = self.final_fits.fit_ensemble(votes, self.predictions, executor)
            except EnsembleError:
                if self.experiment.has_default_ensemble:
                    return None
                raise
        return check_ensemble(found)

    def with_ensemble(self, executor: "Executor", answer_time: "RunDeadline | None" = None) -> "Result":
        """Return the result with the ensemble fitted now, if one is requested, within the time of the run.

        Nothing is done after an interruption or if the executor fails; then the ensemble is fitted on first access.
        """
        votes = self.experiment.ensemble
        if votes is None or self.outcome.ended == "interrupted" or self.outcome.best is None:
            return self
        with suppress(KeyboardInterrupt, InputError):
            ensemble = self.final_fits.fit_ensemble(votes, self.predictions, executor, answer_time)
            found = replace(self, assembled=ensemble)
            found.store_time_note()
            return found
        return self

    def with_final_fit(self, executor: "Executor", answer_time: "RunDeadline | None" = None) -> "Result":
        """Return the result with the best pipeline fitted and tested now, if there are test rows or a time.

        Nothing is done after an interruption or if the executor fails; then it is done on first access.
        """
        is_wanted_now = self.final_fits.has_test_rows or answer_time is not None
        if self.outcome.ended == "interrupted" or self.outcome.best is None or not is_wanted_now:
            return self
        with suppress(KeyboardInterrupt, InputError):
            found = replace(self, finale=self.final_fits.fit_best(executor, answer_time))
            found.store_time_note()
            return found
        return self

    @property
    def time_note(self) -> str:
        """A sentence on what did not fit into the time of the run; empty if everything did, or without a time.

        Examples: "the best pipeline is the model of trial 7, fitted on 3,500 of 5,000 rows: the time was up", and "the
        ensemble has 12 of 32 members: the time was up".
        """
        notes = (each.note for each in (self.finale, self.assembled) if each is not None)
        return "; ".join(filter(None, notes))

    def store_time_note(self) -> None:
        """Save `time_note` in the store of the run, if there is one; an empty note deletes an earlier one.

        Raises StoreError.
        """
        if self.store is not None:
            from spacelang.runtime.storage.optional_tables import save_time_note

            save_time_note(self.store, self.time_note)

    @cached_property
    def _final_fit(self) -> "FinalFit":
        """The final fit, made on first access; warns if better pipelines failed, raises RefitError if all did."""
        found = self.finale
        if found is None:
            with self.final_fits.new_executor() as executor:
                found = self.final_fits.fit_best(executor)
        return check_final_fit(found)

    @property
    def final_fits(self) -> FinalFitter:
        """The fits on all rows that can follow the search."""
        return FinalFitter(self.outcome, self.objective, self.experiment.workers, self.form, self.store)

    @property
    def is_feasible(self) -> bool:
        """True if the incumbent satisfies all constraints of the task; False without an incumbent."""
        return (best := self.outcome.best) is not None and best.trial.is_feasible

    @property
    def feasible_share(self) -> float | None:
        """The share of successful trials that satisfy all constraints of the task; None if no trial succeeded."""
        return self.outcome.feasible_share

    @property
    def trials(self) -> "pd.DataFrame":
        """A table with one row for each trial, indexed by `trial` from 1, with the columns of `runs --export`.

        `fidelity` is the number of training rows, missing (NaN) if the trial had all of them; `cost` the seconds of the
        trial, and `cost_alone` those without savings from work shared with other trials; `finished` is in seconds of
        the run. Each bound of the task has a column `constraint.NAME`, each recorded metric `metric.NAME`, and each
        decision and hyperparameter `param_KEY`, missing where it is inactive. See spacelang/api/README.md, "Trials".
        """
        from spacelang.api.result_views import trials_table

        return trials_table(self.outcome, self.objective)

    def plot(self, kind: str | None = None, axes: "Axes | None" = None) -> "Axes":
        """Draw a plot of the run with matplotlib (extra `plots`) on `axes`, or in a new figure; return its axes.

        `incumbent` is the score over time with all trials, `importance` that of variables, `parallel` has trials in
        parallel coordinates, and `front` is the Pareto front of the first two objectives. By default it is `front` if
        there are several objectives, otherwise `incumbent`. All are plots of `report`.

        Raises ValueError for another kind or if there is too little to plot, and ImportError without matplotlib.
        """
        return self._views.draw_plot(kind, axes)

    def report(self) -> "InlinePage":
        """Return the page of `spacelang report`: a notebook shows it inline, `save(path)` writes it as one HTML file.

        Raises StoreError if the run has a store that cannot be read.
        """
        return self._views.html_page()

    @property
    def _views(self) -> "ResultViews":
        from spacelang.api.result_views import ResultViews

        run = (self.outcome, self.objective, self.experiment, self.initial)
        return ResultViews(*run, self.store, self.finale, self.time_note)

    def leaderboard(self, n: int = 10, *, intervals: bool = True) -> "pd.DataFrame":
        """Return a table of the n best configurations, by rank: trial, score, interval, loss, cost and parameters.

        `score` is better the greater it is, unless it is an error; its name is that of the columns. `low` and `high`
        are a 95 % interval for its rows, which ignores that the best were chosen. An interval needs predictions for the
        held-out rows: a trial that has none (see `predictions`) is evaluated again. `intervals=False` leaves them
        missing. Raises SeveralObjectivesError if there are several objectives.
        """
        from spacelang.api.result_views import held_out_intervals, leaderboard_table

        check_argument_types(count=n)
        check_single_objective(self.objective)
        given = (self.predictions, self.experiment.seed)
        return leaderboard_table(
            self.outcome,
            self.objective,
            n,
            lambda records: held_out_intervals(self.final_fits, records, *given) if intervals else {},
        )

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """The configurations of all trials, in the order of `trials`."""
        return tuple(record.trial.request.configuration for record in self.outcome.records)

    def predictions(self, trial: int) -> "npt.NDArray[Any] | None":
        """Return the predictions of a trial, numbered from 1, for the rows of `objective.held_out_rows`.

        For classification these are class probabilities, shape (n, classes); for regression n values. None if they were
        not stored: with only an ensemble and no store, only those of the best trials are. Raises StoreError.
        """
        if trial in self.kept:
            return self.kept[trial]
        if self.store is None:
            return next((each.trial.predictions for each in self.outcome.records if each.index == trial), None)
        from spacelang.runtime.storage.store import Store

        with Store.read(self.store) as run:
            return run.predictions(trial)

    @property
    def incumbent(self) -> "pd.DataFrame":
        """A table with a row for each new incumbent: seconds, number of the trial as in `trials`, score, loss."""
        from spacelang.api.result_views import incumbent_table

        check_single_objective(self.objective)
        return incumbent_table(self.outcome, self.objective.metric)
