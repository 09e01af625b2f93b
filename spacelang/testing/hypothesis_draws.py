"""Functions that draw single values with Hypothesis, from cached strategies, as creating strategies is slow."""

from collections.abc import Sequence
from functools import cache
from typing import Final, TypeVar

from hypothesis import strategies as st

from spacelang.deprecation import make_module_getattr

T = TypeVar("T")
BOOLEAN_STRATEGY: Final = st.booleans()  # The strategy of booleans


@cache
def integers_between(lower: int, upper: int) -> st.SearchStrategy[int]:
    """Return a cached strategy for the integers from `lower` to `upper`."""
    return st.integers(lower, upper)


def draw_integer(draw: st.DrawFn, lower: int, upper: int) -> int:
    """Draw an integer from `lower` to `upper`."""
    return draw(integers_between(lower, upper))


def draw_one(draw: st.DrawFn, several: Sequence[T]) -> T:
    """Draw one element of a non-empty sequence."""
    return several[draw_integer(draw, 0, len(several) - 1)]


__getattr__ = make_module_getattr(
    __name__, {"FLAGS": "BOOLEAN_STRATEGY", "between": "integers_between", "one": "draw_one", "whole": "draw_integer"}
)
