"""Requests and trials: what an optimizer asks for and what it is told."""

from dataclasses import dataclass, field
from enum import StrEnum
from math import inf, isnan
from typing import Any, ClassVar, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.scale import UNIT, Scale
from spacelang.ir.task import AnyBound


class Status(StrEnum):
    """How a trial ended; all but the first are failures, which have no loss."""

    SUCCESS = "success"
    ERROR = "error"
    """The pipeline raised an exception."""
    INVALID = "invalid"
    """It was fitted, and its loss is no finite number."""
    TIMEOUT = "timeout"
    """It took longer than a trial may."""
    MEMORY = "memory"
    """It took more memory than a trial may, or than there was."""
    CRASH = "crash"
    """Its process ended by itself: a signal, an exit."""


Memo: TypeAlias = tuple[float | int | str, ...]
"""What a search wants to remember with a trial."""


@dataclass(frozen=True, slots=True)
class Request:
    """A wish for one evaluation: `fidelity` is the number of training rows, None for all of them.

    `seconds` is what this evaluation may take where that is less than what every one may; None where nothing less is
    said. An evaluation that takes longer answers nobody who allows it more. `memo` is given back with the trial, also
    where that is told again. Requests that differ in these alone are equal.
    """

    configuration: Configuration
    fidelity: int | None = None
    seconds: float | None = field(default=None, compare=False)
    memo: Memo = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a trial has by a measure that is bounded, in the unit of the bound; nan is unknown."""

    bound: AnyBound
    value: float

    @property
    def holds(self) -> bool:
        """Whether the value keeps to the bound."""
        return self.bound.holds(self.value)

    @property
    def excess(self) -> float:
        """By how many times its bound the value is beyond it: 0 where it keeps to it, infinity where it is unknown.

        A bound of 0 counts as 1.
        """
        if self.holds:
            return 0.0
        return inf if isnan(self.value) else (self.value - self.bound.limit) / (self.bound.limit or 1.0)


@dataclass(frozen=True, slots=True)
class Reached:
    """What a pipeline reaches of what is bounded, on rows that no trial saw, in the unit of the bound.

    `low` and `high` are the ends of a 95 % interval; None where there is none. Where there is no `value` either it
    could not be measured. `reason` says why something is missing that could be there.
    """

    bound: AnyBound
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether the value keeps to the bound; what could not be measured does not."""
        return self.value is not None and self.bound.holds(self.value)

    @property
    def may_be_chance(self) -> bool:
        """Whether the interval has values that keep to the bound as well as such that do not."""
        if self.low is None or self.high is None:
            return False
        return self.bound.holds(self.low) and not self.bound.holds(self.high)


@dataclass(frozen=True, slots=True)
class TestScore:
    """What a pipeline achieves on `rows` that no trial saw: its loss, and within which bounds that may lie.

    `low` and `high` are the ends of a 95 % interval; None where there is none. Where there is no `loss` either the
    pipeline could not be judged. `reason` then says why. `constraints` has what it reaches there of every bound of the
    run, in their order; nothing where that was not measured.
    """

    __test__: ClassVar[bool] = False
    """It is no class of tests, whatever a test runner makes of its name."""

    loss: float | None
    low: float | None
    high: float | None
    rows: int
    reason: str = ""
    constraints: tuple[Reached, ...] = ()

    @property
    def is_feasible(self) -> bool | None:
        """Whether it keeps to every bound on these rows; None where none was measured."""
        return all(each.holds for each in self.constraints) if self.constraints else None


@dataclass(frozen=True, slots=True)
class Trial:
    """A request and what came of it.

    `loss` is to be minimised and None where the trial failed; `cost` is the seconds that the optimizer is charged,
    0 for a repetition that was answered from memory; `reason` says why a failed trial failed. `constraints` has what
    was measured for every bound of the task and then for those of the user's own functions, in their order, and nothing
    where the trial failed. The loss of a trial that breaks a bound is what it is: an optimizer that knows nothing of
    constraints searches as if there were none.

    `cost_alone` is the seconds that it would have taken without what it shared with other trials, None where it shared
    nothing. The rest is there where it was asked for, and not where the trial failed. `metrics` are further scores by
    their names, as scikit-learn's scorers give them: better ones are greater, nan is undefined. `training_loss` is the
    loss on the rows that the trial was trained on, None where it is undefined. `predictions` is an array for the
    held-out rows, fold after fold: n x classes probabilities, or n numbers for a regression; None where they could not
    be had.

    `scale` is what losses are measured by in the run; optimizers are told it with each trial. It is no part of what
    came of the request, and nobody keeps it.
    """

    request: Request
    loss: float | None
    cost: float = 0.0
    status: Status = Status.SUCCESS
    reason: str = ""
    constraints: tuple[Measurement, ...] = ()
    cost_alone: float | None = None
    metrics: tuple[tuple[str, float], ...] = ()
    training_loss: float | None = None
    predictions: Any = field(default=None, compare=False, repr=False)
    scale: Scale = field(default=UNIT, compare=False, repr=False)

    def answers(self, request: Request) -> bool:
        """Whether an equal request would have come to the same: not where that allows more time, which this one lacked.

        What ended before its own limit was ended by that of the run, which is the same for all.
        """
        allowed = self.request.seconds
        if self.status is not Status.TIMEOUT or allowed is None or self.cost < allowed:
            return True
        return request.seconds is not None and request.seconds <= allowed

    @property
    def seconds_alone(self) -> float:
        """The seconds that it would have taken without what it shared with other trials, if anything."""
        return self.cost if self.cost_alone is None else self.cost_alone

    @property
    def standing(self) -> float:
        """The loss on the scale of the run, from 0 to 1; 1 for a failure."""
        return 1.0 if self.loss is None else self.scale.standing(self.loss)

    @property
    def training_standing(self) -> float | None:
        """The loss on the training rows likewise; None where it is undefined."""
        return None if self.training_loss is None else self.scale.standing(self.training_loss)

    @property
    def is_feasible(self) -> bool:
        """Whether the trial keeps to every bound."""
        return all(measurement.holds for measurement in self.constraints)

    @property
    def excess(self) -> float:
        """By how much the trial breaks bounds, summed over them; 0 for a feasible one."""
        return sum(measurement.excess for measurement in self.constraints)


Order: TypeAlias = tuple[bool, float]
"""Whether a trial failed, and its loss: of two trials the better one has the smaller of these."""


def order_of(trial: Trial) -> Order:
    """What sorts trials from the best to the worst: by their loss, and failures, all alike, behind every success."""
    return trial.loss is None, 0.0 if trial.loss is None else trial.loss
