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

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Final, TypeAlias

from spacelang.ir.configuration import Configuration

if TYPE_CHECKING:
    import numpy as np
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
    def has_defaults_only(self) -> bool:
        """True if all pipelines have default hyperparameters."""
        return isinstance(self.pipelines, StageProduct) or self.metadata.hyperparameters == "default"

    @property
    def training_size(self) -> int:
        """The training rows of the last rung, which are all of them."""
        return self.sizes[-1]
