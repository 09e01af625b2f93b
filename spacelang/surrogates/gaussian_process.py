"""Gaussian processes with a Matern 5/2 kernel that has a length for each dimension.

NumPy's arrays, and SciPy's distances and Cholesky factors. scikit-learn's `GaussianProcessRegressor` is not used: each
step of its fits makes an array of n x n x d numbers, a further row needs a new factor, and what it predicts comes
without the gradient that the search for the best point needs. `tests/benchmarks/surrogates.py` compares the two.

See spacelang/optimizers/README.md, section "Gaussian process".
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.spatial.distance import cdist

from spacelang.draws.codes import Array

JITTERS: Final = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
"""What is added to the diagonal, one after the other, until it has a Cholesky factor; times the variance."""


@dataclass(frozen=True, slots=True, eq=False)
class Matern:
    """The kernel and the noise: `variance` is tau_0^2, `lengths` the d numbers tau_i, `noise` s2, that of a number."""

    variance: float
    lengths: Array
    noise: float

    def covariance(self, left: Array, right: Array) -> Array:
        """The covariances of the function at n and at m points: shape (n, m), without noise."""
        far = self._distances(left, right)
        return np.asarray(self.variance * np.exp(-far) * (1 + far + far * far / 3))

    def with_steepness(self, left: Array, right: Array) -> tuple[Array, Array]:
        """The covariances of n points with m others, and how steep they are there: shape (n, m) each.

        A covariance changes with coordinate i of the right point as its steepness times the difference, right minus
        left, over the square of the i-th length.
        """
        far = self._distances(left, right)
        fading = self.variance * np.exp(-far)
        return np.asarray(fading * (1 + far + far * far / 3)), np.asarray(-5 / 3 * fading * (1 + far))

    def _distances(self, left: Array, right: Array) -> Array:
        return np.asarray(sqrt(5) * cdist(left / self.lengths, right / self.lengths))


@dataclass(frozen=True, slots=True, eq=False)
class CholeskyFactor:
    """The lower Cholesky factor of the covariances of n points, the noise included."""

    kernel: Matern
    points: Array
    lower: Array

    @classmethod
    def of(cls, kernel: Matern, points: Array) -> "CholeskyFactor":
        """The factor of some points, of shape (n, d); their order counts in the last bits."""
        covariance = kernel.covariance(points, points)
        for jitter in JITTERS:
            noisy = covariance.copy()
            noisy[np.diag_indices(len(points))] += kernel.noise + jitter * kernel.variance
            try:
                return cls(kernel, points, cholesky(noisy, lower=True, overwrite_a=True, check_finite=False))
            except np.linalg.LinAlgError:
                continue
        raise AssertionError("covariances with a millionth on the diagonal have a factor")

    def with_row(self, point: Array) -> "CholeskyFactor":
        """The factor with one more point, in n^2 steps."""
        count = len(self.points)
        grown = np.zeros((count + 1, count + 1))
        grown[:count, :count] = self.lower
        row = self.solve(self.kernel.covariance(self.points, point[None]))[:, 0]
        grown[count, :count] = row
        # What the others leave unknown of a number is never less than its own noise.
        rest = self.kernel.variance + self.kernel.noise - float(row @ row)
        grown[count, count] = sqrt(max(rest, self.kernel.noise, JITTERS[1] * self.kernel.variance))
        return CholeskyFactor(self.kernel, np.vstack([self.points, point]), grown)

    def solve(self, columns: Array) -> Array:
        """L^-1 times some columns of n numbers."""
        return np.asarray(solve_triangular(self.lower, columns, lower=True, check_finite=False))

    def solve_transposed(self, columns: Array) -> Array:
        """L^-T times some columns of n numbers."""
        return np.asarray(solve_triangular(self.lower, columns, lower=True, trans="T", check_finite=False))


class GaussianProcess:
    """The posterior of a function with mean 0 of which n numbers are known, each with noise."""

    def __init__(self, factor: CholeskyFactor, numbers: Array) -> None:
        """`numbers`, of shape (n,), are those at the points of the factor."""
        self._factor = factor
        self._weights = np.asarray(cho_solve((factor.lower, True), numbers, check_finite=False))

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """The mean and the standard deviation of the function at m points, of shape (m,) each."""
        covariances = self._factor.kernel.covariance(self._factor.points, points)
        known = self._factor.solve(covariances)
        variance = self._factor.kernel.variance - np.einsum("nm,nm->m", known, known)
        return np.asarray(covariances.T @ self._weights), np.sqrt(np.maximum(variance, 0.0))

    def at(self, places: Array) -> tuple[Array, Array, Array, Array]:
        """The means and the deviations at m points, (m,), and how each changes with the coordinates, (m, d).

        A deviation of 0 changes with none.
        """
        kernel, points = self._factor.kernel, self._factor.points
        covariances, steepness = kernel.with_steepness(points, places)
        known = self._factor.solve(covariances)
        deviations = np.sqrt(np.maximum(kernel.variance - np.einsum("nm,nm->m", known, known), 0.0))

        def slopes(weights: Array) -> Array:
            """How sums of the covariances change, by the weights of each point, (n, m)."""
            steep = steepness * weights
            return np.asarray((places * steep.sum(axis=0)[:, None] - steep.T @ points) / kernel.lengths**2)

        narrowing = -slopes(self._factor.solve_transposed(known))
        sure = np.where(deviations > 0, deviations, np.inf)[:, None]
        return covariances.T @ self._weights, deviations, slopes(self._weights[:, None]), narrowing / sure
