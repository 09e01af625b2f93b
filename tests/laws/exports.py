"""Spaces compiled to the form of a tool, and members of them, for the laws of exports."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import assume

import spacelang as sl
from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.counting import Structures
from spacelang.targets import TARGETS
from spacelang.targets._lowering import LoweringResult, RefusedError

BUNDLED = (
    "admm_table_a2",
    "admm_table_a3",
    "blds_table1",
    "blds_table1_hpo",
    "boasf_logistic_regression",
    "boasf_models",
    "boasf_random_forest",
    "mosaic",
)
IMPORTED = Path(__file__).parents[3] / "shared" / "data" / "pcs" / "mosaic_1_0.pcs"
DRAWS = 1_000 if os.environ.get("SPACELANG_FULL") else 60
"""How many samples are drawn of each bundled space."""


def bundled(name: str) -> Space:
    """A bundled space, or the imported one."""
    return (sl.import_space(IMPORTED).space if name == "imported" else sl.load(name)).checked


NAMES = (*BUNDLED, *(("imported",) if IMPORTED.exists() else ()))


def form_of(name: str, space: Space, **options: Any) -> LoweringResult[Any, Any]:
    """The form of a space that the target takes."""
    found = TARGETS.load(name)(**options).lower(Structures(space))
    assert isinstance(found, LoweringResult)
    return found


def drawn(name: str, space: Space, **options: Any) -> LoweringResult[Any, Any]:
    """The form of a drawn space; one that is empty, or that the target refuses as it declares, is no example."""
    try:
        structures = Structures(space)
        assume(structures.count)
        found = TARGETS.load(name)(**options).lower(structures)
    except (UndecidableError, RefusedError):
        assume(False)
        raise
    assert isinstance(found, LoweringResult)
    return found


def members(space: Space, count: int, seed: int) -> list[Configuration]:
    """Some members of any space that is not empty."""
    try:
        return Sampler(Structures(space)).batch(count, np.random.default_rng(seed)).configurations()
    except SamplingFailedError:
        return []
