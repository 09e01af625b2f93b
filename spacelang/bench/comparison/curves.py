"""Incumbent curves: what the best loss of a run was at any time, exactly."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]

TIMESTAMPS: Final = 256
"""At so many times a comparison is told, as in the protocol of the ADMM paper."""

BEFORE_THE_FIRST: Final = 1.0
"""The loss that counts before a run has its first score, as in the protocol of the ADMM paper."""

EARLIEST: Final = 1e-3
"""Where no score tells when to begin, it is after this share of the time."""

LATEST: Final = 0.9
"""A score after this share of the time does not tell: hardly anything would be left to be seen."""

NO_TIME: Final = 1e-6
"""What counts as no time at all, which is on no logarithmic axis: in seconds, and as a share of the time."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The loss of an incumbent: from `seconds[i]` on it is `losses[i]`; before `seconds[0]` there is none.

    Seconds never fall, losses fall strictly. A run without a score has an empty curve.
    """

    seconds: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()


def incumbent(scores: Iterable[tuple[float, float]], until: float = inf) -> Curve:
    """The curve of scores, each with the seconds at which it was known; what came later than `until` does not count."""
    best, points = inf, []
    for seconds, loss in sorted(scores):
        if loss < best and seconds <= until:
            best = loss
            points.append((seconds, loss))
    return Curve(tuple(seconds for seconds, _ in points), tuple(loss for _, loss in points))


def loss_before(curves: Iterable[Curve]) -> float:
    """What counts before the first score: 1, or the worst first score of any curve where losses go beyond 1.

    So a curve never rises, and nobody is worse for having a score.
    """
    return max([BEFORE_THE_FIRST, *(curve.losses[0] for curve in curves if curve.losses)])


def times(curves: Iterable[Curve], end: float, count: int = TIMESTAMPS) -> Array:
    """`count` times, equally far apart on a logarithmic axis, from the first score of any curve to `end`."""
    first = min((curve.seconds[0] for curve in curves if curve.seconds), default=0.0)
    last = max(end, NO_TIME)
    tells = last * NO_TIME <= first <= last * LATEST
    found: Array = np.geomspace(first if tells else last * EARLIEST, last, count)
    return found


def sampled(curves: Sequence[Curve], seconds: Array, before: float) -> Array:
    """The losses of curves at some times, a row for each curve: exactly what the step functions are there."""
    found = np.empty((len(curves), len(seconds)))
    for row, curve in zip(found, curves, strict=True):
        steps = np.array([before, *curve.losses])
        row[:] = steps[np.searchsorted(np.array(curve.seconds), seconds, side="right")]
    return found
