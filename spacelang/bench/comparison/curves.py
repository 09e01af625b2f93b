"""Incumbent curves: the best loss of a run as an exact step function of time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]

TIMESTAMPS: Final = 256
"""The number of times at which a comparison is sampled, as in the protocol of the ADMM paper."""

LOSS_BEFORE_FIRST_SCORE: Final = 1.0
"""The loss of a run before its first score, as in the protocol of the ADMM paper."""

DEFAULT_START_SHARE: Final = 1e-3
"""The share of the time at which sampling starts if no score is suitable as its start."""

LATEST_START_SHARE: Final = 0.9
"""The share of the time after which a first score is too late to start sampling there."""

SMALLEST_TIME: Final = 1e-6
"""The smallest time on a logarithmic axis, in seconds and as a share of the time; less counts as 0."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The loss of an incumbent over time: `losses[i]` holds from `seconds[i]` on; before `seconds[0]` there is none.

    Seconds never decrease, and losses strictly decrease. The curve of a run without a score is empty.
    """

    seconds: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()


def incumbent_curve(scores: Iterable[tuple[float, float]], until: float = inf) -> Curve:
    """Return the curve of scores, pairs (seconds, loss); scores after `until` are ignored."""
    best, points = inf, []
    for seconds, loss in sorted(scores):
        if loss < best and seconds <= until:
            best = loss
            points.append((seconds, loss))
    return Curve(tuple(seconds for seconds, _ in points), tuple(loss for _, loss in points))


def loss_before_first_score(curves: Iterable[Curve]) -> float:
    """Return the loss that counts before the first score.

    It is 1, or the worst first score of any curve if that is greater. So a curve never rises, and a run is never worse
    off for having a score.
    """
    return max([LOSS_BEFORE_FIRST_SCORE, *(curve.losses[0] for curve in curves if curve.losses)])


def logarithmic_times(curves: Iterable[Curve], end: float, count: int = TIMESTAMPS) -> Array:
    """Return `count` times on a logarithmic scale, from the first score of any curve to `end`.

    If the first score comes at almost 0 s or near the end, the times start at a fixed share of `end` instead.
    """
    first = min((curve.seconds[0] for curve in curves if curve.seconds), default=0.0)
    last = max(end, SMALLEST_TIME)
    tells = last * SMALLEST_TIME <= first <= last * LATEST_START_SHARE
    found: Array = np.geomspace(first if tells else last * DEFAULT_START_SHARE, last, count)
    return found


def sample_curves(curves: Sequence[Curve], seconds: Array, before: float) -> Array:
    """Return the exact losses of curves at some times, an array of shape (curves, times).

    `before` is the loss before the first score.
    """
    found = np.empty((len(curves), len(seconds)))
    for row, curve in zip(found, curves, strict=True):
        steps = np.array([before, *curve.losses])
        row[:] = steps[np.searchsorted(np.array(curve.seconds), seconds, side="right")]
    return found
