"""Make loss tables: request every configuration on every rung, and combine the trials at the end."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, Literal, TypeAlias

import numpy as np

from spacelang.bench.tables import FAILED_LOSS, ConfigurationList, FloatArray, LossTable, StageProduct, TableMetadata
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Problem, Search, ask_all
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.errors import InputError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter
from spacelang.solver.numbering import ConfigurationNumbers, structure_at

MAX_TRIALS: Final = 1_000_000
"""The largest number of trials of a table, so that an impossibly long tabulation is refused before it starts."""
Extent: TypeAlias = Literal["all", "default"]
"""The hyperparameters in a table: all their values, or only their defaults."""


@dataclass(frozen=True, slots=True)
class TabulationSearch:
    """A search that requests every trial of a table, on the rungs `sizes`."""

    sizes: tuple[int, ...]
    hyperparameters: Extent = "all"

    def search(self, problem: Problem) -> Search:
        """Request all configurations, rung by rung. The evaluation orders them by the work that they share."""
        structures = Structures(problem.space)
        for rows in self.sizes:
            fidelity = None if rows == problem.size else rows
            yield from ask_all(Request(each, fidelity) for each in configurations(structures, self.hyperparameters))


def check_size(structures: Structures, hyperparameters: Extent, rungs: int) -> int:
    """Return the number of trials of a table; raises InputError if it is infinite, 0 or above `MAX_TRIALS`."""
    number = count_configurations(structures, hyperparameters)
    members = "pipelines" if hyperparameters == "default" or not structures.space.hyperparameters else "configurations"
    if not number:
        raise InputError(f"the space `{structures.space.name}` is empty")
    if number * rungs > MAX_TRIALS:
        message = (
            f"`{structures.space.name}` has {number:,} {members}, which need {number * rungs:,} trials on {rungs} rungs"
        )
        help_text = f"a table has at most {MAX_TRIALS:,} trials"
        if hyperparameters == "all" and structures.count < number:
            help_text += f"; {DEFAULTS_ONLY_HELP}"
        raise InputError(message, help_text)
    return number * rungs


def build_table_or_count_missing(
    structures: Structures,
    trials: Iterable[Trial],
    sizes: Sequence[int],
    facts: TableMetadata,
    bounds: Sequence[str] = (),
    name: str = "table",
) -> LossTable | int:
    """Return the table of the trials of a `TabulationSearch` search, or the number of trials that are missing.

    `sizes` are the rungs. `bounds` are the names of the bounds, in the order of the constraints of each trial.
    """
    axes = stage_product_of(structures)
    hyperparameters: Extent = "default" if facts.hyperparameters == "default" else "all"
    listed = ConfigurationList(tuple(configurations(structures, hyperparameters)))
    found = {(each.request.configuration.identity, each.request.fidelity or sizes[-1]): each for each in trials}
    wanted = [[found.get((each.identity, rows)) for rows in sizes] for each in listed.configurations]
    missing = sum(row.count(None) for row in wanted)
    if missing:
        return missing
    if axes is not None:
        # In the order of a table with one dimension per stage.
        places = [(key, names.index) for key, names in zip(axes.stages, axes.alternatives, strict=True)]
        keys = [tuple(at(str(each[key])) for key, at in places) for each in listed.configurations]
        wanted = [wanted[row] for row in sorted(range(len(wanted)), key=keys.__getitem__)]
    rows = [[each for each in row if each] for row in wanted]
    reasons = {reason: place for place, reason in enumerate(dict.fromkeys(each.reason for row in rows for each in row))}
    unmeasured = [np.nan] * len(bounds)
    measured = [[[each.value for each in trial.constraints] or unmeasured for trial in row] for row in rows]
    return LossTable(
        name=name,
        pipelines=axes or listed,
        sizes=tuple(sizes),
        loss=_float_array(rows, lambda trial: FAILED_LOSS if trial.loss is None else trial.loss),
        cost=_float_array(rows, lambda trial: trial.seconds_without_sharing),
        status=np.asarray([[trial.status.value for trial in row] for row in rows], dtype=np.str_),
        reasons=tuple(reasons),
        reason=np.asarray([[reasons[trial.reason] for trial in row] for row in rows], dtype=np.int64),
        training_loss=_float_array(rows, lambda trial: np.nan if trial.training_loss is None else trial.training_loss),
        bounds=tuple(bounds),
        measured=np.asarray(measured, dtype=np.float64).reshape(len(rows), len(sizes), len(bounds)),
        metadata=facts,
    )


def _float_array(rows: Sequence[Sequence[Trial]], number: Callable[[Trial], float]) -> FloatArray:
    return np.asarray([[number(trial) for trial in row] for row in rows], dtype=np.float64)


DEFAULTS_ONLY_HELP = "`--hyperparameters default` includes each pipeline only at its default hyperparameters"


def count_configurations(structures: Structures, hyperparameters: Extent) -> int:
    """Return the number of configurations; raises InputError with the reason if it is infinite."""
    if hyperparameters == "default":
        return structures.count
    try:
        return ConfigurationNumbers(structures).count
    except ValueError as error:
        pipelines = f"{structures.count:,} pipelines" if structures.count != 1 else "1 pipeline"
        reason = str(error).partition(": ")[2] or str(error)
        message = f"the configurations of `{structures.space.name}` cannot be listed: it has {pipelines}, but {reason}"
        raise InputError(message, DEFAULTS_ONLY_HELP) from error


def configurations(structures: Structures, hyperparameters: Extent) -> Iterator[Configuration]:
    """Return an iterator over all configurations, in the order of the text. Raises as `count_configurations` does."""
    if hyperparameters == "default":
        completer = DefaultCompleter(structures)
        return (completer.complete(structure_at(structures, number)) for number in range(structures.count))
    wanted, numbers = count_configurations(structures, hyperparameters), ConfigurationNumbers(structures)
    return (numbers.configuration_at(number) for number in range(wanted))


def stage_product_of(structures: Structures) -> StageProduct | None:
    """Return the stages of a space that is a plain product of them, else None."""
    space = structures.space
    if space.hyperparameters or len(space.stages) < len(space.decisions) or not space.stages:
        return None
    names = tuple(tuple(branch.name for branch in stage.branches) for stage in space.stages)
    axes = StageProduct(names, tuple(stage.key for stage in space.stages))
    return axes if structures.count == prod(axes.shape) else None
