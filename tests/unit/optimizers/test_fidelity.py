"""The fidelity grid (spacelang/optimizers/README.md, section "Fidelity grid")."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.optimizers._fidelity import fidelity_of_rows, rungs


@pytest.mark.parametrize(
    ("size", "b", "eta", "expected"),
    [
        (7619, 100, 2.0, (100, 200, 400, 800, 1600, 3200, 6400, 7619)),
        (1000, 100, 2.0, (100, 200, 400, 800, 1000)),
        (50, 100, 2.0, (50,)),
        (100, 100, 2.0, (100,)),
        (800, 100, 2.0, (100, 200, 400, 800)),
        (1, 1, 2.0, (1,)),
        (20, 1, 1.5, (1, 2, 3, 5, 7, 11, 17, 20)),
        (1000, 100, 1e308, (100, 1000)),
    ],
)
def test_worked_numbers(size: int, b: int, eta: float, expected: tuple[int, ...]) -> None:
    assert rungs(size, b, eta) == expected


def test_cumulative_rows_without_a_cap() -> None:
    totals = [*accumulate(rungs(10**9, 100, 2.0))]
    assert totals[:6] == [100, 300, 700, 1500, 3100, 6300]
    assert all(total == 100 * (2**k - 1) for k, total in enumerate(totals[:-1], start=1))


def test_the_capped_last_rung_counts_with_its_real_size() -> None:
    assert [*accumulate(rungs(1000, 100, 2.0))] == [100, 300, 700, 1500, 2500]


def test_a_whole_number_is_not_lost_to_rounding() -> None:
    assert 100 * 1.15 < 115
    assert rungs(1000, 100, 1.15)[1] == 115


def test_an_eta_next_to_1_takes_no_longer() -> None:
    assert rungs(5000, 4000, 1 + 1e-15)[-1] == 5000


@given(st.integers(1, 10**6), st.integers(1, 10**4), st.floats(1.01, 100))
def test_sizes_grow_strictly_up_to_all_rows(size: int, b: int, eta: float) -> None:
    sizes = rungs(size, b, eta)
    assert list(sizes) == sorted(set(sizes))
    assert sizes[0] == min(b, size)
    assert sizes[-1] == size


def test_all_rows_are_asked_for_as_none() -> None:
    assert fidelity_of_rows(400, 400) is None
    assert fidelity_of_rows(200, 400) == 200
