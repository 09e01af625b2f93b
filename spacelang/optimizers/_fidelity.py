"""The fidelity grid: on how many training rows a pipeline is trained, step by step.

See spacelang/optimizers/README.md, section "Fidelity grid".
"""

from itertools import accumulate
from math import ceil, floor, log


def rungs(size: int, b: int, eta: float) -> tuple[int, ...]:
    """The numbers of rows n_k = min(size, floor(b * eta^(k - 1))) for k = 1, 2, ... up to `size` itself.

    Strictly increasing: where eta is so small that rounding repeats a number, it is listed once, because training
    on the same rows again tells nothing. `size` and `b` are at least 1, eta is greater than 1.
    """
    found = [min(size, b)]
    exponent = 0
    while found[-1] < size:
        # Exponents that cannot lead beyond the last number are skipped, so that an eta near 1 takes no longer.
        exponent = max(exponent + 1, floor(log((found[-1] + 1) / b) / log(eta)))
        # A product that is a whole number on paper may fall short of it by a few units in the last place.
        rows = floor(min(size, b * eta**exponent * (1 + 1e-12)))
        if rows > found[-1]:
            found.append(rows)
    return tuple(found)


def divided(size: int, least: float, eta: float) -> tuple[int, ...]:
    """The numbers of rows size / eta^k, rounded, for k = s, ..., 1, 0: as many as are not below `least`.

    Ascending; a number may be there twice where there are few rows. `least` is more than 0 and at most `size`.
    """
    last = min(floor(log(size / least) / log(eta) + 1e-9), size - ceil(least))
    return tuple(max(1, round(size * eta**-k)) for k in range(last, -1, -1))


def cumulative(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The rows D_k = n_1 + ... + n_k that a pipeline has been trained on after its k-th training."""
    return tuple(accumulate(sizes))


def fidelity(rows: int, size: int) -> int | None:
    """The number of rows as requests say it: None for all of them."""
    return None if rows == size else rows
