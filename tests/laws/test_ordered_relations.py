"""Laws of large ranges that comparisons relate: counts against closed forms and brute force, and exact draws."""

from collections.abc import Callable
from itertools import pairwise, product
from math import comb
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import spacelang as sl
from spacelang.ir.domain import Grid
from spacelang.ir.expr import And, Compare, Not, Or
from spacelang.solver import constraint_network_compiler
from spacelang.solver.counting import Structures
from spacelang.testing.small_spaces import draw_integer, draw_one

from .crafted import forbid, require, x
from .crafted import one as one_stage
from .related_draws import assert_draws_follow_the_law, assert_nearest_are_members, prior_or_none
from .settings import LAW

BODY = "abstract made\nstage estimator = made {{\n{}\n}}\n"


def chain(length: int, size: int) -> str:
    """Return the text of ranges from 1 to `size`, each of which is at least the one before."""
    return "\n".join(["x1 : int[1, {0}]", *(f"x{i} : int[x{i - 1}, {{0}}]" for i in range(2, length + 1))]).format(size)


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ("lo : int[1, 200000]\nhi : int[lo, 200000]", 200_000 * 200_001 // 2),
        (chain(60, 500), comb(559, 60)),
        ("a : int[1, 2000]\nb : int(a, 2000]\nc : int(b, 2000] = 2000", comb(2000, 3)),
        ("lo : int[1, 9000]\nhi : int[lo, lo + 10]", 9_000 * 11),
        ("lo : int[1, 5000]\nhi : int[2 * lo, 10000]", sum(10_001 - 2 * lo for lo in range(1, 5_001))),
        ("a : int[1, top]\nb : int[1, top]\nvar top : int[1, 3000] = 3000", sum(k * k for k in range(1, 3_001))),
        ("a : float[0, 1] step 0.001\nb : float[0, 1 - a] step 0.001", 1_001 * 1_002 // 2),
        ("a : int[1, 4000] = 3\nb : int[1, 4000] = 1\nrequire a == 3 * b", 1_333),
        # The values of `a` are told apart one by one.
        ("a : int[1, 2000] = 1\nb : int[a, 2000] = 9\nrequire ceil(a / 2) != 5", 2_000 * 2_001 // 2 - 1_992 - 1_991),
        (
            "a : int[1, 4000] = 1\nb : int[a, 4000] = 9\nforbid a > 10\nforbid b > 3000",
            sum(3_001 - a for a in range(1, 11)),
        ),
    ],
)
def test_counts_are_closed_forms(lines: str, count: int) -> None:
    space = sl.parse(BODY.format(lines))
    assert space.configurations == count
    for drawn in space.sample(3, seed=0):
        assert drawn in space


SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "==": lambda one, other: one == other,
}


@st.composite
def related(draw: st.DrawFn) -> tuple[str, set[tuple[int, ...]]]:
    """Return the lines of three small ranges that comparisons relate, and their members."""
    ends = [sorted((draw_integer(draw, -3, 4), draw_integer(draw, -3, 4))) for _ in range(3)]
    pairs = draw_one(draw, (((0, 1), (1, 2)), ((0, 1), (0, 2)), ((0, 1), (0, 1)), ((0, 2), (1, 2))))
    terms = [
        (one, other, draw_integer(draw, 1, 3), draw_integer(draw, -2, 2), draw_one(draw, tuple(SIGNS)))
        for one, other in pairs
    ]
    rows = [f"  x{place} : int[{low}, {high}]" for place, (low, high) in enumerate(ends)]
    rows += [f"  require {factor} * x{one} {sign} x{other} + {shift}" for one, other, factor, shift, sign in terms]
    least, hole = draw_integer(draw, -3, 1), draw_integer(draw, -2, 3)
    rows.append(f"  require x1 >= {least}\n  forbid x0 == {hole}")
    members = {
        values
        for values in product(*(range(low, high + 1) for low, high in ends))
        if values[1] >= least
        and values[0] != hole
        and all(SIGNS[s](f * values[i], values[j] + c) for i, j, f, c, s in terms)
    }
    return "\n".join(rows), members


@given(related())
def test_small_spaces_agree_with_brute_force(written: tuple[str, set[tuple[int, ...]]]) -> None:
    lines, members = written
    if not members:
        return
    rows = lines.split("\n")
    lines = "\n".join([f"{row} = {value}" for row, value in zip(rows[:3], min(members), strict=True)] + rows[3:])
    with patch.object(constraint_network_compiler, "MAX_JOINT_VALUES", 0):
        space = sl.parse(BODY.format(lines))
        assert space.configurations == len(members)
        drawn = {tuple(each[f"estimator.x{place}"] for place in range(3)) for each in space.sample(30, seed=0)}
        assert drawn <= members
        assert_nearest_are_members(space)


@st.composite
def drawn_by_law(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    """Return the lines of three ranges, maybe with a log scale or a prior, that comparisons relate; and the members."""
    starts, steps = ([draw_integer(draw, 1, 3) for _ in range(3)] for _ in range(2))
    values = [range(low, low + 4 * step + 1, step) for low, step in zip(starts, steps, strict=True)]
    band = draw_integer(draw, 0, 4)
    chain, sign = draw_one(draw, ((0, 1, 2), (2, 0, 1))), draw_one(draw, (1, -1))
    members = [
        each
        for each in product(*values)
        if all(0 <= sign * (each[two] - each[one]) <= band + 3 for one, two in pairwise(chain))
    ]
    rows = []
    for place, mine in enumerate(values):
        scale = draw_one(draw, ("", " log")) if mine.step == 1 else f" step {mine.step}"
        default = members[0][place] if members else mine[0]
        prior = prior_or_none(draw, 1 if scale == " log" else mine[2])
        rows.append(f"  x{place} : int[{mine[0]}, {mine[-1]}]{scale} = {default}{prior}")
    for one, two in pairwise(chain):
        more, less = (two, one) if sign > 0 else (one, two)
        rows.append(f"  require x{more} >= x{less} and x{more} <= x{less} + {band + 3}")
    return "\n".join(rows), members


@settings(LAW)
@given(drawn_by_law(), st.booleans())
def test_draws_follow_scales_and_priors(written: tuple[str, list[tuple[int, ...]]], advised: bool) -> None:
    lines, members = written
    if not members:
        return
    with patch.object(constraint_network_compiler, "MAX_JOINT_VALUES", 0):
        space = sl.parse(BODY.format(lines))
        assert_draws_follow_the_law(space, [f"estimator.x{place}" for place in range(3)], members, advised=advised)


def test_draws_of_rare_values_are_exact() -> None:
    """The last range leaves so few joint values of the others that differences of their sums would be 0."""
    lines = ["x0 : int[1, 500] = 500"]
    lines += [f"x{i} : int[1, 500] = 500\nrequire x{i} >= x{i - 1} - 100 and x{i} <= x{i - 1}" for i in range(1, 40)]
    space = sl.parse(BODY.format("\n".join([*lines, "require x39 >= 499"])))
    assert space.configurations == 41
    places = [sum(each[f"estimator.x{place}"] == 499 for place in range(40)) for each in space.sample(820, seed=0)]
    assert stats.chisquare(np.bincount(places, minlength=41)).pvalue > 1e-4


@pytest.mark.parametrize("start", [10**17 + 1, 10**30 + 1])
def test_integers_that_floats_do_not_hold_are_drawn(start: int) -> None:
    space = sl.parse(BODY.format(f"lo : int[{start}, {start + 2999}]\nhi : int[lo, {start + 2999}]"))
    drawn = space.sample(200, seed=0)
    assert all(each in space for each in drawn)
    places = np.array([each["estimator.hi"] for each in drawn]) - start
    assert stats.kstest(places.astype(float) / 3000, lambda q: q**2).pvalue > 1e-4


def test_contradicting_comparisons_leave_nothing() -> None:
    ends = (x(0), x(1), x(2))
    first, second = (Compare("<=", one, two) for one, two in pairwise(ends))
    for rest in (forbid(first), forbid(And((first, second))), require(Or((Not(first), Not(second))))):
        space = one_stage(*[Grid(1, 3000)] * 3, constraints=[require(first), require(second), rest])
        assert not Structures(space).count
        assert not Structures(space).configuration_count


def test_draws_are_uniform_over_members() -> None:
    space = sl.parse(BODY.format("lo : int[1, 1000]\nhi : int[lo, 1000]"))
    drawn = np.array([(each["estimator.lo"], each["estimator.hi"]) for each in space.sample(4_000, seed=0)])
    means = np.array([334.0, 667.0])  # of all pairs with lo <= hi; the standard deviations are 236
    assert (abs(drawn.mean(axis=0) - means) < 5 * 236 / 4_000**0.5).all()


def test_long_chains_are_drawn_without_loss_of_precision() -> None:
    space = sl.parse(BODY.format(chain(60, 500)))
    drawn = np.array([[each[f"estimator.x{place}"] for place in range(1, 61)] for each in space.sample(500, seed=0)])
    assert (np.diff(drawn, axis=1) >= 0).all()
    # Order statistics: the mean of x_k + k - 1 is k * 560 / 61.
    places = np.arange(1, 61)
    assert (abs(drawn.mean(axis=0) + places - 1 - places * 560 / 61) < 5 * 72 / 500**0.5).all()
