"""Several objectives: their values as vectors, and the Pareto front of trials."""

from collections.abc import Iterable
from typing import TypeAlias

from spacelang.ir.trial import Trial
from spacelang.runtime.history import TrialRecord

Vector: TypeAlias = tuple[float, ...]
"""The values of all objectives of a trial, in their order; each is minimized."""


def objective_values(trial: Trial) -> Vector:
    """Return the values of all objectives of a trial; empty if its run has one objective, or if the trial failed."""
    return tuple(value for _, value in trial.objectives)


def dominates(one: Vector, other: Vector) -> bool:
    """Return True if `one` is at most `other` in all objectives, and less in at least one."""
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


def pareto_front(records: Iterable[TrialRecord], training_size: int | None = None) -> tuple[TrialRecord, ...]:
    """Return the trials that no other trial dominates, by their values in the order of the objectives.

    These are trials on all training rows (`training_size` or more of them) that satisfy all bounds. Of trials with
    equal values all are in the front.
    """
    candidates = [record for record in records if _is_candidate(record.trial, training_size)]
    candidates.sort(key=lambda record: (objective_values(record.trial), record.index))
    front: list[TrialRecord] = []
    for record in candidates:  # a trial is dominated by none that follows it in this order
        values = objective_values(record.trial)
        if not any(dominates(objective_values(each.trial), values) for each in front):
            front.append(record)
    return tuple(front)


def _is_candidate(trial: Trial, training_size: int | None) -> bool:
    fidelity = trial.request.fidelity
    is_on_all_rows = fidelity is None or training_size is None or fidelity >= training_size
    return bool(trial.objectives) and trial.is_feasible and is_on_all_rows and trial.folds is None
