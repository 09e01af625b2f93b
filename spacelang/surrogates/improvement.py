"""Expected improvement, and the point that promises most of it.

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
"""Points drawn uniformly."""

NEAR: Final = (0.1, 0.01, 0.001)
"""How far from the best known point others are drawn, 50 each: standard deviations."""

CLIMBS: Final = 5
"""From so many of the best candidates the search goes uphill."""

CLOSE: Final = 1e-6
"""Points that differ by no more than this in any coordinate are one."""

STEPS: Final = 30
"""Steps of the climbs, which are made together."""

CERTAIN: Final = 1e-12
"""A deviation below this is 0."""

LOWEST: Final = 1e6
"""What a climb makes of a point that promises nothing: less than any logarithm of a float."""

FAR: Final = -1e3
"""Below so many deviations the tail of the normal distribution is its first term."""


class Posterior(Protocol):
    """What is believed of a function: see `GaussianProcess`."""

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """The mean and the standard deviation at m points, of shape (m,) each."""
        ...

    def at(self, places: Array) -> tuple[Array, Array, Array, Array]:
        """The means and the deviations at m points, and how each changes with its coordinates, (m, d)."""
        ...


def expected_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """By how much numbers are expected to be below `best`: at least 0, of the shape of `mean`."""
    gain, deviation = best - np.asarray(mean, float), np.asarray(deviation, float)
    is_certain = deviation < CERTAIN
    margin = gain / np.where(is_certain, 1.0, deviation)
    density = np.exp(-margin * margin / 2) / sqrt(2 * pi)
    return np.where(is_certain, np.maximum(gain, 0.0), np.maximum(gain * ndtr(margin) + deviation * density, 0.0))


def most_promising(
    process: Posterior, best: float, incumbent: Array, rng: "Generator", is_known: Callable[[Array], Array]
) -> Array:
    """The point of the unit cube with the largest expected improvement on `best` that was found, of shape (d,).

    Candidates are drawn uniformly and around the `incumbent`, and the search goes uphill from the best of them. Where
    it ends at a point that `is_known`, a function of points of shape (m, d), it is the best candidate that is not;
    where all are known, it is that point.
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
    """Whether each of m points is one of those given: a function from shape (m, d) to (m,)."""
    return lambda others: np.asarray((cdist(others, points, "chebyshev") <= CLOSE).any(axis=1))


def log_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """The logarithm of the expected improvement, which tells points apart where that itself is too small for a float.

    Where the deviation is 0 it is that of the improvement, minus infinity where there is none.
    """
    gain, is_certain = best - mean, deviation < CERTAIN
    sure = np.where(is_certain, 1.0, deviation)
    with np.errstate(divide="ignore"):
        certain = np.log(np.maximum(gain, 0.0))
    return np.where(is_certain, certain, np.log(sure) + _log_gain(gain / sure))


def _uphill(process: Posterior, best: float, starts: Array) -> Array:
    """The best of the points where the improvement has no slope any more, uphill from each of m starts.

    All climb at once, as one sum that falls apart: what a step costs is for the most part calls of functions.
    """

    def downhill(flat: Array) -> tuple[float, Array]:
        heights, slopes = _promise(process, best, flat.reshape(starts.shape))
        return -float(heights.sum()), -slopes.ravel()

    box = [(0.0, 1.0)] * starts.size
    found = minimize(downhill, starts.ravel(), jac=True, method="L-BFGS-B", bounds=box, options={"maxiter": STEPS})
    tops = np.clip(found.x, 0.0, 1.0).reshape(starts.shape)
    return np.asarray(tops[int(_promise(process, best, tops)[0].argmax())])


def _promise(process: Posterior, best: float, places: Array) -> tuple[Array, Array]:
    """The logarithm of the expected improvement at m points, (m,), and its slopes, (m, d), none where it is certain."""
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
    """log(phi(g) + g Phi(g)), where both terms cancel as well."""
    below = np.minimum(margin, -1.0)
    near = np.maximum(below, FAR)
    tail = np.where(below < FAR, -2 * np.log(-below), np.log1p(sqrt(pi / 2) * near * erfcx(-near / sqrt(2))))
    above = np.maximum(margin, -1.0)
    plain = np.log(np.exp(-above * above / 2) / sqrt(2 * pi) + above * ndtr(above))
    return np.where(margin < -1.0, tail - below * below / 2 - log(2 * pi) / 2, plain)
