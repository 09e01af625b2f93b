"""What a search found: its trials and incumbents as tables, the best pipeline."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacelang.api.executing import make_executor
from spacelang.carried import Carried
from spacelang.ir.configuration import Configuration
from spacelang.runtime.errors import InputError
from spacelang.runtime.objective import Aim, Classifying, Refittable

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from spacelang.api.experiment import Experiment
    from spacelang.ir.trial import TestScore
    from spacelang.report.glance import Row
    from spacelang.report.searched import Searched
    from spacelang.runtime.ensembles.assembling import Ensemble
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.final import Finale, PassedOver
    from spacelang.runtime.history import Outcome, Record
    from spacelang.runtime.loss_name import PositiveClass
    from spacelang.runtime.pipelines.inputs import PipelineInput


COLUMNS = ("loss", "status", "reason", "rows", "cost", "cost_alone", "seconds", "worker", "configuration")
"""The columns that every table of trials has."""


class NoSuccessError(Carried):
    """A search ended without any trial that succeeded: `result` has what was tried, and why it failed."""

    def __init__(self, result: "Result") -> None:
        super().__init__(_why_none(result.outcome))
        self.result = result


class RefitError(Carried):
    """None of the best pipelines could be fitted on all rows: `passed_over` has which, and why.

    They were to be the best pipeline, or the `members` of an ensemble.
    """

    def __init__(self, passed_over: "tuple[PassedOver, ...]", *, members: bool = False) -> None:
        number = len(passed_over)
        alone, some = (
            ("only member of the ensemble", "members of the ensemble")
            if members
            else (
                "best pipeline",
                "best pipelines",
            )
        )
        which = f"the {alone} cannot" if number == 1 else f"none of the {number} {some} can"
        super().__init__(f"{which} be fitted on all rows: {_told(passed_over)}")
        self.passed_over = passed_over


def positive_class_of(objective: "Aim") -> "PositiveClass | None":
    """The class that some scorers of an objective are of alone; None where there are none, and without data."""
    return objective.positive_class if isinstance(objective, Classifying) else None


def keep_score(store: Path, finale: "Finale") -> None:
    """Keep a score on test rows, if there is one, in the store of its run; raises StoreError."""
    from spacelang.runtime.storing.store_tests import StoredTest, keep

    if finale.record is not None and finale.test is not None:
        keep(store, StoredTest(finale.record.index, finale.test))


def _told(passed_over: "Iterable[PassedOver]") -> str:
    return "; ".join(f"trial {each.record.index}: {each.reason}" for each in passed_over)


def succeeded(result: "Result") -> "Result":
    """The result itself; raises NoSuccessError where no trial succeeded."""
    if result.outcome.best is None:
        raise NoSuccessError(result)
    return result


def _why_none(outcome: "Outcome") -> str:
    """That no trial succeeded, with the most frequent reasons."""
    from spacelang.report.failures import most_frequent, reasons

    if not outcome.records:
        cause = "it was interrupted" if outcome.ended == "interrupted" else "the budget was used up"
        return f"no trial succeeded: {cause} before the first one ended"
    if len(outcome.records) == 1:
        return f"no trial succeeded: the only trial failed: {outcome.records[0].trial.reason}"
    shown, _ = most_frequent(reasons(outcome.records))
    said = "; ".join(f"{count} x {reason}" for reason, count in shown)
    return f"no trial succeeded: all {len(outcome.records)} trials failed: {said}"


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What a search found. `best_pipeline` is fitted on all data.

    `experiment` says what was asked for, `form` what pipelines are given; None where nothing is fitted. `finale` is
    what came of the best pipelines on all rows, where that is known already; `searched` says what became of
    hyperparameters, `assembled` what came of an ensemble, where that is known. `kept` has predictions by the numbers of
    trials, where neither trials nor a store have them.
    """

    outcome: "Outcome"
    objective: "Aim"
    experiment: "Experiment"
    searched: "Searched"
    store: Path | None = None
    form: "PipelineInput | None" = None
    finale: "Finale | None" = None
    kept: "Mapping[int, npt.NDArray[Any]]" = field(default_factory=dict)
    assembled: "Ensemble | None" = None

    def __repr__(self) -> str:
        from spacelang.report.glance import result_text

        return result_text(self.outcome, self.objective.metric.formula, self._rows)

    def _repr_html_(self) -> str:
        from spacelang.report.glance import result_html

        return result_html(self.outcome, self.objective.metric.formula, self._rows)

    @property
    def _rows(self) -> "Sequence[Row]":
        from spacelang.report.glance import result_rows

        return result_rows(
            self.outcome, self.searched, self.store, self.experiment.chosen, positive_class_of(self.objective)
        )

    @property
    def best_configuration(self) -> Configuration | None:
        """The configuration of the incumbent."""
        best = self.outcome.best
        return None if best is None else best.trial.request.configuration

    @property
    def hyperparameters(self) -> str:
        """Whether the hyperparameters of the space were `searched`, drawn `once` for each pipeline, or at `default`."""
        return self.searched.hyperparameters.value

    @property
    def positive_class(self) -> Any:
        """The label that `f1`, `precision`, `recall` and the like are of: the last of the two in sorted order.

        None where nothing that trials are judged by, or that is recorded or bounded, is of one class alone.
        """
        found = positive_class_of(self.objective)
        return None if found is None else found.label

    @property
    def initial(self) -> tuple[Configuration, ...]:
        """The configurations that the run began with."""
        return self.searched.initial

    @property
    def at_defaults(self) -> list[str]:
        """The keys of the best configuration whose values were not searched but kept at their defaults."""
        best = self.best_configuration
        return [] if best is None else self.searched.at_defaults(best)

    @property
    def loss(self) -> float | None:
        """The loss of the incumbent on the held-out rows."""
        best = self.outcome.best
        return None if best is None else best.trial.loss

    @property
    def best_pipeline(self) -> Any:
        """The incumbent, fitted on all rows, with the preparation of the data as its first step.

        It takes what the search was given and predicts labels as they were given. It is fitted when it is asked for
        first, where trials were evaluated and within their limits (that of time for as many more rows as there are);
        where that fails, takes too long or ends its process, the next best is taken with a warning: `passed_over` has
        the others. None where no trial succeeded. Raises RefitError where five in a row cannot be fitted, and the
        runtime's InputError where there is nothing to fit to or nowhere to do it.
        """
        return None if self.outcome.best is None else self._finale.pipeline

    @property
    def passed_over(self) -> "tuple[PassedOver, ...]":
        """The better trials whose pipelines could not be fitted on all rows, each with a reason; mostly none."""
        return () if self.outcome.best is None or self._refittable is None else self._finale.passed_over

    @property
    def test(self) -> "TestScore | None":
        """The loss of the best pipeline on the rows that no trial saw, with a 95 % interval; None without such rows.

        The pipeline was fitted on all other rows. `constraints` has what it reaches there of all that trials are
        subject to. Raises as `best_pipeline` does.
        """
        if self.outcome.best is None or self._refittable is None or not self._refittable.test_rows:
            return None
        return self._finale.test

    @property
    def ensemble(self) -> Any:
        """The ensemble, fitted on all rows: a `VotingClassifier` or `VotingRegressor` of scikit-learn.

        It takes and predicts what `best_pipeline` does. Its members are feasible trials on all training rows, chosen by
        Caruana's selection for their predictions on the held-out rows; what cannot be fitted on all rows is left out,
        with a warning, and the others share its votes. None where none was wanted, or no trial succeeded. Raises
        RefitError where no member can be fitted, and the runtime's InputError where there is none, or nowhere to do it.
        """
        return None if self._ensemble is None else self._ensemble.estimator

    @property
    def ensemble_loss(self) -> float | None:
        """The loss of the ensemble on the held-out rows, by which its members were chosen; None without one."""
        return None if self._ensemble is None else self._ensemble.loss

    @property
    def ensemble_test(self) -> "TestScore | None":
        """The loss of the ensemble on the rows that no trial saw, as `test` is of the best pipeline; None likewise."""
        return None if self._ensemble is None else self._ensemble.test

    @property
    def ensemble_members(self) -> "pd.DataFrame | None":
        """Who votes: trial, votes, weight, loss, seconds of fitting, configuration; None without an ensemble."""
        from spacelang.api.ensembles import members

        return None if self._ensemble is None else members(self._ensemble)

    @cached_property
    def _ensemble(self) -> "Ensemble | None":
        """What came of the ensemble; who was left out is told here, where the user asks for it."""
        votes = self.experiment.ensemble
        if votes is None or self.outcome.best is None:
            return None
        found = self.assembled
        if found is None:
            with self._anew() as executor:
                found = self._assemble(votes, executor)
        if not found.members:
            raise RefitError(found.left_out, members=True)
        if found.left_out:
            what = "some members of the ensemble cannot be fitted on all rows, and the others share their votes"
            warnings.warn(f"{what}: {_told(found.left_out)}", stacklevel=3)
        return found

    def assembled_by(self, executor: "Executor") -> "Result":
        """The same with the ensemble fitted at once, where one is wanted; otherwise as `tested_by`."""
        votes = self.experiment.ensemble
        if votes is None or self.outcome.ended == "interrupted" or self.outcome.best is None:
            return self
        with suppress(KeyboardInterrupt, InputError):
            return replace(self, assembled=self._assemble(votes, executor))
        return self

    def _assemble(self, votes: int, executor: "Executor") -> "Ensemble":
        from spacelang.api.ensembles import assembled

        return assembled(self, votes, executor)

    def tested_by(self, executor: "Executor") -> "Result":
        """The same with the best pipeline fitted and tested at once, where there are test rows.

        Not so after an interruption, nor where the executor cannot go on: then that is done when it is asked for.
        """
        has_test_rows = self._refittable is not None and self._refittable.test_rows > 0
        if self.outcome.ended == "interrupted" or self.outcome.best is None or not has_test_rows:
            return self
        with suppress(KeyboardInterrupt, InputError):
            return replace(self, finale=self._finish(executor))
        return self

    @cached_property
    def _finale(self) -> "Finale":
        """What came of fitting the best pipelines on all rows, in workers that are started for it unless it is known.

        It is told here, where the user asks for it, if the best one was passed over.
        """
        found = self.finale
        if found is None:
            with self._anew() as executor:
                found = self._finish(executor)
        if found.record is None:
            raise RefitError(found.passed_over)
        if found.passed_over:
            taken = f"trial {found.record.index} is taken instead: {_told(found.passed_over)}"
            warnings.warn(f"the best pipeline cannot be fitted on all rows, {taken}", stacklevel=3)
        return found

    @property
    def _refittable(self) -> "Refittable | None":
        """The objective, where it can fit a pipeline on all rows."""
        objective = self.objective
        return objective if self.form is not None and isinstance(objective, Refittable) else None

    def _anew(self) -> "AbstractContextManager[Executor]":
        """Workers that are started for what is asked for now."""
        objective, workers = self._refittable, self.experiment.workers
        if objective is None:
            message = f"`{self.objective.facts.name}` has no data that a pipeline could be fitted to"
            raise InputError(message, "`space.build(result.best_configuration)` makes the pipeline, unfitted")
        return closing(make_executor(objective, replace(workers, count=min(workers.count, 1), isolate=False)))

    def _finish(self, executor: "Executor") -> "Finale":
        from spacelang.runtime.final import finish

        objective, limits, form = self._refittable, self.experiment.workers.limits, self.form
        assert objective is not None
        assert form is not None
        found = finish(self.outcome, objective, executor, limits=limits, form=form, is_wanted=True)
        if self.store is not None:
            keep_score(self.store, found)
        return found

    @property
    def is_feasible(self) -> bool:
        """Whether the incumbent keeps to all that the task is subject to; false without one."""
        best = self.outcome.best
        return best is not None and best.trial.is_feasible

    @property
    def feasible_share(self) -> float | None:
        """The share of the successful trials that keep to all that the task is subject to; None without a success."""
        return self.outcome.feasible_share

    @property
    def trials(self) -> "pd.DataFrame":
        """One row a trial: loss, status, reason, cost and time in seconds, training rows, configuration.

        `cost_alone` is what it would have cost without what it shared with others; `worker` evaluated it. What the task
        bounds follows, each measure in a column of its name: seconds, bytes, differences of scores; then the metrics as
        `metric.NAME` and `training_loss`, if they were recorded.
        """
        import pandas as pd

        further = [bound.name for bound in self.objective.bounds]
        columns = [*COLUMNS, *further, *self.objective.recorded]
        return pd.DataFrame(map(self._row, self.outcome.records), columns=columns)

    def _row(self, record: "Record") -> dict[str, Any]:
        trial = record.trial
        return {
            "loss": trial.loss,
            "status": trial.status.value,
            "reason": trial.reason,
            "rows": trial.request.fidelity or self.objective.training_size,
            "cost": trial.cost,
            "cost_alone": trial.seconds_alone,
            "seconds": record.finished,
            "worker": record.worker,
            "configuration": trial.request.configuration.to_dict(),
            **{measured.bound.name: measured.value for measured in trial.constraints},
            **{f"metric.{name}": value for name, value in trial.metrics},
            "training_loss": trial.training_loss,
        }

    def predictions(self, trial: int) -> "npt.NDArray[Any] | None":
        """What the trial of a number, counted from 1, predicted for the rows of `objective.held_out`.

        Probabilities of the classes (n x classes), or n values; None where they were not kept: for an ensemble alone,
        of a search without a store, only those of the best trials are. Raises StoreError.
        """
        if trial in self.kept:
            return self.kept[trial]
        if self.store is None:
            found = next((each for each in self.outcome.records if each.index == trial), None)
            return None if found is None else found.trial.predictions
        from spacelang.runtime.storing.store import Store

        with Store.read(self.store) as run:
            return run.predictions(trial)

    @property
    def incumbent(self) -> "pd.DataFrame":
        """The incumbent over time: seconds, number of the trial, loss."""
        import pandas as pd

        points = [(point.seconds, point.trial, point.loss) for point in self.outcome.curve]
        return pd.DataFrame(points, columns=["seconds", "trial", "loss"])
