"""An objective that answers requests from a loss table."""

from collections.abc import Mapping
from math import isnan
from types import MappingProxyType
from typing import Final

import numpy as np

from spacelang.bench.tables import LossTable
from spacelang.bench.tables.matching import row_lookup
from spacelang.ir.configuration import Configuration
from spacelang.ir.loss_scale import UNIT_SCALE, LossScale
from spacelang.ir.task import UNLIMITED, AnyBound, Limits, PredefinedSplits, Task, Validation
from spacelang.ir.trial import Measurement, Request, Status, Trial
from spacelang.runtime.affinity_queue import PrefixKey
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.evaluation.prefix_keys import PrefixKeys
from spacelang.runtime.failures import timeout_failure
from spacelang.runtime.loss_name import UNNAMED_LOSS, LossName
from spacelang.runtime.storage.header import DataFacts
from spacelang.solver.counting import Structures

DIGITS: Final = 12
"""The number of digits of a table's fingerprint that identify it."""


class TableObjective:
    """The objective of a search over one space and one loss table.

    Raises DataError on construction if the table has other pipelines than the space, or lacks a measurement that the
    task bounds.
    """

    is_cheap = True
    further: Mapping[str, str] = MappingProxyType({})

    def __init__(self, structures: Structures, table: LossTable, *, limits: Limits = UNLIMITED) -> None:
        """Check the table against the space.

        `limits` are the limits of a trial. A trial that took longer when it was recorded counts as a timeout.
        """
        self.table = table
        self.bounds: tuple[AnyBound, ...] = _bounds(structures.space.task, table)
        self._row = row_lookup(table, structures)
        self._prefix_keys = PrefixKeys(structures.space, table.training_size)
        self._rungs = {rows: rung for rung, rows in enumerate(table.sizes)}
        self._limit = limits.trial_seconds
        # Lists, because reading single elements of arrays would take longer than everything else together.
        self._loss, self._cost = table.loss.tolist(), table.cost.tolist()
        self._status, self._reason = table.status.tolist(), table.reason.tolist()
        self._training_loss = table.training_loss.tolist()
        self._measured = table.measured[..., [table.bounds.index(each.name) for each in self.bounds]].tolist()

    @property
    def training_size(self) -> int:
        """The training rows of the last rung, which is the largest fidelity."""
        return self.table.training_size

    @property
    def metric(self) -> LossName:
        """The name and the formula of the loss, or `loss` if the table does not record them."""
        facts = self.table.metadata
        return LossName(facts.metric or UNNAMED_LOSS.name, facts.formula or UNNAMED_LOSS.formula)

    @property
    def scale(self) -> LossScale | None:
        """The scale of losses: their natural one, or one set by the best constant prediction.

        None stands for a scale centered on the first success. If the table does not record its metric, the scale is [0,
        1] if all its losses are in this interval, else None.
        """
        from spacelang.runtime.scoring.loss_scales import loss_range, make_scale

        facts = self.table.metadata
        if facts.metric:
            losses = loss_range(facts.metric, facts.formula, facts.symbols.get("n_classes", 0))
            return make_scale(losses, lambda: facts.constant)
        known = self.table.loss[self.table.status == Status.SUCCESS.value]
        return UNIT_SCALE if bool(((known >= 0) & (known <= 1)).all()) else None

    @property
    def validation(self) -> Validation:
        """The validation by which trials were scored; an unknown one is identified by the table itself."""
        from spacelang.runtime.evaluation.splits import parse_validation

        try:
            return parse_validation(self.table.metadata.validation)
        except ValueError:
            return PredefinedSplits(1, f"`{self.table.name}`", self.table.fingerprint[:DIGITS])

    @property
    def facts(self) -> DataFacts:
        """The table described as data of a run, for stores: rows are pipelines, columns are rungs."""
        rows, columns = self.table.loss.shape
        return DataFacts(f"table:{self.table.name}", rows, columns, self.table.fingerprint)

    @property
    def recorded(self) -> tuple[str, ...]:
        """The names of what the table records of trials besides the loss."""
        return () if bool(np.isnan(self.table.training_loss).all()) else ("training_loss",)

    def route(self, request: Request) -> PrefixKey:
        """Return the prefixes that the trial would share with others on the data itself.

        They decide the order in which trials start, as in a run on the data.
        """
        return self._prefix_keys.key_of(request)

    def evaluate(self, request: Request) -> Trial:
        """Return the trial that the table has for a request, with the cost of running it on its own.

        Raises InputError if the table does not have the configuration.
        """
        row, rung = self._row(request.configuration), self._rung(request.fidelity)
        if row is None:
            raise InputError(
                f"the table `{self.table.name}` does not have {request.configuration.identity}",
                "it has only default hyperparameters; search only those with `--set hyperparameters=default`",
            )
        cost, status = self._cost[row][rung], Status(self._status[row][rung])
        if self._limit is not None and cost > self._limit:
            return timeout_failure(self._limit, self._limit).to_trial(request)
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

    def missing_reason(self, configuration: Configuration) -> str:
        """Return the reason why the table has no answer for a member of the space, or an empty text."""
        if self._row(configuration) is not None:
            return ""
        return f"the table `{self.table.name}` has only default hyperparameters, but this configuration has others"

    def check_fidelities(self, sizes: tuple[int, ...]) -> None:
        """Raise InputError unless the table has trials for all these numbers of training rows."""
        lacking = [f"{rows:,}" for rows in sizes if rows not in self._rungs]
        if lacking:
            raise InputError(
                f"the table `{self.table.name}` has no trials on {', '.join(lacking)} training rows",
                f"it has {', '.join(f'{rows:,}' for rows in self.table.sizes)}; choose `b` and `eta` that give these",
            )

    def _rung(self, fidelity: int | None) -> int:
        if fidelity is None or fidelity >= self.training_size:
            return len(self._rungs) - 1
        if fidelity not in self._rungs:
            self.check_fidelities((fidelity,))
        return self._rungs[fidelity]


def _bounds(task: Task | None, table: LossTable) -> tuple[AnyBound, ...]:
    """Return the bounds of the task; raises DataError for one that the table has not measured."""
    bounds = () if task is None else task.bounds
    for bound in bounds:
        if bound.name not in table.bounds:
            measured = ", ".join(f"`{name}`" for name in table.bounds) or "no bounds"
            message = f"the space bounds `{bound.name}`, which the table `{table.name}` does not have"
            raise DataError(message, f"the table has {measured}; make a table of this space")
    return bounds
