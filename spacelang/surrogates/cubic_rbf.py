"""The cubic spline that goes through all data, and where it says to look next.

SciPy solves its linear system. Its `RBFInterpolator` is not used: it refuses fewer than d + 1 points, and points that
lie in a plane, which is what a search begins with.

See spacelang/optimizers/README.md, section "Cubic spline".
"""

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning, lstsq, solve
from scipy.spatial.distance import cdist

from spacelang.draws.codes import Array
from spacelang.surrogates.growth import chosen

if TYPE_CHECKING:
    from numpy.random import Generator

CANDIDATES: Final = 500
"""Points drawn uniformly, and as many around the best known one."""

SPREADS: Final = (0.2, 0.1, 0.05, 0.02)
"""The standard deviations of those around it, in turn."""

WEIGHTS: Final = (0.3, 0.5, 0.8, 0.95)
"""How much small numbers count against great distances, in turn."""


class CubicRbf:
    """s(x) = sum_i lambda_i |x - x_i|^3 + c_0 + c^T x."""

    def __init__(self, points: Array, numbers: Array) -> None:
        """It has the numbers, of shape (n,), at the points, of shape (n, d); their least squares where it cannot."""
        count, dimensions = points.shape
        self._points = points
        system = np.zeros((count + dimensions + 1, count + dimensions + 1))
        system[:count, :count] = cdist(points, points) ** 3
        system[:count, count:] = _plane(points)
        system[count:, :count] = system[:count, count:].T
        self._weights = _solved(system, np.concatenate([numbers, np.zeros(dimensions + 1)]))

    def __call__(self, points: Array) -> Array:
        """Its values at m points: shape (m,)."""
        count = len(self._points)
        bent = cdist(points, self._points) ** 3 @ self._weights[:count]
        return np.asarray(bent + _plane(points) @ self._weights[count:])


def next_point(points: Array, numbers: Array, pending: Array, rng: "Generator") -> Array:
    """The candidate, of shape (d,), that is best by small numbers and great distances, which count more in turn.

    The spline goes through the n > 0 points and their finite numbers, shapes (n, d) and (n,), or through the best and
    the latest of more than there may be (`growth.chosen`); those under way, of shape (m, d), count as their median.
    """
    taken = np.vstack([points, pending])
    turn, best = len(taken), points[numbers.argmin()]
    rows = chosen(numbers)
    known = np.concatenate([numbers[rows], np.full(len(pending), np.median(numbers))])
    spline = CubicRbf(np.vstack([points[rows], pending]), known)
    around = best + rng.normal(0.0, SPREADS[turn % len(SPREADS)], (CANDIDATES, len(best)))
    candidates = np.vstack([rng.random((CANDIDATES, len(best))), np.clip(around, 0.0, 1.0)])
    weight = WEIGHTS[turn % len(WEIGHTS)]
    distance = cdist(candidates, taken).min(axis=1)
    return np.asarray(candidates[(weight * _unit(spline(candidates)) + (1 - weight) * _unit(-distance)).argmin()])


def _unit(values: Array) -> Array:
    """Values from 0, the least, to 1; all are 1 where they are equal."""
    low, high = values.min(), values.max()
    return np.ones(len(values)) if low == high else np.asarray((values - low) / (high - low))


def _plane(points: Array) -> Array:
    return np.column_stack([np.ones(len(points)), points])


def _solved(system: Array, right: Array) -> Array:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error", LinAlgWarning)
        try:
            return np.asarray(solve(system, right, assume_a="sym", check_finite=False))
        except (LinAlgError, LinAlgWarning):
            return np.asarray(lstsq(system, right, check_finite=False)[0])
