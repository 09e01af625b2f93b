"""Draws of continuous ranges that comparisons connect like a forest, against closed forms and plain rejection."""

from math import exp, lgamma, log
from time import process_time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import spacelang as sl
from spacelang.ir.domain import Real
from spacelang.ir.expr import Arithmetic, Compare, Constant, Expr, Reference
from spacelang.ir.prior import Normal
from spacelang.sampling.compared_cells import ComparedCell, ComparedCells
from spacelang.sampling.order_forest_region import OrderForestRegion
from spacelang.testing.small_spaces import draw_integer, draw_one

from .related_draws import LEAST_P_VALUE
from .settings import LAW

UNIT, LOG = Real(0.0, 1.0), Real(0.01, 1.0, log=True)
LINEAR = (UNIT, UNIT, Real(-1.0, 1.0), Real(0.25, 0.75), Real(0.0, 2.0))
LOGARITHMIC = (LOG, LOG, Real(0.1, 0.3, log=True))
PLAIN = 40_000


@st.composite
def forests(draw: st.DrawFn) -> ComparedCells:
    """Return two to five ranges, each of which is compared with one before it or with none."""
    number = draw_integer(draw, 2, 5)
    kind = draw_one(draw, ("linear", "linear", "logarithmic", "prior"))
    domains = {"linear": LINEAR, "logarithmic": LOGARITHMIC, "prior": (LOG,)}[kind]
    prior = Normal(-1.0, 0.7) if kind == "prior" else None
    chosen = [draw_one(draw, domains) for _ in range(number)]
    required: list[tuple[Compare, bool]] = []
    for place in range(1, number):
        left: Expr = Reference(f"x{place}")
        right: Expr = Reference(f"x{draw_integer(draw, 0, place - 1)}")
        if kind != "prior":
            left = Arithmetic("*", Constant(draw_one(draw, (1, 1, 2, 0.5))), left)
        if kind == "linear":
            left = Arithmetic(draw_one(draw, ("+", "-")), left, Constant(draw_one(draw, (0, 0, 0.1, 0.5))))
            right = Arithmetic("*", Constant(draw_one(draw, (1, 1, -1))), right)
        if place == 1 or draw_integer(draw, 0, 5):
            required.append(
                (Compare(draw_one(draw, ("<", "<=", ">", ">=")), left, right), draw_one(draw, (True, False)))
            )
    return ComparedCells({f"x{n}": ComparedCell(each, each, prior) for n, each in enumerate(chosen)}, required)


@settings(LAW)
@given(forests())
def test_forests_are_drawn_as_by_rejection(tied: ComparedCells) -> None:
    rng = np.random.default_rng(0)
    plain = rng.random((PLAIN, tied.dimension))
    plain = plain[tied.satisfy_comparisons(tied.codes_from_shares(plain), PLAIN)]
    assume(len(plain) >= 100)
    region = OrderForestRegion.find_in_cells(tied)
    assert region is not None
    assert stats.binomtest(len(plain), PLAIN, min(exp(region.log_mass), 1)).pvalue > LEAST_P_VALUE
    shares, accepted = region.draw(1_000, rng)
    assert accepted.all()
    assert tied.satisfy_comparisons(tied.codes_from_shares(shares), len(shares)).all()
    for direction in (*np.eye(tied.dimension), *rng.standard_normal((3, tied.dimension))):
        assert stats.ks_2samp(shares @ direction, plain @ direction).pvalue > LEAST_P_VALUE


def ordered(parents: list[int | None], domain: Real = UNIT) -> ComparedCells:
    """Return ranges of one domain, each of which is at least its parent."""
    cells = {f"x{place}": ComparedCell(domain, domain, None) for place in range(len(parents))}
    pairs = [(f"x{parent}", f"x{place}") for place, parent in enumerate(parents) if parent is not None]
    return ComparedCells(cells, [(Compare("<=", Reference(a), Reference(b)), True) for a, b in pairs])


@pytest.mark.parametrize("number", [5, 40, 200])
@pytest.mark.parametrize("kind", ["chain", "star", "tree"])
def test_masses_are_given_by_the_hook_length_formula(kind: str, number: int) -> None:
    parent = {"chain": lambda place: place - 1, "star": lambda _: 0, "tree": lambda place: (place - 1) // 2}[kind]
    parents = [None, *(parent(place) for place in range(1, number))]
    sizes = [1] * number
    for place in range(number - 1, 0, -1):
        sizes[parents[place] or 0] += sizes[place]
    region = OrderForestRegion.find_in_cells(ordered(parents, LOG))
    assert region is not None
    assert region.log_mass == pytest.approx(-sum(map(log, sizes)))
    assert kind != "chain" or region.log_mass == pytest.approx(-lgamma(number + 1))


def test_long_chains_are_order_statistics() -> None:
    number = 200
    region = OrderForestRegion.find_in_cells(ordered([None, *range(number - 1)]))
    assert region is not None
    shares, _ = region.draw(300, np.random.default_rng(1))
    assert (np.diff(shares, axis=1) >= 0).all()
    for place in (0, 10, 100, 199):
        assert stats.kstest(shares[:, place], stats.beta(place + 1, number - place).cdf).pvalue > LEAST_P_VALUE


def test_draws_that_violate_other_comparisons_are_rejected() -> None:
    a, b, c = (Reference(name) for name in "abc")
    cells = {name: ComparedCell(UNIT, UNIT, None) for name in "abc"}
    order, scaled = (Compare("<=", a, b), True), (Compare("<=", Arithmetic("*", Constant(2), a), b), True)
    rng = np.random.default_rng(0)
    for required, share in (
        ([order, (Compare("<=", b, c), True), (Compare("<=", a, c), True)], 1.0),  # a cycle
        ([order, (Compare("<=", Arithmetic("+", Arithmetic("+", a, b), c), Constant(1)), True)], 1 / 6),
        ([order, (Compare(">=", Arithmetic("+", a, Constant(0.1)), b), True)], 1 - 0.9**2),  # a band
        ([order, scaled], 0.5),
    ):
        tied = ComparedCells(cells, required)
        region = OrderForestRegion.find_in_cells(tied)
        assert region is not None
        shares, accepted = region.draw(2_000, rng)
        assert (tied.satisfy_comparisons(tied.codes_from_shares(shares), 2_000) == accepted).all()
        assert stats.binomtest(int(accepted.sum()), 2_000, share).pvalue > LEAST_P_VALUE


def test_redundant_comparisons_change_nothing() -> None:
    a, b = Reference("a"), Reference("b")
    cells = {name: ComparedCell(UNIT, UNIT, None) for name in "ab"}
    order = Compare("<=", a, b), True
    for limits in ([order, order], [order, (Compare("<=", a, Arithmetic("+", b, Constant(1))), True)]):
        found = OrderForestRegion.find_in_cells(ComparedCells(cells, limits))
        assert found is not None
        assert exp(found.log_mass) == pytest.approx(1 / 2)


EIGHT = "\n".join(["var x0 : float[0, 1]", *(f"var x{n} : float[x{n - 1}, 1]" for n in range(1, 8))])


def test_orders_beside_other_constraints_are_drawn_exactly() -> None:
    lines = "var x0 : float[0, 1] = 0.1\nvar on : bool\nrequire x3 <= 0.25 or on == true"
    space = sl.parse(f"space order\n{EIGHT.partition(chr(10))[2]}\n{lines}\nstage e = GaussianNB")
    drawn = space.sample(2_000, seed=0)
    assert all(member in space for member in drawn)
    # `on` is false in proportion to the volume where the fourth of eight order statistics is at most 0.25.
    share = float(stats.beta(4, 5).cdf(0.25))
    off = sum(not member["on"] for member in drawn)
    assert stats.binomtest(off, len(drawn), share / (1 + share)).pvalue > LEAST_P_VALUE


def test_orders_of_many_ranges_are_checked_and_drawn_quickly() -> None:
    number = 100
    lines = [f"var x{place} : float[0, 1]" for place in range(number)]
    lines += [f"require x{place} <= x{place + 1}" for place in range(number - 1)]
    text = "\n".join(["space order", *lines, "stage e = GaussianNB"])
    start = process_time()
    space = sl.parse(text)
    assert not space.warnings
    assert len(space.sample(20, seed=0)) == 20
    assert process_time() - start < 10  # it took minutes


SEVEN = sl.parse("\n".join(["space order", *EIGHT.split("\n")[:7], "stage e = GaussianNB"]))


@settings(LAW)
@given(st.lists(st.integers(0, 9).map(lambda number: number / 10), min_size=7, max_size=7))
def test_the_nearest_member_keeps_each_value_that_fits_those_kept_before(values: list[float]) -> None:
    kept: dict[int, float] = {}
    for place, value in enumerate(values):
        if value >= max(kept.values(), default=0):
            kept[place] = value
    given_values = {"e": "GaussianNB", **{f"x{place}": value for place, value in enumerate(values)}}
    member = SEVEN.nearest(given_values).member
    assert member in SEVEN
    assert {place for place, value in enumerate(values) if member[f"x{place}"] == value} >= kept.keys()
