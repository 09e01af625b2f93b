"""What a pipeline reaches on rows that no trial saw: its loss, and every bound beside what it was in the search."""

from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING, Final

from spacelang.ir.task import AnyBound, describe_bound

if TYPE_CHECKING:
    from spacelang.ir.trial import Reached, TestScore, Trial

DIGITS: Final = ".4g"
"""They say enough of what is measured with noise."""


def score_document(score: "TestScore") -> dict[str, object]:
    """A score on test rows as `run --json` and `runs --json` print it.

    `constraints` has, by the name of each bound, the value there and within which bounds it may lie, and whether it
    keeps to the `bound`; `feasible` whether all do, None where nothing was measured. What is infinite is None, too.
    """
    return {
        "loss": score.loss,
        "low": score.low,
        "high": score.high,
        "rows": score.rows,
        "reason": score.reason,
        "feasible": score.is_feasible,
        "constraints": {each.bound.name: _document(each) for each in score.constraints},
    }


def tested(score: "TestScore", formula: str) -> str:
    """A score on test rows in words."""
    if score.loss is None:
        return f"on the {score.rows} rows that no trial saw it has no loss: {score.reason}"
    return f"on {score.rows} rows that no trial saw: {interval(score, formula)}"


def interval(score: "TestScore", formula: str) -> str:
    """A loss on test rows and within which bounds it may lie, or why there is none of these."""
    if score.loss is None:
        return score.reason
    said = f"{formula} {score.loss:.3g}"
    if score.low is None or score.high is None:
        return f"{said}; {score.reason}"
    return f"{said} [{score.low:.3g}, {score.high:.3g}]"


def _document(each: "Reached") -> dict[str, object]:
    numbers = {"value": finite(each.value), "low": finite(each.low), "high": finite(each.high)}
    return {**numbers, "bound": each.bound.limit, "holds": each.holds, "reason": each.reason}


def finite(value: float | None) -> float | None:
    """A number as JSON has it, which knows no infinite ones."""
    return None if value is None or not isfinite(value) else value


def kept_to(score: "TestScore", searched: "Trial") -> Iterator[str]:
    """A line for each bound: what is reached of it on the test rows, and whether that is what the search had found."""
    held = {each.bound.name: each.holds for each in searched.constraints}
    for each in score.constraints:
        verdict = _verdict(each, held.get(each.bound.name, False))
        yield f"{describe_bound(each.bound)} there: {_value(each)}{verdict}{_lacking(each)}"


def shown(bound: AnyBound, value: float) -> str:
    """A measured value in the unit of its bound."""
    return bound.describe(float(format(value, DIGITS)))


def _value(each: "Reached") -> str:
    if each.value is None:
        return f"unknown, {each.reason}"
    value = shown(each.bound, each.value)
    if each.low is None or each.high is None:
        return value
    return f"{value} [{shown(each.bound, each.low)}, {shown(each.bound, each.high)}]"


def _verdict(each: "Reached", held: bool) -> str:
    chance = ", within what may be chance" if each.may_be_chance else ""
    if each.value is None:
        return ""
    if each.holds:
        return f"{'' if held else ', which keeps to it, and did not in the search'}{chance}"
    if not held:
        return f", which breaks it, as it did in the search{chance}"
    return f", which breaks it: the bound held in the search and does not on these rows{chance}"


def _lacking(each: "Reached") -> str:
    """Why what is reached has no interval; what has no value says it there."""
    return f"; {each.reason}" if each.reason and each.value is not None else ""
