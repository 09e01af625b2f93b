"""The `task` block: read and check it, and check that the pipelines of the space can solve the task."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import isfinite
from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.goals import GoalReader, ScorerReader, check_function_goal, is_evaluated_by_user_function
from spacelang.catalog.catalogue import FileCatalogues, OperatorRole
from spacelang.diagnostics import tasks as problems
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.ir import task as ir_task
from spacelang.ir import validation
from spacelang.ir.space import Node
from spacelang.ir.validation import DeclaredValidation
from spacelang.ir.walk import possible_last_operators
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast
from spacelang.syntax.inline_printer import spell_arithmetic, spell_expression
from spacelang.text import Span

KINDS: Final = ("classification", "regression")
LIMITED_OBJECTS: Final = ("trial", "run")
ESTIMATOR_ROLES: Final = {"classification": OperatorRole.CLASSIFIER, "regression": OperatorRole.REGRESSOR}
_ESTIMATORS: Final = frozenset(ESTIMATOR_ROLES.values())


def read_task(
    written: ast.Task, catalogue: FileCatalogues, report: DiagnosticCollector, root: Node | None = None
) -> ir_task.Task | None:
    """Return the task of a block, or None if its kind is unknown. Invalid settings are reported and left out.

    `root` is the checked space, if it is known.
    """
    return _TaskReader(
        written, catalogue, report, has_function=root is not None and is_evaluated_by_user_function(root)
    ).read()


def check_task(root: Node, task: ir_task.Task, catalogue: FileCatalogues, report: DiagnosticCollector) -> None:
    """Report a task of another kind than the estimators of the space, and goals in quotes that it cannot have."""
    if task.function_goals and not is_evaluated_by_user_function(root):
        check_function_goal(task.function_goals[0], catalogue, report)
    wanted = ESTIMATOR_ROLES[task.kind]
    entries = [
        (operator, catalogue.entry_in_catalogue(operator.catalogue, operator.name))
        for operator in possible_last_operators(root)
    ]
    last = [(operator, entry.roles) for operator, entry in entries if entry is not None and entry.roles & _ESTIMATORS]
    if not last or any(wanted in roles for _, roles in last):
        return
    operator = last[0][0]
    other = next(kind for kind in KINDS if kind != task.kind)
    role = ESTIMATOR_ROLES[other].value
    related = (RelatedPlace(operator.span, f"`{operator.name}` is a {role}"),)
    report.add(problems.WrongTaskKind(task.span, kind=task.kind, other=other, estimators=f"{role}s", related=related))


class _TaskReader:
    def __init__(
        self, written: ast.Task, catalogue: FileCatalogues, report: DiagnosticCollector, *, has_function: bool
    ) -> None:
        self._written = written
        self._report = report
        self._kind = next((kind for kind in KINDS if kind == written.kind.text), None)
        self._scorers = ScorerReader(catalogue, self._kind, report, has_function=has_function)
        self._goals = GoalReader(self._scorers, report)
        self._bounds = BoundReader(self._scorers, report)
        self._first: dict[str, Span] = {}
        self._task = ir_task.Task("classification", span=written.kind.span)

    def read(self) -> ir_task.Task | None:
        for setting in self._written.settings:
            self._setting(setting)
        if self._kind is None:
            name = self._written.kind.text
            self._report.add(problems.UnknownTask(self._written.kind.span, name=name, near=nearest_name(name, KINDS)))
            return None
        return replace(self._task, kind=self._kind)

    def _setting(self, setting: ast.TaskSetting) -> None:
        match setting.keyword:
            case "minimize" | "maximize":
                example = f"minimize {self._goals.example_loss}, {ir_task.Cost.LATENCY}"
                if self._is_first("goal", setting, f"for several objectives write one goal: `{example}`"):
                    goal, further = self._goals.read(setting)
                    self._task = replace(self._task, goal=goal, further_goals=further)
            case "subject to":
                self._bound(setting)
            case "validate":
                if self._is_first("validation", setting):
                    self._task = replace(self._task, validation=self._validation(setting))
            case "fidelity":
                if self._is_first("fidelity", setting):
                    self._task = replace(self._task, fidelity=self._fidelity(setting))
            case "limit":
                self._limit(setting)
            case keyword:
                raise AssertionError(f"the grammar has no setting `{keyword}`")

    def _is_first(self, what: str, setting: ast.TaskSetting, remedy: str | None = None) -> bool:
        place = _keyword_span(setting)
        if what in self._first:
            related = (RelatedPlace(self._first[what], "the first one"),)
            self._report.add(problems.RepeatedTaskSetting(place, setting=what, remedy=remedy, related=related))
            return False
        self._first[what] = place
        return True

    # ---- constraints

    def _bound(self, setting: ast.TaskSetting) -> None:
        (written,) = setting.arguments
        assert not isinstance(written, ast.Word | ast.SplitOption)
        bound = self._bounds.read(written)
        if bound is not None and self._is_first(f"bound on `{bound.name}`", setting):
            self._task = replace(self._task, bounds=(*self._task.bounds, bound))

    # ---- validation and fidelity

    def _validation(self, setting: ast.TaskSetting) -> DeclaredValidation | None:
        name, number, *options = setting.arguments
        assert isinstance(name, ast.Word)
        assert isinstance(number, ast.Number)
        if name.text not in validation.KINDS:
            self._unknown(name, "a way to validate", tuple(validation.KINDS), f"write {validation.VALIDATION_EXAMPLES}")
            return None
        if not self._is_valid_number(name.text, number):
            return None
        written = [each for each in options if isinstance(each, ast.SplitOption)]
        pairs = [(each.name.text, None if each.value is None else each.value.text) for each in written]
        try:
            return validation.make_validation(name.text, number.value, pairs)
        except validation.SplitOptionError as error:
            place = name.span if error.place is None else written[error.place].span
            self._report.add(problems.InvalidSplitOption(place, problem=error.problem, remedy=error.remedy))
            return None

    def _is_valid_number(self, kind: str, number: ast.Number) -> bool:
        """Return True if the share or the number of folds is valid; otherwise report it."""
        value, text = number.value, f"{kind}({spell_arithmetic(number)})"
        if kind == "holdout":
            if 0 < value < 1:
                return True
            remedy = f"write `holdout({value / 100:g})`" if 1 < value < 100 else None
            problem = f"`{text}` leaves no rows to train or to evaluate on"
            self._refuse(number, problem, "expected a share between 0 and 1", remedy)
            return False
        if isinstance(value, int) and value >= 2:
            return True
        wrong = "is not a cross-validation" if kind == "cv" else "is not a number of periods"
        self._refuse(number, f"`{text}` {wrong}", "expected a whole number, at least 2")
        return False

    def _fidelity(self, setting: ast.TaskSetting) -> ir_task.FidelitySchedule | None:
        resource, first, factor = setting.arguments
        assert isinstance(resource, ast.Word)
        assert isinstance(first, ast.Number)
        assert isinstance(factor, ast.Number)
        if resource.text != "samples":
            remedy = "write `fidelity samples from 100 by 2`: the number of training rows"
            self._unknown(resource, "a fidelity", ("samples",), remedy)
            return None
        rows, growth = first.value, float(factor.value)
        if not (isinstance(rows, int) and rows >= 1):
            problem = f"training cannot start with {spell_arithmetic(first)} rows"
            self._refuse(first, problem, "expected a whole number of at least 1")
            return None
        if not growth > 1:
            problem = f"the factor {spell_arithmetic(factor)} does not increase the number of rows"
            self._refuse(factor, problem, "expected a number greater than 1")
            return None
        return ir_task.FidelitySchedule(rows, growth, setting.span)

    # ---- limits

    def _limit(self, setting: ast.TaskSetting) -> None:
        name, *quantities = setting.arguments
        assert isinstance(name, ast.Word)
        if name.text not in LIMITED_OBJECTS:
            remedy = "write `limit trial 300s 4GB` or `limit run 1h`"
            self._unknown(name, "a kind of limit (`trial` or `run`)", LIMITED_OBJECTS, remedy)
            return
        if not self._is_first(f"limit of a {name.text}", setting):
            return
        limits, seen = self._task.limits, set[str]()
        for each in quantities:
            assert isinstance(each, ast.NumberWithUnit)
            field = f"{name.text}_{'seconds' if each.unit in ir_task.SECONDS else 'bytes'}"
            value = self._limit_value(each, name.text, field, seen)
            if value is not None:
                limits = replace(limits, **{field: value})
            seen.add(field)
        self._task = replace(self._task, limits=limits)

    def _limit_value(self, written: ast.NumberWithUnit, limited: str, field: str, seen: set[str]) -> float | None:
        text = spell_arithmetic(written)
        if field == "run_bytes":
            reason, remedy = "a run can only be limited in time", "limit the memory of a trial: `limit trial 4GB`"
            self._report.add(
                problems.WrongUnit(written.span, quantity=text, expected="a duration", reason=reason, remedy=remedy)
            )
            return None
        if field in seen:
            self._report.add(
                problems.RepeatedTaskSetting(written.span, setting=f"limit of a {limited}'s {_RESOURCE_NAMES[field]}")
            )
            return None
        value = ir_task.to_base_unit(written.number, {**ir_task.SECONDS, **ir_task.BYTES}[written.unit])
        if not (isfinite(value) and value > 0):
            self._refuse(written, f"a limit of `{text}` stops every trial", "expected a number greater than 0")
            return None
        return value

    # ---- diagnostics

    def _unknown(self, name: ast.Word, kind: str, known: tuple[str, ...], remedy: str) -> None:
        near = nearest_name(name.text, known)
        self._report.add(problems.UnknownTaskSetting(name.span, name=name.text, kind=kind, near=near, remedy=remedy))

    def _refuse(
        self, written: ast.Number | ast.NumberWithUnit, problem: str, expected: str, remedy: str | None = None
    ) -> None:
        self._report.add(
            problems.TaskSettingOutOfRange(written.span, problem=problem, expected=expected, remedy=remedy)
        )


_RESOURCE_NAMES: Final = {"trial_seconds": "time", "trial_bytes": "memory", "run_seconds": "time"}


def _keyword_span(setting: ast.TaskSetting) -> Span:
    """Return the span of the keyword of a setting, because underlining the whole line would blame all of it."""
    words = 2 if setting.keyword == "subject to" else 1
    end = setting.span.start
    for _ in range(words):
        text = setting.span.source.text[end : setting.span.end]
        end += len(text) - len(text.lstrip()) + len(text.split(maxsplit=1)[0])
    return Span(setting.span.source, setting.span.start, end)


MEASURES: Final = tuple(measure.value for measure in ir_task.BoundedMeasure)
MEASURE_SYNONYMS: Final[Mapping[str, ir_task.BoundedMeasure]] = {
    "inference_time": ir_task.BoundedMeasure.LATENCY, "latency": ir_task.BoundedMeasure.LATENCY,
    "prediction_time": ir_task.BoundedMeasure.LATENCY, "fairness": ir_task.BoundedMeasure.DISPARITY,
    "model_size": ir_task.BoundedMeasure.SIZE, "size": ir_task.BoundedMeasure.SIZE,
}  # fmt: skip
_MIRRORED: Final = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}


class BoundReader:
    """A reader of the expressions after `subject to`."""

    def __init__(self, scorers: ScorerReader, report: DiagnosticCollector) -> None:
        self._scorers = scorers
        self._report = report

    def read(self, written: ast.Expression) -> ir_task.Bound | None:
        """Return the bound that an expression states, or None after reporting why it states none."""
        match written:
            case ast.BinaryOperation(relation, left, right) if relation in _MIRRORED or relation in ("==", "!="):
                pass
            case ast.LogicalOperation():
                problem = "a `subject to` line can bound only one measure"
                remedy = "write one `subject to` line for each measure"
                self._report.add(problems.InvalidTaskBound(written.span, problem=problem, remedy=remedy))
                return None
            case _:
                problem = "this expression is not a bound of a measure"
                remedy = "write `subject to MEASURE <= NUMBER`"
                self._report.add(problems.InvalidTaskBound(written.span, problem=problem, remedy=remedy))
                return None
        if _is_number(left) and not _is_number(right):
            left, right, relation = right, left, _MIRRORED.get(relation, relation)
        measure = self._measure(left)
        if measure is None:
            return None
        if relation not in ("<=", "<"):
            shown = spell_expression(left)
            problem = f"`{shown}` can only be bounded from above"
            self._report.add(problems.InvalidTaskBound(written.span, problem=problem, remedy=f"write `{shown} <= …`"))
            return None
        scorer, column = self._arguments(left) if measure is ir_task.BoundedMeasure.DISPARITY else ("", "")
        limit = self._limit(measure, right)
        if scorer is None or column is None or limit is None:
            return None
        if limit < 0 or (limit == 0 and (measure is not ir_task.BoundedMeasure.DISPARITY or relation == "<")):
            problem = f"no pipeline can satisfy `{spell_expression(written)}`"
            is_zero_allowed = measure is ir_task.BoundedMeasure.DISPARITY and relation == "<="
            expected = f"expected a bound {'of at least' if is_zero_allowed else 'greater than'} 0"
            self._report.add(problems.TaskSettingOutOfRange(right.span, problem=problem, expected=expected))
            return None
        return ir_task.Bound(measure, limit, relation == "<", scorer, column, written.span)

    def _measure(self, written: ast.Expression) -> ir_task.BoundedMeasure | None:
        match written:
            case ast.DottedName(text=name):
                place = written.span
            case ast.FunctionCall(function=ast.Word(text=name, span=place)):
                pass
            case _:
                problem = "expected the name of a measure on the left of the limit"
                remedy = "write `subject to MEASURE <= NUMBER`"
                self._report.add(problems.InvalidTaskBound(written.span, problem=problem, remedy=remedy))
                return None
        if name not in MEASURES:
            near = MEASURE_SYNONYMS.get(name.lower(), nearest_name(name, MEASURES))
            self._report.add(problems.UnknownTaskMeasure(place, name=name, near=near))
            return None
        measure = ir_task.BoundedMeasure(name)
        takes_arguments = measure is ir_task.BoundedMeasure.DISPARITY
        if takes_arguments is isinstance(written, ast.FunctionCall):
            return measure
        problem = f"`{name}` needs arguments" if takes_arguments else f"`{name}` takes no arguments"
        remedy = "write `disparity(scorer, column)`" if takes_arguments else f"write `{name}`"
        self._report.add(problems.InvalidTaskBound(written.span, problem=problem, remedy=remedy))
        return None

    def _arguments(self, written: ast.Expression) -> tuple[str | None, str | None]:
        """Return the scorer and the column of a `disparity`, or None for each after reporting a mistake."""
        assert isinstance(written, ast.FunctionCall)
        match written.arguments:
            case (ast.DottedName() as scorer, ast.DottedName(text=column) | ast.QuotedString(value=column)):
                return self._scorers.read(scorer), column
            case _:
                problem = "`disparity` takes a scorer and a column of the data"
                remedy = "write `disparity(roc_auc, age_group)`, or the column in quotes"
                self._report.add(problems.InvalidTaskBound(written.span, problem=problem, remedy=remedy))
                return None, None

    def _limit(self, measure: ir_task.BoundedMeasure, written: ast.Expression) -> float | None:
        match written:
            case ast.NumberWithUnit(number, unit) if unit in _units(measure):
                value = ir_task.to_base_unit(number, _units(measure)[unit])
                # A size is a whole number of bytes.
                value = float(round(value)) if measure is ir_task.BoundedMeasure.SIZE and isfinite(value) else value
            case ast.Number(value) if measure is ir_task.BoundedMeasure.DISPARITY:
                value = float(value)
            case ast.UnaryOperation("-", ast.Number() | ast.NumberWithUnit()):
                return -1.0
            case ast.Number() | ast.NumberWithUnit():
                self._report.add(_wrong_unit(measure, written))
                return None
            case _:
                self._report.add(
                    problems.InvalidTaskBound(written.span, problem="the bound of a measure must be a number")
                )
                return None
        if isfinite(value):
            return value
        self._report.add(problems.InvalidTaskBound(written.span, problem="the bound of a measure must be finite"))
        return None


def _is_number(written: ast.Expression) -> bool:
    return isinstance(written, ast.Number | ast.NumberWithUnit | ast.UnaryOperation)


def _units(measure: ir_task.BoundedMeasure) -> Mapping[str, Fraction]:
    return {
        ir_task.BoundedMeasure.LATENCY: ir_task.SECONDS,
        ir_task.BoundedMeasure.SIZE: ir_task.BYTES,
        ir_task.BoundedMeasure.DISPARITY: {},
    }[measure]


def _wrong_unit(measure: ir_task.BoundedMeasure, written: ast.Number | ast.NumberWithUnit) -> problems.WrongUnit:
    expected, remedy = {
        ir_task.BoundedMeasure.LATENCY: ("a duration", "write a time for a row, such as `10us` or `2ms`"),
        ir_task.BoundedMeasure.SIZE: ("a size", "write a size such as `500kB` or `2MB`"),
        ir_task.BoundedMeasure.DISPARITY: ("a difference of scores", "write a number without a unit, such as `0.1`"),
    }[measure]
    reason = f"`{measure}` is {expected}"
    shown = spell_expression(written)
    return problems.WrongUnit(written.span, quantity=shown, expected=expected, reason=reason, remedy=remedy)
