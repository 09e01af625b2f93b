"""The number of random cases per law."""

import os
from typing import Final

IS_FULL: Final = bool(os.environ.get("SPACELANG_FULL"))

FEW: Final = 10
"""The largest number of cases of a law in the reduced form."""


def few(cases: int = 100) -> int:
    """Return the number of cases in the full form, and at most `FEW` of them in the reduced form."""
    return cases if IS_FULL else min(cases, FEW)
