"""Laws of counts where comparisons of large ranges are a part of a network: closed forms and brute force."""

from fractions import Fraction
from math import comb
from unittest.mock import patch

import pytest
from hypothesis import assume, given, settings

import spacelang as sl
from spacelang.ir.domain import Grid
from spacelang.ir.space import Space
from spacelang.solver import constraint_network_compiler, counting
from spacelang.solver.counting import Structures
from spacelang.solver.fourier_motzkin import Inequality
from spacelang.solver.summed_ranges import make_summed_ranges

from . import brute
from .settings import EXAMPLES, LAW
from .spaces import finite_spaces

BODY = "abstract made\nabstract other\nstage estimator = made {{\n{}\n}}\n"
PAIRS = 1_000 * 1_001 // 2
SHARES = "".join(f"{name} : int[0, 100] = {value}\n" for name, value in zip("abcd", (10, 20, 30, 40), strict=True))


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ("lo : int[1, 1000]\nhi : {none} | int[lo, 1000]", 1_000 + PAIRS),
        ("lo : int[1, 1000000]\nhi : {none, auto} | int[lo, 1000000] = none", 2 * 10**6 + 10**6 * (10**6 + 1) // 2),
        ("k : bool\nlo : int[1, 1000]\nhi : int[lo, 1000] when k", 1_000 + PAIRS),
        ("k : bool\nlo : int[1, 1000]\nhi : int[1, 1000]\nrequire lo <= hi or k", PAIRS + 10**6),
        ("t : tuple[1, 3] of int[1, 1000]\nrequire t[1] >= t[2]\nrequire t[2] >= t[3]", 1_000 + PAIRS + comb(1_002, 3)),
        ("a : int[1, 1000] = 1\nb : int[1, 1000] = 9\nrequire a != b and a != 2 * b", 10**6 - 1_000 - 500),
        ("a : int[1, 1000] = 1\nb : int[1, 1000] = 99\nrequire a < b - 9 or a > b + 9", 990 * 991),
        (
            f"{SHARES}require a <= b\nrequire c <= d\nrequire a + b + c + d == 100",
            sum((ab // 2 + 1) * ((100 - ab) // 2 + 1) for ab in range(101)),
        ),
        (
            "a : int[1, 2000] = 1\nb : int[a, 2000] = 2\nc : int[b, a + 10] = 3",
            1_990 * comb(12, 2) + sum(a + 11 - b for a in range(1_991, 2_001) for b in range(a, 2_001)),
        ),
    ],
)
def test_counts_are_closed_forms(lines: str, count: int) -> None:
    space = sl.parse(BODY.format(lines))
    assert space.configurations == count
    for drawn in space.sample(3, seed=0):
        assert drawn in space


def test_relations_across_a_chain_and_alternatives_are_counted() -> None:
    text = (
        "abstract A\nabstract B\nstage step = A { k : int[1, 1000] = 1 } | B\nstage last = B\n"
        "pipeline = repeat(step, 0, 2) -> last\nrequire step[1].k <= step[2].k\n"
    )
    assert sl.parse(text).configurations == 1 + 1_001 + (1 + 2 * 1_000 + PAIRS)


@settings(LAW, max_examples=2 * EXAMPLES)
@given(finite_spaces())
def test_random_spaces_agree_with_brute_force(space: Space) -> None:
    """All linear comparisons are compared as ranges here, without sums along whole networks."""
    with (
        patch.object(constraint_network_compiler, "MAX_JOINT_VALUES", 0),
        patch.object(constraint_network_compiler, "countable_relations", lambda _: None),
        patch.object(counting, "countable_relations", lambda _: None),
    ):
        structures = Structures(space)
        networks = [network for several in structures.model.by_context.values() for network in several]
        assume(any(network.ranges for network in networks))
        count = structures.configuration_count
        assert count is None or count == len(brute.configurations(space))
        assert count is not None or structures.expressions_tested_on_draws


def test_a_sum_that_cannot_be_reached_takes_no_steps() -> None:
    """A negative number of steps would raise the limit for the rest of the network."""
    grids = {name: Grid(0, 9) for name in "abc"}
    row = Inequality(dict.fromkeys(grids, Fraction(-1)), Fraction(10_000))
    found = make_summed_ranges(grids, [row], {name: (grid,) for name, grid in grids.items()})
    assert found is not None
    assert (found.size, found.count()) == (0, 0)
