import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.runtime.split import plain_holdout, stratified_holdout, stratified_order

COUNTS = st.lists(st.integers(2, 40), min_size=2, max_size=6)


@given(COUNTS, st.integers(0, 2**32))
def test_every_prefix_is_within_one_row_of_proportional_for_every_class(counts, seed):
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    order = stratified_order(codes, np.random.default_rng(seed))
    assert sorted(order) == list(range(len(codes)))
    seen = np.cumsum(codes[order][:, None] == np.arange(len(counts)), axis=0)
    share = np.arange(1, len(codes) + 1)[:, None] * np.array(counts) / len(codes)
    assert np.abs(seen - share).max() < 1
    assert len(set(codes[order][:2])) == 2


def test_a_rare_class_among_very_many_rows_is_there_from_the_second_row_on():
    codes = np.repeat([0, 1], [9_998, 2])
    order = stratified_order(codes, np.random.default_rng(0))
    assert set(codes[order[:2]]) == {0, 1}


@given(COUNTS, st.floats(0.01, 0.99), st.integers(0, 2**32))
def test_every_class_is_in_both_parts_of_a_holdout(counts, test_size, seed):
    codes = np.repeat(np.arange(len(counts)), counts)
    training, held_out = stratified_holdout(codes, test_size, np.random.default_rng(seed))
    assert sorted([*training, *held_out]) == list(range(len(codes)))
    for part in (training, held_out):
        assert set(codes[part]) == set(codes)
    held = np.bincount(codes[held_out])
    wanted = np.clip(test_size * np.array(counts), 1, np.array(counts) - 1)
    assert np.abs(held - wanted).max() <= 0.5


@pytest.mark.parametrize(("count", "held_out"), [(10, 3), (11, 4), (2, 1), (1000, 300)])
def test_a_plain_holdout_takes_its_share(count, held_out):
    training, judging = plain_holdout(count, 0.3, np.random.default_rng(0))
    assert len(judging) == held_out
    assert sorted([*training, *judging]) == list(range(count))
