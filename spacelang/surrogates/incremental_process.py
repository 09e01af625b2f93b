"""A Gaussian process for data that grow row by row: when its kernel is fitted again, and to which rows.

The kernel is fitted again once the data have grown by a tenth, or by 100 rows. In between, new rows are only added to
the Cholesky factor. The sizes at which it is fitted are fixed, so the process of n rows is the same whether or not
smaller ones were computed. A search that was interrupted therefore continues exactly as it would have without the
interruption.

See spacelang/optimizers/README.md, section "Gaussian process".
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from spacelang.sampling.value_codes import Array
from spacelang.surrogates.gaussian_process import CholeskyFactor, GaussianProcess
from spacelang.surrogates.likelihood import fit_kernel
from spacelang.surrogates.training_limits import MAX_POINTS, POINTS_WHEN_FITTED

MAX_NEW_ROWS: Final = 100
"""The kernel is fitted again after at most this many further rows."""


@dataclass(frozen=True, slots=True, eq=False)
class StandardisedGaussianProcess:
    """A Gaussian process of standardised numbers, with the mean and the standard deviation of the original numbers."""

    process: GaussianProcess
    mean: float
    deviation: float

    def standardise(self, numbers: Array) -> Array:
        """Return the numbers on the scale of the process."""
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
        """Return True if the given data extend these data and use the same kernel."""
        count = len(self.numbers)
        return (
            self.size == size
            and np.array_equal(self.points, points[:count])
            and np.array_equal(self.numbers, numbers[:count])
        )


class IncrementalGaussianProcess:
    """A model of growing data; caches the last Cholesky factor, so that only new rows must be added."""

    def __init__(self) -> None:
        self._last: _FittedFactor | None = None

    def model(self, points: Array, numbers: Array, pending: Array) -> StandardisedGaussianProcess:
        """Return the model of n > 0 points, shape (n, d), and of their finite numbers, shape (n,).

        `pending` are the points that are being evaluated, shape (m, d).

        Pending points count with the median of all numbers, which keeps further proposals away from them (the constant
        liar). Pending points beyond the maximum size of a model are ignored.
        """
        fitted = self._last = self._extend(points, numbers)
        known = numbers[fitted.rows]
        mean, deviation = float(known.mean()), float(known.std()) or 1.0
        factor, under_way = fitted.factor, pending[: MAX_POINTS - len(known)]
        for point in under_way:
            factor = factor.with_point(point)
        taken = np.concatenate([known, np.full(len(under_way), np.median(numbers))])
        return StandardisedGaussianProcess(GaussianProcess(factor, (taken - mean) / deviation), mean, deviation)

    @property
    def rows(self) -> Array:
        """The rows of the data that the last model used, ascending: at most 500 of them."""
        return np.arange(0) if self._last is None else self._last.rows

    def _extend(self, points: Array, numbers: Array) -> _FittedFactor:
        size, fitted = size_at_last_fit(len(numbers)), self._last
        if fitted is None or not fitted.is_extended_by(size, points, numbers):
            fitted = _fit(points[:size], numbers[:size])
        factor = fitted.factor
        new = range(int(fitted.rows[-1]) + 1, len(numbers))
        for row in new:
            factor = factor.with_point(points[row])
        return _FittedFactor(points, numbers, size, np.append(fitted.rows, new).astype(int), factor)


def size_at_last_fit(count: int, part: int = 10) -> int:
    """Return the number of rows to which the kernel for `count` > 0 rows is fitted.

    This is the largest of the sizes 1, 2, .., 20, 22, 24, .., 1000, 1100, .. that is not above `count`. Each size
    exceeds the previous one by one `part`-th, by 1 at least and by `MAX_NEW_ROWS` at most.
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
