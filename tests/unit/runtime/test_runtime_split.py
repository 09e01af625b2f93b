import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.validation import CrossValidation, Holdout, describe_validation, parse_validation
from spacelang.runtime.evaluation.splits import (
    grouped_holdout,
    plain_folds,
    plain_holdout,
    stratified_folds,
    stratified_holdout,
    stratified_order,
)

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


@given(COUNTS, st.integers(2, 8), st.integers(0, 2**32))
def test_every_row_is_held_out_once_and_every_class_as_evenly_as_can_be(counts, folds, seed):
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    folds = min(folds, len(codes))
    found = stratified_folds(codes, folds, np.random.default_rng(seed))
    assert sorted(row for _, held_out in found for row in held_out) == list(range(len(codes)))
    for training, held_out in found:
        assert sorted([*training, *held_out]) == list(range(len(codes)))
    parts = np.array([np.bincount(codes[held_out], minlength=len(counts)) for _, held_out in found])
    assert np.ptp(parts, axis=0).max() <= 1
    assert np.ptp(parts.sum(axis=1)) <= 1


@given(st.integers(4, 60), st.integers(2, 8), st.integers(0, 2**32))
def test_plain_folds_share_the_rows_out(count, folds, seed):
    found = plain_folds(count, min(folds, count), np.random.default_rng(seed))
    assert sorted(row for _, held_out in found for row in held_out) == list(range(count))
    assert np.ptp([len(held_out) for _, held_out in found]) <= 1
    assert all(sorted([*training, *held_out]) == list(range(count)) for training, held_out in found)


def test_folds_depend_on_the_seed():
    codes = np.repeat([0, 1], 20)
    first, same, other = (stratified_folds(codes, 3, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert all((a[0] == b[0]).all() for a, b in zip(first, same, strict=True))
    assert not all((a[0] == b[0]).all() for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("validation", [Holdout(0.3), Holdout(0.05), CrossValidation(2), CrossValidation(10)])
def test_a_validation_is_read_as_it_is_written(validation):
    text = describe_validation(validation)
    assert parse_validation(text) == parse_validation(f" {text.replace('(', ' ( ')} ") == validation


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "invalid validation"),
        ("cv", "invalid validation"),
        ("cv(5", "invalid validation"),
        ("holdout(-0.3)", "invalid validation"),
        ("kfold(5)", "invalid validation `kfold"),
        ("holdout(30)", "must be between 0 and 1, not 30"),
        ("holdout(0)", "must be between 0 and 1, not 0"),
        ("cv(1)", "an integer of at least 2, not 1"),
        ("cv(2.5)", "an integer of at least 2, not 2.5"),
        ("time(1, by=date)", "an integer of at least 2, not 1"),
        ("time(5)", "write `time.5, by=COLUMN.`"),
        ("cv(5, by=date)", "`cv` has no option `by`"),
        ("cv(5, group)", "`group` needs the name of a column"),
        ("cv(5, group=a b)", 'in quotes: `cv.5, group="a b".`'),
        ("time(5, by='sold at', keep)", 'in quotes: `time.5, by="sold at", keep.`'),
        ("kfold(5, group=a b)", "write `holdout"),
        ('cv(5, group="a)', "invalid validation"),
        ("holdout(0.3, keep)", "`keep` needs `by`"),
    ],
)
def test_what_is_no_validation(text, message):
    with pytest.raises(ValueError, match=message):
        parse_validation(text)


def test_large_groups_are_not_always_held_out() -> None:
    groups = np.repeat(np.arange(12), [30, 25, 20, 15, 10, *[5] * 7])
    drawn = [grouped_holdout(np.zeros_like(groups), groups, 0.25, np.random.default_rng(seed))[1] for seed in range(20)]
    held_out = [frozenset(groups[rows].tolist()) for rows in drawn]
    assert len({*held_out}) > 10
    assert 0 < sum(0 in each for each in held_out) < 20
    assert all(0.15 < len(rows) / len(groups) < 0.35 for rows in drawn)
