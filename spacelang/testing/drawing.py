"""Drawing by functions: what a law draws piece by piece.

To make and check a strategy costs more than to draw from it, and where strategies are made while others are drawn from,
it is done thousands of times. These are made once.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

FLAGS: Final = st.booleans()
"""Yes or no."""


@cache
def between(lower: int, upper: int) -> st.SearchStrategy[int]:
    """The whole numbers from the lower to the upper one."""
    return st.integers(lower, upper)


def whole(draw: st.DrawFn, lower: int, upper: int) -> int:
    """A whole number from the lower to the upper one."""
    return draw(between(lower, upper))


def one(draw: st.DrawFn, several: Sequence[T]) -> T:
    """One of several, which are more than none."""
    return several[whole(draw, 0, len(several) - 1)]
