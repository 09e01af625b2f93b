"""Functions that draw single values with Hypothesis.

Creating and validating a strategy costs more than drawing from it. Creating strategies inside a drawn function would do
that thousands of times, so these strategies are cached.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

FLAGS: Final = st.booleans()
"""The strategy of booleans."""


@cache
def between(lower: int, upper: int) -> st.SearchStrategy[int]:
    """Return a cached strategy for the integers from `lower` to `upper`."""
    return st.integers(lower, upper)


def whole(draw: st.DrawFn, lower: int, upper: int) -> int:
    """Draw an integer from `lower` to `upper`."""
    return draw(between(lower, upper))


def one(draw: st.DrawFn, several: Sequence[T]) -> T:
    """Draw one element of a non-empty sequence."""
    return several[whole(draw, 0, len(several) - 1)]
