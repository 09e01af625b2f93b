"""Expected improvement, and the search for the point that maximises it.

See spacelang/optimizers/README.md, section "Expected improvement".
"""

from collections.abc import Callable
from math import log, pi, sqrt
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.random import Generator
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import erfcx, log_ndtr, ndtr

from spacelang.sampling.value_codes import Array

if TYPE_CHECKING:
    from spacelang.surrogates.gaussian_process import GaussianProcess

CANDIDATES: Final = 2000  # The number of candidates that are drawn uniformly
INCUMBENT_DEVIATIONS: Final = (0.1, 0.01, 0.001)
"""Standard deviations of the candidates around the best known point, 50 for each."""
ASCENT_COUNT: Final = 5  # The number of best candidates from which a gradient ascent starts
DUPLICATE_TOLERANCE: Final = 1e-6  # Points that differ by at most this in every coordinate count as equal
MAX_STEPS: Final = 30  # The maximum number of steps of the ascents, which run together
MIN_DEVIATION: Final = 1e-12  # A standard deviation below this counts as 0
CERTAIN_PENALTY: Final = 1e6
"""The negative of the objective of an ascent at a certain point; below the logarithm of any float."""
TAIL_LIMIT: Final = -1e3
"""Below this number of standard deviations, the first term of the tail expansion of the normal is used."""


def expected_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """Return the expected improvement below `best`: at least 0, of the shape of `mean`."""
    gain, deviation = best - np.asarray(mean, float), np.asarray(deviation, float)
    is_certain = deviation < MIN_DEVIATION
    margin = gain / np.where(is_certain, 1.0, deviation)
    density = np.exp(-margin * margin / 2) / sqrt(2 * pi)
    return np.where(is_certain, np.maximum(gain, 0.0), np.maximum(gain * ndtr(margin) + deviation * density, 0.0))


def maximise_expected_improvement(
    process: "GaussianProcess", best: float, incumbent: Array, rng: Generator, is_known: Callable[[Array], Array]
) -> Array:
    """Return the point of the unit cube with the largest expected improvement on `best` that was found, shape (d,).

    Candidates are drawn uniformly and around the `incumbent`, and the best of them start a gradient ascent. `is_known`
    maps points of shape (m, d) to booleans of shape (m,). If the ascent ends at a known point, the best candidate that
    is not known is returned instead. If all are known, the end of the ascent is returned.
    """
    near = [np.clip(incumbent + rng.normal(0.0, far, (50, len(incumbent))), 0.0, 1.0) for far in INCUMBENT_DEVIATIONS]
    candidates = np.vstack([rng.random((CANDIDATES, len(incumbent))), *near])
    order = np.argsort(-log_expected_improvement(best, *process.posterior(candidates)), kind="stable")
    top = _ascend(process, best, candidates[order[:ASCENT_COUNT]])
    if not is_known(top[None])[0]:
        return top
    new = order[~is_known(candidates[order])]
    return np.asarray(candidates[new[0]]) if len(new) else top


def make_closeness_test(points: Array) -> Callable[[Array], Array]:
    """Return a function of m points: True if within `DUPLICATE_TOLERANCE` of one of `points` in all coordinates."""
    return lambda others: np.asarray((cdist(others, points, "chebyshev") <= DUPLICATE_TOLERANCE).any(axis=1))


def log_expected_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """Return the logarithm of the expected improvement, which still differs where the improvement underflows to 0.

    If the standard deviation is 0, it is that of the certain improvement, or minus infinity if there is none.
    """
    gain, is_certain = best - mean, deviation < MIN_DEVIATION
    sure = np.where(is_certain, 1.0, deviation)
    with np.errstate(divide="ignore"):
        certain = np.log(np.maximum(gain, 0.0))
    return np.where(is_certain, certain, np.log(sure) + _log_standard_improvement(gain / sure))


def _ascend(process: "GaussianProcess", best: float, starts: Array) -> Array:
    """Return the best local maximum found from m starts, ascending together: a step is mostly overhead of calls."""

    def downhill(flat: Array) -> tuple[float, Array]:
        heights, slopes = _log_improvement_and_gradients(process, best, flat.reshape(starts.shape))
        return -float(heights.sum()), -slopes.ravel()

    box = [(0.0, 1.0)] * starts.size
    found = minimize(downhill, starts.ravel(), jac=True, method="L-BFGS-B", bounds=box, options={"maxiter": MAX_STEPS})
    tops = np.clip(found.x, 0.0, 1.0).reshape(starts.shape)
    return np.asarray(tops[int(_log_improvement_and_gradients(process, best, tops)[0].argmax())])


def _log_improvement_and_gradients(process: "GaussianProcess", best: float, places: Array) -> tuple[Array, Array]:
    """Return log expected improvements, (m,), and gradients, (m, d); -CERTAIN_PENALTY and 0 without deviation."""
    means, deviations, mean_slopes, deviation_slopes = process.posterior_with_gradients(places)
    is_certain = deviations < MIN_DEVIATION
    sure = np.where(is_certain, 1.0, deviations)
    margins = (best - means) / sure
    gains = _log_standard_improvement(margins)
    by_mean = np.exp(log_ndtr(margins) - gains) / sure
    by_deviation = np.exp(-margins * margins / 2 - log(2 * pi) / 2 - gains) / sure
    slopes = by_deviation[:, None] * deviation_slopes - by_mean[:, None] * mean_slopes
    return np.where(is_certain, -CERTAIN_PENALTY, np.log(sure) + gains), np.where(is_certain[:, None], 0.0, slopes)


def _log_standard_improvement(margin: Array) -> Array:
    """Return log(phi(g) + g Phi(g)), computed without cancellation of the two terms."""
    below = np.minimum(margin, -1.0)
    near = np.maximum(below, TAIL_LIMIT)
    tail = np.where(below < TAIL_LIMIT, -2 * np.log(-below), np.log1p(sqrt(pi / 2) * near * erfcx(-near / sqrt(2))))
    above = np.maximum(margin, -1.0)
    plain = np.log(np.exp(-above * above / 2) / sqrt(2 * pi) + above * ndtr(above))
    return np.where(margin < -1.0, tail - below * below / 2 - log(2 * pi) / 2, plain)
