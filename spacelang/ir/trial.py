"""Requests and trials: what an optimizer asks for and what it is told."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from spacelang.ir.configuration import Configuration


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
class Trial:
    """A request and what came of it.

    `loss` is to be minimised and None where the trial failed; `cost` is the seconds that the optimizer is charged,
    0 for a repetition that was answered from memory; `reason` says why a failed trial failed.
    """

    request: Request
    loss: float | None
    cost: float = 0.0
    status: Status = Status.SUCCESS
    reason: str = ""


WORST_LOSS = 1.0
"""The loss at which an optimizer ranks a failed trial (ALGORITHMS.md 0.5)."""


def loss_of(trial: Trial) -> float:
    """The loss that an optimizer reckons with: the worst one for a failed trial."""
    return WORST_LOSS if trial.loss is None else trial.loss


Search: TypeAlias = Generator[Sequence[Request], Sequence[Trial], None]
"""What every optimizer is: it yields the trials that it wants and is sent their results, in the same order.

It returns when it has nothing left to ask for: the space is exhausted.
"""
