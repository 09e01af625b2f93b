"""Loss tables: what every pipeline of a finite space comes to, and costs, on every number of training rows.

A search that is answered from one takes seconds where training took hours; its clock is the recorded seconds. A table
is an `.npz` file of NumPy in which nothing is pickled. These arrays are always there:

- `sizes[rung]`: the training rows of each rung, increasing; the last one is all of them;
- `loss[..., rung]`: what is minimised, a finite number; 1 where the trial failed (see `status`);
- `cost[..., rung]`: the seconds that the trial takes with nothing to share, at least 0.

`...` are the pipelines, in one of two forms:

- where the space is a plain product of stages, a dimension a stage: `axes[stage]` has the names of the alternatives in
  the order of that dimension, each entry the text of a list of texts, and `stages[stage]` the keys of the stages.
  Without `stages` they are those of the space in its order. Hyperparameters, where the space has any, are understood to
  be at their defaults;
- else one dimension, with `configurations[row]`: each the JSON of a configuration.

These may be there: `status[..., rung]`, how the trial ended, a word of `Status` (without it a trial with loss 1
failed); `reason[..., rung]` why it failed, a place in the texts `reasons`; `training_loss[..., rung]`, nan where
undefined; `measured[..., rung, bound]` what was measured for each of the task's bounds, whose names are `bounds`, nan
where unknown; `meta`, the text of a JSON object that says where the table comes from (see `Facts`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Final, TypeAlias

from spacelang.ir.configuration import Configuration

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Numbers: TypeAlias = "npt.NDArray[np.float64]"


FAILED_LOSS: Final = 1.0
"""What stands in the place of a loss where a trial failed; nobody is told it."""


@dataclass(frozen=True, slots=True)
class Axes:
    """The pipelines of a plain product of stages: the last stage changes first.

    `stages` are the keys of the decisions, empty where the table does not name them.
    """

    alternatives: tuple[tuple[str, ...], ...]
    stages: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """How many alternatives each stage has."""
        return tuple(map(len, self.alternatives))

    def __len__(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class ListedConfigurations:
    """Any configurations, each once."""

    configurations: tuple[Configuration, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many there are."""
        return (len(self.configurations),)

    def __len__(self) -> int:
        return len(self.configurations)


@dataclass(frozen=True, slots=True)
class Facts:
    """Where a table comes from, as far as it says so: what is empty is not known.

    `definition` is the canonical JSON of the space; `data` is what the user calls the data; `metric` is the name of the
    score and `formula` how the loss is made of it; `validation` the rows that trials were judged on, as the language
    writes it; `symbols` how large the data is, in the words of spaces; `preparation` what is done to the data before
    the first step; `hyperparameters` are `all` or `default`; `seed` is that of split and pipelines; `constant` is the
    loss of the best constant prediction.
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
    """A table as it is in memory: arrays of pipelines x rungs, `measured` of pipelines x rungs x bounds.

    `status` has words of `Status`, `reason` places in `reasons`. `fingerprint` is a hash of all that trials are
    answered with: 64 hexadecimal digits. Equal only to itself.
    """

    name: str
    pipelines: Axes | ListedConfigurations
    sizes: tuple[int, ...]
    loss: Numbers
    cost: Numbers
    status: "npt.NDArray[np.str_]"
    reasons: tuple[str, ...]
    reason: "npt.NDArray[np.int64]"
    training_loss: Numbers
    bounds: tuple[str, ...]
    measured: Numbers
    facts: Facts
    fingerprint: str = ""

    @property
    def has_defaults_only(self) -> bool:
        """Whether hyperparameters have no other values in it than their defaults, where the space has any."""
        return isinstance(self.pipelines, Axes) or self.facts.hyperparameters == "default"

    @property
    def training_size(self) -> int:
        """The training rows of the last rung: all of them."""
        return self.sizes[-1]
