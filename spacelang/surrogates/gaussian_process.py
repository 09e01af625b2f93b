"""Gaussian processes with a Matern 5/2 kernel that has one length per dimension.

It uses NumPy arrays, and SciPy's distances and Cholesky factors. scikit-learn's `GaussianProcessRegressor` is not used
for three reasons: each step of its fit allocates an n x n x d array, adding a row requires a new factorization, and its
predictions have no gradient, which the search for the best point needs. `tests/benchmarks/surrogates.py` compares the
two.

See spacelang/optimizers/README.md, section "Gaussian process".
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.spatial.distance import cdist

from spacelang.sampling.value_codes import Array

JITTERS: Final = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
"""Multiples of the variance that are added to the diagonal, in turn, until there is a Cholesky factor."""


@dataclass(frozen=True, slots=True, eq=False)
class Matern:
    """The Matern 5/2 kernel with noise.

    `variance` is tau_0^2, `lengths` has tau_1 .. tau_d, and `noise` is the noise variance s2.
    """

    variance: float
    lengths: Array
    noise: float

    def covariance(self, left: Array, right: Array) -> Array:
        """Return the covariances of the function at n and at m points, without noise: shape (n, m)."""
        far = self._distances(left, right)
        return np.asarray(self.variance * np.exp(-far) * (1 + far + far * far / 3))

    def covariance_and_gradient_factor(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Return the covariances of n points with m others, and a factor of their gradients: shape (n, m) each.

        The derivative of a covariance by coordinate i of the right point is this factor times (right_i - left_i) /
        length_i^2.
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
        """Return the factor for points of shape (n, d); their order affects the last bits.

        If the matrix has no factor, a jitter (`JITTERS`) is added to its diagonal.
        """
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
        """Return L^-1 times columns of n numbers."""
        return np.asarray(solve_triangular(self.lower, columns, lower=True, check_finite=False))

    def solve_transposed(self, columns: Array) -> Array:
        """Return L^-T times columns of n numbers."""
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
        """Return the means and standard deviations at m points, shape (m,), and the gradients of both, shape (m, d).

        The gradient of a standard deviation of 0 is 0.
        """
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
