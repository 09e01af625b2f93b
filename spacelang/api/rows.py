"""Data with rows: pipelines are fitted to some of them and judged on others."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from spacelang.api.experiment import Data, Experiment
from spacelang.api.space import Space
from spacelang.ir.task import CrossValidation, Given, Goal, Task, Validation
from spacelang.plugins import Part

if TYPE_CHECKING:
    from spacelang.runtime.data.loading import Table
    from spacelang.runtime.evaluation.objective import DataObjective


@dataclass(frozen=True, eq=False)
class Rows(Data):
    """A table of features and labels."""

    table: "Table"
    has_rows = True

    def over(self, experiment: Experiment) -> "tuple[Space, DataObjective]":
        """The space for the table, and what is minimised on its rows.

        `n_samples` is the number of rows that a trial at full fidelity trains on, `n_features` the number of columns
        that its pipeline is given, `n_classes` the number of classes. What is bound already stays. Rows for testing
        (`read_test`), some of the table's or others, are set apart before anything else. A metric and a validation that
        are given come before those of the task, and so do the splits that the table comes with; without any they are
        chosen by the data.
        """
        space, objective = experiment.space, self._objective(experiment)
        unbound = [name for name, number in space.symbols.items() if number is None]
        if not unbound:
            return space, objective
        bound = space.bind(**{name: objective.symbols[name] for name in unbound if name in objective.symbols})
        return bound, objective.over(bound.checked)

    def options(self, experiment: Experiment) -> Mapping[str, str]:
        """The column of labels, the share of test rows, and how the file was read."""
        from spacelang.runtime.data.options import DataOptions
        from spacelang.runtime.evaluation.testing import share_of

        table = self.table
        return DataOptions(str(table.target.name), share_of(experiment.test), table.reading).texts

    def _objective(self, experiment: Experiment) -> "DataObjective":
        from spacelang.runtime.data.labels import check_labels
        from spacelang.runtime.evaluation.folds import default_validation
        from spacelang.runtime.evaluation.objective import DataObjective
        from spacelang.runtime.evaluation.settings import Settings
        from spacelang.runtime.evaluation.testing import made_alike, read_test, set_apart
        from spacelang.runtime.pipelines.library import check_buildable, task_kind

        space, seed = experiment.space, experiment.seed
        check_buildable(space.checked.root)
        kind = task_kind(space.checked.root)
        task = space.task or Task(kind)
        table, others = set_apart(self.table, read_test(experiment.test, self.table), kind, seed)
        goal = task.goal if experiment.metric is None else Goal("maximize", experiment.metric)
        said = experiment.validation or table.validation or task.validation
        dataset = check_labels(table, kind, folds=_parts(said))
        tested = None if others is None else made_alike(others, table, dataset)
        recorded = replace(
            experiment.recorded,
            training_score=experiment.recorded.training_score or needs_training_loss(experiment.optimizer),
            predictions=experiment.recorded.predictions or experiment.ensemble is not None,
        )
        beside = {each.name: getattr(recorded, each.name) for each in fields(recorded)}
        settings = Settings(goal, said or default_validation(dataset), task.bounds, seed, **beside)
        return DataObjective(space.checked, dataset, settings, tested=tested)


def _parts(validation: Validation | None) -> int:
    """How many rows each class needs: one for each part that the rows are split into."""
    match validation:
        case CrossValidation(folds):
            return folds
        case Given():
            return 1  # whoever gives the splits has made them
        case _:
            return 2


def needs_training_loss(optimizer: Part | None) -> bool:
    """Whether an optimizer reckons with the loss on the training rows, which has to be recorded then."""
    return optimizer is not None and bool(getattr(optimizer.plugin, "needs_training_loss", False))
