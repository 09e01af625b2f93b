"""How often laws are tried."""

import os
from typing import Final

IS_FULL: Final = bool(os.environ.get("SPACELANG_FULL"))

FEW: Final = 10
"""Cases are tried of a law in the reduced form, at most."""


def few(cases: int = 100) -> int:
    """So many cases where tests run in full, else at most `FEW`."""
    return cases if IS_FULL else min(cases, FEW)
