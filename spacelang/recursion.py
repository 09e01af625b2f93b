"""The recursion limit of Python, raised for data that is nested more deeply than usual."""

import sys
from typing import Final

FRAMES_PER_LEVEL: Final = 20
"""The maximum number of nested calls that a function needs for one level of nested data."""
HIGHEST_LIMIT: Final = 20_000
"""The highest recursion limit: calls by way of C code take stack space, and a stack of 8 MB must hold all of them."""


def allow_nesting(levels: int) -> None:
    """Raise the recursion limit of the process, if necessary, so that functions can recurse through nested data."""
    needed = min(1_000 + FRAMES_PER_LEVEL * levels, HIGHEST_LIMIT)
    if needed > sys.getrecursionlimit():
        sys.setrecursionlimit(needed)
