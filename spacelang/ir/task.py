"""The task block: goal, bounds, validation and limits of a search; comparisons ignore source spans."""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from math import inf, isfinite
from typing import ClassVar, Final, Literal, TypeAlias, assert_never

from spacelang.deprecation import make_module_getattr, renamed_attributes
from spacelang.ir.domain import literal, quoted
from spacelang.ir.validation import DeclaredValidation, describe_validation
from spacelang.text import NO_SPAN, Span, format_number

Kind: TypeAlias = Literal["classification", "regression"]
NEGATED_PREFIX: Final = "neg_"  # The name prefix of scorers that return a negated error


@dataclass(frozen=True, slots=True)
class ScorerGoal:
    """A scorer to minimize or maximize; with `from_one`, the goal is 1 minus the score."""

    direction: Literal["minimize", "maximize"]
    scorer: str
    from_one: bool = False
    span: Span = field(default=NO_SPAN, compare=False, repr=False)

    @property
    def formula(self) -> str:
        """The minimized or maximized expression in the syntax of the language, e.g. `1 - roc_auc`."""
        return f"1 - {self.scorer}" if self.from_one else self.scorer


class Cost(StrEnum):
    """A quantity of a pipeline that can be minimized in addition to scores."""

    LATENCY = "predict_latency"  # The prediction time in seconds per row
    SIZE = "pickled_size"  # The size of the pickled fitted pipeline in bytes
    FIT = "fit_seconds"  # The seconds of a fit on the training rows of a split


@dataclass(frozen=True, slots=True)
class CostGoal:
    """A cost to minimize in addition to the score of a task."""

    measure: Cost
    span: Span = field(default=NO_SPAN, compare=False, repr=False)
    direction: ClassVar[Literal["minimize"]] = "minimize"

    @property
    def formula(self) -> str:
        """The minimized expression in the syntax of the language."""
        return self.measure.value


PipelineGoal: TypeAlias = ScorerGoal | CostGoal


@dataclass(frozen=True, slots=True)
class FunctionGoal:
    """A number to minimize or maximize that the user's objective function returns under a name.

    With `is_negated`, the goal is minus the number, as in `minimize "seconds", -"accuracy"`.
    """

    direction: Literal["minimize", "maximize"]
    name: str
    is_negated: bool = False
    span: Span = field(default=NO_SPAN, compare=False, repr=False)

    @property
    def formula(self) -> str:
        """The minimized or maximized expression in the syntax of the language, e.g. `"val_loss"`."""
        return f"{'-' if self.is_negated else ''}{quoted(self.name)}"

    @property
    def is_maximized(self) -> bool:
        """True if greater numbers are better, so that the loss is minus the number."""
        return (self.direction == "maximize") is not self.is_negated

    @property
    def loss_formula(self) -> str:
        """The formula of the loss, e.g. `val_loss` or `-accuracy`."""
        return f"{'-' if self.is_maximized else ''}{self.name}"


AnyGoal: TypeAlias = PipelineGoal | FunctionGoal
RESERVED_NAMES: Final = ("loss", "cost", "constraints")  # Keys that the result of a user's function may have


def function_goal_problem(goal: AnyGoal, goals: Sequence[AnyGoal]) -> tuple[str, str] | None:
    """Return the problem of a goal and its remedy, or None if there is none; `goals` are all goals of the task.

    Only tasks with a goal that a user's function returns are checked. A single goal may be called `loss`.
    """
    named = next((each for each in goals if isinstance(each, FunctionGoal)), None)
    if named is None:
        return None
    if not isinstance(goal, FunctionGoal):
        problem = (
            f"`{goal.formula}` is measured on a fitted pipeline, but `{named.formula}` is returned by a function: "
            "a task cannot have both kinds of goals"
        )
        return problem, "write all goals as names in quotes, and return all their numbers from your function"
    if not goal.name.strip() or not goal.name.isprintable():
        return f"`{goal.formula}` is not a valid name of a goal", 'write a name such as `minimize "val_loss"`'
    if goal.name.startswith("-"):
        name, other = quoted(goal.name[1:]), "maximize" if goal.direction == "minimize" else "minimize"
        remedy = f"write `{other} {name}`" if len(goals) == 1 else f"write the sign before the name: `-{name}`"
        return f"the name `{goal.formula}` starts with a minus sign", remedy
    if goal.name in RESERVED_NAMES and (goal.name != "loss" or len(goals) > 1):
        problem = f"a goal cannot be called `{goal.name}`, which is a reserved key of the result of a function"
        return problem, "choose another name, under which the function returns the number"
    return None


class BoundedMeasure(StrEnum):
    """A quantity other than the loss that can be bounded."""

    LATENCY = "predict_latency"  # The prediction time in seconds per row
    SIZE = "pickled_size"  # The size of the pickled fitted pipeline in bytes
    DISPARITY = "disparity"
    """The largest minus the smallest score over the groups of rows that have equal values in a column."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound `subject to MEASURE <= limit`; `strict` means `<`.

    `limit` is in seconds, bytes or the unit of the score. `scorer` and `column` are used for a disparity and empty for
    the other measures.
    """

    measure: BoundedMeasure
    limit: float
    strict: bool = False
    scorer: str = ""
    column: str = ""
    span: Span = field(default=NO_SPAN, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The measure in the syntax of the language: `predict_latency`, `disparity(roc_auc, age)`."""
        if self.measure is BoundedMeasure.DISPARITY:
            return f"{self.measure.value}({self.scorer}, {literal(self.column)})"
        return self.measure.value

    def format_value(self, value: float) -> str:
        """Return a value of the measure as text, in the unit that makes it shortest."""
        match self.measure:
            case BoundedMeasure.LATENCY:
                return format_quantity(value, SECONDS)
            case BoundedMeasure.SIZE:
                return format_quantity(value, BYTES)
            case BoundedMeasure.DISPARITY:
                return format_number(value)
            case _:
                assert_never(self.measure)

    def is_satisfied_by(self, measured: float) -> bool:
        """Return True if a measured value satisfies the bound; nan (not measured) does not."""
        return measured < self.limit if self.strict else measured <= self.limit


@renamed_attributes(describe="format_value", holds="is_satisfied_by")
@dataclass(frozen=True, slots=True)
class FunctionBound:
    """An upper bound on the result of a user's Python function, identified by its name.

    The language has no syntax for it, so a `Task` never contains one. The function itself is not stored because bounds
    are sent along with trials.
    """

    name: str
    limit: float
    strict: ClassVar[bool] = False

    def format_value(self, value: float) -> str:
        """Return a value of the function as text; infinity is `inf`."""
        return repr(float(value)).removesuffix(".0")

    def is_satisfied_by(self, measured: float) -> bool:
        """Return True if a value satisfies the bound; nan does not."""
        return measured <= self.limit


AnyBound: TypeAlias = Bound | FunctionBound


@dataclass(frozen=True, slots=True)
class FidelitySchedule:
    """Growing training sets: `first` rows (b in papers), multiplied by `factor` (eta) from one training to the next."""

    first: int
    factor: float
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a single trial (seconds, bytes) and of a whole run (seconds); None means unlimited.

    `trial_seconds` are seconds of wall-clock time, and `trial_bytes` the memory of all processes of the trial.
    """

    trial_seconds: float | None = None
    trial_bytes: float | None = None
    run_seconds: float | None = None


UNLIMITED: Final = Limits()


@dataclass(frozen=True, slots=True)
class Task:
    """A checked task block; parts that it does not state are None or empty and chosen by the caller of the search.

    `further_goals` are the objectives of a task with several, without the first one, which is `goal`.
    """

    kind: Kind
    goal: ScorerGoal | FunctionGoal | None = None
    bounds: tuple[Bound, ...] = ()
    validation: DeclaredValidation | None = None
    fidelity: FidelitySchedule | None = None
    limits: Limits = UNLIMITED
    further_goals: tuple[AnyGoal, ...] = ()
    span: Span = field(default=NO_SPAN, compare=False, repr=False)

    @property
    def goals(self) -> tuple[AnyGoal, ...]:
        """All goals in the order of the text; empty if the task states none."""
        return () if self.goal is None else (self.goal, *self.further_goals)

    @property
    def function_goals(self) -> tuple[FunctionGoal, ...]:
        """The goals that a user's function returns, in the order of the text."""
        return tuple(each for each in self.goals if isinstance(each, FunctionGoal))


# ---- units and text


SECONDS: Final[Mapping[str, Fraction]] = {
    "s": Fraction(1), "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6), "min": Fraction(60), "m": Fraction(60),
    "h": Fraction(3600),
}  # fmt: skip
BYTES: Final[Mapping[str, Fraction]] = {
    "kB": Fraction(10**3), "KB": Fraction(10**3), "MB": Fraction(10**6), "GB": Fraction(10**9), "TB": Fraction(10**12),
}  # fmt: skip
LARGEST_FLOAT: Final = Fraction(sys.float_info.max)


def to_base_unit(number: float, unit: Fraction) -> float:
    """Return `number` of a unit in seconds or bytes, as the nearest float; infinity if it exceeds all floats."""
    if not isfinite(number):
        return number
    # Exact decimals: 10us is 1e-05 s, whereas multiplying by the float nearest to a millionth would add an error.
    exact = Fraction(repr(number)) * unit
    return float(exact) if exact <= LARGEST_FLOAT else inf


def format_quantity(value: float, units: Mapping[str, Fraction]) -> str:
    """Return seconds or bytes as the shortest exact text with a unit, without a fraction if possible."""
    # If a unit has two names, use the first one.
    names = {factor: name for name, factor in reversed([*units.items()])}
    written = [(format_number(float(Fraction(repr(value)) / factor)), names[factor]) for factor in units.values()]
    exact = [f"{number}{name}" for number, name in written if to_base_unit(float(number), units[name]) == value]
    # Floats cannot divide exact petabyte counts exactly, so the nearest number is used for them.
    return min(exact or ["".join(parts) for parts in written], key=lambda text: ("." in text, len(text)))


def task_lines(task: Task) -> tuple[str, ...]:
    """Return the statements of a task block in the syntax of the language."""
    found = [] if task.goal is None else [f"{task.goal.direction} {', '.join(goal.formula for goal in task.goals)}"]
    found.extend(f"subject to {describe_bound(bound)}" for bound in task.bounds)
    if task.validation is not None:
        found.append(f"validate {describe_validation(task.validation)}")
    if task.fidelity is not None:
        found.append(f"fidelity samples from {task.fidelity.first} by {format_number(task.fidelity.factor)}")
    return (*found, *describe_limits(task.limits))


def describe_bound(bound: AnyBound) -> str:
    """Return a bound in the syntax of the language, e.g. `predict_latency <= 10us` or `leaves <= 100`."""
    return f"{bound.name} {'<' if bound.strict else '<='} {bound.format_value(bound.limit)}"


def parse_bound(text: str) -> AnyBound:
    """Parse a text made by `describe_bound`; raise ValueError for any other text."""
    found = re.fullmatch(r"(.+) (<=?) (\d\S*|inf)", text, re.DOTALL)
    if found is None:
        raise ValueError(f"`{text}` is not a bound")
    name, sign, limit = found.groups()
    if name == BoundedMeasure.LATENCY.value:
        return Bound(BoundedMeasure.LATENCY, _parse_quantity(limit, SECONDS), sign == "<")
    if name == BoundedMeasure.SIZE.value:
        return Bound(BoundedMeasure.SIZE, _parse_quantity(limit, BYTES), sign == "<")
    if (groups := re.fullmatch(rf"{BoundedMeasure.DISPARITY.value}\((\w+), (.+)\)", name, re.DOTALL)) is not None:
        scorer, column = groups.groups()
        # Quoted names use JSON escapes, but may also contain control characters that JSON requires to be escaped.
        name = json.loads(column, strict=False) if column.startswith('"') else column
        return Bound(BoundedMeasure.DISPARITY, float(limit), sign == "<", scorer, name)
    return FunctionBound(name, float(limit))


def _parse_quantity(text: str, units: Mapping[str, Fraction]) -> float:
    number = text.rstrip("abcdefghijklmnopqrstuvwxyzBGKMT")
    return to_base_unit(float(number), units[text[len(number) :]])


def describe_limits(limits: Limits) -> Iterator[str]:
    """Yield the limits of trials and of the run as lines in the syntax of the language."""
    trial = [format_quantity(limits.trial_seconds, SECONDS)] if limits.trial_seconds is not None else []
    trial += [format_quantity(limits.trial_bytes, BYTES)] if limits.trial_bytes is not None else []
    if trial:
        yield f"limit trial {' '.join(trial)}"
    if limits.run_seconds is not None:
        yield f"limit run {format_quantity(limits.run_seconds, SECONDS)}"


__getattr__ = make_module_getattr(__name__, {"Goal": "ScorerGoal"})
