"""Save, set, seed and compare the global random state of NumPy and `random`."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import numpy as np

Chance: TypeAlias = Any
"""The global random states as a pair: NumPy's and that of `random`."""

CHANCE_BYTES: Final = 25_600
"""The memory that both states take, in bytes."""


def global_chance() -> Chance:
    """Return the current global random state."""
    return np.random.get_state(), random.getstate()


def set_chance(chance: Chance) -> None:
    """Set the global random state."""
    np.random.set_state(chance[0])
    random.setstate(chance[1])


def seed_chance(seed: int) -> None:
    """Seed the global generators with a number from 0 to 2**32 - 1."""
    np.random.seed(seed)
    random.seed(seed)


def same_chance(one: Chance, other: Chance) -> bool:
    """Return True if two global random states are equal."""
    (mine, python), (theirs, its) = one, other
    return bool(
        mine[0] == theirs[0] and mine[2:] == theirs[2:] and python == its and np.array_equal(mine[1], theirs[1])
    )


@contextmanager
def kept_chance() -> Iterator[None]:
    """Restore the global random state when the block ends."""
    chance = global_chance()
    try:
        yield
    finally:
        set_chance(chance)
