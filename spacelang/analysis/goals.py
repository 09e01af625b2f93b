"""The goals of a task: scorers, costs of pipelines, and numbers that the user's objective function returns."""

import re
from collections.abc import Mapping
from typing import Final, Literal

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.catalog.catalogue import FileCatalogues
from spacelang.diagnostics import tasks as problems
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.ir import task as ir_task
from spacelang.ir.space import ABSTRACT_CATALOGUE, Node, operators
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast
from spacelang.syntax.inline_printer import spell_arithmetic
from spacelang.text import Span

COSTS: Final = tuple(cost.value for cost in ir_task.Cost)
EXAMPLES: Final = {"classification": "roc_auc", "regression": "r2"}
SYNONYMS: Final[Mapping[str, str]] = {
    "loss": "neg_log_loss", "logloss": "neg_log_loss", "cross_entropy": "neg_log_loss", "brier": "neg_brier_score",
    "acc": "accuracy", "auc": "roc_auc", "auroc": "roc_auc", "bac": "balanced_accuracy",
    "mae": "neg_mean_absolute_error", "mape": "neg_mean_absolute_percentage_error", "mcc": "matthews_corrcoef",
    "mse": "neg_mean_squared_error", "rmse": "neg_root_mean_squared_error", "rmsle": "neg_root_mean_squared_log_error",
}  # fmt: skip
ERROR_NAMES: Final = frozenset({"error", "error_rate", "err", "misclassification", "zero_one_loss"})


class ScorerReader:
    """A reader of scorer names for a kind of task. If the kind is None, every scorer is accepted.

    With `has_function`, an unknown name may be meant as that of a number that the user's function returns.
    """

    def __init__(
        self, catalogue: FileCatalogues, kind: str | None, report: DiagnosticCollector, *, has_function: bool = False
    ) -> None:
        self._known = catalogue.scorers
        self.kind = kind
        self._report = report
        self._has_function = has_function

    def read(self, written: ast.DottedName, others: tuple[str, ...] = ()) -> str | None:
        """Return the scorer if it suits the task (or the catalogue lists none), or None after reporting it.

        `others` are further names that may be meant.
        """
        name = written.text
        if not self._known:
            return name
        kind = self._known.get(name)
        if kind is None:
            hint = (
                f'write `"{name}"` for a number that your function returns' if self._has_function else self._hint(name)
            )
            plain = name.removesuffix("_score")
            near = None if hint else plain if plain in self._known else nearest_name(name, (*self._known, *others))
            self._report.add(problems.UnknownScorer(written.span, name=name, near=near, hint=hint))
            return None
        if self.kind is not None and kind != self.kind:
            example = EXAMPLES[self.kind]
            self._report.add(
                problems.UnsuitableScorer(written.span, scorer=name, kind=self.kind, other=kind, example=example)
            )
            return None
        return name

    def is_scorer(self, name: str) -> bool:
        """Return True if the catalogue has a scorer of this name, for any kind of task."""
        return name in self._known

    def _hint(self, name: str) -> str | None:
        if name in ERROR_NAMES:
            return "write `minimize 1 - accuracy`"
        meant = SYNONYMS.get(name, f"neg_{name}")
        if meant not in self._known:
            return None
        return (
            f"write `maximize {meant}`, which is the negated error"
            if meant.startswith("neg_")
            else (f"write `{meant}`")
        )


class GoalReader:
    """A reader of the expressions after `minimize` and `maximize`."""

    def __init__(self, scorers: ScorerReader, report: DiagnosticCollector) -> None:
        self._scorers = scorers
        self._report = report

    def read(
        self, setting: ast.TaskSetting
    ) -> tuple[ir_task.ScorerGoal | ir_task.FunctionGoal | None, tuple[ir_task.AnyGoal, ...]]:
        """Return the first goal of a setting, or None if it is invalid, and the valid ones of its further goals.

        Invalid goals are reported. A cost is invalid as the first goal; then there are no further ones.
        """
        first, *others = setting.arguments
        goal = self._goal(setting, first, setting.span if not others else first.span)
        further = [self._goal(setting, each, each.span) for each in others]
        if isinstance(goal, ir_task.CostGoal):
            names = [each.formula for each in further if isinstance(each, ir_task.ScorerGoal)] or [self.example_loss]
            remedy = f"write a score first: `minimize {names[0]}, {goal.formula}`"
            self._report.add(problems.InvalidGoal(first.span, remedy=remedy))
            return None, ()
        found = [each for each in (goal, *further) if each is not None]
        for each in found:
            if (wrong := ir_task.function_goal_problem(each, found)) is not None:
                self._report.add(problems.InvalidFunctionGoal(each.span, problem=wrong[0], remedy=wrong[1]))
        seen: dict[str, Span] = {}
        for each in found:
            name = each.name if isinstance(each, ir_task.FunctionGoal) else each.formula
            if name in seen:
                related = (RelatedPlace(seen[name], "the first one"),)
                setting_name = f"goal `{each.formula}`"
                self._report.add(problems.RepeatedTaskSetting(each.span, setting=setting_name, related=related))
            seen[name] = each.span
        return goal, tuple(each for each in further if each is not None)

    @property
    def example_loss(self) -> str:
        """A loss that suits the task, for examples."""
        return f"1 - {EXAMPLES[self._scorers.kind or 'classification']}"

    def _goal(
        self, setting: ast.TaskSetting, written: ast.Expression | ast.Word | ast.SplitOption, span: Span
    ) -> ir_task.AnyGoal | None:
        direction: Literal["minimize", "maximize"] = "minimize" if setting.keyword == "minimize" else "maximize"
        match written:
            case ast.DottedName(text=cost) if cost in COSTS:
                if direction == "minimize":
                    return ir_task.CostGoal(ir_task.Cost(cost), span)
                remedy = f"a cost is minimized: write `minimize {self.example_loss}, {cost}`"
                self._report.add(problems.InvalidGoal(written.span, remedy=remedy))
                return None
            case ast.QuotedString(name):
                return ir_task.FunctionGoal(direction, name, span=written.span)
            case ast.UnaryOperation("-", ast.QuotedString(name)) if len(setting.arguments) > 1:
                return ir_task.FunctionGoal(direction, name, is_negated=True, span=written.span)
            case ast.DottedName():
                name, from_one = written, False
            case ast.BinaryOperation("-", ast.Number(1), ast.DottedName() as name):
                from_one = True
            case ast.UnaryOperation("-", ast.DottedName() | ast.QuotedString() as negated) | ast.BinaryOperation(
                "-", ast.Number(1), ast.QuotedString() as negated
            ):
                other = "maximize" if direction == "minimize" else "minimize"
                remedy = f"write `{other} {spell_arithmetic(negated)}`"
                self._report.add(problems.InvalidGoal(written.span, remedy=remedy))
                return None
            case _:
                self._report.add(problems.InvalidGoal(written.span, remedy=self._scorer_remedy(written, direction)))
                return None
        scorer = self._scorers.read(name, COSTS)
        if scorer is None:
            return None
        goal = ir_task.ScorerGoal(direction, scorer, from_one, span)
        if (direction == "maximize") == from_one:
            self._report.add(problems.GoalInWrongDirection(span, scorer=scorer, remedy=_corrected_goal(goal)))
        return goal

    def _scorer_remedy(self, written: ast.Expression | ast.Word | ast.SplitOption, direction: str) -> str | None:
        """Return a remedy for a goal such as `roc-auc` instead of `roc_auc`, else None."""
        name = re.sub(r"[\s.-]+", "_", written.span.text)
        return f"write `{direction} {name}`" if self._scorers.is_scorer(name) else None


def is_evaluated_by_user_function(root: Node) -> bool:
    """Return True if the user's own function evaluates the space: it has abstract operators, or no operators at all."""
    catalogues = {operator.catalogue for operator in operators(root)}
    return not catalogues or ABSTRACT_CATALOGUE in catalogues


def check_function_goal(goal: ir_task.FunctionGoal, catalogue: FileCatalogues, report: DiagnosticCollector) -> None:
    """Report a goal in quotes, which is a mistake where scorers evaluate the pipelines.

    The caller must have checked that (see `is_evaluated_by_user_function`).
    """
    problem = "goals in quotes are for spaces with abstract operators; this space is scored by scorers"
    scorer = next((name for name in (goal.name, f"neg_{goal.name}") if name in catalogue.scorers), None)
    remedy = (
        "declare the operators with `abstract` if your own function evaluates them, or write a scorer"
        if scorer is None
        else f"write `maximize {scorer}`"
    )
    report.add(problems.InvalidFunctionGoal(goal.span, problem=problem, remedy=remedy))


def _corrected_goal(goal: ir_task.ScorerGoal) -> str:
    """Return the goal that was probably meant instead of one that prefers the worst pipelines."""
    if goal.from_one:
        return f"`minimize {goal.formula}`"
    forward = f"`maximize {goal.scorer}`"
    return forward if goal.scorer.startswith("neg_") else f"`minimize 1 - {goal.scorer}` or {forward}"
