"""The bundled spaces as those tests take them that are about all."""

import os
from typing import Final

from spacelang.syntax.sources import bundled_names

EVERYDAY: Final = ("tabular_classification", "tabular_regression")
"""Made of one set of stages, which `tests/laws/test_starter_spaces.py` tries on tables with columns of all kinds."""

IS_FULL: Final = bool(os.environ.get("SPACELANG_FULL"))

NAMES: Final = tuple(name for name in bundled_names() if IS_FULL or name not in EVERYDAY)
"""All of them; in the reduced form only those that have no tests of their own."""
