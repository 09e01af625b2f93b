"""Ranks with a tolerance, by their definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from spacelang.bench.comparison.ranks import ROUNDING, LeadInterval, lead_intervals, leaders_by_column, ranks

SHAPES = arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6)
NEAR = st.integers(0, 12).map(lambda number: number * 0.0005)
"""Losses among which many are within the tolerance of others, some exactly at it."""
COLUMNS = SHAPES.flatmap(lambda shape: arrays.arrays(float, shape, elements=NEAR | st.floats(0, 1)))


def brute(losses: list[float], tolerance: float) -> list[float]:
    """Groups by their definition: the smallest one left, and all that are within the tolerance of it."""
    left, found, place = sorted(range(len(losses)), key=lambda each: losses[each]), [0.0] * len(losses), 0
    while left:
        group = [each for each in left if losses[each] - losses[left[0]] <= tolerance + ROUNDING]
        shared = sum(range(place + 1, place + len(group) + 1)) / len(group)
        for each in group:
            found[each] = shared
        left, place = [each for each in left if each not in group], place + len(group)
    return found


@given(COLUMNS, st.sampled_from([0.0, 0.001, 0.1]), st.data())
def test_ranks_are_those_of_the_definition(losses: np.ndarray, tolerance: float, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, losses.ndim - 1))
    found = ranks(losses, axis, tolerance)
    assert found.shape == losses.shape
    columns = np.moveaxis(losses, axis, 0).reshape(losses.shape[axis], -1).T
    for column, expected in zip(np.moveaxis(found, axis, 0).reshape(losses.shape[axis], -1).T, columns, strict=True):
        assert column.tolist() == brute(expected.tolist(), tolerance)


@given(COLUMNS)
def test_the_average_rank_is_the_middle(losses: np.ndarray) -> None:
    assert np.allclose(ranks(losses).mean(axis=0), (len(losses) + 1) / 2)


@given(COLUMNS, st.randoms(use_true_random=False))
def test_permuting_optimizers_permutes_ranks(losses: np.ndarray, random: "st.DrawFn") -> None:
    order = list(range(len(losses)))
    random.shuffle(order)
    assert (ranks(losses)[order] == ranks(losses[order])).all()


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([0.3, 0.1, 0.2], [3, 1, 2]),
        ([0.1, 0.1, 0.1], [2, 2, 2]),
        ([0.101, 0.1, 0.3], [1.5, 1.5, 3]),  # 0.101 - 0.1 is more than 0.001 in floating point
        ([0.1, 0.1006, 0.1012], [1.5, 1.5, 3]),  # no chain: the third is compared with the first
        ([0.1012, 0.1018, 0.1, 0.1006], [3.5, 3.5, 1.5, 1.5]),
        ([1.0, 1.0, 0.2], [2.5, 2.5, 1]),
        ([0.5], [1]),
    ],
)
def test_ranks(losses: list[float], expected: list[float]) -> None:
    assert ranks(np.array(losses)).tolist() == expected


def test_who_is_ahead() -> None:
    values = np.array([[1.0, 0.5, 0.2], [1.0, 0.4, 0.2005], [1.0, 0.9, 0.7]])
    assert leaders_by_column(values, ("a", "b", "c"), 0.001) == [("a", "b", "c"), ("b",), ("a", "b")]


def test_intervals_end_where_the_next_begins() -> None:
    seconds = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    found = lead_intervals(seconds, [(), ("a",), ("a",), ("b",), ("b",)])
    assert found == (LeadInterval(1.0, 2.0, ()), LeadInterval(2.0, 8.0, ("a",)), LeadInterval(8.0, 16.0, ("b",)))
    assert lead_intervals(seconds[:1], [("a",)]) == (LeadInterval(1.0, 1.0, ("a",)),)
