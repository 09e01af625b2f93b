"""The settings of an evaluation: metric, validation, bounds and what is recorded."""

from dataclasses import dataclass
from typing import Final

from spacelang.ir.task import Bound, Goal, Validation
from spacelang.runtime.evaluation.folds import LARGE_DATA_VALIDATION
from spacelang.runtime.scoring.constraints import Constraint

CACHE_BYTES: Final = 2.0**29
"""The default size limit of the prefix cache of each process: half a gibibyte."""


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """The settings of an evaluation: the goal (None: the default metric of the data), the validation and more."""

    goal: Goal | None = None
    validation: Validation = LARGE_DATA_VALIDATION
    bounds: tuple[Bound, ...] = ()
    seed: int = 0
    metrics: tuple[str, ...] = ()
    """Names of scikit-learn scorers that are recorded besides the loss."""
    training_score: bool = False
    """True to record the loss on the training rows."""
    predictions: bool = False
    """True to store the predictions for the held-out rows."""
    constraints: tuple[Constraint, ...] = ()
    """Constraints by functions of the user, besides the bounds of the task."""
    cache_bytes: float = CACHE_BYTES
    """The largest size of the prefix cache of each process, in bytes; 0 turns the cache off."""


DEFAULT_SETTINGS: Final = EvaluationSettings()
"""The default settings."""
