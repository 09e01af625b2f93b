"""Expected improvement, and the search for the point that maximises it.

See spacelang/optimizers/README.md, section "Expected improvement".
"""

from collections.abc import Callable
from math import log, pi, sqrt
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import erfcx, log_ndtr, ndtr

from spacelang.draws.codes import Array

if TYPE_CHECKING:
    from numpy.random import Generator

CANDIDATES: Final = 2000
"""The number of candidates that are drawn uniformly."""

NEAR: Final = (0.1, 0.01, 0.001)
"""Standard deviations of the candidates around the best known point, 50 for each."""

CLIMBS: Final = 5
"""The number of best candidates from which a gradient ascent starts."""

CLOSE: Final = 1e-6
"""Points that differ by at most this in every coordinate count as equal."""

STEPS: Final = 30
"""The maximum number of steps of the ascents, which run together."""

CERTAIN: Final = 1e-12
"""A standard deviation below this counts as 0."""

LOWEST: Final = 1e6
"""The negative of the objective of an ascent at a certain point; below the logarithm of any float."""

FAR: Final = -1e3
"""Below this number of standard deviations, the first term of the tail expansion of the normal is used."""


class Posterior(Protocol):
    """The posterior distribution of a function; `GaussianProcess` is an implementation."""

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """Return the mean and the standard deviation at m points, shape (m,) each."""
        ...

    def at(self, places: Array) -> tuple[Array, Array, Array, Array]:
        """Return the means and standard deviations at m points, shape (m,), and the gradients of both, shape (m, d)."""
        ...


def expected_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """Return the expected improvement below `best`: at least 0, of the shape of `mean`."""
    gain, deviation = best - np.asarray(mean, float), np.asarray(deviation, float)
    is_certain = deviation < CERTAIN
    margin = gain / np.where(is_certain, 1.0, deviation)
    density = np.exp(-margin * margin / 2) / sqrt(2 * pi)
    return np.where(is_certain, np.maximum(gain, 0.0), np.maximum(gain * ndtr(margin) + deviation * density, 0.0))


def most_promising(
    process: Posterior, best: float, incumbent: Array, rng: "Generator", is_known: Callable[[Array], Array]
) -> Array:
    """Return the point of the unit cube with the largest expected improvement on `best` that was found, shape (d,).

    Candidates are drawn uniformly and around the `incumbent`, and the best of them start a gradient ascent. `is_known`
    maps points of shape (m, d) to booleans of shape (m,). If the ascent ends at a known point, the best candidate that
    is not known is returned instead. If all are known, the end of the ascent is returned.
    """
    near = [np.clip(incumbent + rng.normal(0.0, far, (50, len(incumbent))), 0.0, 1.0) for far in NEAR]
    candidates = np.vstack([rng.random((CANDIDATES, len(incumbent))), *near])
    promise = log_improvement(best, *process.posterior(candidates))
    order = np.argsort(-promise, kind="stable")
    top = _uphill(process, best, candidates[order[:CLIMBS]])
    if not is_known(top[None])[0]:
        return top
    new = order[~is_known(candidates[order])]
    return np.asarray(candidates[new[0]]) if len(new) else top


def close_to(points: Array) -> Callable[[Array], Array]:
    """Return a function that maps m points to booleans: True if a point is equal to one of `points`.

    Coordinates may differ by `CLOSE`.
    """
    return lambda others: np.asarray((cdist(others, points, "chebyshev") <= CLOSE).any(axis=1))


def log_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """Return the logarithm of the expected improvement, which still differs where the improvement underflows to 0.

    If the standard deviation is 0, this is the logarithm of the certain improvement, or minus infinity if there is
    none.
    """
    gain, is_certain = best - mean, deviation < CERTAIN
    sure = np.where(is_certain, 1.0, deviation)
    with np.errstate(divide="ignore"):
        certain = np.log(np.maximum(gain, 0.0))
    return np.where(is_certain, certain, np.log(sure) + _log_gain(gain / sure))


def _uphill(process: Posterior, best: float, starts: Array) -> Array:
    """Return the best of the local maxima of the expected improvement that are found from m starts.

    All ascents run together as one separable sum, because the cost of a step is mostly the overhead of function calls.
    """

    def downhill(flat: Array) -> tuple[float, Array]:
        heights, slopes = _promise(process, best, flat.reshape(starts.shape))
        return -float(heights.sum()), -slopes.ravel()

    box = [(0.0, 1.0)] * starts.size
    found = minimize(downhill, starts.ravel(), jac=True, method="L-BFGS-B", bounds=box, options={"maxiter": STEPS})
    tops = np.clip(found.x, 0.0, 1.0).reshape(starts.shape)
    return np.asarray(tops[int(_promise(process, best, tops)[0].argmax())])


def _promise(process: Posterior, best: float, places: Array) -> tuple[Array, Array]:
    """Return the logarithms of the expected improvement at m points, (m,), and their gradients, (m, d).

    Where the standard deviation is 0, the value is `-LOWEST` and the gradient 0.
    """
    means, deviations, mean_slopes, deviation_slopes = process.at(places)
    is_certain = deviations < CERTAIN
    sure = np.where(is_certain, 1.0, deviations)
    margins = (best - means) / sure
    gains = _log_gain(margins)
    by_mean = np.exp(log_ndtr(margins) - gains) / sure
    by_deviation = np.exp(-margins * margins / 2 - log(2 * pi) / 2 - gains) / sure
    slopes = by_deviation[:, None] * deviation_slopes - by_mean[:, None] * mean_slopes
    return np.where(is_certain, -LOWEST, np.log(sure) + gains), np.where(is_certain[:, None], 0.0, slopes)


def _log_gain(margin: Array) -> Array:
    """Return log(phi(g) + g Phi(g)), computed without cancellation of the two terms."""
    below = np.minimum(margin, -1.0)
    near = np.maximum(below, FAR)
    tail = np.where(below < FAR, -2 * np.log(-below), np.log1p(sqrt(pi / 2) * near * erfcx(-near / sqrt(2))))
    above = np.maximum(margin, -1.0)
    plain = np.log(np.exp(-above * above / 2) / sqrt(2 * pi) + above * ndtr(above))
    return np.where(margin < -1.0, tail - below * below / 2 - log(2 * pi) / 2, plain)
