"""What a search found: its trials and incumbents as tables, the best pipeline."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacelang.ir.configuration import Configuration

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from spacelang.runtime.evaluation.objective import Objective
    from spacelang.runtime.history import Outcome, Record
    from spacelang.runtime.tables.objective import TableObjective


COLUMNS = ("loss", "status", "reason", "rows", "cost", "cost_alone", "seconds", "worker", "configuration")
"""The columns that every table of trials has."""


@dataclass(frozen=True, eq=False)
class Result:
    """What a search found. `best_pipeline` is fitted on all data, and None where no trial succeeded."""

    outcome: "Outcome" = field(repr=False)
    objective: "Objective | TableObjective" = field(repr=False)
    store: Path | None = None

    @property
    def best_configuration(self) -> Configuration | None:
        """The configuration of the incumbent."""
        best = self.outcome.best
        return None if best is None else best.trial.request.configuration

    @property
    def loss(self) -> float | None:
        """The loss of the incumbent on the held-out rows."""
        best = self.outcome.best
        return None if best is None else best.trial.loss

    @cached_property
    def best_pipeline(self) -> Any:
        """The incumbent, fitted on all rows, with the preparation of the data as its first step."""
        configuration = self.best_configuration
        return None if configuration is None else self.objective.refit(configuration)

    @property
    def is_feasible(self) -> bool:
        """Whether the incumbent keeps to all that the task is subject to; false without one."""
        best = self.outcome.best
        return best is not None and best.trial.is_feasible

    @property
    def trials(self) -> "pd.DataFrame":
        """One row a trial: loss, status, reason, cost and time in seconds, training rows, configuration.

        `cost_alone` is what it would have cost without what it shared with others; `worker` evaluated it. What the task
        bounds follows, each measure in a column of its name: seconds, bytes, differences of scores; then the metrics as
        `metric.NAME` and `training_loss`, if they were recorded.
        """
        import pandas as pd

        settings = self.objective.settings
        further = [bound.name for bound in self.objective.bounds]
        further += [f"metric.{name}" for name in settings.metrics]
        further += ["training_loss"] * settings.training_score
        return pd.DataFrame(map(self._row, self.outcome.records), columns=[*COLUMNS, *further])

    def _row(self, record: "Record") -> dict[str, Any]:
        trial = record.trial
        return {
            "loss": trial.loss,
            "status": trial.status.value,
            "reason": trial.reason,
            "rows": trial.request.fidelity or self.objective.training_size,
            "cost": trial.cost,
            "cost_alone": trial.cost if trial.cost_alone is None else trial.cost_alone,
            "seconds": record.finished,
            "worker": record.worker,
            "configuration": trial.request.configuration.to_dict(),
            **{measured.bound.name: measured.value for measured in trial.constraints},
            **{f"metric.{name}": value for name, value in trial.metrics},
            "training_loss": trial.training_loss,
        }

    def predictions(self, trial: int) -> "npt.NDArray[Any] | None":
        """What the trial of a number, counted from 1, predicted for the rows of `objective.held_out`.

        Probabilities of the classes (n x classes), or n values; None where they were not kept. Raises StoreError.
        """
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
