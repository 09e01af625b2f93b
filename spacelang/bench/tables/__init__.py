"""Loss tables: the loss and the cost of every pipeline of a finite space, for several numbers of training rows.

A search on a table takes seconds where training took hours. Its clock is the recorded seconds. A table is an `.npz`
file of NumPy without pickled objects. These arrays are required:

- `sizes[rung]`: the training rows of each rung, increasing; the last one is all of them;
- `loss[..., rung]`: the loss, a finite number; 1 if the trial failed (see `status`);
- `cost[..., rung]`: the seconds that the trial takes if it shares no work, at least 0.

`...` stands for the pipelines, in one of two forms:

- one dimension per stage, if the space is a plain product of stages. `axes[stage]` has the names of the alternatives
  in the order of that dimension, each entry the text of a list of texts, and `stages[stage]` has the keys of the
  stages. Without `stages` the dimensions are the stages of the space in order. Hyperparameters, if the space has any,
  are at their defaults;
- otherwise a single dimension. `configurations[row]` has the JSON of each configuration.

These arrays are optional:

- `status[..., rung]`: how the trial ended, a value of `Status`. Without it, a trial with the loss 1 failed;
- `reason[..., rung]`: why it failed, an index into the texts `reasons`;
- `training_loss[..., rung]`: nan where undefined;
- `measured[..., rung, bound]`: the measured value of each of the task's bounds, nan where unknown. The names of the
  bounds are in `bounds`;
- `meta`: the text of a JSON object that says where the table comes from (see `TableMetadata`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Problem, Search, ask_all
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.errors import InputError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter
from spacelang.solver.numbering import ConfigurationNumbers, structure_at

if TYPE_CHECKING:
    import numpy.typing as npt

FloatArray: TypeAlias = "npt.NDArray[np.float64]"
FAILED_LOSS: Final = 1.0  # The placeholder for the loss of a failed trial; searches never see it


@dataclass(frozen=True, slots=True)
class StageProduct:
    """The pipelines of a product of stages (their keys are empty if unknown); the last stage changes fastest."""

    alternatives: tuple[tuple[str, ...], ...]
    stages: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of alternatives of each stage."""
        return tuple(map(len, self.alternatives))

    def __len__(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class ConfigurationList:
    """A list of configurations without duplicates."""

    configurations: tuple[Configuration, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of configurations, as a tuple of one element."""
        return (len(self.configurations),)

    def __len__(self) -> int:
        return len(self.configurations)


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """The origin of a table, as far as it is recorded; empty values are unknown.

    - `definition`: the canonical JSON of the space.
    - `data`: the user's name of the data.
    - `metric` and `formula`: the name of the score, and how the loss is computed from it.
    - `validation`: the rows on which trials were scored, in the syntax of the language.
    - `symbols`: the size of the data, by the symbols that spaces use.
    - `preparation`: what is done to the data before the first step.
    - `hyperparameters`: `all` or `default`.
    - `seed`: the seed of the split and the pipelines.
    - `constant`: the loss of the best constant prediction.
    """

    space: str = ""
    definition: str = ""
    data: str = ""
    metric: str = ""
    formula: str = ""
    validation: str = ""
    preparation: str = ""
    hyperparameters: str = ""
    seed: int | None = None
    constant: float | None = None
    symbols: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class LossTable:
    """A loss table in memory: arrays of shape (pipelines, rungs); `measured` has a third axis for bounds.

    `status` has values of `Status`, and `reason` has indices into `reasons`. `fingerprint` is a hash of everything that
    trials are answered with, as 64 hexadecimal digits. A table is equal only to itself.
    """

    name: str
    pipelines: StageProduct | ConfigurationList
    sizes: tuple[int, ...]
    loss: FloatArray
    cost: FloatArray
    status: "npt.NDArray[np.str_]"
    reasons: tuple[str, ...]
    reason: "npt.NDArray[np.int64]"
    training_loss: FloatArray
    bounds: tuple[str, ...]
    measured: FloatArray
    metadata: TableMetadata
    fingerprint: str = ""

    @property
    def has_only_default_hyperparameters(self) -> bool:
        """True if all pipelines have default hyperparameters."""
        return isinstance(self.pipelines, StageProduct) or self.metadata.hyperparameters == "default"

    @property
    def training_size(self) -> int:
        """The training rows of the last rung, which are all of them."""
        return self.sizes[-1]


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
            yield from ask_all(
                Request(each, fidelity) for each in iterate_configurations(structures, self.hyperparameters)
            )


def count_table_trials(structures: Structures, hyperparameters: Extent, rungs: int) -> int:
    """Return the number of trials of a table, configurations times rungs.

    Raises InputError if it is infinite, 0 or above `MAX_TRIALS`.
    """
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
) -> LossTable | int:
    """Return the table of the trials of a `TabulationSearch` search, or the number of trials that are missing.

    `sizes` are the rungs. `bounds` are the names of the bounds, in the order of the constraints of each trial.
    """
    axes = stage_product_or_none(structures)
    hyperparameters: Extent = "default" if facts.hyperparameters == "default" else "all"
    listed = ConfigurationList(tuple(iterate_configurations(structures, hyperparameters)))
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
        name="table",
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
    """Return the number of configurations, or with "default" of structures, each at its default hyperparameters.

    Raises InputError with the reason if the number is infinite.
    """
    if hyperparameters == "default":
        return structures.count
    try:
        return ConfigurationNumbers(structures).count
    except ValueError as error:
        pipelines = f"{structures.count:,} pipelines" if structures.count != 1 else "1 pipeline"
        reason = str(error).partition(": ")[2] or str(error)
        message = f"the configurations of `{structures.space.name}` cannot be listed: it has {pipelines}, but {reason}"
        raise InputError(message, DEFAULTS_ONLY_HELP) from error


def iterate_configurations(structures: Structures, hyperparameters: Extent) -> Iterator[Configuration]:
    """Iterate over all configurations of a finite space, or with "default" over all its structures at their defaults.

    The order is that in which the text of the space lists the alternatives.

    Raises InputError as `count_configurations` does.
    """
    if hyperparameters == "default":
        completer = DefaultCompleter(structures)
        return (completer.complete(structure_at(structures, number)) for number in range(structures.count))
    wanted, numbers = count_configurations(structures, hyperparameters), ConfigurationNumbers(structures)
    return (numbers.configuration_at(number) for number in range(wanted))


def stage_product_or_none(structures: Structures) -> StageProduct | None:
    """Return the stages if the space is a plain product of stages; else None.

    It is none if it has hyperparameters, nested decisions or constraints that exclude a combination.
    """
    space = structures.space
    if space.hyperparameters or len(space.stages) < len(space.decisions) or not space.stages:
        return None
    names = tuple(tuple(branch.name for branch in stage.branches) for stage in space.stages)
    axes = StageProduct(names, tuple(stage.key for stage in space.stages))
    return axes if structures.count == prod(axes.shape) else None
