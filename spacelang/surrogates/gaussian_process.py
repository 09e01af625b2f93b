"""Gaussian processes with a Matern 5/2 kernel that has one length per dimension: kernels, fits and growing data.

It uses NumPy and SciPy. scikit-learn's `GaussianProcessRegressor` is not used for three reasons: each step of its fit
allocates an n x n x d array, adding a row requires a new factorization, and its predictions have no gradient, which
the search for the best point needs. `tests/benchmarks/surrogates.py` compares the two.

The lengths of a kernel have a prior; all other parameters are fitted by maximum likelihood, by SciPy's L-BFGS-B from
fixed starts. With few data in many dimensions, the likelihood alone pushes some lengths to their bounds, and expected
improvement then leads the search into the corners.

While data grow, the kernel is fitted again once they have grown by a tenth, or by 100 rows. In between, new rows are
only added to the Cholesky factor. The sizes at which it is fitted are fixed, so the process of n rows is the same
whether or not smaller ones were computed, and an interrupted search continues exactly as it would have otherwise.

See spacelang/optimizers/README.md, sections "Gaussian process" and "Expected improvement".
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log, pi, sqrt
from typing import Final

import numpy as np
from numpy.random import Generator
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import erfcx, log_ndtr, ndtr

from spacelang.sampling.value_codes import Array
from spacelang.surrogates import MAX_POINTS, POINTS_WHEN_FITTED

JITTERS: Final = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
"""Multiples of the variance that are added to the diagonal, in turn, until there is a Cholesky factor."""


@dataclass(frozen=True, slots=True, eq=False)
class Matern:
    """The Matern 5/2 kernel: `variance` tau_0^2, `lengths` tau_1 .. tau_d, and the variance s2 of `noise`."""

    variance: float
    lengths: Array
    noise: float

    def covariance(self, left: Array, right: Array) -> Array:
        """Return the covariances of the function at n and at m points, without noise: shape (n, m)."""
        far = self._distances(left, right)
        return np.asarray(self.variance * np.exp(-far) * (1 + far + far * far / 3))

    def covariance_and_gradient_factor(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Return the covariances of n points with m others, and a factor of their gradients: shape (n, m) each.

        By coordinate i of the right point the derivative is this factor times (right_i - left_i) / length_i^2.
        """
        far = self._distances(left, right)
        fading = self.variance * np.exp(-far)
        return np.asarray(fading * (1 + far + far * far / 3)), np.asarray(-5 / 3 * fading * (1 + far))

    def _distances(self, left: Array, right: Array) -> Array:
        return np.asarray(sqrt(5) * cdist(left / self.lengths, right / self.lengths))


@dataclass(frozen=True, slots=True, eq=False)
class CholeskyFactor:
    """The lower Cholesky factor of the covariance matrix of n points, noise included."""

    kernel: Matern
    points: Array
    lower: Array

    @classmethod
    def from_points(cls, kernel: Matern, points: Array) -> "CholeskyFactor":
        """Return the factor for points (n, d), whose order affects the last bits, with a jitter if necessary."""
        covariance = kernel.covariance(points, points)
        for jitter in JITTERS:
            noisy = covariance.copy()
            noisy[np.diag_indices(len(points))] += kernel.noise + jitter * kernel.variance
            try:
                return cls(kernel, points, cholesky(noisy, lower=True, overwrite_a=True, check_finite=False))
            except np.linalg.LinAlgError:
                continue
        raise AssertionError("a covariance matrix with the largest jitter must have a Cholesky factor")

    def with_point(self, point: Array) -> "CholeskyFactor":
        """Return the factor with one more point, in O(n^2)."""
        count = len(self.points)
        grown = np.zeros((count + 1, count + 1))
        grown[:count, :count] = self.lower
        row = self.solve(self.kernel.covariance(self.points, point[None]))[:, 0]
        grown[count, :count] = row
        # The conditional variance of an observation is never less than its noise.
        rest = self.kernel.variance + self.kernel.noise - float(row @ row)
        grown[count, count] = sqrt(max(rest, self.kernel.noise, JITTERS[1] * self.kernel.variance))
        return CholeskyFactor(self.kernel, np.vstack([self.points, point]), grown)

    def solve(self, columns: Array) -> Array:
        """Return L^-1 times a matrix with n rows, where L is the factor `lower`."""
        return np.asarray(solve_triangular(self.lower, columns, lower=True, check_finite=False))

    def solve_transposed(self, columns: Array) -> Array:
        """Return L^-T times a matrix with n rows, where L is the factor `lower`."""
        return np.asarray(solve_triangular(self.lower, columns, lower=True, trans="T", check_finite=False))


class GaussianProcess:
    """The posterior of a function with prior mean 0, given n noisy observations."""

    def __init__(self, factor: CholeskyFactor, numbers: Array) -> None:
        """Condition on `numbers`, shape (n,), observed at the points of the factor."""
        self._factor = factor
        self._weights = np.asarray(cho_solve((factor.lower, True), numbers, check_finite=False))

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """Return the mean and the standard deviation of the function at m points, shape (m,) each."""
        covariances = self._factor.kernel.covariance(self._factor.points, points)
        known = self._factor.solve(covariances)
        variance = self._factor.kernel.variance - np.einsum("nm,nm->m", known, known)
        return np.asarray(covariances.T @ self._weights), np.sqrt(np.maximum(variance, 0.0))

    def posterior_with_gradients(self, places: Array) -> tuple[Array, Array, Array, Array]:
        """Return means and deviations at m points, (m,), and the gradients of both, (m, d); 0 for a deviation of 0."""
        kernel, points = self._factor.kernel, self._factor.points
        covariances, steepness = kernel.covariance_and_gradient_factor(points, places)
        known = self._factor.solve(covariances)
        deviations = np.sqrt(np.maximum(kernel.variance - np.einsum("nm,nm->m", known, known), 0.0))

        def slopes(weights: Array) -> Array:
            """Return the gradients, (m, d), of sums of the covariances weighted by `weights`, (n, m) or (n, 1)."""
            steep = steepness * weights
            return np.asarray((places * steep.sum(axis=0)[:, None] - steep.T @ points) / kernel.lengths**2)

        narrowing = -slopes(self._factor.solve_transposed(known))
        sure = np.where(deviations > 0, deviations, np.inf)[:, None]
        return covariances.T @ self._weights, deviations, slopes(self._weights[:, None]), narrowing / sure


VARIANCE_BOUNDS: Final = (0.01, 1000.0)
LENGTH_BOUNDS: Final = (0.01, 100.0)
NOISE_BOUNDS: Final = (1e-8, 1.0)
STARTS: Final = ((1.0, 1.0, 1e-4), (1.0, 0.2, 1e-2), (1.0, 5.0, 1e-6))
"""Variances, lengths and noises from which the optimization starts; the best result is used."""
LOG_LENGTH_DEVIATION: Final = 1.0
"""The standard deviation of the normal prior of the logarithms of lengths, whose mean is 0."""
MAX_ITERATIONS: Final = 40  # The maximum number of iterations from each start


def fit_kernel(points: Array, numbers: Array) -> Matern:
    """Return the most probable kernel for n points, (n, d), and numbers of mean 0, (n,); depends on nothing else."""
    dimensions = points.shape[1]
    bounds = [tuple(map(log, each)) for each in (VARIANCE_BOUNDS, *[LENGTH_BOUNDS] * dimensions, NOISE_BOUNDS)]
    surprise = partial(_deviance_with_prior, points, numbers)
    best, least = np.zeros(dimensions + 2), np.inf
    for variance, length, noise in STARTS:
        start = np.log([variance, *[length] * dimensions, noise])
        limits = {"maxiter": MAX_ITERATIONS}
        found = minimize(surprise, start, jac=True, method="L-BFGS-B", bounds=bounds, options=limits)
        if found.fun < least:
            best, least = found.x, found.fun
    variance, *lengths, noise = np.exp(best).tolist()
    return Matern(variance, np.array(lengths), noise)


def _deviance_with_prior(points: Array, numbers: Array, parameters: Array) -> tuple[float, Array]:
    surprise, gradient = deviance_and_gradient(points, numbers, parameters)
    lengths = parameters[1:-1] / LOG_LENGTH_DEVIATION
    gradient[1:-1] += 2 * lengths / LOG_LENGTH_DEVIATION
    return surprise + float(lengths @ lengths), gradient


def deviance_and_gradient(points: Array, numbers: Array, parameters: Array) -> tuple[float, Array]:
    """Return the deviance log det K + y^T K^-1 y, twice the negative log-likelihood, and its gradient by `parameters`.

    These are the logarithms of tau_0^2, tau_1 .. tau_d, s2 (see `Matern`). K is the covariance matrix with noise, and y
    are the numbers. Without a Cholesky factor of K, the deviance is infinite, with gradient 0.
    """
    variance, lengths, noise = np.exp(parameters[0]), np.exp(parameters[1:-1]), np.exp(parameters[-1])
    scaled = points / lengths
    far = sqrt(5) * cdist(scaled, scaled)
    decay = variance * np.exp(-far)
    covariance = decay * (1 + far + far * far / 3)
    covariance[np.diag_indices(len(points))] += noise
    # The matrix is symmetric; its transpose has the memory order of LAPACK, which avoids a copy.
    lower, failed = dpotrf(covariance.T, lower=1, clean=1, overwrite_a=1)
    if failed:
        return np.inf, np.zeros_like(parameters)
    weights = cho_solve((lower, True), numbers, check_finite=False)
    agreement = float(numbers @ weights)
    surprise = 2 * float(np.log(np.diagonal(lower)).sum()) + agreement
    inverse, _ = dpotri(lower, lower=1, overwrite_c=1)
    inverse = inverse + np.tril(inverse, -1).T
    gradient = np.empty_like(parameters)
    gradient[-1] = noise * (np.trace(inverse) - weights @ weights)
    gradient[0] = len(points) - agreement - gradient[-1]
    # The sums of (a_i - b_i)^2 over all pairs are row sums and a matrix product, without an n x n x d array.
    pairs = (inverse - np.outer(weights, weights)) * decay * (1 + far) * (5 / 3)
    gradient[1:-1] = 2 * (pairs.sum(axis=1) @ scaled**2 - np.einsum("nd,nd->d", scaled, pairs @ scaled))
    return surprise, gradient


MAX_NEW_ROWS: Final = 100  # The kernel is fitted again after at most this many further rows


@dataclass(frozen=True, slots=True, eq=False)
class StandardisedGaussianProcess:
    """A Gaussian process of numbers scaled to mean 0 and variance 1.

    `mean` and `deviation` are the mean and the standard deviation of the original numbers.
    """

    process: GaussianProcess
    mean: float
    deviation: float

    def standardise(self, numbers: Array) -> Array:
        """Return original numbers minus `mean`, divided by `deviation`: the scale of the process."""
        return np.asarray((numbers - self.mean) / self.deviation)


@dataclass(frozen=True, slots=True, eq=False)
class _FittedFactor:
    """A Cholesky factor for some `rows` of the data, ascending; its kernel was fitted to the first `size` rows."""

    points: Array
    numbers: Array
    size: int
    rows: Array
    factor: CholeskyFactor

    def is_extended_by(self, size: int, points: Array, numbers: Array) -> bool:
        count = len(self.numbers)
        return (
            self.size == size
            and np.array_equal(self.points, points[:count])
            and np.array_equal(self.numbers, numbers[:count])
        )


class IncrementalGaussianProcess:
    """A Gaussian process of growing data; it caches the last Cholesky factor and adds only new rows to it."""

    def __init__(self) -> None:
        self._last: _FittedFactor | None = None

    def fit(self, points: Array, numbers: Array, pending: Array) -> StandardisedGaussianProcess:
        """Return the model of n > 0 points, (n, d), their finite numbers, (n,), and `pending` points, (m, d).

        Pending points are assumed to have the median of all numbers, which keeps further proposals away from them (the
        constant liar). Pending points beyond the maximum size of a model are ignored.
        """
        fitted = self._last = self._extend(points, numbers)
        known = numbers[fitted.rows]
        mean, deviation = float(known.mean()), float(known.std()) or 1.0
        factor, under_way = fitted.factor, pending[: MAX_POINTS - len(known)]
        for point in under_way:
            factor = factor.with_point(point)
        taken = np.concatenate([known, np.full(len(under_way), np.median(numbers))])
        return StandardisedGaussianProcess(GaussianProcess(factor, (taken - mean) / deviation), mean, deviation)

    def _extend(self, points: Array, numbers: Array) -> _FittedFactor:
        size, fitted = row_count_at_last_fit(len(numbers)), self._last
        if fitted is None or not fitted.is_extended_by(size, points, numbers):
            fitted = _fit(points[:size], numbers[:size])
        factor = fitted.factor
        new = range(int(fitted.rows[-1]) + 1, len(numbers))
        for row in new:
            factor = factor.with_point(points[row])
        return _FittedFactor(points, numbers, size, np.append(fitted.rows, new).astype(int), factor)


def row_count_at_last_fit(count: int, part: int = 10) -> int:
    """Return the number of rows to which the kernel for `count` > 0 rows is fitted.

    This is the largest of the sizes 1, 2, .., 20, 22, .., 1000, 1100, .. not above `count`: each exceeds the previous
    one by one `part`-th, by 1 at least and by `MAX_NEW_ROWS` at most.
    """
    size = 1
    while (following := size + min(max(size // part, 1), MAX_NEW_ROWS)) <= count:
        size = following
    return size


def choose_training_rows(numbers: Array) -> Array:
    """Return the ascending indices of the numbers to which a kernel is fitted: at most `POINTS_WHEN_FITTED`.

    If there are more, half of these are the best numbers, and the others are the latest of the rest. Of equal numbers
    the earlier ones are better.
    """
    if len(numbers) <= POINTS_WHEN_FITTED:
        return np.arange(len(numbers))
    order = np.argsort(numbers, kind="stable")
    best, rest = order[: POINTS_WHEN_FITTED // 2], np.sort(order[POINTS_WHEN_FITTED // 2 :])
    return np.sort(np.concatenate([best, rest[len(rest) - (POINTS_WHEN_FITTED - POINTS_WHEN_FITTED // 2) :]]))


def _fit(points: Array, numbers: Array) -> _FittedFactor:
    rows = choose_training_rows(numbers)
    known = numbers[rows]
    kernel = fit_kernel(points[rows], (known - known.mean()) / (known.std() or 1.0))
    return _FittedFactor(points, numbers, len(numbers), rows, CholeskyFactor.from_points(kernel, points[rows]))


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
    """Return a function that tests m points: True where a point equals one of `points` up to `DUPLICATE_TOLERANCE`."""
    return lambda others: np.asarray((cdist(others, points, "chebyshev") <= DUPLICATE_TOLERANCE).any(axis=1))


def log_expected_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """Return the logarithm of the expected improvement, which still differs where the improvement underflows to 0.

    With a standard deviation of 0, it is the logarithm of the improvement of the mean, or minus infinity for none.
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
