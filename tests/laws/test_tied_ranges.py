"""Draws of ranges that comparisons tie, against closed forms and against plain rejection."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import spacelang as sl
from spacelang.ir.domain import Grid, Real, SimpleDomain
from spacelang.ir.expr import Arithmetic, Compare, Constant, Expr, Reference
from spacelang.ir.prior import Normal
from spacelang.ir.value import Value
from spacelang.sampling.compared_cells import ComparedCell, ComparedCells, quantile_function
from spacelang.sampling.constrained_regions import (
    BoxRegion,
    Region,
    SimplexRegion,
    SlabRegion,
    can_be_drawn_last,
    make_region,
)
from spacelang.sampling.hit_and_run import HitAndRunRegion
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures

ALPHA = 1e-4
COUNT = 2_000


def columns(body: str, count: int = COUNT) -> dict[str, NDArray[np.float64]]:
    """Return draws of the hyperparameters of an operator, by name."""
    space = sl.parse(f"space tied\nabstract Model\nstage model = Model {{\n{body}\n}}\n").checked
    batch = Sampler(Structures(space)).batch(count, np.random.default_rng(3))
    return {n.name: batch.dense_part_indices_and_codes(n.address)[1] for n in space.hyperparameters}


def is_drawn_from(found: NDArray[np.float64], distribution: object) -> bool:
    return bool(stats.kstest(found, distribution).pvalue > ALPHA)


def test_two_shares_are_uniform_on_the_triangle() -> None:
    drawn = columns("a : float[0, 1] = 0\nb : float[0, 1] = 0\nrequire a + b <= 1")
    assert is_drawn_from(drawn["a"], lambda x: 1 - (1 - x) ** 2)
    assert is_drawn_from(drawn["b"] / (1 - drawn["a"]), "uniform")


def test_a_thin_band_is_uniform() -> None:
    band = "a : float[0, 1] = 0.5\nb : float[0, 1] = 0.5\nrequire a - b <= 1e-6 and b - a <= 1e-6"
    drawn = columns(band)
    assert is_drawn_from(drawn["a"], "uniform")
    assert is_drawn_from((drawn["b"] - drawn["a"]) / 2e-6 + 0.5, "uniform")


def test_a_thin_band_is_uniform_on_logarithms() -> None:
    drawn = columns("a : float[1e-4, 1] log = 0.1\nb : float[1e-4, 1] log = 0.1\nrequire a <= b and b <= 1.001 * a")
    assert is_drawn_from(np.log(drawn["a"]) / np.log(1e-4), "uniform")
    assert is_drawn_from(np.log(drawn["b"] / drawn["a"]) / np.log(1.001), "uniform")


def test_a_range_and_a_grid_are_drawn_together() -> None:
    drawn = columns("a : float[0, 1] = 0\nk : int[1, 100] = 50\nrequire 1000 * a <= k")
    assert is_drawn_from(drawn["a"] * 1000 / drawn["k"], "uniform")
    shares = np.arange(1, 101) / 5050
    assert stats.chisquare(np.bincount(drawn["k"].astype(int), minlength=101)[1:], shares * COUNT).pvalue > ALPHA


@pytest.mark.parametrize("number", [4, 6])
def test_ordered_ranges_are_order_statistics(number: int) -> None:
    lines = [f"x{place} : float[1, 100] log = {place + 2}" for place in range(number)]
    lines += [f"require x{place} <= x{place + 1}" for place in range(number - 1)]
    drawn = columns("\n".join(lines))
    for place in range(number):
        assert is_drawn_from(np.log(drawn[f"x{place}"]) / np.log(100), stats.beta(place + 1, number - place).cdf)


def test_a_bound_on_a_sum_is_exact_for_any_number_of_ranges() -> None:
    names = [f"x{place}" for place in range(12)]
    drawn = columns("\n".join([*(f"{name} : float[0, 1] = 0" for name in names), f"require {' + '.join(names)} <= 1"]))
    assert is_drawn_from(sum(drawn.values()), lambda x: x**12)  # type: ignore[arg-type]
    assert is_drawn_from(drawn["x5"], lambda x: 1 - (1 - x) ** 12)


A, B, C = (Reference(name) for name in "abc")
UNIT, WIDE, LOG = Real(0.0, 1.0), Real(-1.0, 3.0), Real(0.01, 1.0, log=True)
STEPS, WORDS = Grid(1, 9), Grid(0.0, 1.0, step=0.125)


def plus(left: Expr, right: Expr) -> Expr:
    return Arithmetic("+", left, right)


def times(factor: Value, right: Expr) -> Expr:
    return Arithmetic("*", Constant(factor), right)


CASES = {
    "order": ([(Compare("<=", A, B), True), (Compare("<=", plus(B, C), Constant(0.7)), True)], (UNIT, UNIT, LOG)),
    "linear": ([(Compare("<=", A, B), True), (Compare("<=", plus(B, C), Constant(0.7)), True)], (UNIT, UNIT, WIDE)),
    "false": ([(Compare("<", plus(A, B), times(1.5, C)), False)], (LOG, UNIT, LOG)),
    "grid": ([(Compare("<=", times(0.2, A), plus(B, C)), True), (Compare(">", B, C), True)], (STEPS, UNIT, UNIT)),
    "unequal": ([(Compare("!=", A, B), True), (Compare("<=", plus(A, B), C), True)], (WORDS, WORDS, UNIT)),
    "negative": ([(Compare(">=", Arithmetic("-", A, B), times(2, C)), True)], (UNIT, LOG, LOG)),
}


@pytest.mark.parametrize("kind", ["boxes", "slabs", "steps"])
@pytest.mark.parametrize("case", CASES)
def test_every_region_draws_what_rejection_draws(kind: str, case: str) -> None:
    required, domains = CASES[case]
    priors = (Normal(0.3, 0.2) if case in {"false", "negative"} else None, None, None)
    cells: list[tuple[SimpleDomain, Normal | None]] = [*zip(domains, priors, strict=True)]
    tied = ComparedCells({n: ComparedCell(d, d, p) for n, (d, p) in zip("abc", cells, strict=True)}, required)
    last = next(name for name in tied.names if can_be_drawn_last(tied, name))
    region: Region = (
        BoxRegion(tied) if kind == "boxes" else HitAndRunRegion(tied) if kind == "steps" else SlabRegion(tied, last)
    )
    rng = np.random.default_rng(8)
    plain = rng.random((20_000, 3))
    plain = plain[tied.satisfy_comparisons(tied.codes_from_shares(plain), len(plain))]
    shares, accepted = region.draw(2_000, rng)
    part = accepted.mean()
    assert part >= 0.2
    shares = shares[accepted]
    for combined in itertools.product((0, 1), repeat=3):
        if any(combined):
            assert stats.ks_2samp(shares @ combined, plain @ combined).pvalue > ALPHA
    assert math.exp(region.log_mass) * part == pytest.approx(len(plain) / 20_000, rel=0.25 if kind == "steps" else 0.15)


def test_numbers_of_many_cells_are_those_of_each_cell() -> None:
    kinds = [
        UNIT, LOG, STEPS, Real(1.0, 1.5, log=True), Real(-1e308, 1e308), Real(2, 5), Real(0.5, 80.0, log=True),
        Real(0.0, 3.0, lower_open=True),
    ]  # fmt: skip
    cells = {str(place): ComparedCell(kind, kind, None) for place, kind in enumerate(kinds)}
    cells["prior"] = ComparedCell(UNIT, UNIT, Normal(0.3, 0.2))
    tied = ComparedCells(cells, [])
    shares = np.random.default_rng(0).random((50, len(cells)))
    shares[0], shares[1] = 0, 1
    columns = [quantile_function(cells[name])(shares[:, place]) for place, name in enumerate(tied.names)]
    assert np.array_equal(tied.numbers_from_shares(shares), np.stack(columns, axis=1))


def test_a_simplex_is_recognised_in_its_cells() -> None:
    row = [(Compare("<=", plus(A, times(2, B)), Constant(1)), True)]
    cells = {"a": ComparedCell(UNIT, Real(0.25, 1.0, lower_open=True), None), "b": ComparedCell(UNIT, UNIT, None)}
    region = make_region(ComparedCells(cells, row))
    assert isinstance(region, SimplexRegion)
    assert math.exp(region.log_mass) == pytest.approx(0.75 * 0.375 / 2 / 0.75)
    wide = {**cells, "b": ComparedCell(UNIT, Real(0.0, 0.25), None)}  # the end of `b` cuts the simplex
    assert isinstance(make_region(ComparedCells(wide, row)), SlabRegion)
