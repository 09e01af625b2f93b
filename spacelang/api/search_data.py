"""The data of a search: a table of features and labels, or a black box such as a function."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

from spacelang.api.experiment import EvaluationData, Experiment
from spacelang.api.several_objectives import function_goals
from spacelang.api.space import Space, parse_for_data
from spacelang.ir.data_binding import KINDS_BY_SIZE_NAME
from spacelang.ir.task import FidelitySchedule, FunctionGoal, PipelineGoal, ScorerGoal, Task
from spacelang.ir.trial import LossScale
from spacelang.ir.validation import CrossValidation, Holdout, PredefinedSplits, Validation, time_column
from spacelang.plugins import NestedPlugin
from spacelang.runtime.black_box import ARTIFICIAL_PREFIX, SINGLE_FIDELITY, AnyObjective
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.objective import Objective, ObjectiveInfo, objective_names
from spacelang.runtime.storage.run_header import SCORER_SETTING
from spacelang.text import Source

if TYPE_CHECKING:
    from spacelang.ir.data_binding import DataColumn
    from spacelang.ir.task import AnyBound
    from spacelang.runtime.data.loading import Table
    from spacelang.runtime.evaluation.folds import EvaluationSettings
    from spacelang.runtime.evaluation.objective import DataObjective


Goals: TypeAlias = tuple[ScorerGoal | None, Sequence[PipelineGoal]]
"""The first goal, None if it is not given, and the further goals."""


def first_and_further_goals(task: Task | None) -> Goals:
    """Return the goals of a task, for a search on data.

    Raises InputError if a goal is a number that the user's own function returns.
    """
    if task is None:
        return None, ()
    goal, further = task.goal, [each for each in task.further_goals if not isinstance(each, FunctionGoal)]
    if task.function_goals or isinstance(goal, FunctionGoal):
        first = task.function_goals[0]
        what = f"`{first.direction} {first.formula}` needs a function that returns {first.formula}, but you gave data"
        remedy = "search in Python with `sl.search(space, objective=function)` or `sl.ask_and_tell(space)`"
        raise InputError(what, remedy)
    return goal, further


def check_objective_returns_goals(space: Space, objective: ObjectiveInfo) -> None:
    """Raise InputError if the task has a goal in quotes (`minimize "val_loss"`) that the objective does not return."""
    wanted = () if space.task is None else space.task.function_goals
    returned = {each.formula for each in objective_names(objective) or (objective.metric,)}
    if lacking := [each.loss_formula for each in wanted if each.loss_formula not in returned]:
        shown = ", ".join(f"`{each}`" for each in sorted(returned))
        what = f"the task minimizes `{lacking[0]}`, but the objective `{objective.facts.name}` returns {shown}"
        raise InputError(what, "use a space without this goal, or an objective whose `goals` are those of the task")


@dataclass(frozen=True, eq=False)
class TabularData(EvaluationData):
    """A table of features and labels as the data of a search."""

    table: "Table"
    matches_names: bool = True
    """False if patterns of `columns(…)` are not matched with the names of columns, as for a table of losses."""
    reference: str | None = None  # The data as it was named, such as the path of a file; None for rows of a program
    splitter: Any = None
    """A splitter of scikit-learn, which splits the rows that trials may use; None for a validation by name."""
    group_name: str | None = None
    """The name of the groups of the table if they are not one of its columns; None without such groups."""
    has_rows = True

    def bind_space(self, experiment: Experiment) -> "tuple[Space, DataObjective]":
        """Return the space bound to the size of the table, and the objective on its rows.

        Symbols get the numbers that REFERENCE.md defines; those that are bound already stay. Parts of `columns(…)` that
        receive no column are dropped. Test rows (see `read_test_rows`) are set apart first. A given metric or
        validation takes precedence over the task. The splits that come with the table take precedence over the
        validation of the task. Without any, the data decides.
        """
        space, objective = experiment.space, self._objective(experiment)
        bound = bind_sizes(space, objective.size_symbols, objective.preparation.columns if self.matches_names else None)
        if bound is space:
            return space, objective
        if space.selects_columns and not bound.selects_columns:
            # No alternative with `columns(…)` is left, so the table is prepared as an array, as for a stored run.
            return bound, self._objective(replace(experiment, space=bound))
        return bound, objective.with_bound_space(bound.checked)

    def options_to_store(self, experiment: Experiment, objective: ObjectiveInfo) -> Mapping[str, str]:
        """Return the source of the rows, the targets, the test rows, the read options, and what a program gave.

        A program may give splits, groups, weights, and a scorer, which is stored if it can be named.
        """
        from spacelang.runtime.data.labels import target_names
        from spacelang.runtime.data.read_options import DataOptions
        from spacelang.runtime.data.row_relations import serialize_splits_and_relations
        from spacelang.runtime.evaluation.objective import DataObjective
        from spacelang.runtime.evaluation.unseen_rows import test_share_or_none
        from spacelang.runtime.scoring.stored_scorers import scorer_as_text

        table, dataset = self.table, objective.dataset if isinstance(objective, DataObjective) else None
        test, share = experiment.test, test_share_or_none(experiment.test)
        file = str(test) if share is None and isinstance(test, str | PathLike) else None
        given = DataOptions(target_names(table.target), share, table.reading, self.reference, file).as_texts
        splits = () if self.splitter is None or dataset is None else dataset.splits
        metric = experiment.metric
        scorer = None if metric is None or isinstance(metric, str) else scorer_as_text(metric)
        named = {} if scorer is None else {SCORER_SETTING: scorer}
        return given | serialize_splits_and_relations(splits, table, self.group_name) | named

    def table_with_row_relations(self, experiment: Experiment) -> "tuple[Table, Validation | None]":
        """Return the table with the groups or times of its rows, and the validation; None if the data decides it.

        A given validation takes precedence over that of the table, and that over the task.
        """
        from spacelang.runtime.data.row_relations import attach_groups_and_times

        task, table = experiment.space.task, self.table
        validation = experiment.validation or table.validation or (None if task is None else task.validation)
        if self.splitter is not None:
            return table, None
        if self.group_name is not None and isinstance(validation, Holdout | CrossValidation):
            validation = replace(validation, group=self.group_name)
        return attach_groups_and_times(table, validation), validation

    def _objective(self, experiment: Experiment) -> "DataObjective":
        import pandas as pd

        from spacelang.runtime.data.labels import check_and_encode_labels, refuse_single_target_operators
        from spacelang.runtime.data.row_relations import (
            attach_groups_to_test_rows,
            attach_splits_of_splitter,
            check_related_test_rows,
        )
        from spacelang.runtime.evaluation.folds import default_validation, split_rows
        from spacelang.runtime.evaluation.objective import DataObjective
        from spacelang.runtime.evaluation.unseen_rows import (
            make_test_dataset,
            read_test_rows,
            split_off_test_rows,
            test_share_or_none,
        )
        from spacelang.runtime.pipelines.catalogue_access import (
            check_no_abstract_operators,
            single_target_operators,
            task_kind,
        )
        from spacelang.runtime.scoring.metric import check_metric_on_splits

        space, seed = experiment.space, experiment.seed
        goals = first_and_further_goals(space.task)
        check_no_abstract_operators(space.checked.root)
        kind = task_kind(space.checked.root)
        if isinstance(self.table.target, pd.DataFrame):
            refuse_single_target_operators(single_target_operators(space.checked.root), self.table, kind)
            if experiment.ensemble is not None:
                what = "an ensemble cannot predict several targets: voting in scikit-learn supports only one"
                raise InputError(what, "leave out the ensemble (`--ensemble 0`)")
        related, validation = self.table_with_row_relations(experiment)
        test = read_test_rows(experiment.test, self.table)
        table, others = split_off_test_rows(related, test, kind, seed, time_column(validation))
        dataset = check_and_encode_labels(table, kind, folds=_rows_needed_per_class(validation))
        if self.splitter is not None:
            dataset = attach_splits_of_splitter(self.splitter, dataset, seed)
            validation = dataset.validation
        validation = validation or default_validation(dataset, self.group_name)
        if others is not None and test_share_or_none(experiment.test) is None:
            check_related_test_rows(self.table, others, validation)
            others = attach_groups_to_test_rows(others, validation)
        tested = None if others is None else make_test_dataset(others, table, dataset)
        settings = _evaluation_settings(experiment, goals, validation)
        objective = DataObjective(space.checked, dataset, settings, tested=tested)
        if self.splitter is not None or (dataset.relations and not table.splits):
            check_metric_on_splits(
                objective.metric, dataset, [held for _, held in split_rows(dataset, validation, seed)]
            )
        return objective


def _evaluation_settings(experiment: Experiment, goals: Goals, validation: Validation) -> "EvaluationSettings":
    """Return what trials measure and record: the goals of the task, or the metric of the experiment instead of them."""
    from spacelang.runtime.evaluation.folds import EvaluationSettings

    task, metric = experiment.space.task, experiment.metric
    goal = ScorerGoal("maximize", metric) if isinstance(metric, str) else goals[0]
    recorded = replace(
        experiment.recorded,
        training_score=experiment.recorded.training_score or needs_training_loss(experiment.optimizer),
        predictions=experiment.recorded.predictions or experiment.ensemble is not None,
    )
    return EvaluationSettings(
        goal,
        validation,
        () if task is None else task.bounds,
        experiment.seed,
        scorer=None if isinstance(metric, str) else metric,
        further_goals=tuple(goals[1]) if metric is None else (),
        **{each.name: getattr(recorded, each.name) for each in fields(recorded)},
    )


def bind_sizes(space: Space, sizes: Mapping[str, int], columns: "tuple[DataColumn, ...] | None" = None) -> Space:
    """Return the space with its unbound symbols bound to the numbers in `sizes`, as far as they are known.

    If it selects columns, it is also bound to `columns`, or else to the numbers of columns of each kind.
    """
    wanted = [name for name, number in space.symbols.items() if number is None]
    if space.selects_columns and columns is None:
        wanted += [name for name in KINDS_BY_SIZE_NAME if name not in space.symbols]
    known = columns if space.selects_columns else None
    if not wanted and known is None:
        return space
    return space.bind_to_data({name: sizes[name] for name in wanted if name in sizes}, known)


def _rows_needed_per_class(validation: Validation | None) -> int:
    """Return how many rows each class needs: the number of folds without groups, 1 for predefined splits, else 2."""
    match validation:
        case CrossValidation(folds, group=None):
            return folds
        case PredefinedSplits():
            return 1  # predefined splits are used as they are
        case _:
            return 2


def needs_training_loss(optimizer: NestedPlugin | None) -> bool:
    """Return True if an optimizer uses the training loss of trials, which must then be recorded."""
    return optimizer is not None and bool(getattr(optimizer.plugin, "needs_training_loss", False))


@dataclass(frozen=True, slots=True)
class DefaultSpace:
    """A space chosen by default; `reason` names it and says why it was chosen."""

    space: Space
    reason: str


def default_space_note(name_and_reason: str) -> str:
    """Return the note that reports a default space."""
    return f"no space given: using {name_and_reason}"


def choose_default_space(
    table: "Table", allow: Iterable[str] = (), bind: Mapping[str, int] | None = None
) -> DefaultSpace:
    """Return `tabular_classification` or `tabular_regression`, depending on the labels of a table.

    Learners of allowed packages are added. Raises SpaceError if such a package is not installed, and DataError for
    sparse features, which have no column types.
    """
    import pandas as pd

    from spacelang.runtime.data.labels import describe_targets
    from spacelang.runtime.data.profile import guess_task_kind
    from spacelang.starter_spaces.general_purpose import (
        allowed_packages_with_learners,
        general_purpose_space_name,
        general_purpose_space_text,
    )

    if isinstance(table.target, pd.DataFrame):
        message = f"the default spaces support only one target, but {describe_targets(table.target)} are several"
        raise DataError(message, "name a space whose operators take several targets; `spacelang init` writes one")
    if not isinstance(table.features, pd.DataFrame):
        message = "the default spaces choose steps by the types of columns, which sparse features do not have"
        raise DataError(message, "give a space; `spacelang init` writes one for a file")
    found = guess_task_kind(table)
    name, packages = (
        general_purpose_space_name(found.kind),
        allowed_packages_with_learners(found.kind, allow := (*allow,)),
    )
    beside = f" with {' and '.join(f'`{each}`' for each in packages)}" if packages else ""
    space = parse_for_data(Source(name, general_purpose_space_text(found.kind, packages)), allow, bind)
    return DefaultSpace(space, f"`{name}`{beside}, as {found.reason}")


@dataclass(frozen=True, eq=False)
class BlackBoxData(EvaluationData):
    """A black box as the data of a search, with the fidelities, constraints and scale given for a function."""

    objective: AnyObjective
    fidelities: tuple[int, ...] | None = None
    constraints: Mapping[str, float] = field(default_factory=dict)
    scale: float | None = None
    objective_names: tuple[str, ...] = ()

    def bind_space(self, experiment: Experiment) -> tuple[Space, Objective]:
        """Return the space without data, and the objective that the black box defines on it.

        Raises SpaceError if the space needs the size of the data. Raises InputError for something that is not a black
        box, and for an objective that does not measure what the space bounds. Raises ValueError for an invalid
        fidelity, constraint or scale.
        """
        from spacelang.runtime.black_box.function_objective import make_function_objective

        space, box = bind_without_data(experiment.space), self.objective
        given: dict[str, object] = {"fidelities": self.fidelities, "constraints": self.constraints or None}
        given |= {"scale": self.scale, "objectives": self.objective_names or None}
        given_names = [name for name, value in given.items() if value is not None]
        if isinstance(box, str):
            return space, _artificial_objective(space, box, given_names)
        if isinstance(box, Objective):
            return space, _check_own_objective(space, box, given_names)
        sizes, bounds = validate_fidelities(self.fidelities), constraint_bounds(space, self.constraints)
        goals = function_goals(space, self.objective_names)
        scale = make_loss_scale(self.scale)
        return space, make_function_objective(box, fidelities=sizes, bounds=bounds, scale=scale, goals=goals)

    def fidelity_grid(self, space: Space, objective: ObjectiveInfo) -> FidelitySchedule | None:
        """Return the grid of the given fidelities or of several declared ones.

        Without them, that of the task or None.
        """
        known = self.fidelities or fidelities_if_several(objective)
        return super().fidelity_grid(space, objective) if known is None else fidelity_grid(validate_fidelities(known))


def bind_without_data(space: Space) -> Space:
    """Return the space for a search without data; raises SpaceError if it needs the size of the data."""
    return space.bind() if None in space.symbols.values() else space


def _artificial_objective(space: Space, reference: str, given_names: list[str]) -> Objective:
    from spacelang.runtime.black_box.artificial_objective import make_artificial_objective, parse_seed

    if not reference.startswith(ARTIFICIAL_PREFIX):
        raise InputError(f"`{reference}` is not an objective", f"give a function or `{ARTIFICIAL_PREFIX}SEED`")
    seed = parse_seed(reference)
    _refuse_settings(reference, given_names)
    return make_artificial_objective(space.checked, seed)


def _check_own_objective(space: Space, objective: Objective, given_names: list[str]) -> Objective:
    name = objective.facts.name
    _refuse_settings(name, given_names)
    check_objective_returns_goals(space, objective)
    measured = {bound.name for bound in objective.bounds}
    unmeasured = [bound.name for bound in constraint_bounds(space, None) if bound.name not in measured]
    if unmeasured:
        what = f"the space bounds `{unmeasured[0]}`, which the objective `{name}` does not measure"
        raise InputError(what, "use a space without this line `subject to`")
    return objective


def _refuse_settings(name: str, settings: list[str]) -> None:
    if settings:
        what = f"`{settings[0]}` has no effect on the objective `{name}`"
        raise InputError(what, f"leave `{settings[0]}` out, or give a function as the objective")


def constraint_bounds(space: Space, constraints: Mapping[str, float] | None) -> "tuple[AnyBound, ...]":
    """Return the bounds of the task, then those given by name; raises ConstraintError for an invalid one."""
    from spacelang.runtime.scoring.user_functions import make_function_bound

    bounds = () if space.task is None else space.task.bounds
    return (*bounds, *(make_function_bound(name, limit) for name, limit in (constraints or {}).items()))


def validate_fidelities(fidelities: Iterable[Any] | None) -> tuple[int, ...]:
    """Return the fidelities, `(1,)` for None; raises ValueError unless they are increasing positive integers."""
    found = SINGLE_FIDELITY if fidelities is None else tuple(fidelities)
    whole = all(isinstance(each, int) and each > 0 for each in found)
    if not (found and whole and all(one < other for one, other in pairwise(found))):
        raise ValueError(f"fidelities must be increasing positive integers such as (1, 3, 9), not {found}")
    return found


def fidelities_if_several(objective: ObjectiveInfo) -> tuple[int, ...] | None:
    """Return the fidelities of an objective, or None if it declares fewer than two."""
    found: tuple[int, ...] = getattr(objective, "fidelities", ())
    return found if len(found) > 1 else None


def fidelity_grid(fidelities: tuple[int, ...]) -> FidelitySchedule | None:
    """Return the geometric grid from the first to the last fidelity, as first and factor; None for a single one."""
    first, last, steps = fidelities[0], fidelities[-1], len(fidelities) - 1
    return FidelitySchedule(first, (last / first) ** (1 / steps)) if steps else None


def make_loss_scale(scale: float | None) -> LossScale | None:
    """Return the loss scale from 0 to `scale`, or None for None; raises ValueError unless it is finite and above 0."""
    if scale is None:
        return None
    if not 0 < scale < float("inf"):
        raise ValueError(f"`scale` must be a finite number above 0, not {scale}")
    return LossScale(0.0, float(scale))
