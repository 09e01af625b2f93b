"""The objective that a table is: a request is answered with what was recorded."""

from collections.abc import Mapping
from math import isnan
from types import MappingProxyType
from typing import Final

import numpy as np

from spacelang.bench.tables import LossTable
from spacelang.bench.tables.matching import rows_of
from spacelang.ir.configuration import Configuration
from spacelang.ir.scale import UNIT, Scale
from spacelang.ir.task import UNLIMITED, AnyBound, Given, Limits, Task, Validation
from spacelang.ir.trial import Measurement, Request, Status, Trial
from spacelang.runtime.agenda import Route
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.evaluation.routes import Routes
from spacelang.runtime.failures import too_long
from spacelang.runtime.loss_name import LOSS, LossName
from spacelang.runtime.storing.header import DataFacts
from spacelang.solver.counting import Structures

DIGITS: Final = 12
"""So many digits of a table's fingerprint stand for it."""


class TableObjective:
    """What a search minimises over one space and one table.

    Raises DataError on construction where the table is not one of the pipelines of the space, or does not have what
    the task of the space bounds.
    """

    is_cheap = True
    further: Mapping[str, str] = MappingProxyType({})

    def __init__(self, structures: Structures, table: LossTable, *, limits: Limits = UNLIMITED) -> None:
        """`limits` are those of a trial: what was recorded to take longer has failed by then."""
        self.table = table
        self.bounds: tuple[AnyBound, ...] = _bounds(structures.space.task, table)
        self._row = rows_of(table, structures)
        self._routes = Routes(structures.space, table.training_size)
        self._rungs = {rows: rung for rung, rows in enumerate(table.sizes)}
        self._limit = limits.trial_seconds
        # Lists, as looking into arrays one by one takes longer than all else together.
        self._loss, self._cost = table.loss.tolist(), table.cost.tolist()
        self._status, self._reason = table.status.tolist(), table.reason.tolist()
        self._training_loss = table.training_loss.tolist()
        self._measured = table.measured[..., [table.bounds.index(each.name) for each in self.bounds]].tolist()

    @property
    def training_size(self) -> int:
        """The training rows of the last rung: the largest fidelity."""
        return self.table.training_size

    @property
    def metric(self) -> LossName:
        """What the losses are, by name and formula; `loss` where the table does not say it."""
        facts = self.table.facts
        return LossName(facts.metric or LOSS.name, facts.formula or LOSS.formula)

    @property
    def scale(self) -> Scale | None:
        """The scale of losses: their own, or by the best constant prediction; None is that around the first success.

        Where the table does not say by which metric it was made, its losses do where all of them lie between 0 and 1.
        """
        from spacelang.runtime.judging.scaling import losses_of, scale_by

        facts = self.table.facts
        if facts.metric:
            losses = losses_of(facts.metric, facts.formula, facts.symbols.get("n_classes", 0))
            return scale_by(losses, lambda: facts.constant)
        known = self.table.loss[self.table.status == Status.SUCCESS.value]
        return UNIT if bool(((known >= 0) & (known <= 1)).all()) else None

    @property
    def validation(self) -> Validation:
        """On which rows trials were judged: those of the table, where it does not say which they are."""
        from spacelang.runtime.evaluation.split import parse_validation

        try:
            return parse_validation(self.table.facts.validation)
        except ValueError:
            return Given(1, f"`{self.table.name}`", self.table.fingerprint[:DIGITS])

    @property
    def facts(self) -> DataFacts:
        """The table as a store knows its data: rows are pipelines, columns are rungs."""
        rows, columns = self.table.loss.shape
        return DataFacts(f"table:{self.table.name}", rows, columns, self.table.fingerprint)

    @property
    def recorded(self) -> tuple[str, ...]:
        """What was recorded of trials beside the loss."""
        return () if bool(np.isnan(self.table.training_loss).all()) else ("training_loss",)

    def route(self, request: Request) -> Route:
        """What the trial would have shared with others: they are begun in the order of a run on the data itself."""
        return self._routes.of(request)

    def evaluate(self, request: Request) -> Trial:
        """What was recorded for a configuration on so many training rows; its cost is what it takes alone.

        Raises InputError where the table does not have it.
        """
        row, rung = self._row(request.configuration), self._rung(request.fidelity)
        if row is None:
            raise InputError(
                f"the table `{self.table.name}` does not have {request.configuration.identity}",
                "it has default hyperparameters only: `--set hyperparameters=default` asks for no others",
            )
        cost, status = self._cost[row][rung], Status(self._status[row][rung])
        if self._limit is not None and cost > self._limit:
            return too_long(self._limit, self._limit).of(request)
        if status is not Status.SUCCESS:
            return Trial(request, None, cost, status, self.table.reasons[self._reason[row][rung]])
        training = self._training_loss[row][rung]
        return Trial(
            request,
            self._loss[row][rung],
            cost,
            constraints=tuple(map(Measurement, self.bounds, self._measured[row][rung])),
            training_loss=None if isnan(training) else training,
        )

    def lacks(self, configuration: Configuration) -> str:
        """Why the table does not answer for a member of the space; empty where it does."""
        if self._row(configuration) is not None:
            return ""
        return f"the table `{self.table.name}` has default hyperparameters only, and this configuration has others"

    def check_sizes(self, sizes: tuple[int, ...]) -> None:
        """Raise InputError unless the table has trials on each of these numbers of training rows."""
        lacking = [f"{rows:,}" for rows in sizes if rows not in self._rungs]
        if lacking:
            raise InputError(
                f"the table `{self.table.name}` has no trials on {', '.join(lacking)} training rows",
                f"it has {', '.join(f'{rows:,}' for rows in self.table.sizes)}: `b` and `eta` must lead to them",
            )

    def _rung(self, fidelity: int | None) -> int:
        if fidelity is None or fidelity >= self.training_size:
            return len(self._rungs) - 1
        if fidelity not in self._rungs:
            self.check_sizes((fidelity,))
        return self._rungs[fidelity]


def _bounds(task: Task | None, table: LossTable) -> tuple[AnyBound, ...]:
    """What the task bounds; raises DataError where the table has not measured it."""
    bounds = () if task is None else task.bounds
    for bound in bounds:
        if bound.name not in table.bounds:
            measured = ", ".join(f"`{name}`" for name in table.bounds) or "nothing of the kind"
            message = f"the space bounds `{bound.name}`, which the table `{table.name}` does not have"
            raise DataError(message, f"it has measured {measured}; make a table of this space")
    return bounds
