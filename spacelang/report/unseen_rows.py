"""Describe the result of a pipeline on the test set: its loss, and each bound compared with the search."""

from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING, Final

from spacelang.ir.task import AnyBound, describe_bound

if TYPE_CHECKING:
    from spacelang.ir.trial import TestScore, Trial, UnseenMeasurement

DIGITS: Final = ".4g"
"""The format of measured values: they are noisy, so that four digits suffice."""


def score_document(score: "TestScore") -> dict[str, object]:
    """Return a score on the test set as `run --json` and `runs --json` print it.

    `constraints` maps the name of each bound to its value with its interval (`low`, `high`), the `bound`, and whether
    it `holds`. `feasible` is True if all hold, and None if nothing was measured. Infinite numbers become None.
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


def describe_score(score: "TestScore", formula: str) -> str:
    """Describe a score on the test set in words."""
    if score.loss is None:
        return f"no loss on the test set ({score.rows} rows): {score.reason}"
    return f"test set ({score.rows} rows): {describe_interval(score, formula)}"


def describe_interval(score: "TestScore", formula: str) -> str:
    """Return a loss on the test set with its interval, or the reason why there is none."""
    if score.loss is None:
        return score.reason
    said = f"{formula} {score.loss:.3g}"
    if score.low is None or score.high is None:
        return f"{said}; {score.reason}"
    return f"{said} [{score.low:.3g}, {score.high:.3g}]"


def _document(each: "UnseenMeasurement") -> dict[str, object]:
    numbers = {"value": finite_or_none(each.value), "low": finite_or_none(each.low), "high": finite_or_none(each.high)}
    return {**numbers, "bound": each.bound.limit, "holds": each.holds, "reason": each.reason}


def finite_or_none(value: float | None) -> float | None:
    """Return the number, or None if it is infinite or NaN, which JSON cannot represent."""
    return None if value is None or not isfinite(value) else value


def describe_constraints(score: "TestScore", searched: "Trial") -> Iterator[str]:
    """Yield a line for each bound: its value on the test set, and whether it holds there and held in the search."""
    held = {each.bound.name: each.holds for each in searched.constraints}
    for each in score.constraints:
        verdict = _verdict(each, held.get(each.bound.name, False))
        yield f"{describe_bound(each.bound)} on the test set: {_value(each)}{verdict}{_missing_interval(each)}"


def format_value(bound: AnyBound, value: float) -> str:
    """Return a measured value in the unit of its bound."""
    return bound.format_value(float(format(value, DIGITS)))


def _value(each: "UnseenMeasurement") -> str:
    if each.value is None:
        return f"unknown, {each.reason}"
    value = format_value(each.bound, each.value)
    if each.low is None or each.high is None:
        return value
    return f"{value} [{format_value(each.bound, each.low)}, {format_value(each.bound, each.high)}]"


def _verdict(each: "UnseenMeasurement", held: bool) -> str:
    chance = "; this may be chance" if each.is_uncertain else ""
    if each.value is None:
        return ""
    if each.holds:
        return f"{'' if held else ', which satisfies the bound, unlike in the search'}{chance}"
    if not held:
        return f", which violates the bound, as in the search{chance}"
    return f", which violates the bound, unlike in the search{chance}"


def _missing_interval(each: "UnseenMeasurement") -> str:
    """Return the reason why a value has no interval; empty for a missing value, whose text has the reason."""
    return f"; {each.reason}" if each.reason and each.value is not None else ""
