"""Goals that a user's objective function returns under names: those of the task, and those of the call."""

from collections.abc import Sequence

from spacelang.api.space import Space
from spacelang.ir.task import RESERVED_NAMES, FunctionGoal, Goal, PipelineGoal, Task
from spacelang.runtime.errors import InputError
from spacelang.runtime.objective import ObjectiveInfo, objective_names


def function_goals(space: Space, objectives: tuple[str, ...] = ()) -> tuple[FunctionGoal, ...]:
    """Return the names in `objectives` as goals; without any, the goals of the task that a function returns.

    Raises ValueError unless `objectives` are different names and at least two, or none.
    """
    named = tuple(FunctionGoal("minimize", name) for name in check_objective_names(objectives))
    return named or (() if space.task is None else space.task.function_goals)


def check_objective_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of several objectives; raises ValueError unless they are different and at least two, or none."""
    if not names:
        return ()
    if len(names) == 1:
        raise ValueError(f"`objectives` names only `{names[0]}`: leave it out, and return the loss")
    if len(set(names)) < len(names) or not all(each.strip() for each in names):
        raise ValueError(f"`objectives` must be different names, such as `('error', 'seconds')`, not {names}")
    if reserved := [name for name in names if name in RESERVED_NAMES]:
        raise ValueError(f"`objectives` has `{reserved[0]}`, which has another meaning in answers: choose another name")
    return names


def pipeline_goals(task: Task) -> tuple[Goal | None, Sequence[PipelineGoal]]:
    """Return the first and the further goals of a task for data; raises InputError for one of a user's function."""
    goal, further = task.goal, [each for each in task.further_goals if not isinstance(each, FunctionGoal)]
    if task.function_goals or isinstance(goal, FunctionGoal):
        first = task.function_goals[0]
        what = f"`{first.direction} {first.formula}` is a number that your own function returns, and data has none"
        remedy = "search in Python with `sl.search(space, objective=function)` or `sl.ask_and_tell(space)`"
        raise InputError(what, remedy)
    return goal, further


def check_returned_goals(space: Space, objective: ObjectiveInfo) -> None:
    """Raise InputError if the task has goals in quotes that are not those of an objective of the user's own class."""
    wanted = () if space.task is None else space.task.function_goals
    returned = {each.formula for each in objective_names(objective) or (objective.metric,)}
    if lacking := [each.loss_formula for each in wanted if each.loss_formula not in returned]:
        shown = ", ".join(f"`{each}`" for each in sorted(returned))
        what = f"the loss of the task is `{lacking[0]}`, and `{objective.facts.name}` returns {shown}"
        raise InputError(what, "use a space without this goal, or an objective whose `goals` are those of the task")
