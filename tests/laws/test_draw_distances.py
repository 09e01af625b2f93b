"""Distances of random draws: equal distributions stay below the limits for any number of draws, others do not."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spacelang as sl
from spacelang.sampling.batch_builder import ConfigurationBatch
from spacelang.sampling.sampler import Sampler
from spacelang.targets._draw_distances import FALSE_ALARM_PROBABILITY, LAW_DRAWS, compare_batches

from .settings import LAW

TEXT = """abstract M
abstract N
abstract O
stage scaler = none{weight} | StandardScaler | MinMaxScaler | RobustScaler
stage e = M {{ x : float[0, 1], n : {{none}} | int[1, 9], kind : {{a, b, c}} }} | N {{ x : float[1, 10] log }} | O
forbid scaler is none and e is O
"""
SEEDS = 60


@cache
def sampler(weight: str = "") -> Sampler:
    return Sampler(sl.parse(TEXT.format(weight=weight)).counted, advised=True)


@cache
def law() -> ConfigurationBatch:
    return sampler().batch(LAW_DRAWS, np.random.default_rng(7))


def large(batch: ConfigurationBatch) -> set[str]:
    distances, limits = compare_batches(batch, law())
    return {key for key, distance in distances.items() if distance > limits[key]}


@pytest.mark.parametrize("draws", [10, 60, 300, 3_000])
def test_equal_distributions_are_above_a_limit_for_few_seeds(draws: int) -> None:
    found = [large(sampler().batch(draws, np.random.default_rng(seed))) for seed in range(SEEDS)]
    assert sum(map(bool, found)) <= 1 + SEEDS * FALSE_ALARM_PROBABILITY


@given(st.integers(1, 10_000), st.integers(0, 10**6))
@LAW
def test_limits_are_as_low_as_draws_allow(draws: int, seed: int) -> None:
    distances, limits = compare_batches(sampler().batch(draws, np.random.default_rng(seed)), law())
    assert distances.keys() == limits.keys()
    assert [*distances.values()] == sorted(distances.values(), reverse=True)
    assert 0.05 <= min(limits.values()) <= max(limits.values()) <= max(0.05, 2.6 * draws**-0.5)


@given(st.floats(2, 20), st.integers(0, 10**6))
@LAW
def test_another_share_is_found_with_3000_draws(weight: float, seed: int) -> None:
    drawn = sampler(f" @weight({weight:.3f})").batch(3_000, np.random.default_rng(seed))
    assert "scaler" in large(drawn)


def test_the_largest_distance_of_variables_with_the_same_key_counts() -> None:
    """`e.x` is a hyperparameter of both `M` and `N`; only the draws of the first one deviate."""
    drawn = sampler().batch(3_000, np.random.default_rng(1))
    assert "e.x" not in large(drawn)
    drawn.hyperparameters["e.M.x"].values.codes[:] **= 2
    assert large(drawn) == {"e.x"}
