"""The kernel with the highest posterior probability for given data, by SciPy's L-BFGS-B from fixed starts.

Its lengths have a prior; all other parameters are fitted by maximum likelihood. With few data in many dimensions, the
likelihood alone pushes some lengths to their bounds, and expected improvement then leads the search into the corners.

See spacelang/optimizers/README.md, section "Gaussian process".
"""

from functools import partial
from math import log, sqrt
from typing import Final

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from spacelang.sampling.value_codes import Array
from spacelang.surrogates.gaussian_process import Matern

VARIANCE_BOUNDS: Final = (0.01, 1000.0)
LENGTH_BOUNDS: Final = (0.01, 100.0)
NOISE_BOUNDS: Final = (1e-8, 1.0)

STARTS: Final = ((1.0, 1.0, 1e-4), (1.0, 0.2, 1e-2), (1.0, 5.0, 1e-6))
"""Variances, lengths and noises from which the optimization starts; the best result is used."""

LOG_LENGTH_DEVIATION: Final = 1.0
"""The standard deviation of the normal prior of the logarithms of lengths, whose mean is 0."""

MAX_ITERATIONS: Final = 40
"""The maximum number of iterations from each start."""


def fit_kernel(points: Array, numbers: Array) -> Matern:
    """Return the most probable kernel for n points, shape (n, d), and their numbers of mean 0, shape (n,).

    The result depends on nothing but these data.
    """
    dimensions = points.shape[1]
    bounds = [tuple(map(log, each)) for each in (VARIANCE_BOUNDS, *[LENGTH_BOUNDS] * dimensions, NOISE_BOUNDS)]
    surprise = partial(_deviance_with_prior, points, numbers)
    best, least = np.zeros(dimensions + 2), np.inf
    for variance, length, noise in STARTS:
        start = np.log([variance, *[length] * dimensions, noise])
        found = minimize(
            surprise, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": MAX_ITERATIONS}
        )
        if found.fun < least:
            best, least = found.x, found.fun
    variance, *lengths, noise = np.exp(best).tolist()
    return Matern(variance, np.array(lengths), noise)


def _deviance_with_prior(points: Array, numbers: Array, parameters: Array) -> tuple[float, Array]:
    """Return the deviance plus the penalty of the prior on the lengths, and the gradient of the sum."""
    surprise, gradient = deviance(points, numbers, parameters)
    lengths = parameters[1:-1] / LOG_LENGTH_DEVIATION
    gradient[1:-1] += 2 * lengths / LOG_LENGTH_DEVIATION
    return surprise + float(lengths @ lengths), gradient


def deviance(points: Array, numbers: Array, parameters: Array) -> tuple[float, Array]:
    """Return the deviance log det K + y^T K^-1 y and its gradient by the parameters.

    The parameters, shape (d + 2,), are the logarithms of tau_0^2, tau_1 .. tau_d and s2. The deviance is twice the
    negative log-likelihood, up to a constant. It is infinite, with gradient 0, if K has no Cholesky factor.
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
