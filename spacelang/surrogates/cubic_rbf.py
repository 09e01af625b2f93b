"""The cubic spline that interpolates all data, and its proposal of the next point.

The linear system is solved with SciPy. `scipy.interpolate.RBFInterpolator` cannot be used: it rejects fewer than d + 1
points and points in a hyperplane, and a search starts with such data.

See spacelang/optimizers/README.md, section "Cubic spline".
"""

import warnings
from typing import Final

import numpy as np
from numpy.random import Generator
from scipy.linalg import LinAlgError, LinAlgWarning, lstsq, solve
from scipy.spatial.distance import cdist

from spacelang.sampling.value_codes import Array
from spacelang.surrogates.gaussian_process import choose_training_rows

CANDIDATES: Final = 500  # The number of candidates drawn uniformly, and of those drawn around the best known point
DEVIATIONS: Final = (0.2, 0.1, 0.05, 0.02)
"""The standard deviations of the candidates around the best point, used in turn."""
VALUE_WEIGHTS: Final = (0.3, 0.5, 0.8, 0.95)
"""The weights of a small spline value against a large distance, used in turn."""


class CubicRbf:
    """The cubic radial basis function s(x) = sum_i lambda_i |x - x_i|^3 + c_0 + c^T x."""

    def __init__(self, points: Array, numbers: Array) -> None:
        """Interpolate numbers (n,) at points (n, d), by least squares if the linear system is singular."""
        count, dimensions = points.shape
        self._points = points
        system = np.zeros((count + dimensions + 1, count + dimensions + 1))
        system[:count, :count] = cdist(points, points) ** 3
        system[:count, count:] = _linear_terms(points)
        system[count:, :count] = system[:count, count:].T
        self._weights = _solve(system, np.concatenate([numbers, np.zeros(dimensions + 1)]))

    def __call__(self, points: Array) -> Array:
        """Return the values at m points: shape (m,)."""
        count = len(self._points)
        bent = cdist(points, self._points) ** 3 @ self._weights[:count]
        return np.asarray(bent + _linear_terms(points) @ self._weights[count:])


def propose_point(points: Array, numbers: Array, pending: Array, rng: Generator) -> Array:
    """Return the next point, shape (d,): a candidate with a small spline value and a large distance to known points.

    `points` (n, d) and their finite `numbers` (n,) are known, n > 0. `pending` points (m, d) are assumed to have the
    median of the numbers. A weighted sum combines both criteria, with weights that alternate from call to call
    (`VALUE_WEIGHTS`). If there are more points than a model may have, the spline uses the best and the latest ones
    (`choose_training_rows`).
    """
    taken = np.vstack([points, pending])
    turn, best = len(taken), points[numbers.argmin()]
    rows = choose_training_rows(numbers)
    known = np.concatenate([numbers[rows], np.full(len(pending), np.median(numbers))])
    spline = CubicRbf(np.vstack([points[rows], pending]), known)
    around = best + rng.normal(0.0, DEVIATIONS[turn % len(DEVIATIONS)], (CANDIDATES, len(best)))
    candidates = np.vstack([rng.random((CANDIDATES, len(best))), np.clip(around, 0.0, 1.0)])
    weight = VALUE_WEIGHTS[turn % len(VALUE_WEIGHTS)]
    distance = cdist(candidates, taken).min(axis=1)
    criterion = weight * _scale_to_unit(spline(candidates)) + (1 - weight) * _scale_to_unit(-distance)
    return np.asarray(candidates[criterion.argmin()])


def _scale_to_unit(values: Array) -> Array:
    """Return the values scaled to [0, 1]; all are 1 if they are equal."""
    low, high = values.min(), values.max()
    return np.ones(len(values)) if low == high else np.asarray((values - low) / (high - low))


def _linear_terms(points: Array) -> Array:
    return np.column_stack([np.ones(len(points)), points])


def _solve(system: Array, right: Array) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinAlgWarning)
        try:
            return np.asarray(solve(system, right, assume_a="sym", check_finite=False))
        except (LinAlgError, LinAlgWarning):
            return np.asarray(lstsq(system, right, check_finite=False)[0])
