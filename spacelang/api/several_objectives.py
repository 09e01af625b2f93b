"""Runs with several objectives: their names, what they cannot be combined with, and the Pareto front of a run."""

from typing import TYPE_CHECKING

from spacelang.errors import PicklableError
from spacelang.ir.task import RESERVED_NAMES, FunctionGoal
from spacelang.runtime.errors import InputError
from spacelang.runtime.history import pareto_front
from spacelang.runtime.objective import ObjectiveInfo, objective_names

if TYPE_CHECKING:
    from spacelang.api.experiment import PreparedExperiment
    from spacelang.api.space import Space
    from spacelang.runtime.history import Outcome, TrialRecord


class SeveralObjectivesError(PicklableError):
    """An error: no single trial of a run with several objectives is the best; `Result.front` has the best ones."""

    def __init__(self, names: tuple[str, ...]) -> None:
        shown = ", ".join(f"`{name}`" for name in names)
        super().__init__(
            f"the run has {len(names)} objectives ({shown}), so no single trial is the best: `result.front` is the"
            " table of the trials that no other trial dominates, and `result.pipeline_of(trial)` fits one of them"
        )
        self.names = names


def function_goals(space: "Space", objectives: tuple[str, ...] = ()) -> tuple[FunctionGoal, ...]:
    """Return the names in `objectives` as goals to minimize; without names, the goals in quotes of the task.

    Raises ValueError unless `objectives` are different names and at least two, or none.
    """
    named = tuple(FunctionGoal("minimize", name) for name in check_objective_names(objectives))
    return named or (() if space.task is None else space.task.function_goals)


def check_objective_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of several objectives; raises ValueError unless they are different and at least two, or none."""
    if not names:
        return ()
    if len(names) == 1:
        raise ValueError(f"`objectives` has the single name `{names[0]}`: leave `objectives` out, and return the loss")
    if len(set(names)) < len(names) or not all(each.strip() for each in names):
        raise ValueError(f"`objectives` must be different names, such as `('error', 'seconds')`, not {names}")
    if reserved := [name for name in names if name in RESERVED_NAMES]:
        raise ValueError(
            f"`objectives` contains `{reserved[0]}`, a reserved key of the result of a function: choose another name"
        )
    return names


def check_single_objective(objective: ObjectiveInfo) -> None:
    """Raise SeveralObjectivesError if a run has several objectives."""
    if names := objective_names(objective):
        raise SeveralObjectivesError(tuple(each.formula for each in names))


def check_supports_several_objectives(prepared: "PreparedExperiment") -> None:
    """Raise InputError if a run has several objectives but its optimizer or an option supports only one."""
    objective, experiment, optimizer = prepared.objective, prepared.experiment, prepared.optimizer
    names = objective_names(objective)
    if not names:
        return
    several = f"{len(names)} objectives ({', '.join(f'`{each.formula}`' for each in names)})"
    if not getattr(optimizer.plugin, "takes_several_objectives", False):
        what = f"the optimizer `{optimizer.name}` minimizes a single objective, but this run has {several}"
        remedy = "use `--optimizer optuna --set sampler=NSGAIISampler` or `--optimizer random`"
        alone = "; `--metric` searches for one score alone" if objective.facts.rows else ""
        raise InputError(what, f"{remedy}{alone}")
    if experiment.test is not None:
        raise InputError(
            f"a run with {several} has no single best pipeline to score on test rows", "leave out `--test`"
        )
    if experiment.ensemble is not None:
        raise InputError(f"an ensemble is selected by one loss, but this run has {several}", "leave out `--ensemble`")


def refuse_several_objectives(objective: ObjectiveInfo, feature: str) -> None:
    """Raise InputError if the objective has several goals, because `feature`, such as "a table", supports only one."""
    if names := objective_names(objective):
        shown = ", ".join(f"`{each.formula}`" for each in names)
        remedy = "choose one score with `--metric`, or remove the other objectives from the task"
        raise InputError(
            f"{feature} supports a single loss, but the task has {len(names)} objectives ({shown})", remedy
        )


def pareto_front_of(outcome: "Outcome", objective: ObjectiveInfo) -> "tuple[TrialRecord, ...]":
    """Return the Pareto front of a run; raises ValueError for a run with one objective."""
    if not objective_names(objective):
        raise ValueError("the run has one objective: `best_configuration` and `leaderboard()` have the best trials")
    return pareto_front(outcome.records, objective.training_size)


def record_of_successful_trial(outcome: "Outcome", trial: int) -> "TrialRecord":
    """Return the record of the trial with the number `trial`; raises ValueError if there is none, or if it failed."""
    found = next((each for each in outcome.records if each.index == trial), None)
    if found is None or found.trial.loss is None:
        raise ValueError(f"trial {trial} {'does not exist' if found is None else 'failed'}: see `result.trials`")
    return found
