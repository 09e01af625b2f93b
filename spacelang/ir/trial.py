"""Requests and trials: what an optimizer asks for and what it is told."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf, isnan
from typing import TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Bound


class Status(StrEnum):
    """How a trial ended."""

    SUCCESS = "success"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Request:
    """A wish for one evaluation: `fidelity` is the number of training rows, None for all of them."""

    configuration: Configuration
    fidelity: int | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a trial has by a measure that the task bounds: seconds, bytes or a difference of scores; nan is unknown."""

    bound: Bound
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
class Trial:
    """A request and what came of it.

    `loss` is to be minimised and None where the trial failed; `cost` is the seconds that the optimizer is charged,
    0 for a repetition that was answered from memory; `reason` says why a failed trial failed. `constraints` has what
    was measured for every bound of the task, in its order, and nothing where the trial failed. The loss of a trial
    that breaks a bound is what it is: an optimizer that knows nothing of constraints searches as if there were none.
    """

    request: Request
    loss: float | None
    cost: float = 0.0
    status: Status = Status.SUCCESS
    reason: str = ""
    constraints: tuple[Measurement, ...] = ()

    @property
    def is_feasible(self) -> bool:
        """Whether the trial keeps to every bound."""
        return all(measurement.holds for measurement in self.constraints)

    @property
    def excess(self) -> float:
        """By how much the trial breaks bounds, summed over them; 0 for a feasible one."""
        return sum(measurement.excess for measurement in self.constraints)


WORST_LOSS = 1.0
"""The loss at which an optimizer ranks a failed trial (ALGORITHMS.md 0.5)."""


def loss_of(trial: Trial) -> float:
    """The loss that an optimizer reckons with: the worst one for a failed trial."""
    return WORST_LOSS if trial.loss is None else trial.loss


Search: TypeAlias = Generator[Sequence[Request], Sequence[Trial], None]
"""What every optimizer is: it yields the trials that it wants and is sent their results, in the same order.

It returns when it has nothing left to ask for: the space is exhausted.
"""
