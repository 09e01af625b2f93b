"""All optimizers with options that make them fast, for tests whose trials take no time."""

import os
from collections.abc import Mapping
from typing import Any, Final

from spacelang.optimizers import OPTIMIZERS

PLAYOUTS: Final = {"trees": "2", "n_s": "3", "n_r": "12"}
"""Options of `mosaic` whose playouts take hardly any time."""

OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "admm": {"theta": "random"},
    "auto": {"model": "none"},
    "bo": {"initial": "1000"},
    "boasf": {"startup": "1000", "resource": "evaluations", "total": "60"},
    "bohb": {"candidates": "8", "random_fraction": "0.8"},
    "jopt": {"initial": "1000"},
    "mosaic": PLAYOUTS if os.environ.get("SPACELANG_FULL") else {**PLAYOUTS, "kappa": "60"},
    "optuna": {"sampler": "RandomSampler"},
    "smac": {"challengers": "20"},
    "tpe": {"startup": "1000"},
}
"""By the name of the optimizer."""

PARTIAL: Final = frozenset({"random_forest_tpe", "select_best"})
"""Those that search a part of a space alone, if it has that: their own tests say what they do."""

HEAVY: Final = frozenset({"boasf", "bohb", "mosaic", "optuna", "smac", "tpe"})
"""Those that take long whatever their options are: their own tests, and that they are resumed, say enough of them."""

NAMES: Final = tuple(
    name
    for name in OPTIMIZERS.names()
    if name not in PARTIAL and (name not in HEAVY or os.environ.get("SPACELANG_FULL"))
)
"""Every other optimizer; the heavy ones only where tests run in full."""


def cheap(name: str) -> Any:
    """The optimizer of a name."""
    return OPTIMIZERS.configure(OPTIMIZERS.load(name), OPTIONS.get(name, {}))
