"""Chance: the generators of a whole process, from which code draws that has no random state of its own."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import numpy as np

Chance: TypeAlias = Any
"""The states of the global generators, as a pair: NumPy's and Python's."""

CHANCE_BYTES: Final = 25_600
"""What both take."""


def global_chance() -> Chance:
    """The present states."""
    return np.random.get_state(), random.getstate()


def set_chance(chance: Chance) -> None:
    """Have drawn from now on what was drawn from these states on."""
    np.random.set_state(chance[0])
    random.setstate(chance[1])


def seed_chance(seed: int) -> None:
    """Have drawn from now on what this seed decides; it is below 2**32."""
    np.random.seed(seed)
    random.seed(seed)


def same_chance(one: Chance, other: Chance) -> bool:
    """Whether two states are equal."""
    (mine, python), (theirs, its) = one, other
    return bool(
        mine[0] == theirs[0] and mine[2:] == theirs[2:] and python == its and np.array_equal(mine[1], theirs[1])
    )


@contextmanager
def kept_chance() -> Iterator[None]:
    """Whatever is drawn meanwhile, what is drawn afterwards is the same."""
    chance = global_chance()
    try:
        yield
    finally:
        set_chance(chance)
