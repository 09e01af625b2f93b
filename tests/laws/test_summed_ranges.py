"""Laws of ranges of which only the sum is limited: counts against closed forms and brute force, and exact draws."""

from fractions import Fraction
from itertools import product
from math import comb
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import spacelang as sl
from spacelang.analysis import check
from spacelang.ir.expr import COMPARISON_FUNCTIONS
from spacelang.solver import constraint_network_compiler
from spacelang.testing.small_spaces import draw_integer, draw_one
from spacelang.text import Source

from .related_draws import assert_draws_follow_the_law, assert_nearest_are_members, prior_or_none
from .settings import LAW

BODY = "abstract made\nstage estimator = made {{\n{}\n}}\n"


def summed(count: int, domain: str, limit: str, factor: str = "") -> str:
    """Return the text of `count` equal ranges and the limit of their sum, with a factor of the first one."""
    rows = [f"x{place} : {domain}" for place in range(count)]
    names = [f"x{place}" for place in range(count)]
    names[0] = f"{factor}{names[0]}"
    return BODY.format("\n".join([*rows, f"require sum({', '.join(names)}) {limit}"]))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (summed(10, "float[0, 1] step 0.01 = 0.1", "== 1"), comb(109, 9)),
        (summed(5, "float[0, 1] step 0.01 = 0.2", "<= 1"), comb(105, 5)),
        (
            summed(300, "int[0, 100] = 1", "== 300"),
            sum((-1) ** k * comb(300, k) * comb(599 - 101 * k, 299) for k in (0, 1, 2)),
        ),
        (summed(300, "int[0, 1] = 1", ">= 298"), 1 + 300 + comb(300, 2)),
        (summed(20, "int[1, 1000] = 1000", "> 19990"), comb(29, 20)),
        (summed(4, "int[-50, 50] = 0", "== 0"), sum((-1) ** k * comb(4, k) * comb(203 - 101 * k, 3) for k in (0, 1))),
        (summed(3, "int[0, 300] = 0", "<= 300", "2 * "), sum(comb(302 - 2 * twice, 2) for twice in range(151))),
    ],
)
def test_counts_are_closed_forms(text: str, count: int) -> None:
    space = sl.parse(text)
    assert space.configurations == count
    for drawn in space.sample(3, seed=0):
        assert drawn in space


@st.composite
def limited(draw: st.DrawFn) -> tuple[str, list[tuple[Fraction, ...]]]:
    """Return the lines of three small ranges, one or two limits of their sum and a bound, and the members."""
    steps = [draw_one(draw, (1, 2, Fraction(1, 2), Fraction(1, 4))) for _ in range(3)]
    starts = [draw_integer(draw, -2, 2) for _ in range(3)]
    sizes = [draw_integer(draw, 1, 4) for _ in range(3)]
    factors = [draw_one(draw, (1, 2, -1, -3)) for _ in range(3)]
    limits = [
        (draw_one(draw, ("<", "<=", ">", ">=", "==")), draw_integer(draw, -4, 4))
        for _ in range(draw_integer(draw, 1, 2))
    ]
    hole = draw_integer(draw, -2, 3)
    values = [
        [start + step * i for i in range(size + 1)] for start, step, size in zip(starts, steps, sizes, strict=True)
    ]
    members = [
        each
        for each in product(*values)
        if each[0] <= starts[0] + 1
        and each[1] != hole
        and all(
            COMPARISON_FUNCTIONS[sign](sum(f * v for f, v in zip(factors, each, strict=True)), limit)
            for sign, limit in limits
        )
    ]
    rows = []
    for place, step in enumerate(steps):
        low, high = values[place][0], values[place][-1]
        default = members[0][place] if members else low
        kind = "int" if step in (1, 2) else "float"
        shown = [str(float(each)) if kind == "float" else str(int(each)) for each in (low, high, step, default)]
        rows.append(f"x{place} : {kind}[{shown[0]}, {shown[1]}] step {shown[2]} = {shown[3]}")
    total = " + ".join(f"{factor} * x{place}" for place, factor in enumerate(factors))
    rows += [f"require {total} {sign} {limit}" for sign, limit in limits]
    return "\n".join([*rows, f"require x0 <= {starts[0] + 1}\nforbid x1 == {hole}"]), members


@given(limited())
def test_small_spaces_agree_with_brute_force(written: tuple[str, list[tuple[Fraction, ...]]]) -> None:
    lines, members = written
    with patch.object(constraint_network_compiler, "MAX_JOINT_VALUES", 0):
        if not members:
            with pytest.raises(sl.SpaceError):
                sl.parse(BODY.format(lines))
            return
        space = sl.parse(BODY.format(lines))
        assert space.configurations == len(members)
        for each in space.sample(30, seed=0):
            assert tuple(each[f"estimator.x{place}"] for place in range(3)) in members
        assert_nearest_are_members(space)


@st.composite
def drawn_by_law(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    """Return the lines of three ranges, maybe with a log scale or a prior, and a limit of their sum; and members."""
    starts, steps, factors = ([draw_integer(draw, 1, 3) for _ in range(3)] for _ in range(3))
    values = [range(low, low + 4 * step + 1, step) for low, step in zip(starts, steps, strict=True)]
    sign, minus = draw_one(draw, ("<=", ">=", "==")), draw_one(draw, (1, -1))
    factors[1] *= minus
    chosen = [draw_one(draw, mine) for mine in values]
    limit = sum(factor * value for factor, value in zip(factors, chosen, strict=True))
    members = [
        each
        for each in product(*values)
        if COMPARISON_FUNCTIONS[sign](sum(f * v for f, v in zip(factors, each, strict=True)), limit)
    ]
    rows = []
    for place, mine in enumerate(values):
        scale = draw_one(draw, ("", " log")) if mine.step == 1 else f" step {mine.step}"
        prior = prior_or_none(draw, 1 if scale == " log" else mine[2])
        rows.append(f"x{place} : int[{mine[0]}, {mine[-1]}]{scale} = {chosen[place]}{prior}")
    total = " + ".join(f"{factor} * x{place}" for place, factor in enumerate(factors))
    return "\n".join([*rows, f"require {total} {sign} {limit}"]), members


@settings(LAW)
@given(drawn_by_law(), st.booleans())
def test_draws_follow_scales_and_priors(written: tuple[str, list[tuple[int, ...]]], advised: bool) -> None:
    lines, members = written
    with patch.object(constraint_network_compiler, "MAX_JOINT_VALUES", 0):
        space = sl.parse(BODY.format(lines))
        assert_draws_follow_the_law(space, [f"estimator.x{place}" for place in range(3)], members, advised=advised)


def test_a_sum_with_large_tables_is_drawn_approximately() -> None:
    text = summed(10, "int[0, 100000] = 0", "<= 100000")
    assert [each.code for each in check(Source("law.space", text)).diagnostics] == ["SL514"]
    space = sl.parse(text)
    drawn = np.array([[each[f"estimator.x{place}"] for place in range(10)] for each in space.sample(500, seed=0)])
    assert stats.kstest(drawn.sum(axis=1) / 1e5, lambda q: q**10).pvalue > 1e-4
    assert stats.kstest(drawn[:, 3] / 1e5, lambda q: 1 - (1 - q) ** 10).pvalue > 1e-4


def test_draws_are_uniform_over_members() -> None:
    with patch.object(constraint_network_compiler, "MAX_JOINT_VALUES", 0):
        first, others = "x0 : float[0, 1] step 0.05 = 0.9", "float[0, 1] step 0.05 = 0.05"
        space = sl.parse(BODY.format(f"{first}\nx1 : {others}\nx2 : {others}\nrequire sum(x0, x1, x2) == 1"))
        assert space.configurations == 231
        drawn = [tuple(each.values()) for each in space.sample(23_100, seed=0)]
    counts = np.unique(np.array(drawn)[:, -3:].astype(float), axis=0, return_counts=True)[1]
    assert len(counts) == 231
    assert abs(((counts - 100) ** 2 / 100).sum() - 230) < 5 * 460**0.5  # chi-square, five standard deviations


def test_sums_of_hundreds_of_ranges_are_drawn_without_loss_of_precision() -> None:
    space = sl.parse(summed(300, "int[0, 1000] = 1", "<= 300"))
    drawn = np.array([[each[f"estimator.x{place}"] for place in range(300)] for each in space.sample(200, seed=0)])
    assert (drawn.sum(axis=1) <= 300).all()
    # A slack variable more makes it a sum of 301 equal to 300: each has the mean 300 / 301 and a variance near 2.
    assert abs(drawn.mean(axis=0) - 300 / 301).max() < 5 * (2 / 200) ** 0.5
    assert abs(drawn.sum(axis=1).mean() - 300 * 300 / 301) < 5 * (2 / 200) ** 0.5
