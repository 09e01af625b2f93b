"""What is said of a configuration, by a function or by the program that asked for it, as a trial."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from spacelang.ir.task import AnyBound
from spacelang.ir.trial import Measurement, Request, Status, Trial

LONGEST: Final = 60
"""So many characters of what is no answer are shown."""


class AnswerError(ValueError):
    """What was said of a configuration is no answer."""


def answer(
    request: Request, loss: Any, cost: Any, constraints: Mapping[str, Any] | None, bounds: Sequence[AnyBound]
) -> Trial:
    """The trial of which a loss, its cost in seconds and the values of what is bounded are said.

    Without a loss (None), and where it is no finite number, the trial has failed. Raises AnswerError for what is no
    number, and where a success says nothing of a bound, or anything of what is none.
    """
    seconds = number_of(cost, "cost")
    if not (isfinite(seconds) and seconds >= 0):
        raise AnswerError(f"the cost is {seconds}: it is in seconds, 0 or more")
    measured = _measured(constraints, bounds)
    if loss is None:
        return Trial(request, None, seconds, Status.ERROR, "there is no loss")
    number = number_of(loss, "loss")
    if not isfinite(number):
        return Trial(request, None, seconds, Status.INVALID, f"the loss is {number}")
    return Trial(request, number, seconds, constraints=tuple(_all(measured, bounds)))


def number_of(given: Any, what: str) -> float:
    """Any number, one in an array too, as a float; raises AnswerError for anything else."""
    if isinstance(given, str | bytes):  # `float` would read it
        raise AnswerError(f"the {what} is no number but {_shown(given)}")
    try:
        return float(given)
    except OverflowError:
        return float("inf")
    except Exception as error:
        raise AnswerError(f"the {what} is no number but {_shown(given)}") from error


def _measured(constraints: Mapping[str, Any] | None, bounds: Sequence[AnyBound]) -> Mapping[str, float]:
    if not isinstance(constraints, Mapping | None):
        raise AnswerError(f"the constraints are no dictionary by name but {_shown(constraints)}")
    names = {bound.name for bound in bounds}
    for name in constraints or {}:
        if name not in names:
            known = ", ".join(f"`{each}`" for each in names) or "nothing"
            raise AnswerError(f"`{name}` is not bounded, {known} is")
    return {name: number_of(value, f"value of `{name}`") for name, value in (constraints or {}).items()}


def _all(measured: Mapping[str, float], bounds: Sequence[AnyBound]) -> list[Measurement]:
    for bound in bounds:
        if bound.name not in measured:
            raise AnswerError(f"the value of `{bound.name}` is missing among the constraints; nan says it is unknown")
    return [Measurement(bound, measured[bound.name]) for bound in bounds]


def _shown(value: object) -> str:
    text = repr(value)
    return f"`{text if len(text) <= LONGEST else text[:LONGEST] + '…'}`"
