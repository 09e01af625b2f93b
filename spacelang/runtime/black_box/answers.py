"""Convert the answer for a configuration, from a function or from an ask-and-tell program, to a trial."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from spacelang.ir.task import AnyBound
from spacelang.ir.trial import Measurement, Request, Status, Trial

MAX_SHOWN_LENGTH: Final = 60
"""The maximum number of characters of an invalid answer that are shown."""


class AnswerError(ValueError):
    """An answer for a configuration that is invalid."""


def trial_from_answer(
    request: Request, loss: Any, cost: Any, constraints: Mapping[str, Any] | None, bounds: Sequence[AnyBound]
) -> Trial:
    """Return the trial of a request from its loss, its cost in seconds and the values of bounded quantities.

    The trial is failed if the loss is None or not finite. Raises AnswerError if a value is no number, if the value of a
    bound is missing from a success, or if `constraints` has a name that is not bounded.
    """
    seconds = parse_number(cost, "cost")
    if not (isfinite(seconds) and seconds >= 0):
        raise AnswerError(f"the cost is {seconds}, but it must be a number of seconds, at least 0")
    measured = _check_constraints(constraints, bounds)
    if loss is None:
        return Trial(request, None, seconds, Status.ERROR, "there is no loss")
    number = parse_number(loss, "loss")
    if not isfinite(number):
        return Trial(request, None, seconds, Status.INVALID, f"the loss is {number}")
    return Trial(request, number, seconds, constraints=tuple(_measurements(measured, bounds)))


def parse_number(given: Any, what: str) -> float:
    """Return a number, or an array of one number, as a float; raise AnswerError for anything else.

    `what` is the name of the value in the message.
    """
    if isinstance(given, str | bytes):  # `float` would parse it
        raise AnswerError(f"the {what} must be a number, not {_shorten(given)}")
    try:
        return float(given)
    except OverflowError:
        return float("inf")
    except Exception as error:
        raise AnswerError(f"the {what} must be a number, not {_shorten(given)}") from error


def _check_constraints(constraints: Mapping[str, Any] | None, bounds: Sequence[AnyBound]) -> Mapping[str, float]:
    if not isinstance(constraints, Mapping | None):
        raise AnswerError(f"the constraints must be a dictionary by name, not {_shorten(constraints)}")
    names = {bound.name for bound in bounds}
    for name in constraints or {}:
        if name not in names:
            known = ", ".join(f"`{each}`" for each in names)
            bounds_for = f"the bounded quantities are {known}" if names else "the task has no bounds"
            raise AnswerError(f"`{name}` is not bounded; {bounds_for}")
    return {name: parse_number(value, f"value of `{name}`") for name, value in (constraints or {}).items()}


def _measurements(measured: Mapping[str, float], bounds: Sequence[AnyBound]) -> list[Measurement]:
    for bound in bounds:
        if bound.name not in measured:
            raise AnswerError(f"the constraints lack a value of `{bound.name}`; give nan if it is unknown")
    return [Measurement(bound, measured[bound.name]) for bound in bounds]


def _shorten(value: object) -> str:
    text = repr(value)
    return f"`{text if len(text) <= MAX_SHOWN_LENGTH else text[:MAX_SHOWN_LENGTH] + '…'}`"
