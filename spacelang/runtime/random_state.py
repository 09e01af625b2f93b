"""Save, set, seed and compare the global random state of NumPy and `random`, and control what else a trial sees."""

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import numpy as np

GlobalRandomState: TypeAlias = Any  # The global random states as a pair: NumPy's and that of `random`
GLOBAL_RANDOM_STATE_BYTES: Final = 25_600  # The memory that both states take, in bytes


def get_global_random_state() -> GlobalRandomState:
    """Return the states of NumPy's and Python's global random generators."""
    return np.random.get_state(), random.getstate()


def set_global_random_state(chance: GlobalRandomState) -> None:
    """Set the states of NumPy's and Python's global random generators, as `get_global_random_state` returns them."""
    np.random.set_state(chance[0])
    random.setstate(chance[1])


def seed_global_random_state(seed: int) -> None:
    """Seed the global generators with a number from 0 to 2**32 - 1."""
    np.random.seed(seed)
    random.seed(seed)


def are_random_states_equal(one: GlobalRandomState, other: GlobalRandomState) -> bool:
    """Return True if two global random states are equal."""
    (mine, python), (theirs, its) = one, other
    are_counters_equal = mine[0] == theirs[0] and mine[2:] == theirs[2:]
    return bool(are_counters_equal and python == its and np.array_equal(mine[1], theirs[1]))


@contextmanager
def preserve_global_random_state() -> Iterator[None]:
    """Restore the global random state when the block ends."""
    chance = get_global_random_state()
    try:
        yield
    finally:
        set_global_random_state(chance)


@contextmanager
def controlled_environment(threads: Any, seed: int) -> Iterator[None]:
    """Run the block with one thread (by the `threads` controller), without warnings and with seeded generators.

    All settings and the global random state are restored afterwards.
    """
    from sklearn import config_context

    with (
        preserve_global_random_state(),
        threads.limit(limits=1),
        warnings.catch_warnings(),
        np.errstate(),
        config_context(),
    ):
        # Warnings of a trial, such as missing convergence or constant features, show in its loss.
        warnings.simplefilter("ignore")
        # Operators without a `random_state` draw from the global generators.
        seed_global_random_state(seed)
        yield
