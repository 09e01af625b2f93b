"""A Gaussian process of data that grow row by row: when it is fitted again, and to which of them.

The kernel is fitted when there are a tenth more data than when it was fitted last, or 100 more; in between, rows are
added to its factor. At which sizes that is depends on nothing: the process of n data is the same whether or not any
smaller one was ever made, so that a search that was interrupted goes on as it would have.

See spacelang/optimizers/README.md, section "Gaussian process".
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from spacelang.draws.codes import Array
from spacelang.surrogates.gaussian_process import CholeskyFactor, GaussianProcess
from spacelang.surrogates.likelihood import most_likely
from spacelang.surrogates.sizes import KEPT, MOST

STEP: Final = 100
"""The kernel is fitted again after so many further data at the latest."""


@dataclass(frozen=True, slots=True, eq=False)
class StandardisedProcess:
    """A process of standardised numbers: `mean` and `deviation` bring them to those that were given."""

    process: GaussianProcess
    mean: float
    deviation: float

    def standardised(self, numbers: Array) -> Array:
        """Numbers as the process has them."""
        return np.asarray((numbers - self.mean) / self.deviation)


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """The factor of some `rows` of data, ascending, whose kernel was fitted to the first `size` of them."""

    points: Array
    numbers: Array
    size: int
    rows: Array
    factor: CholeskyFactor

    def is_of(self, size: int, points: Array, numbers: Array) -> bool:
        """Whether the data go on from these, with the same kernel."""
        count = len(self.numbers)
        return (
            self.size == size
            and np.array_equal(self.points, points[:count])
            and np.array_equal(self.numbers, numbers[:count])
        )


class Growing:
    """Models of data that grow at their end; the last factor is kept, so that only what is new has to be added."""

    def __init__(self) -> None:
        self._last: _Fitted | None = None

    def model(self, points: Array, numbers: Array, pending: Array) -> StandardisedProcess:
        """The model of n > 0 points and their finite numbers, shapes (n, d) and (n,), and of those under way, (m, d).

        What is under way is taken to have the median of all numbers, as long as there is room for it: the constant
        liar, who keeps others away from there.
        """
        fitted = self._last = self._extended(points, numbers)
        known = numbers[fitted.rows]
        mean, deviation = float(known.mean()), float(known.std()) or 1.0
        factor, under_way = fitted.factor, pending[: MOST - len(known)]
        for point in under_way:
            factor = factor.with_row(point)
        taken = np.concatenate([known, np.full(len(under_way), np.median(numbers))])
        return StandardisedProcess(GaussianProcess(factor, (taken - mean) / deviation), mean, deviation)

    @property
    def rows(self) -> Array:
        """Which of the data the last model had, ascending: shape (at most 500,)."""
        return np.arange(0) if self._last is None else self._last.rows

    def _extended(self, points: Array, numbers: Array) -> _Fitted:
        size, fitted = fitted_at(len(numbers)), self._last
        if fitted is None or not fitted.is_of(size, points, numbers):
            fitted = _fitted(points[:size], numbers[:size])
        factor = fitted.factor
        new = range(int(fitted.rows[-1]) + 1, len(numbers))
        for row in new:
            factor = factor.with_row(points[row])
        return _Fitted(points, numbers, size, np.append(fitted.rows, new).astype(int), factor)


def fitted_at(count: int, part: int = 10) -> int:
    """With how many data the model of `count` > 0 of them is fitted: 1, 2, .., 20, 22, 24, .., 1000, 1100, ..

    It is the last of these sizes that is not above `count`. From one to the next they grow by one `part` of so many.
    """
    size = 1
    while (following := size + min(max(size // part, 1), STEP)) <= count:
        size = following
    return size


def chosen(numbers: Array) -> Array:
    """Which of the numbers a kernel is fitted to, ascending: all or, of too many, the best and of the rest the latest.

    Of equal numbers the earlier ones are better.
    """
    if len(numbers) <= KEPT:
        return np.arange(len(numbers))
    order = np.argsort(numbers, kind="stable")
    best, rest = order[: KEPT // 2], np.sort(order[KEPT // 2 :])
    return np.sort(np.concatenate([best, rest[len(rest) - (KEPT - KEPT // 2) :]]))


def _fitted(points: Array, numbers: Array) -> _Fitted:
    rows = chosen(numbers)
    known = numbers[rows]
    kernel = most_likely(points[rows], (known - known.mean()) / (known.std() or 1.0))
    return _Fitted(points, numbers, len(numbers), rows, CholeskyFactor.of(kernel, points[rows]))
