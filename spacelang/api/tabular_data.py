"""Tabular data: pipelines are fitted on some rows and evaluated on others."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from spacelang.api.experiment import EvaluationData, Experiment
from spacelang.api.space import Space
from spacelang.ir.task import CrossValidation, Goal, PredefinedSplits, Task, Validation
from spacelang.plugins import NestedPlugin

if TYPE_CHECKING:
    from spacelang.runtime.data.loading import Table
    from spacelang.runtime.evaluation.objective import DataObjective


@dataclass(frozen=True, eq=False)
class TabularData(EvaluationData):
    """A table of features and labels as the data of a search."""

    table: "Table"
    has_rows = True

    def bind_space(self, experiment: Experiment) -> "tuple[Space, DataObjective]":
        """Return the space bound to the size of the table, and the objective on its rows.

        `n_samples` is bound to the number of training rows of a trial at full fidelity, `n_features` to the number of
        columns that its pipeline gets, and `n_classes` to the number of classes. Symbols that are bound already stay.
        Test rows (see `read_test_rows`) are set apart first. A given metric or validation takes precedence over the
        task. The splits that come with the table take precedence over the validation of the task. Without any, the data
        decides.
        """
        space, objective = experiment.space, self._objective(experiment)
        unbound = [name for name, number in space.symbols.items() if number is None]
        if not unbound:
            return space, objective
        bound = space.bind(**{name: objective.symbols[name] for name in unbound if name in objective.symbols})
        return bound, objective.with_domains(bound.checked)

    def stored_options(self, experiment: Experiment) -> Mapping[str, str]:
        """Return the column of labels, the share of test rows, and how the file was read."""
        from spacelang.runtime.data.stored_options import DataOptions
        from spacelang.runtime.evaluation.unseen_rows import share_of

        table = self.table
        return DataOptions(str(table.target.name), share_of(experiment.test), table.reading).as_texts

    def _objective(self, experiment: Experiment) -> "DataObjective":
        from spacelang.runtime.data.labels import check_labels
        from spacelang.runtime.evaluation.folds import default_validation
        from spacelang.runtime.evaluation.objective import DataObjective
        from spacelang.runtime.evaluation.settings import EvaluationSettings
        from spacelang.runtime.evaluation.unseen_rows import make_test_dataset, read_test_rows, split_off_test_rows
        from spacelang.runtime.pipelines.catalogue_access import check_buildable, task_kind

        space, seed = experiment.space, experiment.seed
        check_buildable(space.checked.root)
        kind = task_kind(space.checked.root)
        task = space.task or Task(kind)
        table, others = split_off_test_rows(self.table, read_test_rows(experiment.test, self.table), kind, seed)
        goal = task.goal if experiment.metric is None else Goal("maximize", experiment.metric)
        said = experiment.validation or table.validation or task.validation
        dataset = check_labels(table, kind, folds=_rows_needed_per_class(said))
        tested = None if others is None else make_test_dataset(others, table, dataset)
        recorded = replace(
            experiment.recorded,
            training_score=experiment.recorded.training_score or needs_training_loss(experiment.optimizer),
            predictions=experiment.recorded.predictions or experiment.ensemble is not None,
        )
        beside = {each.name: getattr(recorded, each.name) for each in fields(recorded)}
        settings = EvaluationSettings(goal, said or default_validation(dataset), task.bounds, seed, **beside)
        return DataObjective(space.checked, dataset, settings, tested=tested)


def _rows_needed_per_class(validation: Validation | None) -> int:
    """Return how many rows each class needs: one for each part that the rows are split into."""
    match validation:
        case CrossValidation(folds):
            return folds
        case PredefinedSplits():
            return 1  # predefined splits are used as they are
        case _:
            return 2


def needs_training_loss(optimizer: NestedPlugin | None) -> bool:
    """Return True if an optimizer uses the training loss of trials, which must then be recorded."""
    return optimizer is not None and bool(getattr(optimizer.plugin, "needs_training_loss", False))
