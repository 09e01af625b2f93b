"""The fidelity grid: the numbers of training rows of successive trainings.

See spacelang/optimizers/README.md, section "Fidelity grid".
"""

from itertools import accumulate
from math import ceil, floor, log


def rungs(size: int, b: int, eta: float) -> tuple[int, ...]:
    """Return the numbers of rows n_k = min(size, floor(b * eta^(k - 1))) for k = 1, 2, ... up to `size` itself.

    The result is strictly increasing: a number that rounding repeats is listed once, because training on the same rows
    again gives no new information. `size` and `b` are at least 1, and `eta` is greater than 1.
    """
    found = [min(size, b)]
    exponent = 0
    while found[-1] < size:
        # Skip exponents that cannot exceed the last number, so that an eta near 1 takes no longer.
        exponent = max(exponent + 1, floor(log((found[-1] + 1) / b) / log(eta)))
        # Rounding errors may make a product fall slightly below the exact whole number.
        rows = floor(min(size, b * eta**exponent * (1 + 1e-12)))
        if rows > found[-1]:
            found.append(rows)
    return tuple(found)


def divided_rungs(size: int, least: float, eta: float) -> tuple[int, ...]:
    """Return the numbers of rows size / eta^k, rounded, for k = s, ..., 1, 0.

    Here s is the largest k for which the number is not below `least`. The result is ascending. A number may occur twice
    if there are few rows. `least` is more than 0 and at most `size`.
    """
    last = min(floor(log(size / least) / log(eta) + 1e-9), size - ceil(least))
    return tuple(max(1, round(size * eta**-k)) for k in range(last, -1, -1))


def cumulative_rows(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the cumulative rows D_k = n_1 + ... + n_k that a pipeline was trained on after its k-th training."""
    return tuple(accumulate(sizes))


def fidelity(rows: int, size: int) -> int | None:
    """Return the number of rows as the `fidelity` of a request: None for all rows."""
    return None if rows == size else rows
