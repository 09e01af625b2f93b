"""How the trials of a run are judged."""

from dataclasses import dataclass
from typing import Final

from spacelang.ir.task import Bound, Goal, Validation
from spacelang.runtime.evaluation.folds import MANY
from spacelang.runtime.judging.constraints import Constraint

CACHE_BYTES: Final = 2.0**29
"""What a process keeps of what trials share, unless it is said otherwise: half a gibibyte."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How trials are judged: by which goal (None: by the data), on which rows, and what else is measured."""

    goal: Goal | None = None
    validation: Validation = MANY
    bounds: tuple[Bound, ...] = ()
    seed: int = 0
    metrics: tuple[str, ...] = ()
    """Names of scorers that are recorded beside the loss."""
    training_score: bool = False
    """Whether the loss on the training rows is recorded."""
    predictions: bool = False
    """Whether the predictions for the held-out rows are kept."""
    constraints: tuple[Constraint, ...] = ()
    """What the user's own functions bound, beside the bounds of the task."""
    cache_bytes: float = CACHE_BYTES
    """The most that each process keeps of what trials share; 0 for nothing."""


USUAL: Final = Settings()
"""How trials are judged of which nothing else is said."""
