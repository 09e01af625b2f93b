"""The bundled spaces for tests that are parametrized with all of them."""

import os
from typing import Final

from spacelang.syntax.sources import bundled_names

EVERYDAY: Final = ("tabular_classification", "tabular_regression")
"""Spaces of the same stages, which `tests/laws/test_starter_spaces.py` tests on tables with columns of all kinds."""

IS_FULL: Final = bool(os.environ.get("SPACELANG_FULL"))

NAMES: Final = tuple(name for name in bundled_names() if IS_FULL or name not in EVERYDAY)
"""All of them; in the reduced form only those that have no tests of their own."""
