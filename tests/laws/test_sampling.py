"""Samples are members, structures are drawn uniformly, values follow their priors given the constraints."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from spacelang.ir.domain import Categorical, Grid, Real, Union
from spacelang.ir.expr import ActivityTest, And, Arithmetic, Compare, Constant, In, Not
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Operator, Space
from spacelang.ir.value import Value
from spacelang.sampling import sampler as sampler_module
from spacelang.sampling.conditional_sampling import MAX_JOINT_MEMBERS
from spacelang.sampling.independent_sampling import ValueSampler
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.counting import Structures

from . import brute
from .crafted import CRAFTED, forbid, one, parameter, plain, require, space_of, stage, x
from .settings import LAW
from .spaces import finite_spaces, general_spaces

pytestmark = pytest.mark.usefixtures("branches")

ALPHA = 1e-3
"""Seeds are fixed: a test of these either always passes or always fails."""


@settings(LAW)
@given(st.one_of(finite_spaces(), general_spaces()), st.integers(0, 1000))
def test_samples_are_members_and_repeat_with_the_seed(space: Space, seed: int) -> None:
    try:
        structures = Structures(space)
    except UndecidableError:
        return
    sampler = Sampler(structures)
    if not structures.count:
        with pytest.raises(ValueError, match="empty"):
            sampler.configuration(np.random.default_rng(seed))
        return
    first, second = np.random.default_rng(seed), np.random.default_rng(seed)
    for _ in range(5):
        try:
            drawn = sampler.configuration(first)
        except SamplingFailedError:
            return
        assert first_exclusion(space, drawn) is None
        assert brute.accepts(space, dict(drawn))
        assert Sampler(structures).configuration(second) == drawn


@settings(LAW)
@given(general_spaces(), st.integers(0, 1000))
def test_draws_along_conditions_are_members(space: Space, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sampler_module, "MAX_JOINT_MEMBERS", 0)
        try:
            structures = Structures(space)
            drawn = Sampler(structures).batch(20, np.random.default_rng(seed)).configurations()
        except (UndecidableError, ValueError, SamplingFailedError):
            return
    assert all(first_exclusion(space, each) is None for each in drawn)


def test_draws_along_conditions_follow_the_joint_law(monkeypatch: pytest.MonkeyPatch) -> None:
    domains = (Grid(0, 3), Categorical(("a", "b")), Union((Categorical((None,)), Grid(1, 3))), Grid(1, 2), Grid(1, 2))
    conditions = (
        None,
        Compare(">", x(0), Constant(1)),
        Not(Compare("==", x(1), Constant("a"))),
        In(x(2), (None, 2)),
        ActivityTest("s.A.x1"),
    )
    parameters = [
        parameter("s", "A", f"x{place}", domain, condition)
        for place, (domain, condition) in enumerate(zip(domains, conditions, strict=True))
    ]
    rule = forbid(And((Compare("==", x(0), Constant(3)), Compare("==", x(1), Constant("b")))))
    space = space_of(stage("s", Operator("A", "made", tuple(parameters))), constraints=[rule])
    tables = []
    for limit in (0, MAX_JOINT_MEMBERS):
        monkeypatch.setattr(sampler_module, "MAX_JOINT_MEMBERS", limit)
        batch = Sampler(Structures(space)).batch(20_000, np.random.default_rng(5))
        tables.append(Counter(configuration.identity for configuration in batch.configurations()))
    joint = sorted(tables[0] | tables[1])
    assert stats.chi2_contingency([[table[each] for each in joint] for table in tables]).pvalue > ALPHA


def draws(space: Space, key: str, count: int = 2000, seed: int = 7) -> list[Value]:
    sampler, rng = Sampler(Structures(space)), np.random.default_rng(seed)
    return [sampler.configuration(rng)[key] for _ in range(count)]


@pytest.mark.parametrize("name", CRAFTED)
def test_structures_are_drawn_uniformly(name: str) -> None:
    space = CRAFTED[name]
    members = brute.structures(space)
    sampler, rng = Sampler(Structures(space)), np.random.default_rng(3)
    counts = Counter(frozenset(sampler.structure(rng).items()) for _ in range(200 * len(members)))
    assert set(counts) == members
    assert stats.chisquare([counts[member] for member in members]).pvalue > ALPHA


def test_structures_are_drawn_uniformly_from_more_than_fits_a_machine_word() -> None:
    names = [f"s{number}" for number in range(20)]
    space = space_of(*(plain(name, *(f"A{number}" for number in range(20))) for name in names))
    structures = Structures(space)
    assert structures.count == 20**20
    rng, sampler = np.random.default_rng(0), Sampler(structures)
    counts = Counter(sampler.structure(rng)["s13"] for _ in range(2000))
    assert stats.chisquare(list(counts.values())).pvalue > ALPHA


def test_a_forbidden_half_leaves_the_other_uniform() -> None:
    found = draws(one(Real(0.0, 1.0), constraints=[forbid(Compare(">", x(0), Constant(0.5)))]), "s.x0")
    assert stats.kstest(found, stats.uniform(0, 0.5).cdf).pvalue > ALPHA


def test_correlated_sets_are_drawn_as_their_joint_distribution() -> None:
    letters = Categorical(("a", "b", "c"))
    rule = forbid(And((Compare("==", x(0), Constant("a")), In(x(1), ("a", "b")))))
    space = one(letters, letters, constraints=[rule])
    sampler, rng = Sampler(Structures(space)), np.random.default_rng(1)
    counts = Counter((c["s.x0"], c["s.x1"]) for c in (sampler.configuration(rng) for _ in range(3500)))
    assert len(counts) == 7
    assert stats.chisquare(list(counts.values())).pvalue > ALPHA


def test_equal_sets_and_parts_of_a_union_weigh_alike() -> None:
    domain = Union((Categorical((None,)), Grid(1, 9)))
    counts = Counter(value is None for value in draws(one(domain), "s.x0"))
    assert stats.chisquare(list(counts.values())).pvalue > ALPHA
    only = draws(one(domain, constraints=[forbid(Compare(">", x(0), Constant(3)))]), "s.x0", 4000)
    shares = Counter(only)
    # The constraint takes two thirds of the numbers' half: none keeps 1/2 of 2/3.
    expected = [4000 * 3 / 4, *[4000 / 12] * 3]
    assert stats.chisquare([shares[value] for value in (None, 1, 2, 3)], expected).pvalue > ALPHA


def test_ordered_ranges_are_drawn_from_the_triangle() -> None:
    space = one(Real(0.0, 1.0), Real(0.0, 1.0), constraints=[require(Compare("<", x(0), x(1)))])
    assert stats.kstest(draws(space, "s.x0"), lambda q: 1 - (1 - np.asarray(q)) ** 2).pvalue > ALPHA


def test_a_required_point_is_drawn() -> None:
    rules = [require(Compare("==", x(n), Constant(0.25))) for n in range(3)]
    tie = forbid(And((Compare("==", x(0), x(1)), Not(Compare("==", x(1), x(2))))))
    assert set(draws(one(*[Real(0.0, 1.0)] * 3, constraints=rules), "s.x0", 10)) == {0.25}
    assert Structures(one(*[Real(0.0, 1.0)] * 3, constraints=[*rules, tie])).count == 1


def test_a_range_under_log_is_log_uniform() -> None:
    found = [math.log10(value) for value in draws(one(Real(1e-3, 1e3, log=True)), "s.x0")]  # type: ignore[arg-type]
    assert stats.kstest(found, stats.uniform(-3, 6).cdf).pvalue > ALPHA
    rule = forbid(Compare("<", x(0), Constant(1.0)))
    kept = [math.log10(v) for v in draws(one(Real(1e-3, 1e3, log=True), constraints=[rule]), "s.x0")]  # type: ignore[arg-type]
    assert stats.kstest(kept, stats.uniform(0, 3).cdf).pvalue > ALPHA


@pytest.mark.parametrize("domain", [Grid(1, 8, log=True), Grid(3, 30, log=True, step=9), Grid(1, 11, log=True, step=5)])
def test_integers_under_log_have_the_share_of_their_interval(domain: Grid) -> None:
    members, half = [domain.value_at(place) for place in range(domain.size)], domain.step / 2
    edges = [domain.lower - min(domain.step, domain.lower) / 2, *(member + half for member in members)]
    shares = np.diff(np.log(edges)) / (math.log(edges[-1]) - math.log(edges[0]))
    rng = np.random.default_rng(2)
    free = Counter(ValueSampler(domain).draw(3000, rng).codes.tolist())
    assert stats.chisquare([free[member] for member in members], shares * 3000).pvalue > ALPHA
    # Tied to another hyperparameter it is drawn from cells, with the same shares.
    rule = require(Compare("<", x(0), Arithmetic("+", x(1), Constant(100))))
    tied = Counter(draws(one(domain, Grid(1, 2), constraints=[rule]), "s.x0", 3000))
    assert stats.chisquare([tied[member] for member in members], shares * 3000).pvalue > ALPHA


def test_a_rare_comparison_of_ranges_is_reported() -> None:
    space = one(Real(0.0, 1.0), Real(0.0, 1.0), constraints=[require(Compare("==", x(0), x(1)))])
    with pytest.raises(SamplingFailedError) as caught:
        Sampler(Structures(space)).configuration(np.random.default_rng(0))
    assert caught.value.constraints == space.constraints
    assert "loosen" in caught.value.remedy


def test_shares_that_cannot_be_drawn_are_advised_to_be_a_simplex() -> None:
    total = Arithmetic("+", Arithmetic("+", x(0), x(1)), x(2))
    space = one(*[Real(0.0, 1.0)] * 3, constraints=[require(Compare("==", total, Constant(1)))])
    with pytest.raises(SamplingFailedError) as caught:
        Sampler(Structures(space)).configuration(np.random.default_rng(0))
    assert "`simplex x0, x1, x2`" in caught.value.remedy
    assert caught.value.__notes__ == [caught.value.remedy]
