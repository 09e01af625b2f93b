"""An objective that answers requests from a loss table."""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from math import isnan
from typing import Any, Final, TypeAlias

import numpy as np

from spacelang.bench.tables import ConfigurationList, LossTable, StageProduct, iterate_configurations
from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.ir.task import UNLIMITED, AnyBound, Limits, Task
from spacelang.ir.trial import UNIT_SCALE, UNNAMED_LOSS, LossName, LossScale, Measurement, Request, Status, Trial
from spacelang.ir.validation import PredefinedSplits, Validation, parse_validation
from spacelang.ir.walk import structure_of
from spacelang.runtime.errors import DataError, InputError, timeout_failure
from spacelang.runtime.request_queue import PrefixKey, PrefixKeys
from spacelang.runtime.storage.run_header import DataFacts
from spacelang.serialization.definition import space_from_json
from spacelang.serialization.difference import FactDifference, FactKind, list_differing_facts
from spacelang.serialization.json_documents import DefinitionError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter

DIGITS: Final = 12  # The number of digits of a table's fingerprint that identify it


class TableObjective:
    """The objective of a search over a space and a loss table; raises DataError if the table lacks something."""

    is_cheap = True

    def __init__(self, structures: Structures, table: LossTable, *, limits: Limits = UNLIMITED) -> None:
        """Check the table; a trial that took longer than `limits` when it was recorded counts as a timeout."""
        self.table = table
        self.bounds: tuple[AnyBound, ...] = _bounds(structures.space.task, table)
        self._row = make_table_row_lookup(table, structures)
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
        from spacelang.runtime.scoring.metric import loss_range, make_loss_scale

        facts = self.table.metadata
        if facts.metric:
            losses = loss_range(facts.metric, facts.formula, facts.symbols.get("n_classes", 0))
            return make_loss_scale(losses, lambda: facts.constant)
        known = self.table.loss[self.table.status == Status.SUCCESS.value]
        return UNIT_SCALE if bool(((known >= 0) & (known <= 1)).all()) else None

    @property
    def validation(self) -> Validation:
        """The recorded validation of trials.

        If it is unknown, predefined splits that the table's fingerprint identifies.
        """
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
    def recorded_columns(self) -> tuple[str, ...]:
        """The tuple `("training_loss",)` if the table has any training loss; otherwise empty."""
        return () if bool(np.isnan(self.table.training_loss).all()) else ("training_loss",)

    def prefix_key(self, request: Request) -> PrefixKey:
        """Return the prefix key that the trial would have on real data; trials of a batch are ordered by this key."""
        return self._prefix_keys.key_of(request)

    def evaluate(self, request: Request) -> Trial:
        """Return the trial of a request, with the cost of running it alone; raises InputError if there is none."""
        row, rung = self._row(request.configuration), self._rung(request.fidelity)
        if row is None:
            message = f"the table `{self.table.name}` does not have the configuration {request.configuration.identity}"
            remedy = (
                "the table has only default hyperparameters; search only those with `--set hyperparameters=default`"
            )
            raise InputError(message, remedy)
        cost, status = self._cost[row][rung], Status(self._status[row][rung])
        if self._limit is not None and cost > self._limit:
            return timeout_failure(self._limit, self._limit).make_result(request)
        if status is not Status.SUCCESS:
            return Trial(request, None, cost, status, self.table.reasons[self._reason[row][rung]])
        training = self._training_loss[row][rung]
        known = None if isnan(training) else training
        measured = tuple(map(Measurement, self.bounds, self._measured[row][rung]))
        return Trial(request, self._loss[row][rung], cost, constraints=measured, training_loss=known)

    def missing_reason(self, configuration: Configuration) -> str:
        """Return the reason why the table lacks a configuration of the space; an empty text if the table has it."""
        if self._row(configuration) is not None:
            return ""
        return f"the table `{self.table.name}` has only default hyperparameters, but this configuration has others"

    @property
    def fidelities(self) -> tuple[int, ...]:
        """The numbers of training rows for which the table has trials, ascending."""
        return tuple(sorted(self._rungs))

    def check_fidelities(self, sizes: tuple[int, ...]) -> None:
        """Raise InputError unless the table has trials for all these numbers of training rows."""
        lacking = [f"{rows:,}" for rows in sizes if rows not in self._rungs]
        if lacking:
            message = f"the table `{self.table.name}` has no trials on {', '.join(lacking)} training rows"
            there = ", ".join(f"{rows:,}" for rows in self.table.sizes)
            raise InputError(message, f"it has {there}; choose `b` and `eta` that give these")

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


RowLookup: TypeAlias = Callable[[Configuration], int | None]
"""A function that returns the row of a configuration in a table, or None if the table does not have it."""
OTHER_STRUCTURE_REMEDY: Final = "choose a space with the stages of the table, or make a table by `spacelang tabulate`"
MAX_LISTED: Final = 3  # The largest number of differences in a message


def make_table_row_lookup(table: LossTable, structures: Structures) -> RowLookup:
    """Return a function that maps a configuration of the space to its row in the table.

    Raises DataError, with the differences, unless the table has all pipelines of the space, at least at their default
    hyperparameters. The pipelines must also have the same meaning, as far as the table records it.
    """
    _check_same_pipelines(table, structures.space)
    match table.pipelines:
        case StageProduct() as axes:
            return _stage_row_lookup(table, axes, structures)
        case ConfigurationList() as listed:
            places = {each.digest: row for row, each in enumerate(listed.configurations)}
            _check_members(table, structures, places)
            return lambda configuration: places.get(configuration.digest)


def _check_same_pipelines(table: LossTable, space: Space) -> None:
    """Raise DataError if the same configuration means another pipeline in the space than in the table."""
    if not table.metadata.definition:
        return
    try:
        origin = space_from_json(json.loads(table.metadata.definition))
    except (DefinitionError, ValueError, RecursionError) as error:
        message = f"this version cannot read the space that the table `{table.name}` was made from"
        raise DataError(message, "make the table again with `spacelang tabulate`") from error
    aspects = (FactKind.OPERATOR, FactKind.FIXED, FactKind.COMPUTED, FactKind.PIPELINE)
    news = (
        (each, each.aspect is FactKind.HYPERPARAMETER and each.first is None)
        for each in list_differing_facts(origin, space)
    )
    found = [each for each, is_new in news if is_new or each.aspect in aspects]
    if found:
        shown = "; ".join(map(_describe, found[:MAX_LISTED]))
        more = f"; {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
        message = f"the pipelines of the table `{table.name}` differ from those of `{space.name}`: {shown}{more}"
        raise DataError(message, "search the space that the table was made from, or make a table of this space")


def _describe(difference: FactDifference) -> str:
    part = f"{difference.aspect.value} of `{difference.path}`" if difference.path else difference.aspect.value
    in_table, in_space = ("nothing" if each is None else f"`{each}`" for each in (difference.first, difference.second))
    return f"{part} is {in_table} in the table and {in_space} in the space"


def _stage_row_lookup(table: LossTable, axes: StageProduct, structures: Structures) -> RowLookup:
    space = structures.space
    _check_stages(table, axes, space)
    keys = axes.stages or tuple(stage.key for stage in space.stages)
    strides = [1]
    for length in reversed(axes.shape[1:]):
        strides.insert(0, strides[0] * length)
    places = [
        (key, {name: place * stride for place, name in enumerate(names)})
        for key, names, stride in zip(keys, axes.alternatives, strides, strict=True)
    ]
    usual = DefaultCompleter(structures) if space.hyperparameters else None

    def row(configuration: Configuration) -> int | None:
        values: Mapping[str, Any] = configuration.view
        try:
            found = sum([at[values[key]] for key, at in places])
        except KeyError:
            return None
        is_unusual = usual is not None and configuration != usual.complete(structure_of(space, configuration))
        return None if is_unusual else found

    return row


def _check_stages(table: LossTable, axes: StageProduct, space: Space) -> None:
    stages = {stage.key: stage for stage in space.stages}
    keys = axes.stages or tuple(stages)
    if len(space.decisions) > len(stages):
        inner = next(each for each in space.decisions if each.key not in stages)
        message = f"the table `{table.name}` has no decisions inside alternatives, but the space has `{inner.key}`"
        raise DataError(message, OTHER_STRUCTURE_REMEDY)
    if len(axes.alternatives) != len(stages) or set(keys) != set(stages):
        named = f" ({_join_names(axes.stages)})" if axes.stages else ""
        raise DataError(
            f"the table `{table.name}` has {len(axes.alternatives)} stages{named}, "
            f"but the space `{space.name}` has {len(stages)} ({_join_names(stages)})",
            OTHER_STRUCTURE_REMEDY,
        )
    lacking: list[str] = []
    for key, names in zip(keys, axes.alternatives, strict=True):
        lacking += [f"`{branch.name}` of `{key}`" for branch in stages[key].branches if branch.name not in names]
    if lacking:
        _refuse_missing(table, space, len(lacking), lacking)


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _refuse_missing(table: LossTable, space: Space, number: int, lacking: Iterable[str]) -> None:
    shown = list(islice(lacking, MAX_LISTED))
    more = f" and {number - len(shown):,} more" if number > len(shown) else ""
    message = f"the table `{table.name}` lacks parts of the space `{space.name}`: {', '.join(shown)}{more}"
    raise DataError(message, "remove them from the space, or make a table of the space with `spacelang tabulate`")


def _check_members(table: LossTable, structures: Structures, places: Mapping[bytes, int]) -> None:
    """Raise DataError unless the table has every configuration, or every pipeline at its defaults if it has only those.

    `places` maps the digest of each configuration in the table to its row.
    """
    size, space = structures.configuration_count, structures.space
    everything = size is not None and table.metadata.hyperparameters == "all"
    wanted = size if everything and size is not None else structures.count
    if wanted > len(places):
        members = "configurations" if everything else "pipelines"
        message = f"the space `{space.name}` has {wanted:,} {members}, the table `{table.name}` only {len(places):,}"
        raise DataError(message, "make a table of the space with `spacelang tabulate`")
    listed = iterate_configurations(structures, "all" if everything else "default")
    lacking = [each for each in listed if each.digest not in places]
    if lacking:
        _refuse_missing(table, space, len(lacking), (f"`{each.identity}`" for each in lacking))
