"""Configurations are told apart by their canonical JSON, however much of it is in memory."""

import copy
import pickle

from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration

NUMBERS = st.one_of(st.booleans(), st.integers(0, 2), st.sampled_from([0.0, -0.0, 1.0, 0.5]))
VALUES = st.dictionaries(st.text(max_size=2), st.one_of(NUMBERS, st.text()), max_size=3)


@given(VALUES, VALUES)
def test_they_are_equal_where_their_identities_are(one: dict[str, object], other: dict[str, object]) -> None:
    left, right = Configuration(one), Configuration(other)  # type: ignore[arg-type]
    is_same = left.identity == right.identity
    assert (left == right) == (left.digest == right.digest) == is_same
    assert left != one
    assert not is_same or hash(left) == hash(right)


@given(VALUES)
def test_order_counts_for_nothing_and_copies_are_the_same(values: dict[str, object]) -> None:
    configuration = Configuration(dict(reversed(values.items())))  # type: ignore[arg-type]
    for _ in range(2):  # before its digest is known, and once it is
        assert pickle.loads(pickle.dumps(configuration)) == copy.deepcopy(configuration) == Configuration(values)  # type: ignore[arg-type]
    assert [*configuration] == sorted(values)
